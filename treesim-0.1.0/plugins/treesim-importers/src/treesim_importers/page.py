"""Generator of the page docs/readers.md: `python -m treesim_importers.page > docs/readers.md`."""

from __future__ import annotations

from collections.abc import Iterator

from .examples import SOUND, snippet
from .rule import Reader, Rule
from .table import READERS

INTRODUCTION = """\
# How other programs read a URDF

This page lists the rules by which other programs change or refuse a URDF file. Each rule is listed with its evidence
and a fix. The command `treesim readers ROBOT` applies the rules to a robot's file. For each rule that applies, the
command prints the lines of the file that the rule concerns. It also prints the resulting changes of mass, degrees of
freedom and torques at rest. With the option `--verify`, the installed programs load the file, and the command prints
all differences that no rule predicts. To install the command, run `python -m pip install ./plugins/treesim-importers`
in a checkout of the repository. In Python, call `treesim_importers.readings(source, readers=None, verify=False)`.

Each cell of the column "what happens" begins with a verb. The program *refuses* the file, or *adds* content to the
robot. Otherwise it *drops*, *alters* or *ignores* a part of the file. The column "evidence" names the source of a rule.
A *measured* rule was observed with the named version of the program. Other versions of the program may behave
differently. For the measurement, the rule's example was inserted into the [robot at the end of this
page](#the-robot-of-the-examples). A rule without an example was measured on the unchanged robot. A rule *by
documentation* is taken from the named page, and was not measured.
"""


def page() -> str:
    """Return the page's text."""
    sections = "\n".join(line for reader in READERS.values() for line in _section(reader))
    return f"{INTRODUCTION}\n{sections}\n## The robot of the examples\n\n```xml\n{SOUND}```\n"


def _section(reader: Reader) -> Iterator[str]:
    version = f" {reader.version}" if reader.version else ""
    yield f"## {reader.title}{version}\n\nThe rules apply to files that are read in this way: `{reader.call}`.\n"
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
