"""Sparse factors of a robot's mass matrix and LAPACK's dense Cholesky, as calls to be timed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from treesim.dynamics.mass_matrix import mass_matrix
from treesim.engine.call.generic import bound_call
from treesim.kernels.dynamics.factored import LTDL, LTL, SOLVE
from treesim.model.tree import Tree
from treesim.validation.values import known_name

KERNELS = {"ltdl": LTDL, "ltl": LTL}


class Factors(NamedTuple):
    """Two calls without arguments, on memory of their own.

    factorize: copies H and factors the copy. solve: copies a vector and solves for it. Both return the copy.
    """

    factorize: Callable[[], np.ndarray]
    solve: Callable[[], np.ndarray]


def sparse_factors(robot: Tree, q: Any, name: str) -> Factors:
    """Return the factorization ("ltdl" or "ltl") and the solve of the mass matrix at q (nq,), packed along paths.

    H is packed along the tree's paths, as in treesim's kernels. Raises UnknownNameError.
    """
    entries = KERNELS[known_name("factorization", name, KERNELS)]
    tree = robot.dof_topology
    depth = tree.dof_depth
    pattern = [np.array(table) for table in (tree.dof_parent - 1, depth - 1, np.cumsum(depth) - depth)]
    H = mass_matrix(robot, q)[tree.packed_pattern()]
    L, x, right = H.copy(), np.empty(robot.nv), np.ones(robot.nv)
    factorize_L, solve_x = bound_call(entries.factorize, *pattern, L), bound_call(entries.apply, *pattern, L, SOLVE, x)

    def factor() -> np.ndarray:
        L[:] = H
        factorize_L()
        return L

    def solve() -> np.ndarray:
        x[:] = right
        solve_x()
        return x

    factor()
    return Factors(factor, solve)


def dense_factors(robot: Tree, q: Any) -> Factors:
    """Return dense Cholesky (LAPACK's potrf through scipy) and solve (potrs) of the mass matrix at q (nq,)."""
    from scipy.linalg.lapack import dpotrf, dpotrs

    H = np.asfortranarray(mass_matrix(robot, q))
    L, x, right = H.copy(order="F"), np.empty(robot.nv), np.ones(robot.nv)

    def factor() -> np.ndarray:
        L[:] = H
        return dpotrf(L, lower=1, clean=0, overwrite_a=1)[0]

    def solve() -> np.ndarray:
        x[:] = right
        return dpotrs(L, x, lower=1, overwrite_b=1)[0]

    factor()
    return Factors(factor, solve)
