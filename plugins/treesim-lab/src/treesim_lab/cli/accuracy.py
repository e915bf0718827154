"""`treesim bench accuracy`: errors of the engines on robots, of every backend along chains, and of factorizations."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from treesim.cli.common import (
    BaseOption,
    JsonOption,
    MimicOption,
    examples,
    guarded,
    option,
    output,
    print_json,
)
from treesim.system.progress import progress_bar

from .tables import new_table

QUICK = (10, 100)


@guarded
@examples(
    "treesim bench accuracy",
    "treesim bench accuracy ur5 panda",
    "treesim bench accuracy --factorization",
)
def accuracy(
    robots: Annotated[list[str] | None, typer.Argument(metavar="[ROBOT]...")] = None,
    base: BaseOption = "auto",
    mimic: MimicOption = None,
    states: Annotated[int, option(min=1)] = 64,
    factorization: bool = False,
    quick: bool = False,
    json: JsonOption = False,
) -> None:
    """Measure relative errors against a high-precision reference (40 digits).

    With ROBOT, the command measures errors of treesim's generic code and of its code specialized for the robot. It
    compares these errors with the effect of rounding the input once. Without ROBOT, the command measures errors of
    every backend on chains of up to 1000 bodies, and on chains with one light or heavy link. The chains are driven by
    forces, or follow a prescribed motion. Errors are measured with and without a step of iterative refinement. With
    --factorization, the command measures errors of factors of mass matrices, and of solves with these factors. The mass
    matrices are those of ROBOT, or of four families of trees.

    Options
    -------
    robots
        URDF files or names of installed robots. `chain30` is an unbranched chain of 30 joints. Without ROBOT, every
        backend is measured on chains.
    --states
        Number of random states for ROBOT and for factorizations.
    --factorization
        Measure errors of factors of the mass matrix (LTL, LTDL, dense Cholesky) instead of errors of accelerations.
    --quick
        Measure only chains of 10 and 100 bodies; for factorizations only trees of up to 16 bodies.
    """
    if factorization:
        from .accuracy_factors import show_factors

        show_factors(robots or [], base, mimic, states, quick, json)
        return
    if robots:
        from .accuracy_robots import show_robots

        show_robots(robots, base, mimic, states, json)
        return
    from ..bench.accuracy import error_rows
    from ..cost.error_growth import LENGTHS

    with progress_bar("computing"):
        rows = list(error_rows(QUICK if quick else LENGTHS))
    if json:
        print_json(rows)
        return
    for title in dict.fromkeys((row["table"], row["regime"]) for row in rows):
        _print(title, [row for row in rows if (row["table"], row["regime"]) == title])


def _print(title: tuple[str, str], rows: list[dict[str, Any]]) -> None:
    text = f"{', '.join(title)}: relative error, after one refinement, (expected)"
    shown = new_table(text, "backend", *(row["case"] for row in rows))
    for k, first in enumerate(rows[0]["errors"]):
        shown.add_row(first["backend"], *(_cell(row["errors"][k]) for row in rows))
    output().print(shown)


def _cell(entry: dict[str, Any]) -> str:
    error, refined = ("fails" if entry[key] is None else f"{entry[key]:.0e}" for key in ("error", "refined"))
    seen = entry["expected"]
    return f"{error}, {refined}" + ("" if seen is None else f" ({seen:.0e})")
