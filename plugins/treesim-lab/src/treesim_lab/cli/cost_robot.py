"""`treesim cost ROBOT`: formula, counted operations and time of every algorithm on one robot, and the advice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treesim.cli.common import output, print_json
from treesim.cli.sparsity import picture
from treesim.errors import named
from treesim.model.tree import Tree
from treesim.system.progress import progress_bar

from ..bench.costs import robot_costs
from ..plotting.cost import save_sparsity
from .tables import new_table, print_notes

if TYPE_CHECKING:
    from rich.table import Table


TITLES = {
    "part": "parts",
    "dynamics": "forward dynamics",
    "operational": "inverse operational inertia",
    "space": "operational space by sparse rows",
}


def show_robot(
    robot: Tree, base: str, frames: Sequence[str] | None, repeats: int, plot: Path | None, json: bool
) -> None:
    """Print the costs on `robot`, as text or as JSON; draw the sparsity to `plot`."""
    with progress_bar("counting and timing"):
        facts = robot_costs(robot, base, frames, repeats)
    if plot is not None:
        save_sparsity(plot, robot)
    if json:
        print_json(facts)
        return
    console = output()
    console.print(f"{named(robot.name)}, {base} base: {facts['n_bodies']} bodies, nv {facts['nv']}, depth ", end="")
    console.print(f"{facts['limits']['depth']}; mass matrix, where it can differ from zero:")
    console.print(picture(robot.sparsity(), console.encoding), soft_wrap=True)
    for line in _limits(facts):
        console.print(line, soft_wrap=True)
    kinds = ("parts", "dynamics", "operational", "space")
    for kind in kinds:
        if facts[kind]:
            console.print(_table(facts[kind], facts["frames"]))
    traced = [row for kind in kinds for row in facts[kind] if row["specialized"] is not None]
    if traced:
        console.print(_specialized_table(traced))
    for purpose, advised in facts["advice"].items():
        console.print(f"advised for {purpose}: {advised['name']}: {advised['reason']}", soft_wrap=True)
    print_notes(facts["notes"])
    if plot is not None:
        console.print(f"wrote {plot}", soft_wrap=True)


def _limits(facts: dict[str, Any]) -> list[str]:
    """Return lines that compare D0, D1, D2 with their maxima, and the cost of factors with the rule of thumb."""
    limits = facts["limits"]
    largest, at_depth, by_rule, exact = (
        limits[key] for key in ("largest", "largest_at_depth", "by_rule", "by_formula")
    )
    return [
        f"D0 {limits['D0']} of at most {largest['D0']}; D1 {facts['D1']} of at most {largest['D1']}, "
        f"{at_depth['D1']} at this depth; D2 {facts['D2']} of at most {largest['D2']}, {at_depth['D2']} at this depth "
        "(F05 eq. 10 to 13, 16)",
        f"{limits['density']:.0%} of the matrix can differ from zero; operations to factor it {exact['factorize']}, by "
        f"this density's square {by_rule['factorize']:.0f}; to solve with the factors {exact['solve']}, by the density "
        f"{by_rule['solve']:.0f} (F05 section 4.1)",
    ]


def _table(rows: Sequence[dict[str, Any]], frames: Sequence[str]) -> Table:
    kind = rows[0]["kind"]
    title = TITLES[kind] + (f" of {', '.join(map(named, frames))}" if kind in ("operational", "space") else "")
    headings = ("mul", "add", "div", "mul", "add", "div", "sqrt", "trig", "depth", "min [us]", "median [us]")
    title = f"{title}: formula, then our kernels' own count"
    table = new_table(title, "", numbers=headings, last=["formula's source, notes"])
    for row in rows:
        name = f"{row['name']} (advised)" if row["advised"] else row["name"]
        table.add_row(name, *_operations(row), *_times(row), "; ".join(filter(None, (row["source"], row["note"]))))
    return table


def _specialized_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Return the table of straight-line code: its operations, and their fraction of the kernel's own."""
    title = "code specialized for this robot: operations on every state, and the share of the above counts"
    table = new_table(title, "", numbers=("mul", "add", "div", "sqrt", "trig", "depth", "operations", "share"))
    for row in rows:
        own, folded = (sum(row[key].values()) - row[key]["depth"] for key in ("counted", "specialized"))
        share = f"{folded / own:.0%}" if own else "-"
        name = f"{row['name']}, Λ⁻¹" if row["kind"] == "operational" else row["name"]
        table.add_row(name, *map(str, row["specialized"].values()), str(folded), share)
    return table


def _operations(row: dict[str, Any]) -> list[str]:
    formula, counted = row["formula"], row["counted"]
    cells = ["-"] * 3 if formula is None else [str(formula[key]) for key in ("mul", "add", "div")]
    return cells + (["-"] * 6 if counted is None else [str(count) for count in counted.values()])


def _times(row: dict[str, Any]) -> list[str]:
    seconds = (row["seconds"], row["seconds_median"])
    return ["-" if value is None else f"{1e6 * value:.2f}" for value in seconds]
