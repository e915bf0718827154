"""`treesim cost`: the papers' cost formulas for a robot, and the papers' own tables recomputed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ArgumentError
from .common import BaseOption, JsonOption, MimicOption, guarded, load_robot, output, print_json

if TYPE_CHECKING:
    from ..cost.papers import Row
    from ..cost.robot import Formula
    from ..model.tree import Tree

LABEL = "operations by the formulas of Featherstone 2005"


@guarded
def cost(
    robot: Annotated[
        str | None,
        typer.Argument(metavar="[ROBOT]", help="A URDF file, or the name of an installed robot.", show_default=False),
    ] = None,
    papers: Annotated[bool, typer.Option("--papers", help="Recompute the papers' tables instead.")] = False,
    base: BaseOption = "fixed",
    mimic: MimicOption = None,
    json: JsonOption = False,
) -> None:
    """Count the operations the papers' formulas give for ROBOT, or for the papers' own tables (--papers)."""
    if papers == (robot is not None):
        raise ArgumentError("give either ROBOT or --papers")
    if robot is None:
        _show_papers(json)
    else:
        _show_robot(load_robot(robot, base, mimic), base, json)


def _show_papers(json: bool) -> None:
    from ..cost.papers import rows

    table = rows()
    if json:
        print_json([row.as_dict() for row in table])
    else:
        _print_papers(table)


def _print_papers(rows: list[Row]) -> None:
    from rich.table import Table

    console = output()
    for source in dict.fromkeys(row.source for row in rows):
        table = Table("quantity", "printed", "computed", "agrees", "note", title=source, title_justify="left")
        for row in rows:
            if row.source == source:
                agrees = {True: "yes", False: "NO", None: ""}[row.agrees]
                table.add_row(row.quantity, _text(row.printed), _text(row.computed), agrees, row.note)
        console.print(table)
    judged = [row for row in rows if row.agrees is not None]
    agreeing = sum(row.agrees is True for row in judged)
    console.print(f"{agreeing} of {len(judged)} printed numbers agree; {len(rows) - len(judged)} more are derived")
    for row in judged:
        if not row.agrees:
            console.print(f"{row.source}, {row.quantity}: {row.note}", soft_wrap=True)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        return " + ".join(f"{count} {name}" for name, count in value.items())
    if isinstance(value, float):
        return f"{value:.5g}"
    return str(value)


def _show_robot(robot: Tree, base: str, json: bool) -> None:
    from ..cost.robot import assumptions, formulas

    tree = robot.topology
    listed, notes = formulas(tree), assumptions(tree)
    if json:
        facts = {"robot": robot.name, "base": base, "n_bodies": tree.n_bodies, "nv": tree.n_dofs}
        print_json({**facts, "D1": tree.D1, "D2": tree.D2, "formulas": [_facts(f) for f in listed], "notes": notes})
        return
    from rich.table import Table

    title = f"{robot.name}, {base} base: {LABEL}"
    table = Table("algorithm", title=title, title_justify="left")
    for heading in ("mul", "add", "div", "all"):
        table.add_column(heading, justify="right")
    table.add_column("formula")
    for name, count, source in listed:
        cells = ["-"] * 4 if count is None else [str(n) for n in (count.mul, count.add, count.div, count.total)]
        table.add_row(name, *cells, source)
    console = output()
    console.print(table)
    for note in notes:
        console.print(f"note: {note}", soft_wrap=True)


def _facts(formula: Formula) -> dict[str, Any]:
    count = formula.cost
    counts = None if count is None else {"mul": count.mul, "add": count.add, "div": count.div}
    return {"name": formula.name, "formula": counts, "source": f"Featherstone 2005, {formula.source}"}
