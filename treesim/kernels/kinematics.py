"""Forward kinematics: placements, velocities, energy and momentum of the bodies (RBDA section 4.1, 5.3)."""

from __future__ import annotations

import numpy as np

from .annotations import Integer, Reals, TableOfIntegers, TableOfReals
from .joints import joint_transform
from .linear import Vector, add, dot, rotate, scale
from .rotations import compose
from .spatial import (
    Motion,
    force_add,
    force_dot,
    force_to_parent,
    motion_to_child,
    rigid_apply,
    unit_scaled_add,
)
from .status import FINE, WRONG_SIZE
from .tables import body_inertia, force_at, motion_at, put_motion, put_transform, transform_at, tree_tables


def zero_motion(tree):
    """The velocity of the base."""
    zero = tree.gravity[0] * 0
    return Motion(Vector(zero, zero, zero), Vector(zero, zero, zero))


def base_acceleration(tree):
    """-g as a spatial acceleration of the base, which stands for gravity on every body."""
    gravity = tree.gravity
    zero = gravity[0] * 0
    return Motion(Vector(zero, zero, zero), Vector(-gravity[0], -gravity[1], -gravity[2]))


def body_transform(tree, i, q):
    """X of body i at configuration q."""
    return joint_transform(tree.code[i], tree.kind[i], transform_at(tree.placement, i), q, tree.q_start[i])


def body_velocity(tree, i, X, v_parent, v):
    """v_i = X v_λ(i) + S qd (RBDA eq. 4.5)."""
    velocity = motion_to_child(X, v_parent)
    for k in range(tree.v_start[i], tree.v_start[i + 1]):
        velocity = unit_scaled_add(velocity, tree.screw[k], v[k])
    return velocity


def place_bodies(tree, q, W):
    """Outward sweep: W[i], the placement of every body in the world."""
    put_transform(W, 0, transform_at(tree.placement, 0))
    for i in range(1, tree.n_bodies + 1):
        put_transform(W, i, compose(transform_at(W, tree.parent[i]), body_transform(tree, i, q)))


def homogeneous(W, out, start):
    """Write a placement as the 16 numbers of its homogeneous matrix, by rows, to out[start:]."""
    R, p = W.R, W.p
    zero = R.xx * 0
    out[start], out[start + 1], out[start + 2], out[start + 3] = R.xx, R.xy, R.xz, p.x
    out[start + 4], out[start + 5], out[start + 6], out[start + 7] = R.yx, R.yy, R.yz, p.y
    out[start + 8], out[start + 9], out[start + 10], out[start + 11] = R.zx, R.zy, R.zz, p.z
    out[start + 12], out[start + 13], out[start + 14], out[start + 15] = zero, zero, zero, zero + 1


def body_poses_states(ints: TableOfIntegers, reals: TableOfReals, q: Reals, poses: Reals) -> int:
    """World poses of all bodies, base included: poses (count, N+1, 4, 4)."""
    tree = tree_tables(ints, reals)
    bodies = tree.n_bodies + 1
    count = q.size // tree.nq
    if q.size != count * tree.nq or poses.size != count * bodies * 16:
        return WRONG_SIZE
    W = np.empty((bodies, 12), q.dtype)
    for s in range(count):
        place_bodies(tree, q[s * tree.nq : (s + 1) * tree.nq], W)
        for i in range(bodies):
            homogeneous(transform_at(W, i), poses, (s * bodies + i) * 16)
    return FINE


def path_placement(tree, q, body):
    """W of one body: the transforms along its path to the base, composed inward."""
    W = transform_at(tree.placement, 0)
    i = body
    while i > 0:
        W = compose(body_transform(tree, i, q), W)
        i = tree.parent[i]
    return W


def frame_pose_states(
    ints: TableOfIntegers, reals: TableOfReals, body: Integer, offset: Reals, q: Reals, poses: Reals
) -> int:
    """World poses of the frame at `offset` (12 numbers: rotation, translation) on `body`: poses (count, 4, 4)."""
    tree = tree_tables(ints, reals)
    count = q.size // tree.nq
    if q.size != count * tree.nq or poses.size != count * 16:
        return WRONG_SIZE
    fixed = transform_at(offset.reshape((1, 12)), 0)
    for s in range(count):
        W = path_placement(tree, q[s * tree.nq : (s + 1) * tree.nq], body)
        homogeneous(compose(W, fixed), poses, s * 16)
    return FINE


def energy_and_momentum(tree, q, v, W, V, out):
    """Kinetic and potential energy, and the momentum about the world's origin: out = (T, U, linear, angular).

    T = Σ v' I v / 2; U = -Σ m g . c; the momentum of body i in world coordinates is 0Xi* I v.
    """
    place_bodies(tree, q, W)
    g = Vector(tree.gravity[0], tree.gravity[1], tree.gravity[2])
    put_motion(V, 0, zero_motion(tree))
    kinetic = potential = g.x * 0
    total = force_at(V, 0)
    for i in range(1, tree.n_bodies + 1):
        velocity = body_velocity(tree, i, body_transform(tree, i, q), motion_at(V, tree.parent[i]), v)
        put_motion(V, i, velocity)
        inertia = body_inertia(tree, i)
        placement = transform_at(W, i)
        momentum = rigid_apply(inertia, velocity)
        kinetic = kinetic + force_dot(momentum, velocity) / 2
        potential = potential - dot(g, add(rotate(placement.R, inertia.h), scale(placement.p, inertia.m)))
        total = force_add(total, force_to_parent(placement, momentum))
    for k in range(tree.nv):
        kinetic = kinetic + tree.armature[k] * v[k] * v[k] / 2  # the rotors
    out[0], out[1] = kinetic, potential
    out[2], out[3], out[4] = total.f.x, total.f.y, total.f.z
    out[5], out[6], out[7] = total.n.x, total.n.y, total.n.z


def energy_states(ints: TableOfIntegers, reals: TableOfReals, q: Reals, v: Reals, out: Reals) -> int:
    """Energies and momentum of each state: out (count, 8)."""
    tree = tree_tables(ints, reals)
    nq, nv = tree.nq, tree.nv
    count = q.size // nq
    if q.size != count * nq or v.size != count * nv or out.size != count * 8:
        return WRONG_SIZE
    W = np.empty((tree.n_bodies + 1, 12), q.dtype)
    V = np.empty((tree.n_bodies + 1, 6), q.dtype)
    for s in range(count):
        energy_and_momentum(tree, q[s * nq : (s + 1) * nq], v[s * nv : (s + 1) * nv], W, V, out[s * 8 : (s + 1) * 8])
    return FINE
