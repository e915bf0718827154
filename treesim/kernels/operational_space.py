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


def frame_rows(tree, q, v, motions, J, frames, body, packed, still):
    """Motions (24) of k frames while joints do not accelerate, and their rows of J, six each."""
    bodies, placement, reference = frames
    W, V, A = body[:, 0:12], body[:, 12:18], body[:, 18:24]
    motions[:] = 0
    move_bodies(tree, q, v, still, W, V, A)
    for f in range(bodies.size):
        i = bodies[f]
        frame_motion(transform_at(W, i), motion_at(V, i), motion_at(A, i), transform_at(placement, f), motions[f])
    packed_jacobian(tree, q, bodies, placement, reference, packed)
    unpack_jacobian(tree, bodies, packed, J)


def operational_rows(tree, q, v, motions, J, X, frames, body, packed, H, still):
    """Of k frames along the world's axes: motions (k, 24) while joints do not accelerate, J (m, nv), X = H^-1 J'
    (nv, m), m = 6 k."""
    frame_rows(tree, q, v, motions, J, frames, body, packed, still)
    divide_by_mass(tree, q, body, H, J, X)


def operational_rows_and_center(tree, q, v, motions, J, X, frames, body, packed, H, still):
    """The same with the centre of mass behind the frames: motions (k + 1, 24), m = 6 k + 3."""
    k = frames.bodies.size
    frame_rows(tree, q, v, motions, J, frames, body, packed, still)
    position, velocity, acceleration = center_of_mass_motion(tree, body[:, 0:12], body[:, 12:18], body[:, 18:24])
    put_vector(motions[k], 9, position)
    put_vector(motions[k], 12, velocity)
    put_vector(motions[k], 18, acceleration)
    jacobian_of_placed(tree, body[:, 0:12], body[:, 24:27], body[:, 27], J[6 * k :])
    divide_by_mass(tree, q, body, H, J, X)


def scratch_for(tree, codes, offsets, q):
    """The frames, and scratch memory for one state, of the numbers in q."""
    body, packed = np.empty((tree.n_bodies + 1, 28), q.dtype), np.empty((6 * (codes.size - 1), tree.nv), q.dtype)
    return frames_of(codes, offsets), body, packed, np.empty(tree.nnz, q.dtype), np.zeros(tree.nv, q.dtype)


operational_rows_states = entry(
    operational_rows,
    scratch_for,
    FRAMES,
    COUNT,
    q="nq",
    v="nv",
    motions=f"-> k, {NUMBERS}",
    J="-> 6 * k, nv",
    X="-> nv, 6 * k",
)
operational_rows_and_center_states = entry(
    operational_rows_and_center,
    scratch_for,
    FRAMES,
    COUNT,
    q="nq",
    v="nv",
    motions=f"-> k + 1, {NUMBERS}",
    J="-> 6 * k + 3, nv",
    X="-> nv, 6 * k + 3",
)
