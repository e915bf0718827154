"""The centre of mass of all bodies: where it is, how it moves, and its Jacobian from composite masses."""

from __future__ import annotations

import numpy as np

from .annotations import Reals, TableOfIntegers, TableOfReals
from .frame_motion import move_bodies
from .kinematics import place_bodies, zero_motion
from .linear import Vector, add, cross, rotate, scale, sub
from .spatial import net_force, rigid_apply, unit_scaled_add
from .status import FINE, WRONG_SIZE
from .tables import body_inertia, central_at, motion_at, transform_at, tree_tables


def put_vector(out, start, a):
    """Write a vector to out[start:]."""
    out[start], out[start + 1], out[start + 2] = a.x, a.y, a.z


def center_of_mass_motion(tree, W, V, A):
    """Position, velocity and acceleration, of moving bodies: sums of m c, of momenta and of net forces, by the mass."""
    o = tree.gravity[0] * 0
    mass, moment, momentum, force = o, Vector(o, o, o), Vector(o, o, o), Vector(o, o, o)
    for i in range(1, tree.n_bodies + 1):
        inertia, placement = body_inertia(tree, i), transform_at(W, i)
        velocity, acceleration = motion_at(V, i), motion_at(A, i)
        mass = mass + inertia.m
        moment = add(moment, add(rotate(placement.R, inertia.h), scale(placement.p, inertia.m)))
        momentum = add(momentum, rotate(placement.R, rigid_apply(inertia, velocity).f))
        force = add(force, rotate(placement.R, net_force(central_at(tree.inertia, i), velocity, acceleration).f))
    return scale(moment, 1 / mass), scale(momentum, 1 / mass), scale(force, 1 / mass)


def center_of_mass_states(ints: TableOfIntegers, reals: TableOfReals, q: Reals, v: Reals, a: Reals, out: Reals) -> int:
    """Motion of the centre of mass in each state: out (count, 9), world axes."""
    tree = tree_tables(ints, reals)
    nq, nv = tree.nq, tree.nv
    count = q.size // nq
    if q.size != count * nq or v.size != count * nv or a.size != count * nv or out.size != count * 9:
        return WRONG_SIZE
    body = np.empty((tree.n_bodies + 1, 24), q.dtype)
    W, V, A = body[:, 0:12], body[:, 12:18], body[:, 18:24]
    for s in range(count):
        w = slice(s * nv, (s + 1) * nv)
        move_bodies(tree, q[s * nq : (s + 1) * nq], v[w], a[w], W, V, A)
        position, velocity, acceleration = center_of_mass_motion(tree, W, V, A)
        put_vector(out, 9 * s, position)
        put_vector(out, 9 * s + 3, velocity)
        put_vector(out, 9 * s + 6, acceleration)
    return FINE


def center_of_mass_jacobian(tree, W, moment, mass, J):
    """J (3, nv), world axes, of bodies placed at W: degree of freedom k moves what it carries, of mass m_k and first
    moment h_k, by the screw (w, u) at its body's origin p: J_k = (w x (h_k - m_k p) + m_k u) / m. Sweep inward."""
    for i in range(tree.n_bodies + 1):
        inertia, placement = body_inertia(tree, i), transform_at(W, i)
        mass[i] = inertia.m
        put_vector(moment[i], 0, add(rotate(placement.R, inertia.h), scale(placement.p, inertia.m)))
    for i in range(tree.n_bodies, 0, -1):
        p = tree.parent[i]
        mass[p] += mass[i]
        for c in range(3):
            moment[p, c] += moment[i, c]
    for i in range(1, tree.n_bodies + 1):
        placement = transform_at(W, i)
        arm = sub(Vector(moment[i, 0], moment[i, 1], moment[i, 2]), scale(placement.p, mass[i]))
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            screw = unit_scaled_add(zero_motion(tree), tree.screw[k], tree.placement[0, 0])
            w, u = rotate(placement.R, screw.ang), rotate(placement.R, screw.lin)
            put_vector(J[:, k], 0, scale(add(cross(w, arm), scale(u, mass[i])), 1 / mass[0]))


def center_of_mass_jacobian_states(ints: TableOfIntegers, reals: TableOfReals, q: Reals, J: Reals) -> int:
    """Jacobian of the centre of mass in each state: J (count, 3, nv), world axes."""
    tree = tree_tables(ints, reals)
    nq, nv = tree.nq, tree.nv
    count = q.size // nq
    if q.size != count * nq or J.size != count * 3 * nv:
        return WRONG_SIZE
    body = np.empty((tree.n_bodies + 1, 16), q.dtype)
    W, moment, mass = body[:, 0:12], body[:, 12:15], body[:, 15]
    for s in range(count):
        full = J[3 * nv * s : 3 * nv * (s + 1)].reshape((3, nv))
        place_bodies(tree, q[s * nq : (s + 1) * nq], W)
        center_of_mass_jacobian(tree, W, moment, mass, full)
    return FINE
