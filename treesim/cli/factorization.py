"""`treesim scaling --factorization`: sparse LTDL beside LAPACK's dense Cholesky, time against operations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..bench.timing import interleaved, one_blas_thread
from .common import messages, output, print_json

if TYPE_CHECKING:
    from ..model.tree import Tree

PRINTED = {"binary_4": 7.8, "binary_8": 430.0, "grid_4": 5.3, "grid_16": 74.0}  # Featherstone 2005, below Table 2
WHAT_IS_TIMED = (
    "ltdl: our compiled kernel on H packed along the tree's paths; dense: LAPACK's dpotrf and dpotrs, from scipy, on "
    "the full H by columns, on one thread. Both copy H first, and both times include the call from Python. Operations: "
    "D1 + 2 D2 of the dense matrix over that of the tree"
)


def show_factorization(rounds: int, json: bool) -> None:
    """Print times and operations of factoring the mass matrix of the trees of Featherstone 2005, Table 2."""
    one_blas_thread()
    with messages().status("timing ..."):
        rows = [_row(family, robot, rounds) for family, robot in _trees()]
    if json:
        print_json({"rows": rows, "note": WHAT_IS_TIMED})
        return
    from rich.table import Table

    title = "LTDL against dense Cholesky: factor H, then solve for one vector (shortest of the rounds)"
    table = Table("tree", title=title, title_justify="left")
    headings = (
        "n",
        "D1",
        "D2",
        "operations",
        "printed",
        "ltdl [us]",
        "dense [us]",
        "time",
        "solve [us]",
        "dense [us]",
        "time",
    )
    for heading in headings:
        table.add_column(heading, justify="right")
    for row in rows:
        cells = [row["family"], *(str(row[key]) for key in ("n", "D1", "D2"))]
        cells += [f"{row['operation_ratio']:.1f}x", "" if row["printed"] is None else f"{row['printed']:g}"]
        for task in ("factorize", "solve"):
            times = row[task]
            cells += [f"{times[key]['min_us']:.2f}" for key in ("ltdl", "dense")] + [f"{times['ratio']:.1f}x"]
        table.add_row(*cells)
    console = output()
    console.print(table)
    console.print(f"note: {WHAT_IS_TIMED}", soft_wrap=True)


def _trees() -> Iterator[tuple[str, Tree]]:
    """The topologies of Table 2 with about 15, 63 and 255 bodies."""
    from ..model import generators as make

    for k in (2, 3, 4):
        n = 4**k - 1
        yield "chain", make.chain(n)
        yield "side branches", make.chain_with_side_branches((n + 1) // 2)
        yield "binary tree", make.balanced_binary_tree(2 * k)
        yield "square grid", make.square_grid(2**k)


def _row(family: str, robot: Tree, rounds: int) -> dict[str, Any]:
    from ..cost.factorization import dense_factors, sparse_factors
    from ..cost.featherstone_2005 import unbranched_counts

    tree = robot.topology
    D1, D2 = unbranched_counts(robot.nv)
    sparse, dense = sparse_factors(robot, robot.random(0), "ltdl"), dense_factors(robot, robot.random(0))
    row = {"family": family, "n": robot.nv, "D1": tree.D1, "D2": tree.D2, "printed": PRINTED.get(robot.name)}
    row["operation_ratio"] = (D1 + 2 * D2) / (tree.D1 + 2 * tree.D2)
    for task in ("factorize", "solve"):
        timed = interleaved({"ltdl": getattr(sparse, task), "dense": getattr(dense, task)}, rounds)
        times: dict[str, Any] = {name: asdict(timing) for name, timing in timed.items()}
        row[task] = {**times, "ratio": timed["dense"].min_us / timed["ltdl"].min_us}
    return row
