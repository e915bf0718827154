"""Frames: Jacobians, velocities and the inverse operational-space inertia Λ^-1 = J H^-1 J' (F10).

Rows of a frame are linear first, along the world's axes (about the frame's origin) or the frame's own.
A row of a packed Jacobian holds the columns along its body's path, root first: nothing else is non-zero (F10 eq. 12).
"""

from __future__ import annotations

import numpy as np

from .annotations import Integer, Integers, Reals, TableOfIntegers, TableOfReals
from .crba import mass_matrix, put_packed
from .kinematics import body_transform, body_velocity, path_placement, place_bodies, zero_motion
from .linear import Matrix, add, cross, rotate
from .ltdl import factorize as factorize_ltdl
from .ltl import factorize as factorize_ltl
from .rjk import articulated_quantities, inverse_inertia_blocks, load_block, mark_needed
from .rotations import compose
from .spatial import Motion, motion_to_child, unit_scaled_add
from .status import WRONG_SIZE, status_of
from .tables import motion_at, put_motion, transform_at, tree_tables

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
    if q.size != count * nq:
        return WRONG_SIZE
    packed = np.empty((m, nv), q.dtype)
    for s in range(count):
        packed_jacobian(tree, q[s * nq : (s + 1) * nq], bodies, offsets.reshape((bodies.size, 12)), reference, packed)
        unpack_jacobian(tree, bodies, packed, J[s * m * nv : (s + 1) * m * nv].reshape((m, nv)))
    return status_of(q)


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
    return status_of(out)


