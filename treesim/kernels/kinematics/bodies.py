"""Forward kinematics: poses, velocities, energy and momentum of the bodies (RBDA section 4.1, 5.3)."""

from ..algebra.joints import joint_transform
from ..algebra.linear import Vector, add, dot, matmul_transposed, rotate, scale
from ..algebra.rotations import GENERAL, Transform, compose
from ..algebra.spatial import (
    Motion,
    force_add,
    force_dot,
    force_to_parent,
    motion_add,
    motion_to_child,
    rigid_apply,
    unit_cross,
    unit_scaled_add,
)
from ..algebra.tables import (
    body_inertia,
    body_transform_at,
    force_at,
    matrix_at,
    motion_at,
    put_linear_first,
    put_motion,
    put_transform,
    transform_at,
)
from ..entries.entry import entry
from ..entries.scratch import scratch_memory
from .frames import COUNT, FRAMES, frames_of


def zero_motion(tree):
    """Zero motion, such as the velocity of the base."""
    zero = tree.gravity[0] * 0
    return Motion(Vector(zero, zero, zero), Vector(zero, zero, zero))


def base_acceleration(tree):
    """-g as a spatial acceleration of the base, which replaces gravity on every body."""
    gravity = tree.gravity
    zero = gravity[0] * 0
    return Motion(Vector(zero, zero, zero), Vector(-gravity[0], -gravity[1], -gravity[2]))


def body_transform(tree, i, q):
    """X of body i at configuration q."""
    fixed = transform_at(tree.placement, i)
    return joint_transform(tree.code[i], tree.kind[i], fixed, tree.angles, q, tree.q_start[i])


def stored_transform(tree, i, X):
    """X of body i from the table X; same signature as `body_transform`."""
    return body_transform_at(tree, X, i)


def add_joint_velocity(tree, i, velocity, v):
    """velocity + S qd of joint i."""
    for k in range(tree.v_start[i], tree.v_start[i + 1]):
        velocity = unit_scaled_add(velocity, tree.screw[k], v[k])
    return velocity


def body_velocity(tree, i, X, v_parent, v):
    """v_i = X v_λ(i) + S qd (RBDA eq. 4.5)."""
    return add_joint_velocity(tree, i, motion_to_child(X, v_parent), v)


def body_acceleration(tree, i, X, a_parent, velocity, v, a):
    """a_i = X a_λ(i) + S qdd + v x S qd (RBDA eq. 4.7)."""
    acceleration = motion_to_child(X, a_parent)
    for k in range(tree.v_start[i], tree.v_start[i + 1]):
        acceleration = motion_add(acceleration, unit_cross(velocity, tree.screw[k], v[k]))
        acceleration = unit_scaled_add(acceleration, tree.screw[k], a[k])
    return acceleration


def place_bodies(tree, q, W):
    """Forward sweep: poses W[i] of all bodies in the world."""
    put_transform(W, 0, transform_at(tree.placement, 0))
    for i in range(1, tree.n_bodies + 1):
        put_transform(W, i, compose(transform_at(W, tree.parent[i]), body_transform(tree, i, q)))


def homogeneous(W, out):
    """Write a pose as a homogeneous matrix (4, 4)."""
    R, p = W.R, W.p
    zero = R.xx * 0
    out[0, 0], out[0, 1], out[0, 2], out[0, 3] = R.xx, R.xy, R.xz, p.x
    out[1, 0], out[1, 1], out[1, 2], out[1, 3] = R.yx, R.yy, R.yz, p.y
    out[2, 0], out[2, 1], out[2, 2], out[2, 3] = R.zx, R.zy, R.zz, p.z
    out[3, 0], out[3, 1], out[3, 2], out[3, 3] = zero, zero, zero, zero + 1


def body_poses(tree, q, poses, turns, W):
    """World poses of all bodies' own frames, base included.

    turns: rotations from kernel coordinates to each body's own axes.
    """
    place_bodies(tree, q, W)
    own = turns.reshape((tree.n_bodies + 1, 9))
    for i in range(tree.n_bodies + 1):
        X, R = transform_at(W, i), matrix_at(own, i)
        homogeneous(Transform(GENERAL, matmul_transposed(X.R, R), X.p), poses[i])


placements_for = scratch_memory("W 12")


body_poses_states = entry(
    body_poses, placements_for, {"turns": "TableOfReals"}, q="nq", poses="-> N + 1, 4, 4", expands=True, angles=True
)


