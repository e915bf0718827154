"""What the operational space of frames and the centre of mass is made of: their motions, J, and H^-1 J' (F10)."""

from __future__ import annotations

import numpy as np

from .annotations import Integer, Integers, Reals, TableOfIntegers, TableOfReals
from .center_of_mass import center_of_mass_jacobian, center_of_mass_motion, put_vector
from .crba import mass_matrix, put_packed
from .frame_motion import NUMBERS, frame_motion, move_bodies
from .ltdl import factorize, solve_matrix
from .operational import WORLD_AXES, packed_jacobian, unpack_jacobian
from .status import FINE, WRONG_SIZE
from .tables import motion_at, transform_at, tree_tables


def divide_by_mass(tree, q, body, H, J, X):
    """X = H^-1 J'."""
    mass_matrix(tree, q, body[:, 0:12], body[:, 12:22], H, put_packed)
    factorize(tree.dof_parent, tree.dof_depth, tree.row_start, H)
    for k in range(tree.nv):
        for r in range(J.shape[0]):
            X[k, r] = J[r, k]
    solve_matrix(tree.dof_parent, tree.dof_depth, tree.row_start, H, X)


def rows_states(
    ints: TableOfIntegers,
    reals: TableOfReals,
    bodies: Integers,
    offsets: Reals,
    centers: Integer,
    q: Reals,
    v: Reals,
    motions: Reals,
    J: Reals,
    X: Reals,
) -> int:
    """Of k frames and, with centers = 1, the centre of mass, in each state and along the world's axes: motions (count,
    k + centers, 24) while joints do not accelerate, J (count, m, nv), X = H^-1 J' (count, nv, m), m = 6 k + 3 centers.
    """
    tree = tree_tables(ints, reals)
    nq, nv, k = tree.nq, tree.nv, bodies.size
    count, m = q.size // nq, 6 * k + 3 * centers
    if count < 1 or q.size != count * nq or v.size != count * nv:
        return WRONG_SIZE
    if motions.size != count * (k + centers) * NUMBERS or J.size != count * m * nv or X.size != J.size:
        return WRONG_SIZE
    body, packed = np.empty((tree.n_bodies + 1, 28), q.dtype), np.empty((6 * k, nv), q.dtype)
    W, V, A, moment, mass = body[:, 0:12], body[:, 12:18], body[:, 18:24], body[:, 24:27], body[:, 27]
    H, still, fixed = np.empty(tree.nnz, q.dtype), np.zeros(nv, q.dtype), offsets.reshape((k, 12))
    motions[:] = 0
    rows = motions.reshape((count * (k + centers), NUMBERS))
    for s in range(count):
        qs, at = q[s * nq : (s + 1) * nq], s * (k + centers)
        Js, Xs = J[s * m * nv : (s + 1) * m * nv].reshape((m, nv)), X[s * m * nv : (s + 1) * m * nv].reshape((nv, m))
        move_bodies(tree, qs, v[s * nv : (s + 1) * nv], still, W, V, A)
        for f in range(k):
            i = bodies[f]
            frame_motion(transform_at(W, i), motion_at(V, i), motion_at(A, i), transform_at(fixed, f), rows[at + f])
        packed_jacobian(tree, qs, bodies, fixed, WORLD_AXES, packed)
        unpack_jacobian(tree, bodies, packed, Js)
        if centers == 1:
            position, velocity, acceleration = center_of_mass_motion(tree, W, V, A)
            put_vector(rows[at + k], 9, position)
            put_vector(rows[at + k], 12, velocity)
            put_vector(rows[at + k], 18, acceleration)
            center_of_mass_jacobian(tree, W, moment, mass, Js[6 * k :])
        divide_by_mass(tree, qs, body, H, Js, Xs)
    return FINE
