"""Forward dynamics by way of the bias: qdd = M^-1 (tau - C), C by RNEA, for any method that solves with M."""

from __future__ import annotations

import numpy as np

from .rnea import inverse_dynamics
from .status import FINE, WRONG_SIZE
from .tables import dynamics_misfit, tree_tables


def right_hand_sides(tree, count, q, v, tau, f_ext, x):
    """x <- tau - C of each state."""
    nq, nv, B = tree.nq, tree.nv, tree.n_bodies + 1
    body = np.empty((B, 30), q.dtype)  # one row of scratch each
    X, V, A, F = body[:, 0:12], body[:, 12:18], body[:, 18:24], body[:, 24:30]
    C, at_rest = np.empty(nv, q.dtype), np.zeros(nv, q.dtype)
    forces = f_ext.reshape((f_ext.size // 6, 6))
    rows = forces.shape[0] // count
    for s in range(count):
        y, w = slice(s * nq, (s + 1) * nq), slice(s * nv, (s + 1) * nv)
        inverse_dynamics(tree, q[y], v[w], at_rest, forces[s * rows : (s + 1) * rows], C, X, V, A, F)
        for k in range(nv):
            x[s * nv + k] = tau[s * nv + k] - C[k]


def forward_dynamics_states(ints, reals, q, v, tau, f_ext, qdd, scratch_for, solve):
    """Forward dynamics of each state; solve(tree, q, scratch, x) turns x into M^-1 x in place, with the memory that
    scratch_for(tree, q) lays out once. Shapes and coordinates as in `aba`."""
    tree = tree_tables(ints, reals)
    nq, nv = tree.nq, tree.nv
    count = q.size // nq
    if dynamics_misfit(tree, count, q, v, tau, f_ext, qdd):
        return WRONG_SIZE
    scratch = scratch_for(tree, q)
    right_hand_sides(tree, count, q, v, tau, f_ext, qdd)
    for s in range(count):
        solve(tree, q[s * nq : (s + 1) * nq], scratch, qdd[s * nv : (s + 1) * nv])
    return FINE
