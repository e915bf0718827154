"""Generator of the page docs/readers.md: `python -m treesim_importers.page > docs/readers.md`."""

from __future__ import annotations

from collections.abc import Iterator

from .examples import SOUND, snippet
from .rule import Reader, Rule
from .table import READERS

INTRODUCTION = """\
# How other programs read a URDF

This page lists, for each program, the rules by which it changes or refuses a file, with their evidence and the fix.
`treesim readers ROBOT` applies the rules to a robot's file and prints the lines, and the changes of the robot in
numbers. With `--verify` the installed programs load the file, and differences that no rule predicts are printed.
`python -m pip install ./plugins/treesim-importers`, from the folder of the sources, installs the command. From Python:
`treesim_importers.readings(source, readers=None, verify=False)`.

A program *refuses* the file, *drops*, *alters* or *ignores* some of its content, or *adds* content. *Measured* rules
were observed in the named version, on the example: its text is inserted in the robot at the end of this page. Rules
without an example apply to that robot unchanged. Other versions may differ. Rules *by documentation* are taken from the
named page, and were not measured.

This page is the output of `python -m treesim_importers.page`.
"""


def page() -> str:
    """Return the page's text."""
    sections = "\n".join(line for reader in READERS.values() for line in _section(reader))
    return f"{INTRODUCTION}\n{sections}\n## The robot of the examples\n\n```xml\n{SOUND}```\n"


def _section(reader: Reader) -> Iterator[str]:
    version = f" {reader.version}" if reader.version else ""
    yield f"## {reader.title}{version}\n\nCalled as `{reader.call}`.\n"
    yield "| rule | when | what happens | evidence | fix |"
    yield "|---|---|---|---|---|"
    yield from (_row(reader, rule) for rule in reader.rules)
    yield ""


def _row(reader: Reader, rule: Rule) -> str:
    changed = snippet(rule)
    example = f"; example: `{changed}`" if changed else ""
    cells = (rule.code, rule.when, f"*{rule.action}*: {rule.effect}", reader.evidence(rule) + example, rule.fix)
    return "| " + " | ".join(_escaped(cell) for cell in cells) + " |"


def _escaped(cell: str) -> str:
    """Escape a table cell so that tags in prose are shown, not interpreted as HTML."""
    prose, *rest = cell.split("; example: ")
    shown = prose.replace("|", "\\|").replace("<", "&lt;")
    return "; example: ".join([shown, *(part.replace("|", "\\|") for part in rest)])


if __name__ == "__main__":
    print(page(), end="")
