"""Jacobians and velocities of frames, and rows of Λ^-1 = J H^-1 J' (F10).

Rows of a frame are linear first, in the world's axes (about the frame's origin) or the frame's own. A row of a packed
Jacobian contains the columns along its body's path, root first; no other is non-zero (F10, s. 5).
"""

from ..algebra.linear import Matrix, Vector, add, cross, rotate, transpose
from ..algebra.rotations import GENERAL, Transform, compose, to_parent
from ..algebra.spatial import Motion, motion_to_child, unit_scaled_add
from ..algebra.tables import body_transform_at, motion_at, put_linear_first, put_motion, put_transform, transform_at
from ..entries.entry import entry
from ..entries.scratch import scratch_memory
from .bodies import body_transform, body_velocity, motions_for, path_placement, place_bodies, zero_motion
from .frames import COUNT, FRAMES, frames_of

WORLD_AXES, FRAME_AXES = 0, 1


def point_motion(m, offset, axes):
    """Motion of a frame at `offset` on a body with motion m (body coordinates), in coordinates rotated by `axes`.

    Returns the angular velocity and the linear velocity of the frame's origin.
    """
    lin = add(m.lin, cross(m.ang, offset.p))
    return Motion(rotate(axes, m.ang), rotate(axes, lin))


def frame_axes(W, offset, reference):
    """Rotation from body coordinates to the coordinates of a frame's rows, by `reference`."""
    if reference == WORLD_AXES:
        return W.R
    return transpose(offset.R)


def frame_jacobian_rows(tree, transform, q, body, offset, W, reference, J, start):
    """Six packed rows of a frame's Jacobian: J[start + r, depth of dof], by a backward sweep along the path of `body`.

    Each screw of the path is transformed to the frame; `toward` maps the current body's motions to `body`.
    """
    axes = frame_axes(W, offset, reference)
    i = body
    toward = transform_at(tree.placement, 0)  # body's frame in the current body: the identity to begin with
    while i > 0:
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            m = unit_scaled_add(zero_motion(tree), tree.screw[k], tree.placement[0, 0])
            m = point_motion(motion_to_child(toward, m), offset, axes)
            put_linear_first(J[:, tree.dof_depth[k]], start, m)
        toward = compose(transform(tree, i, q), toward)
        i = tree.parent[i]


def packed_jacobian(tree, transform, q, bodies, offsets, reference, J):
    """Packed Jacobian of all frames, six rows each; transform(tree, i, q) returns the bodies' transforms."""
    for f in range(bodies.size):
        W = path_placement(tree, transform, q, bodies[f])
        frame_jacobian_rows(tree, transform, q, bodies[f], transform_at(offsets, f), W, reference, J, 6 * f)


def unpack_jacobian(tree, bodies, J, dense):
    """Full Jacobian `dense` (6 frames, nv) of a packed one."""
    dense[:] = 0
    for f in range(bodies.size):
        k = tree.last_dof[bodies[f]]
        while k >= 0:
            for r in range(6 * f, 6 * f + 6):
                dense[r, k] = J[r, tree.dof_depth[k]]
            k = tree.dof_parent[k]


def pack_jacobian(tree, bodies, dense, J):
    """Packed Jacobian J of a full one."""
    for f in range(bodies.size):
        k = tree.last_dof[bodies[f]]
        while k >= 0:
            for r in range(6 * f, 6 * f + 6):
                J[r, tree.dof_depth[k]] = dense[r, k]
            k = tree.dof_parent[k]


def jacobian(tree, q, J, frames, memory):
    """Jacobians of all frames: J (6 k, nv)."""
    bodies, placement, reference = frames
    packed_jacobian(tree, body_transform, q, bodies, placement, reference, memory.packed)
    unpack_jacobian(tree, bodies, memory.packed, J)


packed_for = scratch_memory(given="codes", packed="6 * (codes.size - 1), nv")


jacobian_states = entry(jacobian, (frames_of, packed_for), FRAMES, COUNT, q="nq", J="-> 6 * k, nv'", expands=True)


def frame_velocity(tree, q, v, out, frames, memory):
    """Velocity of one frame: out (6,), linear first."""
    (bodies, placement, reference), (W, V) = frames, memory
    body, fixed = bodies[0], transform_at(placement, 0)
    place_bodies(tree, q, W)
    put_motion(V, 0, zero_motion(tree))
    for i in range(1, tree.n_bodies + 1):
        put_motion(V, i, body_velocity(tree, i, body_transform(tree, i, q), motion_at(V, tree.parent[i]), v))
    m = point_motion(motion_at(V, body), fixed, frame_axes(transform_at(W, body), fixed, reference))
    put_linear_first(out, 0, m)


frame_velocity_states = entry(
    frame_velocity, (frames_of, motions_for), FRAMES, q="nq", v="nv", out="-> 6", expands=True
)


def put_task_axes(tree, X, bodies, reference, W):
    """Write the world rotations of the tasks' bodies to W, from the transforms X along their paths.

    Does nothing unless `reference` is WORLD_AXES; rows do not depend on the poses otherwise.
    """
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
    """R = R_f by rows: row r is the force on `body` that is equivalent to a unit task force r of frame f."""
    offset = transform_at(offsets, f)
    axes = frame_axes(transform_at(W, body), offset, reference)
    for c in range(6):
        m = point_motion(unit_scaled_add(zero_motion(tree), c, tree.placement[0, 0]), offset, axes)
        put_linear_first(R[:, c], 0, m)