def path_placement(tree, transform, q, body):
    """World pose of one body: its path's transforms, returned by transform(tree, i, q), composed from body to base."""
    W = transform_at(tree.placement, 0)
    i = body
    while i > 0:
        W = compose(transform(tree, i, q), W)
        i = tree.parent[i]
    return W


def frame_pose(tree, q, pose, frames):
    """World pose of one frame."""
    W = path_placement(tree, body_transform, q, frames.bodies[0])
    homogeneous(compose(W, transform_at(frames.placement, 0)), pose)


frame_pose_states = entry(frame_pose, (frames_of,), FRAMES, q="nq", pose="-> 4, 4", expands=True)


def frame_poses(tree, q, poses, frames, memory):
    """World poses of k frames."""
    place_bodies(tree, q, memory.W)
    for f in range(frames.bodies.size):
        homogeneous(compose(transform_at(memory.W, frames.bodies[f]), transform_at(frames.placement, f)), poses[f])


frame_poses_states = entry(
    frame_poses, (frames_of, placements_for), FRAMES, COUNT, q="nq", poses="-> k, 4, 4", expands=True, angles=True
)


def start_energy(tree, W, V):
    """Write pose and velocity of the base to row 0 of W and V."""
    put_transform(W, 0, transform_at(tree.placement, 0))
    put_motion(V, 0, zero_motion(tree))


def potential_energy(tree, i, placement):
    """-m g . c of body i at a pose."""
    inertia = body_inertia(tree, i)
    g = Vector(tree.gravity[0], tree.gravity[1], tree.gravity[2])
    return -dot(g, add(rotate(placement.R, inertia.h), scale(placement.p, inertia.m)))


def body_energy(tree, i, q, v, W, V):
    """Return kinetic energy v' I v / 2 and potential energy -m g . c of body i, its momentum I v, and its pose.

    The momentum is in the body's own axes. Writes W[i] and V[i], from those of its parent.
    """
    X = body_transform(tree, i, q)
    placement = compose(transform_at(W, tree.parent[i]), X)
    velocity = body_velocity(tree, i, X, motion_at(V, tree.parent[i]), v)
    put_transform(W, i, placement)
    put_motion(V, i, velocity)
    momentum = rigid_apply(body_inertia(tree, i), velocity)
    return force_dot(momentum, velocity) / 2, potential_energy(tree, i, placement), momentum, placement


def energy_and_momentum(tree, q, v, out, W, V):
    """Kinetic and potential energy, and the momentum about the world's origin: out = (T, U, linear, angular).

    T = Σ v' I v / 2; U = -Σ m g . c; the momentum of body i in world coordinates is 0Xi* I v.
    """
    start_energy(tree, W, V)
    kinetic = potential = tree.gravity[0] * 0
    total = force_at(V, 0)
    for i in range(1, tree.n_bodies + 1):
        T, U, momentum, placement = body_energy(tree, i, q, v, W, V)
        kinetic, potential = kinetic + T, potential + U
        total = force_add(total, force_to_parent(placement, momentum))
    for k in range(tree.nv):
        kinetic = kinetic + tree.armature[k] * v[k] * v[k] / 2  # the rotors
    out[0], out[1] = kinetic, potential
    put_linear_first(out, 2, Motion(total.n, total.f))


def potential_change(tree, q, q_new, W):
    """Return the potential energy at q_new minus that at q, summed body by body to reduce rounding errors.

    W: scratch memory, two tables of poses.
    """
    put_transform(W[0], 0, transform_at(tree.placement, 0))
    put_transform(W[1], 0, transform_at(tree.placement, 0))
    change = tree.gravity[0] * 0
    for i in range(1, tree.n_bodies + 1):
        put_transform(W[0], i, compose(transform_at(W[0], tree.parent[i]), body_transform(tree, i, q)))
        put_transform(W[1], i, compose(transform_at(W[1], tree.parent[i]), body_transform(tree, i, q_new)))
        change += potential_energy(tree, i, transform_at(W[1], i)) - potential_energy(tree, i, transform_at(W[0], i))
    return change


motions_for = scratch_memory(W="N + 1, 12", V="N + 1, 6")


energy_and_momentum_states = entry(
    energy_and_momentum, motions_for, q="nq", v="nv", out="-> 8", expands=True, angles=True
)
