"""Λ, J̄ and N for an operational space of full rank: the dynamically consistent inverse and its null space (F10)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..entries.entry import entry
from ..entries.status import FINE, NOT_CONVERGED
from ..kinematics.frames import FRAMES, frames_of
from ..kinematics.jacobians import pack_jacobian
from .operational_space import CENTER, ROWS
from .operational_sparse import last_of_rows
from .scaled_inverse import scaled_inverse
from .sparse_rows import four_sums, null_space, one_sum


class Scratch(NamedTuple):
    """Bodies of the frames, last degree of freedom of each row, packed rows; scratch memory for Λ and N."""

    bodies: Any
    last: Any
    packed: Any
    work: Any
    scaled: Any
    path: Any


def scratch_for(tree, codes, offsets, center, inverse):
    """Scratch memory for one state, with the dtype of `inverse`."""
    bodies = frames_of(codes, offsets).bodies
    last = last_of_rows(tree, bodies)
    rows = np.empty((last.size, tree.nv), inverse.dtype)
    m = last.size + center.size
    return Scratch(
        bodies,
        last,
        rows,
        np.empty((2, m), inverse.dtype),
        np.empty((m, m), inverse.dtype),
        np.empty(tree.nv, np.int64),
    )


def put_product(A, B, out):
    """out = A B."""
    count = B.shape[1]
    fours = count - count % 4
    for i in range(A.shape[0]):
        for j in range(0, fours, 4):
            out[i, j], out[i, j + 1], out[i, j + 2], out[i, j + 3] = four_sums(A[i], B, 0, B.shape[0], j)
        for j in range(fours, count):
            out[i, j] = one_sum(A[i], B, 0, B.shape[0], j)


def consistent_inverse(tree, limits, inverse, J, X, inertia, jbar, nullspace, scratch):
    """Λ from Λ^-1, J̄ = X Λ with X = H^-1 J' = L_d^-1 Y_D' (F10 eq. 33), and N = 1 - J̄ J (F10 eq. 10).

    Rows as in `operational_space`. limits: rtol and floor of `scaled_inverse`. Returns NOT_CONVERGED if full rank is
    not certain.
    """
    bodies, last, packed, work, scaled, path = scratch
    if not scaled_inverse(inverse, limits[0], limits[1], work, scaled, inertia):
        return NOT_CONVERGED
    put_product(X, inertia, jbar)
    pack_jacobian(tree, bodies, J, packed)
    nullspace.reshape(nullspace.size)[:] = 0  # in a row, which is filled at once
    for i in range(tree.nv):
        for r in range(last.size, J.shape[0]):  # full rows
            for k in range(tree.nv):
                nullspace[i, k] -= jbar[i, r] * J[r, k]
    null_space(tree.dof_parent, tree.dof_depth, last, packed, jbar, nullspace, path)
    return FINE


consistent_inverse_states = entry(
    consistent_inverse,
    scratch_for,
    FRAMES | CENTER | {"limits": "TableOfReals"},
    ROWS,
    returns_status=True,
    inverse="m, m",
    J="m, nv",
    X="nv, m",
    inertia="-> m, m",
    jbar="-> nv, m",
    nullspace="-> nv, nv",
)
