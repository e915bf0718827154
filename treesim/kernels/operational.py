"""Frames: Jacobians, velocities and the inverse operational-space inertia Λ^-1 = J H^-1 J' (F10).

Rows of a frame are linear first, along the world's axes (about the frame's origin) or the frame's own.
A row of a packed Jacobian holds the columns along its body's path, root first: nothing else is non-zero (F10 eq. 12).
"""

from __future__ import annotations

import numpy as np

from .annotations import Integer, Integers, Reals, TableOfIntegers, TableOfReals
from .kinematics import body_transform, body_velocity, path_placement, place_bodies, zero_motion
from .linear import Matrix, Vector, add, cross, rotate
from .rotations import GENERAL, Transform, compose, to_parent
from .spatial import Motion, motion_to_child, unit_scaled_add
from .status import FINE, WRONG_SIZE
from .tables import body_transform_at, motion_at, put_motion, put_transform, transform_at, tree_tables

WORLD_AXES, FRAME_AXES = 0, 1


def point_motion(m, offset, axes):
    """A body's motion m (body coordinates) as motion of a frame at `offset` on it: its origin's velocity and its
    rotation, in coordinates turned by `axes`: (linear, angular)."""
    lin = add(m.lin, cross(m.ang, offset.p))
    return Motion(rotate(axes, m.ang), rotate(axes, lin))


def frame_axes(W, offset, reference):
    """The rotation from body coordinates to the coordinates in which a frame's rows are wanted."""
    if reference == WORLD_AXES:
        return W.R
    R = offset.R
    return Matrix(R.xx, R.yx, R.zx, R.xy, R.yy, R.zy, R.xz, R.yz, R.zz)


def frame_jacobian_rows(tree, q, body, offset, W, reference, J, start):
    """The six packed rows of a frame's Jacobian: J[start + r, depth of dof], each screw of the path carried to the
    frame. Sweep along the path of `body`, inward; `toward` maps the current body's motions to `body`."""
    axes = frame_axes(W, offset, reference)
    i = body
    toward = transform_at(tree.placement, 0)  # body's frame in the current body: the identity to begin with
    while i > 0:
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            m = unit_scaled_add(zero_motion(tree), tree.screw[k], tree.placement[0, 0])
            m = point_motion(motion_to_child(toward, m), offset, axes)
            depth = tree.dof_depth[k]
            J[start, depth], J[start + 1, depth], J[start + 2, depth] = m.lin.x, m.lin.y, m.lin.z
            J[start + 3, depth], J[start + 4, depth], J[start + 5, depth] = m.ang.x, m.ang.y, m.ang.z
        toward = compose(body_transform(tree, i, q), toward)
        i = tree.parent[i]


def packed_jacobian(tree, q, bodies, offsets, reference, J):
    """The packed Jacobian of all frames: six rows each."""
    for f in range(bodies.size):
        W = path_placement(tree, q, bodies[f])
        frame_jacobian_rows(tree, q, bodies[f], transform_at(offsets, f), W, reference, J, 6 * f)


def unpack_jacobian(tree, bodies, J, dense):
    """The full Jacobian (6 frames, nv) of a packed one."""
    dense[:] = 0
    for f in range(bodies.size):
        k = tree.last_dof[bodies[f]]
        while k >= 0:
            for r in range(6 * f, 6 * f + 6):
                dense[r, k] = J[r, tree.dof_depth[k]]
            k = tree.dof_parent[k]


def jacobian_states(
    ints: TableOfIntegers, reals: TableOfReals, bodies: Integers, offsets: Reals, reference: Integer, q: Reals, J: Reals
) -> int:
    """Jacobians of all frames in each state: J (count, 6 frames, nv); offsets holds 12 numbers a frame."""
    tree = tree_tables(ints, reals)
    nq, nv, m = tree.nq, tree.nv, 6 * bodies.size
    count = q.size // nq
    if count < 1 or q.size != count * nq or J.size != count * m * nv:
        return WRONG_SIZE
    packed = np.empty((m, nv), q.dtype)
    for s in range(count):
        packed_jacobian(tree, q[s * nq : (s + 1) * nq], bodies, offsets.reshape((bodies.size, 12)), reference, packed)
        unpack_jacobian(tree, bodies, packed, J[s * m * nv : (s + 1) * m * nv].reshape((m, nv)))
    return FINE


