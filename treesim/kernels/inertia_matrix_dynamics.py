"""Forward dynamics by the mass matrix: qdd = H^-1 (tau - C), H by CRBA, factored sparsely (F05)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .annotations import Reals, TableOfIntegers, TableOfReals
from .bias_first import forward_dynamics_states
from .crba import mass_matrix, put_packed
from .ltdl import factorize as factorize_ltdl
from .ltdl import solve as substitute_ltdl
from .ltl import factorize as factorize_ltl
from .ltl import solve as substitute_ltl


class Scratch(NamedTuple):
    """Transforms, composite inertias, and H packed by ancestor depth."""

    X: Any
    Ic: Any
    H: Any


def scratch_for(tree, q):
    """Scratch memory for a tree, of the numbers in q."""
    body = np.empty((tree.n_bodies + 1, 22), q.dtype)
    return Scratch(body[:, 0:12], body[:, 12:22], np.empty(tree.nnz, q.dtype))


def solve_ltdl(tree, q, scratch, x):
    """x <- H^-1 x by H = L' D L, in place."""
    X, Ic, H = scratch
    mass_matrix(tree, q, X, Ic, H, put_packed)
    factorize_ltdl(tree.dof_parent, tree.dof_depth, tree.row_start, H)
    substitute_ltdl(tree.dof_parent, tree.dof_depth, tree.row_start, H, x)


def solve_ltl(tree, q, scratch, x):
    """x <- H^-1 x by H = L' L, in place."""
    X, Ic, H = scratch
    mass_matrix(tree, q, X, Ic, H, put_packed)
    factorize_ltl(tree.dof_parent, tree.dof_depth, tree.row_start, H)
    substitute_ltl(tree.dof_parent, tree.dof_depth, tree.row_start, H, x)


def forward_dynamics_ltdl_states(
    ints: TableOfIntegers, reals: TableOfReals, q: Reals, v: Reals, tau: Reals, f_ext: Reals, qdd: Reals
) -> int:
    """Forward dynamics of each state by H = L' D L."""
    return forward_dynamics_states(ints, reals, q, v, tau, f_ext, qdd, scratch_for, solve_ltdl)


def forward_dynamics_ltl_states(
    ints: TableOfIntegers, reals: TableOfReals, q: Reals, v: Reals, tau: Reals, f_ext: Reals, qdd: Reals
) -> int:
    """Forward dynamics of each state by H = L' L."""
    return forward_dynamics_states(ints, reals, q, v, tau, f_ext, qdd, scratch_for, solve_ltl)
