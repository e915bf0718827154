"""What the operational space of frames and the centre of mass is made of: their motions, J, and H^-1 J' (F10)."""

from __future__ import annotations

import numpy as np

from .center_of_mass import center_of_mass_motion, jacobian_of_placed, put_vector
from .crba import mass_matrix, put_packed
from .entry import entry
from .frame_motion import NUMBERS, frame_motion, move_bodies
from .frames import COUNT, FRAMES, frames_of
from .ltdl import factorize, solve_matrix
from .operational import packed_jacobian, unpack_jacobian
from .tables import motion_at, transform_at


def divide_by_mass(tree, q, body, H, J, X):
    """X = H^-1 J'."""
    mass_matrix(tree, q, body[:, 0:12], body[:, 12:22], H, put_packed)
    factorize(tree.dof_parent, tree.dof_depth, tree.row_start, H)
    for k in range(tree.nv):
        for r in range(J.shape[0]):
            X[k, r] = J[r, k]
    solve_matrix(tree.dof_parent, tree.dof_depth, tree.row_start, H, X)


def operational_rows(tree, centers, q, v, motions, J, X, frames, body, packed, H, still):
    """Of k frames and c = centers[0] centres of mass, 0 or 1, along the world's axes: motions (k + c, 24) while joints
    do not accelerate, J (m, nv), X = H^-1 J' (nv, m), m = 6 k + 3 c."""
    W, V, A, moment, mass = body[:, 0:12], body[:, 12:18], body[:, 18:24], body[:, 24:27], body[:, 27]
    bodies, placement, reference = frames
    k = bodies.size
    motions[:] = 0
    move_bodies(tree, q, v, still, W, V, A)
    for f in range(k):
        i = bodies[f]
        frame_motion(transform_at(W, i), motion_at(V, i), motion_at(A, i), transform_at(placement, f), motions[f])
    packed_jacobian(tree, q, bodies, placement, reference, packed)
    unpack_jacobian(tree, bodies, packed, J)
    if centers[0] == 1:
        position, velocity, acceleration = center_of_mass_motion(tree, W, V, A)
        put_vector(motions[k], 9, position)
        put_vector(motions[k], 12, velocity)
        put_vector(motions[k], 18, acceleration)
        jacobian_of_placed(tree, W, moment, mass, J[6 * k :])
    divide_by_mass(tree, q, body, H, J, X)


def scratch_for(tree, codes, offsets, q):
    """The frames, and scratch memory for one state, of the numbers in q."""
    body, packed = np.empty((tree.n_bodies + 1, 28), q.dtype), np.empty((6 * (codes.size - 1), tree.nv), q.dtype)
    return frames_of(codes, offsets), body, packed, np.empty(tree.nnz, q.dtype), np.zeros(tree.nv, q.dtype)


operational_rows_states = entry(
    operational_rows,
    scratch_for,
    {**FRAMES, "centers": "TableOfIntegers"},
    {**COUNT, "m": "6 * k + 3 * centers[0]"},
    q="nq",
    v="nv",
    motions=f"-> k + centers[0], {NUMBERS}",
    J="-> m, nv",
    X="-> nv, m",
)
