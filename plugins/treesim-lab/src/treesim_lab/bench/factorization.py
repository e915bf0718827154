"""Sparse factors compared with LAPACK's dense Cholesky: time, operations, and errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from operator import itemgetter
from typing import Any

from treesim.errors import named
from treesim.model import generators as make
from treesim.model.tree import Tree
from treesim.system.progress import counted

from ..cost.bounds import density
from ..cost.factorization import dense_factors, sparse_factors
from ..cost.factorization_errors import median_errors
from ..cost.featherstone_2005 import unbranched_counts
from .robots import bench_robot
from .timing import interleaved

PRINTED = {"binary_4": 7.8, "binary_8": 430.0, "grid_4": 5.3, "grid_16": 74.0}  # Featherstone 2005, below Table 2
WHAT_IS_TIMED = (
    "ltdl: our compiled kernel on H packed along the tree's paths; dense: LAPACK's dpotrf and dpotrs, from scipy, on "
    "the full H by columns, on one thread. Both copy H first, and both times include the call from Python. Operations: "
    "D1 + 2 D2 of the dense matrix over that of the tree"
)


def factorization_rows(rounds: int) -> list[dict[str, Any]]:
    """Return a row for each of the trees of Featherstone 2005, Table 2.

    Rows contain operations and times of factoring the mass matrix, and of solving with it, by sparse and by
    dense factors.
    """
    return [_row(family, robot, rounds) for family, robot in counted(list(_trees((2, 3, 4))), itemgetter(0))]


def factor_error_rows(
    names: Sequence[str],
    base: str,
    mimic: str | None,
    states: int,
    quick: bool,
    notes: list[str],
) -> Iterator[dict[str, Any]]:
    """Yield the errors of every factorization (`factorization_errors.Errors`) for each robot.

    Without robots: for each of the trees of Table 2 with up to 64 bodies (if quick, 16). Rows also contain the
    name, n, and the fraction of zeros in the mass matrix.
    """
    given = [(name, bench_robot(name, base, mimic, notes).tree) for name in names]
    for name, robot in counted(given or list(_trees((2,) if quick else (2, 3))), lambda of: named(of[0])):
        errors = {method: found._asdict() for method, found in median_errors(robot, states).items()}
        yield {"tree": name, "n": robot.nv, "zeros": 1 - density(robot.topology), "errors": errors}


def _trees(sizes: Sequence[int]) -> Iterator[tuple[str, Tree]]:
    """Yield the topologies of Table 2 with about 4^k - 1 bodies for each k of `sizes`."""
    for k in sizes:
        n = 4**k - 1
        yield "chain", make.chain(n)
        yield "side branches", make.chain_with_side_branches((n + 1) // 2)
        yield "binary tree", make.balanced_binary_tree(2 * k)
        yield "square grid", make.square_grid(2**k)


def _row(family: str, robot: Tree, rounds: int) -> dict[str, Any]:
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