def divide_rows_ltdl(tree, L, bodies, Y, Z):
    """Y <- Y_d = J L^-1 for unit L, Z <- Y_D = Y_d D^-1: rows packed along their paths (F10 section 4)."""
    for r in range(6 * bodies.size):
        k = tree.last_dof[bodies[r // 6]]
        while k >= 0:
            depth, start = tree.dof_depth[k], tree.row_start[k]
            for e in range(depth):
                Y[r, e] -= Y[r, depth] * L[start + e]
            Z[r, depth] = Y[r, depth] / L[start + depth]
            k = tree.dof_parent[k]


def divide_rows_ltl(tree, L, bodies, Y, Z):
    """Y, Z <- J L^-1: rows packed along the paths to their bodies (F10 section 4)."""
    for r in range(6 * bodies.size):
        k = tree.last_dof[bodies[r // 6]]
        while k >= 0:
            depth, start = tree.dof_depth[k], tree.row_start[k]
            Z[r, depth] = Y[r, depth] = Y[r, depth] / L[start + depth]
            for e in range(depth):
                Y[r, e] -= Y[r, depth] * L[start + e]
            k = tree.dof_parent[k]


def common_depth(tree, p, q):
    """Degrees of freedom that the paths to p and q share."""
    while p != q:
        if p > q:
            p = tree.dof_parent[p]
        else:
            q = tree.dof_parent[q]
    return tree.dof_depth[p] + 1 if p >= 0 else 0


def products_of_rows(tree, bodies, Y, Z, out):
    """out = Y Z' over what two rows' paths share (F10 section 4, Y Y')."""
    m = 6 * bodies.size
    for r in range(m):
        for s in range(r + 1):
            total = Y[0, 0] * 0
            for e in range(common_depth(tree, tree.last_dof[bodies[r // 6]], tree.last_dof[bodies[s // 6]])):
                total += Y[r, e] * Z[s, e]
            out[r, s] = out[s, r] = total


def sparse_states(ints, reals, bodies, offsets, reference, q, out, factorize, divide_rows):
    """Λ^-1 = Z Y' of each state, with a factorization of H and the rows Y, Z that it makes of the Jacobian's."""
    tree = tree_tables(ints, reals)
    nq, nv, B, m = tree.nq, tree.nv, tree.n_bodies + 1, 6 * bodies.size
    count = q.size // nq
    if q.size != count * nq:
        return WRONG_SIZE
    body, H = np.empty((B, 22), q.dtype), np.empty(tree.nnz, q.dtype)
    X, Ic = body[:, 0:12], body[:, 12:22]
    Y, Z = np.empty((m, nv), q.dtype), np.empty((m, nv), q.dtype)
    for s in range(count):
        qs = q[s * nq : (s + 1) * nq]
        mass_matrix(tree, qs, X, Ic, H, put_packed)
        factorize(tree.dof_parent, tree.dof_depth, tree.row_start, H)
        packed_jacobian(tree, qs, bodies, offsets.reshape((bodies.size, 12)), reference, Y)
        divide_rows(tree, H, bodies, Y, Z)
        products_of_rows(tree, bodies, Z, Y, out[s * m * m : (s + 1) * m * m].reshape((m, m)))
    return status_of(out)


def inverse_inertia_ltdl_states(
    ints: TableOfIntegers,
    reals: TableOfReals,
    bodies: Integers,
    offsets: Reals,
    reference: Integer,
    q: Reals,
    out: Reals,
) -> int:
    """Λ^-1 = Y_D Y_d' of each state by H = L' D L; out (count, m, m), m = 6 frames."""
    return sparse_states(ints, reals, bodies, offsets, reference, q, out, factorize_ltdl, divide_rows_ltdl)


def inverse_inertia_ltl_states(
    ints: TableOfIntegers,
    reals: TableOfReals,
    bodies: Integers,
    offsets: Reals,
    reference: Integer,
    q: Reals,
    out: Reals,
) -> int:
    """Λ^-1 = Y Y' of each state by H = L' L; out (count, m, m), m = 6 frames."""
    return sparse_states(ints, reals, bodies, offsets, reference, q, out, factorize_ltl, divide_rows_ltl)


def frame_rows_of_block(tree, bodies, offsets, W, reference, f, B):
    """B <- R_f B: the motions in the columns of B as motions of frame f, linear first."""
    offset = transform_at(offsets, f)
    axes = frame_axes(transform_at(W, bodies[f]), offset, reference)
    for c in range(6):
        m = point_motion(motion_at(B.T, c), offset, axes)
        B[0, c], B[1, c], B[2, c] = m.lin.x, m.lin.y, m.lin.z
        B[3, c], B[4, c], B[5, c] = m.ang.x, m.ang.y, m.ang.z


def task_rows(tree, body, offsets, W, reference, f, R):
    """R = R_f, by rows: row r is the force on `body` that does the work of a unit task force r of frame f."""
    offset = transform_at(offsets, f)
    axes = frame_axes(transform_at(W, body), offset, reference)
    for c in range(6):
        m = point_motion(unit_scaled_add(zero_motion(tree), c, tree.placement[0, 0]), offset, axes)
        R[0, c], R[1, c], R[2, c] = m.lin.x, m.lin.y, m.lin.z
        R[3, c], R[4, c], R[5, c] = m.ang.x, m.ang.y, m.ang.z


def blocks_of_frames(tree, bodies, offsets, W, reference, Omega, B, out):
    """out = R Omega R', block by block (F10 eq. 60)."""
    for f in range(bodies.size):
        for g in range(f + 1):
            load_block(Omega, bodies[f], bodies[g], B)
            frame_rows_of_block(tree, bodies, offsets, W, reference, f, B)
            frame_rows_of_block(tree, bodies, offsets, W, reference, g, B.T)
            for r in range(6):
                for c in range(6):
                    out[6 * f + r, 6 * g + c] = out[6 * g + c, 6 * f + r] = B[r, c]


def inverse_inertia_rjk_states(
    ints: TableOfIntegers,
    reals: TableOfReals,
    bodies: Integers,
    offsets: Reals,
    reference: Integer,
    q: Reals,
    out: Reals,
) -> int:
    """Λ^-1 = R Omega R' of each state by RJK; out (count, m, m), m = 6 frames. Memory O(N^2) blocks."""
    tree = tree_tables(ints, reals)
    nq, nv, B, m = tree.nq, tree.nv, tree.n_bodies + 1, 6 * bodies.size
    count = q.size // nq
    if q.size != count * nq:
        return WRONG_SIZE
    W, X, P = np.empty((B, 12), q.dtype), np.empty((B, 12), q.dtype), np.empty((B, 21), q.dtype)
    U, D_inv, block = np.empty((nv, 6), q.dtype), np.empty(nv, q.dtype), np.empty((6, 6), q.dtype)
    Omega, need = np.empty((B, B, 6, 6), q.dtype), np.zeros((B, B), np.int64)
    frames = offsets.reshape((bodies.size, 12))
    mark_needed(tree.parent, bodies, need)
    for s in range(count):
        qs = q[s * nq : (s + 1) * nq]
        place_bodies(tree, qs, W)
        articulated_quantities(tree, qs, X, P, U, D_inv)
        inverse_inertia_blocks(tree, need, X, U, D_inv, block, Omega)
        blocks_of_frames(
            tree, bodies, frames, W, reference, Omega, block, out[s * m * m : (s + 1) * m * m].reshape((m, m))
        )
    return status_of(out)
