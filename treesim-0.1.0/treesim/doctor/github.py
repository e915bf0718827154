"""Findings as annotations of GitHub Actions: workflow commands, which GitHub shows at the lines of a pull request."""

from __future__ import annotations

from ..urdf.findings import CODES, Finding
from .advice import ADVICE
from .places import relative_path

COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def annotation(found: Finding) -> str:
    """Return the workflow command that annotates a finding's line with its message and how to fix it.

    Example:
        >>> from treesim.doctor.github import annotation
        >>> print(annotation(treesim.check("<robot name='r'><link/></robot>").findings[0]))
        ::error file=<text>,line=1,title=U201 element without a name::<link> has no name%0AFix: Give the element ...
    """
    place = f"file={_property(relative_path(found.file))},line={found.line or 1}"
    title = _property(f"{found.code} {CODES[found.code].summary}")
    hint = f" ({found.hint})" if found.hint else ""
    text = _data(f"{found.message}{hint}\nFix: {ADVICE[found.code].fix}")
    return f"::{COMMANDS[found.severity]} {place},title={title}::{text}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
