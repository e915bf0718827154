"""`treesim cost --tree`: the published costs on a tree that is typed in, and as its limbs get longer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from treesim.cli.common import output, print_json
from treesim.cli.topology_tables import connectivity, ranges, typed_bodies, typed_topology
from treesim.errors import ArgumentError, quoted

from ..cost.design import Cost, Design, costs, with_joints_per_limb
from ..cost.robot import limb_tips
from .tables import new_table

if TYPE_CHECKING:
    from rich.table import Table

PARAMETER = "joints_per_limb"
MOST_JOINTS = 200  # added to a limb


def show_tree(tree: str, dofs: str | None, frames: str | None, vary: str | None, json: bool) -> None:
    """Print the costs on a typed tree, and of its variations."""
    topology = typed_topology(tree, dofs)
    bodies = limb_tips(topology) if frames is None else typed_bodies("--frames", frames, topology)
    design = Design(topology, tuple(body for body in bodies if body))
    designs = [(k, with_joints_per_limb(design, k)) for k in _range(vary)]
    if json:
        print_json({
            **_record(design), PARAMETER: [{PARAMETER: k, **_record(longer)} for k, longer in designs],
        })  # fmt: skip
        return
    console = output()
    facts = connectivity(topology)
    console.print(
        f"N {facts['n_bodies']}, n {facts['nv']}, depth {facts['dof_depth']}, D1 {facts['D1']}, D2 {facts['D2']}, "
        f"{facts['mass_matrix_nonzeros']} of {facts['nv'] ** 2} entries of H; frames on bodies "
        f"{ranges(design.bodies) or 'none'}",
        soft_wrap=True,
    )
    console.print(_table(costs(design)))
    if designs:
        console.print(_table_by_joints(designs))


def _record(design: Design) -> dict[str, Any]:
    rows = [
        {
            "name": cost.name,
            "operations": None if cost.operations is None else cost.operations.as_dict(),
            "source": cost.source,
        }
        for cost in costs(design)
    ]
    return {**connectivity(design.tree), "frames": list(design.bodies), "costs": rows}


def _table(rows: list[Cost]) -> Table:
    table = new_table(None, "", numbers=("mul", "add", "div", "all"), last=["source"])
    for row in rows:
        counts = row.operations
        cells = ["-"] * 4 if counts is None else map(str, (counts.mul, counts.add, counts.div, counts.total))
        table.add_row(row.name, *cells, row.source)
    return table


def _table_by_joints(designs: list[tuple[int, Design]]) -> Table:
    """Return the table of all operations by joints added to each limb, and the ratio of the methods for Λ⁻¹."""
    first = costs(designs[0][1])
    names = [name for name in COLUMNS if any(row.name == name for row in first)]
    headings = (PARAMETER, "n", "D1", "D2", *names, *([RATIO] if RJK in names else []))
    table = new_table(f"operations, with {PARAMETER} joints more", numbers=headings)
    for k, design in designs:
        totals = {row.name: row.operations.total for row in costs(design) if row.operations is not None}
        cells = [k, design.tree.n_dofs, design.tree.D1, design.tree.D2, *(totals.get(name, "-") for name in names)]
        ratio = [f"{totals[RJK] / totals[SPARSE]:.4g}"] if RJK in names else []
        table.add_row(*map(str, cells), *ratio)
    return table


RJK, SPARSE = "Λ⁻¹ by RJK", "Λ⁻¹ with CRBA, by LTDL"
RATIO = "RJK / LTDL"
COLUMNS = ("forward dynamics by CRBA, LTDL", "forward dynamics by ABA", SPARSE, RJK)


def _range(text: str | None) -> range:
    """Return the numbers of "joints_per_limb=0..20"; raises ArgumentError for other texts."""
    if text is None:
        return range(0)
    found = re.fullmatch(rf"{PARAMETER}=(\d{{1,4}})\.\.(\d{{1,4}})", text.replace(" ", ""))
    if found is None or int(found[1]) > int(found[2]) or int(found[2]) > MOST_JOINTS:
        wanted = f"{PARAMETER}=FIRST..LAST, such as {PARAMETER}=0..20, up to {MOST_JOINTS}"
        raise ArgumentError(f"--vary must be {wanted}; got {quoted(text)}")
    return range(int(found[1]), int(found[2]) + 1)
