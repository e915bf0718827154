"""`treesim compare ROBOT`: this engine beside another one, on the same states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from .common import BASES, FAILED, BaseOption, JsonOption, RobotArgument, checked_name, guarded, output, print_json
from .explanations import causes_of, compare_descriptions, is_robot_file, print_causes

if TYPE_CHECKING:
    from ..compare import Report, Row
    from ..types import Base


@guarded
def compare(
    robot: RobotArgument,
    second: Annotated[
        str | None, typer.Argument(help="A second description of the same robot, to compare with the first.")
    ] = None,
    against: Annotated[
        str, typer.Option(help="The other engine (`treesim plugins` lists the engines), or mujoco:FILE.xml.")
    ] = "pybullet",
    base: BaseOption = "floating",
    states: Annotated[int, typer.Option(help="Number of random states.")] = 100,
    steps: Annotated[int, typer.Option(help="Steps of the trajectory; 0 for none.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the random states.")] = 0,
    dt: Annotated[float, typer.Option(help="Step of the trajectory in seconds.")] = 1e-3,
    json: JsonOption = False,
) -> None:
    """Check this engine against another one: model, mass matrix, bias, dynamics, trajectory; or two descriptions of one
    robot against each other. What differs is led back to its causes.

    Exit code 1 if anything disagrees.
    """
    import treesim.compare

    chosen = cast("Base", checked_name("base", base, BASES))
    if second is not None or is_robot_file(against):
        if not compare_descriptions(robot, second or against, chosen, seed, states, json):
            raise typer.Exit(FAILED)
        return
    report = treesim.compare.compare(robot, against=against, base=chosen, seed=seed, states=states, steps=steps, dt=dt)
    causes = None if report.passed else causes_of(robot, against, chosen, seed)
    if json:
        print_json(report.to_dict() | ({"causes": causes.to_dict()} if causes else {}))
    else:
        _print_report(report)
        if causes:
            print_causes(causes)
    if not report.passed:
        raise typer.Exit(FAILED)


def _print_report(report: Report) -> None:
    from rich.table import Table

    console = output()
    versions = ", ".join(f"{name} {number}" for name, number in report.versions.items())
    console.print(
        f"{report.robot}, {report.base} base, gravity {list(report.gravity)} m/s^2, seed {report.seed}, "
        f"dt {report.dt:g} s ({versions})"
    )
    table = Table("quantity", "level", "states", "largest error", "median", "tolerance", "", "worst at, note")
    for row in report.rows:
        table.add_row(*_cells(row), style=None if row.passed else "red")
    console.print(table)
    for title, entries in (
        ("changed for the comparison", [f"{level}: {'; '.join(found)}" for level, found in report.changes.items()]),
        ("not compared", [f"{what.replace('_', ' ')}: {why}" for what, why in report.skipped.items()]),
    ):
        if entries:
            console.print(f"{title}:")
        for entry in entries:
            console.print(f"  {entry}")
    console.print(report.summary, style="green" if report.passed else "bold red")


def _cells(row: Row) -> tuple[str, ...]:
    remark = ", ".join(part for part in (row.where, row.note) if part)
    return (
        row.quantity.replace("_", " "), row.level, str(row.states), f"{row.largest:.1e}", f"{row.median:.1e}",
        f"{row.tolerance:.0e}", "ok" if row.passed else "FAIL", remark,
    )  # fmt: skip
