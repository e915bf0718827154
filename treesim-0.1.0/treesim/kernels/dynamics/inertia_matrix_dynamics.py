"""Forward dynamics by the mass matrix: qdd = H^-1 (tau - C), H by CRBA, factored sparsely (F05)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .crba import mass_matrix, put_packed
from .ltdl import factorize as factorize_ltdl
from .ltdl import solve as substitute_ltdl
from .ltl import factorize as factorize_ltl
from .ltl import solve as substitute_ltl
from .via_bias import right_hand_side, via_bias_entry


class Scratch(NamedTuple):
    """Transforms, composite inertias, and H packed by ancestor depth."""

    X: Any
    Ic: Any
    H: Any


def scratch_for(tree, q):
    """Scratch memory for a tree, with the dtype of q."""
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


def forward_dynamics_ltdl(tree, q, v, tau, f_ext, qdd, bias, memory):
    """qdd = H^-1 (tau - C) by H = L' D L."""
    right_hand_side(tree, q, v, tau, f_ext, qdd, bias)
    solve_ltdl(tree, q, memory, qdd)


def forward_dynamics_ltl(tree, q, v, tau, f_ext, qdd, bias, memory):
    """qdd = H^-1 (tau - C) by H = L' L."""
    right_hand_side(tree, q, v, tau, f_ext, qdd, bias)
    solve_ltl(tree, q, memory, qdd)


forward_dynamics_ltdl_states = via_bias_entry(forward_dynamics_ltdl, scratch_for)
forward_dynamics_ltl_states = via_bias_entry(forward_dynamics_ltl, scratch_for)
