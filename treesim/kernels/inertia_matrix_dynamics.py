"""Forward dynamics by the mass matrix: qdd = H^-1 (tau - C), H by CRBA, C by RNEA, H factored sparsely (F05)."""

from __future__ import annotations

import numpy as np

from .annotations import Reals, TableOfIntegers, TableOfReals
from .crba import mass_matrix, put_packed
from .ltdl import factorize as factorize_ltdl
from .ltdl import solve as solve_ltdl
from .ltl import factorize as factorize_ltl
from .ltl import solve as solve_ltl
from .rnea import inverse_dynamics
from .status import WRONG_SIZE, status_of
from .tables import dynamics_misfit, tree_tables


def bias_and_mass_matrix(tree, q, v, tau, f_ext, qdd, at_rest, C, X, Ic, V, A, F, H):
    """qdd <- tau - C(q, v), the right-hand side, and H, packed."""
    inverse_dynamics(tree, q, v, at_rest, f_ext, C, X, V, A, F)
    mass_matrix(tree, q, X, Ic, H, put_packed)
    for k in range(tree.nv):
        qdd[k] = tau[k] - C[k]


def solve_states(ints, reals, q, v, tau, f_ext, qdd, factorize, solve):
    """Forward dynamics of each state with a given factorization of the packed H and its solve."""
    tree = tree_tables(ints, reals)
    nq, nv, B = tree.nq, tree.nv, tree.n_bodies + 1
    count = q.size // nq
    if dynamics_misfit(tree, count, q, v, tau, f_ext, qdd):
        return WRONG_SIZE
    X, Ic, V = np.empty((B, 12), q.dtype), np.empty((B, 10), q.dtype), np.empty((B, 6), q.dtype)
    A, F, H = np.empty((B, 6), q.dtype), np.empty((B, 6), q.dtype), np.empty(tree.nnz, q.dtype)
    C, at_rest = np.empty(nv, q.dtype), np.zeros(nv, q.dtype)
    forces = f_ext.reshape((f_ext.size // 6, 6))
    rows = forces.shape[0] // count
    for s in range(count):
        y, w = slice(s * nq, (s + 1) * nq), slice(s * nv, (s + 1) * nv)
        fs = forces[s * rows : (s + 1) * rows]
        bias_and_mass_matrix(tree, q[y], v[w], tau[w], fs, qdd[w], at_rest, C, X, Ic, V, A, F, H)
        factorize(tree.dof_parent, tree.dof_depth, tree.row_start, H)
        solve(tree.dof_parent, tree.dof_depth, tree.row_start, H, qdd[w])
    return status_of(qdd)


def forward_dynamics_ltdl_states(
    ints: TableOfIntegers, reals: TableOfReals, q: Reals, v: Reals, tau: Reals, f_ext: Reals, qdd: Reals
) -> int:
    """Forward dynamics of each state by H = L' D L."""
    return solve_states(ints, reals, q, v, tau, f_ext, qdd, factorize_ltdl, solve_ltdl)


def forward_dynamics_ltl_states(
    ints: TableOfIntegers, reals: TableOfReals, q: Reals, v: Reals, tau: Reals, f_ext: Reals, qdd: Reals
) -> int:
    """Forward dynamics of each state by H = L' L."""
    return solve_states(ints, reals, q, v, tau, f_ext, qdd, factorize_ltl, solve_ltl)
