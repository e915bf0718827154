"""Λ, J̄ and N of an operational space: the dynamically consistent inverse and its null space, by sparse rows (F10).

Rows Y_D = J L_d^-1 D^-1 of frames are packed along their paths (`sparse_rows`); those of the centre of mass, after
them, are dense. H = L_d' D L_d.
"""

from typing import Any, NamedTuple

import numpy as np

from ..dynamics import ltdl
from ..entries.entry import entry
from ..entries.status import FINE, NOT_CONVERGED
from ..kinematics.frames import FRAMES, frames_of
from ..kinematics.jacobians import pack_jacobian
from .operational_space import CENTER, ROWS
from .operational_sparse import last_of_rows
from .scaled_inverse import scaled_inverse
from .sparse_rows import add_transposed_products, null_space, scatter_transposed


class Rows(NamedTuple):
    """Bodies of the frames, last degree of freedom of each row, and scratch memory for packed rows and a path."""

    bodies: Any
    last: Any
    packed: Any
    path: Any


def rows_of(tree, codes, offsets, number):
    """Return the rows of frames, with memory of the dtype of `number`."""
    bodies = frames_of(codes, offsets).bodies
    last = last_of_rows(tree, bodies)
    return Rows(bodies, last, np.empty((last.size, tree.nv), number.dtype), np.empty(tree.nv, np.int64))


def weighted_inverse(tree, A, Y, factors, out, rows):
    """out = L_d^-1 (Y_D' A): H^-1 J' A, which is J̄ for A = Λ (F10 eq. 33)."""
    parent, depth = tree.dof_parent, tree.dof_depth
    out.reshape(out.size)[:] = 0
    add_transposed_products(parent, depth, rows.last, Y, A, out, rows.path)
    for r in range(rows.last.size, Y.shape[0]):  # dense rows
        for k in range(tree.nv):
            for j in range(A.shape[1]):
                out[k, j] += Y[r, k] * A[r, j]
    ltdl.solve_lower_matrix(parent, depth, tree.row_start, factors, out)


weighted_inverse_states = entry(
    weighted_inverse,
    (rows_of,),
    FRAMES | CENTER | {"columns": "TableOfIntegers"},
    ROWS | {"w": "columns.size"},
    A="m, w",
    Y="m, nv",
    factors="nnz",
    out="-> nv, w",
)


def mass_jacobian(tree, Y, factors, X, rows):
    """X = H^-1 J' = L_d^-1 Y_D'."""
    parent, depth = tree.dof_parent, tree.dof_depth
    X.reshape(X.size)[:] = 0
    scatter_transposed(parent, depth, rows.last, Y, X)
    for r in range(rows.last.size, Y.shape[0]):  # dense rows
        for k in range(tree.nv):
            X[k, r] = Y[r, k]
    ltdl.solve_lower_matrix(parent, depth, tree.row_start, factors, X)


mass_jacobian_states = entry(mass_jacobian, (rows_of,), FRAMES | CENTER, ROWS, Y="m, nv", factors="nnz", X="-> nv, m")


def null_projection(tree, B, J, nullspace, rows):
    """N = 1 - B J (F10 eq. 10, with B = J̄)."""
    pack_jacobian(tree, rows.bodies, J, rows.packed)
    nullspace.reshape(nullspace.size)[:] = 0  # in a row, which is filled at once
    for i in range(tree.nv):
        for r in range(rows.last.size, J.shape[0]):  # dense rows
            for k in range(tree.nv):
                nullspace[i, k] -= B[i, r] * J[r, k]
    null_space(tree.dof_parent, tree.dof_depth, rows.last, rows.packed, B, nullspace, rows.path)


null_projection_states = entry(
    null_projection, (rows_of,), FRAMES | CENTER, ROWS, B="nv, m", J="m, nv", nullspace="-> nv, nv"
)


def consistent_inverse(tree, limits, inverse, J, Y, factors, inertia, jbar, nullspace, rows, work, scaled):
    """Λ from Λ^-1, J̄ = L_d^-1 (Y_D' Λ) (F10 eq. 33), and N = 1 - J̄ J (F10 eq. 10).

    Rows as in `operational_space`. limits: rtol and floor of `scaled_inverse`. Returns NOT_CONVERGED if full rank is
    not certain.
    """
    if not scaled_inverse(inverse, limits[0], limits[1], work, scaled, inertia):
        return NOT_CONVERGED
    weighted_inverse(tree, inertia, Y, factors, jbar, rows)
    null_projection(tree, jbar, J, nullspace, rows)
    return FINE


def scratch_for(tree, codes, offsets, center, inverse):
    """Scratch memory for one state, with the dtype of `inverse`."""
    rows = rows_of(tree, codes, offsets, inverse)
    m = rows.last.size + center.size
    return rows, np.empty((2, m), inverse.dtype), np.empty((m, m), inverse.dtype)


consistent_inverse_states = entry(
    consistent_inverse,
    scratch_for,
    FRAMES | CENTER | {"limits": "TableOfReals"},
    ROWS,
    returns_status=True,
    inverse="m, m",
    J="m, nv",
    Y="m, nv",
    factors="nnz",
    inertia="-> m, m",
    jbar="-> nv, m",
    nullspace="-> nv, nv",
)
