"""`treesim compare --high-precision ROBOT`: accuracy of every method on one robot, without another engine."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated

import typer

from treesim.cli.common import (
    FAILED,
    BaseOption,
    JsonOption,
    MimicOption,
    RobotArgument,
    SeedOption,
    examples,
    guarded,
    load_robot,
    option,
    output,
    print_json,
)
from treesim.errors import named
from treesim.system.progress import progress_bar

from ..audits import Audit, Row
from .tables import new_table, print_notes

ROUNDING = 2.0**-52


@guarded
@examples(
    "treesim compare --high-precision ur5",
    "treesim compare --high-precision go2 --base floating --states 1",
)
def audit(
    robot: RobotArgument,
    base: BaseOption = "auto",
    mimic: MimicOption = None,
    states: Annotated[int, option(min=1)] = 3,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Check every method on ROBOT against results with 40 digits, and against identities of mechanics.

    For each method, the table contains the number of correct digits, the error and its bound. It also contains the
    residual of the equations, and the distance from the median of all methods. The bound is the effect of rounding the
    mass matrix and the forces, multiplied by a factor for each method. The exit code is 1 if an error exceeds its
    bound.

    Options
    -------
    --states
        Number of random states. References are computed with 40 digits.
    """
    from ..audits import audit as compute_audit

    tree = load_robot(robot, base, mimic)
    with progress_bar("computing with 40 digits", not json):
        found = compute_audit(tree, states=states, seed=seed)
    if json:
        print_json({"base": base, **found.to_dict()})
    else:
        _show(found, base)
    if not found.passed:
        raise typer.Exit(FAILED)


def _show(found: Audit, base: str) -> None:
    low, high = found.condition
    output().print(
        f"{named(found.robot)}, {base} base, {found.nv} degrees of freedom; "
        f"cond(M) {low:.1e} ... {high:.1e}, times eps {high * ROUNDING:.0e}",
        soft_wrap=True,
    )
    for group, rows in groupby(found.rows, lambda row: row.group):
        _table(group, list(rows))
    print_notes(found.notes)
    beyond = [row.name for row in found.rows if not row.passed]
    summary = f"beyond their bounds: {', '.join(beyond)}" if beyond else "every error is within its bound"
    output().print(f"Worst of {found.states} random states, relative to the largest number; {summary}.", soft_wrap=True)


def _table(group: str, rows: list[Row]) -> None:
    """Return the table of one group, without empty columns."""
    columns = [column for column in ("residual", "apart") if any(getattr(row, column) is not None for row in rows)]
    headings = ("digits", "error", "bound", *columns, "result")
    shown = new_table(None, group, numbers=headings, last=["where, note"])
    for row in rows:
        digits = "-" if row.digits is None else f"{row.digits:.1f}"
        numbers = [_number(row.error), _number(row.bound), *(_number(getattr(row, column)) for column in columns)]
        shown.add_row(
            row.name, digits, *numbers, _summary(row), ", ".join(map(named, filter(None, (row.where, row.note))))
        )
    output().print(shown)


def _summary(row: Row) -> str:
    if row.error is None:
        return "refused"
    return "fine" if row.passed else "BEYOND"


def _number(x: float | None) -> str:
    return "-" if x is None else f"{x:.1e}"
