"""Λ^-1 = J H^-1 J' by the sparse factors of H (F10, section 6), using only entries along the tasks' paths."""

import numpy as np

from ..dynamics.inertia_matrix_dynamics import factors
from ..dynamics.ltdl import factorize as factorize_ltdl
from ..dynamics.ltl import factorize as factorize_ltl
from ..entries.scratch import scratch_memory
from ..kinematics.bodies import stored_transform
from ..kinematics.frames import frames_of
from ..kinematics.jacobians import packed_jacobian
from .inverse_inertia import inverse_inertia_entry
from .sparse_rows import divide_ltdl, divide_ltl, multiply_rows


def last_of_rows(tree, bodies):
    """Return the last degree of freedom that moves each of the six rows of frames on `bodies`."""
    last = np.empty(6 * bodies.size, np.int64)
    for r in range(last.size):
        last[r] = tree.last_dof[bodies[r // 6]]
    return last


# transforms, composite inertias, packed H, and the rows Y and Z
scratch_for = scratch_memory(
    "X 12, Ic 10", given="codes", H="nnz", Y="6 * (codes.size - 1), nv | zeros", Z="6 * (codes.size - 1), nv | zeros"
)


def inverse_inertia(tree, q, out, frames, memory, factorize, divide):
    """Λ^-1 by the rows Y and Z that `divide` computes from J and the factors of H."""
    bodies, placement, reference = frames
    (X, Ic, H, Y, Z), last = memory, last_of_rows(tree, bodies)
    factors(tree, q, factorize, X, Ic, H)
    packed_jacobian(tree, stored_transform, X, bodies, placement, reference, Y)
    divide(tree.dof_parent, tree.dof_depth, tree.row_start, H, last, Y, Z)
    multiply_rows(tree.dof_parent, tree.dof_depth, last, Z, Y, out)


def inverse_inertia_ltdl(tree, q, out, frames, memory):
    """Λ^-1 = Y_D Y_d' by H = L' D L."""
    inverse_inertia(tree, q, out, frames, memory, factorize_ltdl, divide_ltdl)


def inverse_inertia_ltl(tree, q, out, frames, memory):
    """Λ^-1 = Y Y' by H = L' L."""
    inverse_inertia(tree, q, out, frames, memory, factorize_ltl, divide_ltl)


inverse_inertia_ltdl_states = inverse_inertia_entry(inverse_inertia_ltdl, (frames_of, scratch_for))
inverse_inertia_ltl_states = inverse_inertia_entry(inverse_inertia_ltl, (frames_of, scratch_for))
