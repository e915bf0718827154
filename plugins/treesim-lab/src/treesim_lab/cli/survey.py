"""`treesim survey`: installed robots that load and can be simulated, after which repair, and in Pinocchio."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from treesim.cli.common import JsonOption, examples, guarded, output, print_json
from treesim.errors import ArgumentError, shortened
from treesim.system.progress import progress_bar

from .tables import new_table

if TYPE_CHECKING:
    from rich.table import Table

    from ..bench.load_survey import LoadResult

WORDS = {
    "loads": "loads", "warning": "loads, with warnings", "repaired": "after a repair", "refused": "refused",
    "stops": "loads, stops",
}  # fmt: skip
LONGEST_REASON = 56  # characters


@guarded
@examples(
    "treesim survey",
)
def survey(
    containing: Annotated[str, typer.Argument(metavar="[TEXT]", show_default=False)] = "",
    json: JsonOption = False,
) -> None:
    """Load every installed robot and simulate 100 steps of 1 ms from rest, on a fixed and on a floating base.

    For each file, the table contains the findings and the repair that the file needs. If Pinocchio is installed, the
    table also contains Pinocchio's result.

    Options
    -------
    containing
        Text that the names of the robots must contain.
    """
    from treesim.urdf import installed_robots

    from ..bench.load_survey import tried

    entries = [entry for entry in installed_robots() if containing.lower() in entry.name.lower()]
    if not entries:
        raise ArgumentError(f"no installed robot has {containing!r} in its name; `treesim robots` lists them")
    with progress_bar("loading"):
        outcomes = tried(entries)
    if json:
        print_json([outcome._asdict() for outcome in outcomes])
        return
    output().print(_table(outcomes))
    output().print(_summary(outcomes), soft_wrap=True)


def _table(outcomes: Sequence[LoadResult]) -> Table:
    """Return a table with a row for each robot, or two if its bases differ."""
    table = new_table(None)
    for heading in ("robot", "base", "treesim", "Pinocchio", "found", "repair, or reason"):
        table.add_column(heading, no_wrap=heading == "robot")
    for (robot, *details), rows in groupby(outcomes, key=lambda outcome: (outcome.robot, *_cells(outcome))):
        bases = [row.base for row in rows]
        table.add_row(robot, "both" if len(bases) > 1 else bases[0], *details)
    return table


def _cells(outcome: LoadResult) -> list[str]:
    remedy = ", ".join(outcome.repairs) or shortened(outcome.why, LONGEST_REASON)
    return [WORDS[outcome.result], outcome.pinocchio, " ".join(outcome.codes), remedy]


def _summary(outcomes: Sequence[LoadResult]) -> str:
    counts = Counter(WORDS[outcome.result] for outcome in outcomes)
    details = ", ".join(f"{word} {counts[word]}" for word in WORDS.values() if counts[word])
    theirs = [outcome for outcome in outcomes if outcome.pinocchio == "simulates"]
    ours = sum(outcome.result in ("loads", "warning", "repaired") for outcome in theirs)
    robots = len({outcome.robot for outcome in outcomes})
    return f"{robots} robots, each on two bases: {details}\nof {len(theirs)} that Pinocchio simulates, treesim: {ours}"
