"""`treesim survey`: installed robots that load and can be simulated, after which repair, and in Pinocchio."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from treesim.cli.common import JsonOption, guarded, messages, output, print_json
from treesim.errors import ArgumentError, shortened

if TYPE_CHECKING:
    from rich.table import Table

    from ..bench.load_survey import Verdict

WORDS = {
    "loads": "loads", "warning": "loads, with warnings", "repaired": "after a repair", "refused": "refused",
    "stops": "loads, stops",
}  # fmt: skip
LONGEST_REASON = 56  # characters


@guarded
def survey(
    containing: Annotated[
        str, typer.Argument(metavar="[TEXT]", help="Only robots whose name contains this text.", show_default=False)
    ] = "",
    json: JsonOption = False,
) -> None:
    """Load every installed robot and simulate 100 steps of 1 ms from rest, on a fixed and on a floating base.

    The table contains the findings in the file, the repair it needs, and
    the result of Pinocchio, if it is installed.
    """
    from treesim.urdf import installed_robots

    from ..bench.load_survey import tried

    entries = [entry for entry in installed_robots() if containing.lower() in entry.name.lower()]
    if not entries:
        raise ArgumentError(f"no installed robot has {containing!r} in its name; `treesim robots` lists them")
    with messages().status("loading ...") as status:
        verdicts = tried(entries, lambda name: status.update(f"{name} ..."))
    if json:
        print_json([verdict._asdict() for verdict in verdicts])
        return
    output().print(_table(verdicts))
    output().print(_summary(verdicts), soft_wrap=True)


def _table(verdicts: Sequence[Verdict]) -> Table:
    """Return a table with a row for each robot, or two if its bases differ."""
    from rich.table import Table

    table = Table()
    for heading in ("robot", "base", "treesim", "Pinocchio", "found", "repair, or reason"):
        table.add_column(heading, no_wrap=heading == "robot")
    for (robot, *told), rows in groupby(verdicts, key=lambda verdict: (verdict.robot, *_cells(verdict))):
        bases = [row.base for row in rows]
        table.add_row(robot, "both" if len(bases) > 1 else bases[0], *told)
    return table


def _cells(verdict: Verdict) -> list[str]:
    remedy = ", ".join(verdict.repairs) or shortened(verdict.why, LONGEST_REASON)
    return [WORDS[verdict.result], verdict.pinocchio, " ".join(verdict.codes), remedy]


def _summary(verdicts: Sequence[Verdict]) -> str:
    counts = Counter(WORDS[verdict.result] for verdict in verdicts)
    told = ", ".join(f"{word} {counts[word]}" for word in WORDS.values() if counts[word])
    theirs = [verdict for verdict in verdicts if verdict.pinocchio == "simulates"]
    ours = sum(verdict.result in ("loads", "warning", "repaired") for verdict in theirs)
    robots = len({verdict.robot for verdict in verdicts})
    return f"{robots} robots, each on two bases: {told}\nof {len(theirs)} that Pinocchio simulates, treesim: {ours}"
