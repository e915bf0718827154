"""Links that are right in the repository and lead to other places on the site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

TARGETS = {  # of links in pages: files and folders outside docs/, and the pages that contain them
    r"(?:\.\./)+(?:plugins/)?(treesim-[a-z]+)(?:/README\.md)?": r"plugins.md#\1",
    r"\.\./CONTRIBUTING\.md": "contributing.md",
    r"\.\./\.\.(?:/README\.md)?": "index.md",
}
PAGE = re.compile(r"(?<!`)\bdocs/([a-z_]+)\.md")


def linked(text: str) -> str:
    """Return the text of a page whose links to files outside docs/ lead to the pages that contain them."""
    for target, page in TARGETS.items():
        text = re.sub(rf"\]\({target}\)", f"]({page})", text)
    return text


def link_page(app: Any, docname: str, source: list[str]) -> None:
    """Change the links of a page."""
    source[0] = linked(source[0])


def link_included(app: Any, path: Path, docname: str, source: list[str]) -> None:
    """Change the links of an included file."""
    source[0] = linked(source[0])


def link_docstring(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Replace the file name of a page in a docstring by a link to the page."""
    lines[:] = [PAGE.sub(r":doc:`/\1`", line) for line in lines]


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", link_page)
    app.connect("include-read", link_included)
    app.connect("autodoc-process-docstring", link_docstring, priority=400)  # before numpydoc
    return {"parallel_read_safe": True}
