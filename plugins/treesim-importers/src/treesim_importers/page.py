"""The page docs/readers.md, from the table of rules: `python -m treesim_importers.page > docs/readers.md`."""

from __future__ import annotations

from collections.abc import Iterator

from .examples import SOUND, snippet
from .rule import Reader, Rule
from .table import READERS

INTRODUCTION = """\
# How other programs read a URDF

What a simulator silently changes in a file, or refuses, is here one table of rules for each program, with its evidence
and the cure. `treesim readers ROBOT` applies them to a robot's file and tells the lines, and what changes there in
numbers; `--verify` lets the programs that are installed load the file, and tells what they do that no rule predicts.
`python -m pip install ./plugins/treesim-importers`, from the folder of the sources, brings the command. From Python:
`treesim_importers.readings(source, readers=None, verify=False)`.

A program *refuses* the file, *drops*, *alters* or *ignores* something that stands there, or *adds* what does not.
*Measured* rules were seen in the version that is named, on the example: what it says is put into the robot at the end
of this page. Rules without an example hold for that robot as it stands. Other versions may do otherwise. Rules *by
documentation* rest on the page named, and were not measured.

This page is the output of `python -m treesim_importers.page`.
"""


def page() -> str:
    """Return the page's text."""
    sections = "\n".join(line for reader in READERS.values() for line in _section(reader))
    return f"{INTRODUCTION}\n{sections}\n## The sound robot\n\n```xml\n{SOUND}```\n"


def _section(reader: Reader) -> Iterator[str]:
    version = f" {reader.version}" if reader.version else ""
    yield f"## {reader.title}{version}\n\nCalled as `{reader.call}`.\n"
    yield "| rule | when | what happens | evidence | cure |"
    yield "|---|---|---|---|---|"
    yield from (_row(reader, rule) for rule in reader.rules)
    yield ""


def _row(reader: Reader, rule: Rule) -> str:
    changed = snippet(rule)
    example = f"; example: `{changed}`" if changed else ""
    cells = (rule.code, rule.when, f"*{rule.action}*: {rule.effect}", reader.evidence(rule) + example, rule.cure)
    return "| " + " | ".join(_escaped(cell) for cell in cells) + " |"


def _escaped(cell: str) -> str:
    """A cell in which tags that stand in prose are shown, not read as HTML."""
    prose, *rest = cell.split("; example: ")
    shown = prose.replace("|", "\\|").replace("<", "&lt;")
    return "; example: ".join([shown, *(part.replace("|", "\\|") for part in rest)])


if __name__ == "__main__":
    print(page(), end="")
