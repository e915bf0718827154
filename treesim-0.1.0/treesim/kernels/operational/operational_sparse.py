"""Λ^-1 = J H^-1 J' by the sparse factors of H (F10, section 6), using only entries along the tasks' paths."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..dynamics.crba import mass_matrix, put_packed
from ..dynamics.ltdl import factorize as factorize_ltdl
from ..dynamics.ltl import factorize as factorize_ltl
from ..kinematics.bodies import stored_transform
from ..kinematics.frames import frames_of
from ..kinematics.jacobians import packed_jacobian
from .inverse_inertia import inverse_inertia_entry
from .sparse_rows import divide_ltdl, divide_ltl, multiply_rows


class Scratch(NamedTuple):
    """Transforms, composite inertias, packed H, last degree of freedom of each task row, and the rows Y and Z."""

    X: Any
    Ic: Any
    H: Any
    last: Any
    Y: Any
    Z: Any


def last_of_rows(tree, bodies):
    """Return the last degree of freedom that moves each of the six rows of frames on `bodies`."""
    last = np.empty(6 * bodies.size, np.int64)
    for r in range(last.size):
        last[r] = tree.last_dof[bodies[r // 6]]
    return last


def scratch_for(tree, codes, offsets, q):
    """Frames, and scratch memory for a tree and tasks, with the dtype of q."""
    frames = frames_of(codes, offsets)
    bodies = frames.bodies
    body, m = np.empty((tree.n_bodies + 1, 22), q.dtype), 6 * bodies.size
    H, Y, Z = np.empty(tree.nnz, q.dtype), np.zeros((m, tree.nv), q.dtype), np.zeros((m, tree.nv), q.dtype)
    return frames, Scratch(body[:, 0:12], body[:, 12:22], H, last_of_rows(tree, bodies), Y, Z)


def inverse_inertia_ltdl(tree, q, out, frames, memory):
    """Λ^-1 = Y_D Y_d' by H = L' D L."""
    bodies, placement, reference = frames
    X, Ic, H, last, Y, Z = memory
    mass_matrix(tree, q, X, Ic, H, put_packed)
    factorize_ltdl(tree.dof_parent, tree.dof_depth, tree.row_start, H)
    packed_jacobian(tree, stored_transform, X, bodies, placement, reference, Y)
    divide_ltdl(tree.dof_parent, tree.dof_depth, tree.row_start, H, last, Y, Z)
    multiply_rows(tree.dof_parent, tree.dof_depth, last, Z, Y, out)


def inverse_inertia_ltl(tree, q, out, frames, memory):
    """Λ^-1 = Y Y' by H = L' L."""
    bodies, placement, reference = frames
    X, Ic, H, last, Y, Z = memory
    mass_matrix(tree, q, X, Ic, H, put_packed)
    factorize_ltl(tree.dof_parent, tree.dof_depth, tree.row_start, H)
    packed_jacobian(tree, stored_transform, X, bodies, placement, reference, Y)
    divide_ltl(tree.dof_parent, tree.dof_depth, tree.row_start, H, last, Y, Z)
    multiply_rows(tree.dof_parent, tree.dof_depth, last, Z, Y, out)


inverse_inertia_ltdl_states = inverse_inertia_entry(inverse_inertia_ltdl, scratch_for)


inverse_inertia_ltl_states = inverse_inertia_entry(inverse_inertia_ltl, scratch_for)