def frame_velocity_states(
    ints: TableOfIntegers,
    reals: TableOfReals,
    body: Integer,
    offset: Reals,
    reference: Integer,
    q: Reals,
    v: Reals,
    out: Reals,
) -> int:
    """Velocity of a frame in each state: out (count, 6), linear first."""
    tree = tree_tables(ints, reals)
    nq, nv = tree.nq, tree.nv
    count = q.size // nq
    if q.size != count * nq or v.size != count * nv:
        return WRONG_SIZE
    V = np.empty((tree.n_bodies + 1, 6), q.dtype)
    W = np.empty((tree.n_bodies + 1, 12), q.dtype)
    fixed = transform_at(offset.reshape((1, 12)), 0)
    for s in range(count):
        qs, vs = q[s * nq : (s + 1) * nq], v[s * nv : (s + 1) * nv]
        place_bodies(tree, qs, W)
        put_motion(V, 0, zero_motion(tree))
        for i in range(1, tree.n_bodies + 1):
            put_motion(V, i, body_velocity(tree, i, body_transform(tree, i, qs), motion_at(V, tree.parent[i]), vs))
        m = point_motion(motion_at(V, body), fixed, frame_axes(transform_at(W, body), fixed, reference))
        out[6 * s], out[6 * s + 1], out[6 * s + 2] = m.lin.x, m.lin.y, m.lin.z
        out[6 * s + 3], out[6 * s + 4], out[6 * s + 5] = m.ang.x, m.ang.y, m.ang.z
    return FINE


def put_task_axes(tree, X, bodies, reference, W):
    """W of the tasks' bodies, as far as their rows look at it: the rotation to the world's axes, from the transforms X
    along the path, and only where rows go along the world's axes."""
    one, zero = tree.placement[0, 0], tree.placement[0, 1]
    if reference == WORLD_AXES:
        for f in range(bodies.size):
            x, y, z = Vector(one, zero, zero), Vector(zero, one, zero), Vector(zero, zero, one)
            i = bodies[f]
            while i > 0:
                Xi = body_transform_at(tree, X, i)
                x, y, z = to_parent(Xi, x), to_parent(Xi, y), to_parent(Xi, z)
                i = tree.parent[i]
            axes = Matrix(x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z)
            put_transform(W, bodies[f], Transform(GENERAL, axes, Vector(zero, zero, zero)))


def task_rows(tree, body, offsets, W, reference, f, R):
    """R = R_f, by rows: row r is the force on `body` that does the work of a unit task force r of frame f."""
    offset = transform_at(offsets, f)
    axes = frame_axes(transform_at(W, body), offset, reference)
    for c in range(6):
        m = point_motion(unit_scaled_add(zero_motion(tree), c, tree.placement[0, 0]), offset, axes)
        R[0, c], R[1, c], R[2, c] = m.lin.x, m.lin.y, m.lin.z
        R[3, c], R[4, c], R[5, c] = m.ang.x, m.ang.y, m.ang.z


def inverse_inertia_states(ints, reals, bodies, offsets, reference, q, out, scratch_for, compute):
    """Λ^-1 of the frames at `offsets` (12 numbers each) on `bodies`, in each state; out (count, m, m), m = 6 frames.

    compute(tree, q, bodies, frames, reference, scratch, out) does it for one state, with the memory that
    scratch_for(tree, bodies, q) lays out once.
    """
    tree = tree_tables(ints, reals)
    nq, m = tree.nq, 6 * bodies.size
    count = q.size // nq
    if count < 1 or q.size != count * nq or out.size != count * m * m:
        return WRONG_SIZE
    scratch = scratch_for(tree, bodies, q)
    frames = offsets.reshape((bodies.size, 12))
    for s in range(count):
        full = out[s * m * m : (s + 1) * m * m].reshape((m, m))
        compute(tree, q[s * nq : (s + 1) * nq], bodies, frames, reference, scratch, full)
    return FINE
