"""Print docs/findings.md, the page of all codes: their advice, and the examples of the tests.

Usage: python docs/regenerate.py docs/findings.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.doctor.examples import EXAMPLES, GOOD, Example
from treesim import check
from treesim.doctor.advice import ADVICE, TIER_OF, TIERS
from treesim.urdf.findings import CODES

HEAD = """# Findings

On this page you can look up a finding of `treesim.load` or `treesim check` ([guide](check.md)) by its code. A code
denotes the same kind of finding in all versions of treesim. The lines of an example replace lines of the [robot at the
end of this page](#the-robot-of-the-examples), or are added to this robot. The message is the line that `treesim check`
prints for the example. The lines after *Fix* are the repaired ones. *Strict: error* means that the warning is an error
if the argument `strict` or the option `--strict` is set. On this page, *other programs* are simulators and libraries
that read URDF files.
"""
TITLES = {
    "syntax": "Syntax: XML, elements, attributes, numbers",
    "structure": "Structure: links, joints and their tree",
    "physics": "Physics: masses, inertias, limits",
    "assets": "Assets: shapes, colours, mesh files",
}
SEVERITY = {"error": "error", "warning": "warning", "info": "note"}


def page() -> str:
    """Return the text of docs/findings.md."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield HEAD
    for tier in TIERS:
        yield f"## {TITLES[tier]}\n"
        yield "| code | severity | finding |\n|---|---|---|"
        for code in _codes(tier):
            yield f"| [{code}](#{code.lower()}) | {_severity(code)} | {_escaped(CODES[code].summary)} |"
        yield ""
        for code in _codes(tier):
            yield from _entry(code)
    yield f"## The robot of the examples\n\n```xml\n{GOOD}```\n"


def _codes(tier: str) -> list[str]:
    return [code for code in CODES if TIER_OF[code] == tier]


def _severity(code: str) -> str:
    return SEVERITY[CODES[code].severity] + (", strict: error" if CODES[code].strict else "")


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;")


def _entry(code: str) -> Iterator[str]:
    advice, example = ADVICE[code], EXAMPLES.get(code, Example())
    yield f"### {code}\n\n**{_escaped(CODES[code].summary)}** ({_severity(code)}). {_escaped(advice.reasons)}\n"
    if example.wrong:
        yield _block(example.wrong)
    if code in EXAMPLES:
        options = "".join(f" with `--{name} {value}`" for name, value in example.options.items())
        yield f"Message{options}: *{_escaped(message_of(code, example))}*\n"
    yield f"Fix: {_escaped(advice.fix)}\n"
    if example.right and not example.whole:
        yield _block(example.right)


def _block(text: str) -> str:
    first, newline, rest = text.rstrip().partition("\n")
    return f"```xml\n{first}{newline}{dedent(rest)}\n```\n"


def message_of(code: str, example: Example) -> str:
    """Return the message of a code's example."""
    found = next(one for one in check(example.text, **example.options).findings if one.code == code)  # type: ignore[arg-type]
    return found.line_and_remark


if __name__ == "__main__":
    print(page(), end="")
