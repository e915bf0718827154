"""Centre of mass of all bodies: its motion, and its Jacobian by composite masses."""

from ..algebra.linear import Vector, add, cross, rotate, scale, sub
from ..algebra.spatial import net_force, rigid_apply, unit_scaled_add
from ..algebra.tables import body_inertia, central_at, motion_at, transform_at
from ..entries.entry import entry
from ..entries.scratch import scratch_memory
from .bodies import place_bodies, zero_motion
from .configuration import put_vector
from .frame_motion import move_bodies, scratch_for


def center_of_mass_motion(tree, W, V, A):
    """Return position, velocity and acceleration: sums of m c, of momenta and of net forces, divided by the mass."""
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


def center_of_mass(tree, q, v, a, out, W, V, A):
    """Position, velocity and acceleration of the centre of mass in world axes: out (9,)."""
    move_bodies(tree, q, v, a, W, V, A)
    position, velocity, acceleration = center_of_mass_motion(tree, W, V, A)
    put_vector(out, 0, position)
    put_vector(out, 3, velocity)
    put_vector(out, 6, acceleration)


center_of_mass_states = entry(
    center_of_mass, scratch_for, q="nq", v="nv", a="nv", out="-> 9", expands=True, angles=True
)


def jacobian_of_placed(tree, W, moment, mass, J):
    """Jacobian J (3, nv) in world axes, for bodies at poses W, by a backward sweep.

    Degree of freedom k moves the bodies that it supports, of mass m_k and first moment h_k, by the screw (w, u) at its
    body's origin p: J_k = (w x (h_k - m_k p) + m_k u) / m.
    """
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


def center_of_mass_jacobian(tree, q, J, W, moment, mass):
    """Jacobian J (3, nv) of the centre of mass at configuration q, in world axes."""
    place_bodies(tree, q, W)
    jacobian_of_placed(tree, W, moment, mass, J)


masses_for = scratch_memory("W 12, moment 3, mass")


center_of_mass_jacobian_states = entry(
    center_of_mass_jacobian, masses_for, q="nq", J="-> 3, nv'", expands=True, angles=True
)
