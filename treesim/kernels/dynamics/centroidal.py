"""Momentum of all bodies about their centre of mass, its matrix and its rate (Wensing and Orin 2016; WO16).

All vectors are along the world's axes, linear part first. Moments are taken about the centre of mass directly, so that
they do not lose digits far from the world's origin.
"""

from ..algebra.linear import Vector, add, cross, rotate, scale, sub
from ..algebra.rotations import compose
from ..algebra.spatial import Force, Motion, force_add, net_force, rigid_add, rigid_apply, rigid_column, rigid_to_parent
from ..algebra.tables import (
    body_inertia,
    body_transform_at,
    central_at,
    motion_at,
    put_linear_first,
    put_motion,
    put_rigid,
    put_transform,
    rigid_at,
    transform_at,
)
from ..entries.entry import entry
from ..entries.scratch import scratch_memory
from ..kinematics.bodies import body_transform, body_velocity, motions_for, place_bodies, start_energy
from ..kinematics.frame_motion import move_bodies, scratch_for
from .rjk import zero_force


def center_of_placed(tree, W):
    """Centre of mass G of bodies at poses W."""
    mass = tree.gravity[0] * 0
    moment = Vector(mass, mass, mass)
    for i in range(1, tree.n_bodies + 1):
        inertia, placement = central_at(tree.inertia, i), transform_at(W, i)
        mass = mass + inertia.m
        moment = add(moment, scale(add(rotate(placement.R, inertia.c), placement.p), inertia.m))
    return scale(moment, 1 / mass)


def about_center(placement, G, force):
    """Force on a body at a pose, along the world's axes and about G."""
    f = rotate(placement.R, force.f)
    return Force(add(rotate(placement.R, force.n), cross(sub(placement.p, G), f)), f)


def centroidal_momentum(tree, q, v, momentum, W, V):
    """h_G = Σ iX_G' I_i v_i (WO16)."""
    start_energy(tree, W, V)
    for i in range(1, tree.n_bodies + 1):
        X = body_transform(tree, i, q)
        put_transform(W, i, compose(transform_at(W, tree.parent[i]), X))
        put_motion(V, i, body_velocity(tree, i, X, motion_at(V, tree.parent[i]), v))
    G, h = center_of_placed(tree, W), zero_force(tree)
    for i in range(1, tree.n_bodies + 1):
        body_momentum = rigid_apply(body_inertia(tree, i), motion_at(V, i))
        h = force_add(h, about_center(transform_at(W, i), G, body_momentum))
    put_linear_first(momentum, 0, Motion(h.n, h.f))


centroidal_momentum_states = entry(
    centroidal_momentum, motions_for, q="nq", v="nv", momentum="-> 6", expands=True, angles=True
)


def centroidal_dynamics(tree, q, v, a, rate, W, V, A):
    """dh_G/dt = Σ iX_G' (I_i a_i + v_i x* I_i v_i), without gravity."""
    move_bodies(tree, q, v, a, W, V, A)
    G, net = center_of_placed(tree, W), zero_force(tree)
    for i in range(1, tree.n_bodies + 1):
        f = net_force(central_at(tree.inertia, i), motion_at(V, i), motion_at(A, i))
        net = force_add(net, about_center(transform_at(W, i), G, f))
    put_linear_first(rate, 0, Motion(net.n, net.f))


centroidal_dynamics_states = entry(
    centroidal_dynamics, scratch_for, q="nq", v="nv", a="nv", rate="-> 6", expands=True, angles=True
)


def centroidal_momentum_matrix(tree, q, A, W, X, Ic):
    """A_G: column k is iX_G' Ic_i S_k, for the composite inertia Ic_i that joint i of k moves (WO16)."""
    place_bodies(tree, q, W)
    G = center_of_placed(tree, W)
    for i in range(1, tree.n_bodies + 1):
        put_transform(X, i, body_transform(tree, i, q))
        put_rigid(Ic, i, body_inertia(tree, i))
    for i in range(tree.n_bodies, 0, -1):
        inertia, p = rigid_at(Ic, i), tree.parent[i]
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            h = about_center(transform_at(W, i), G, rigid_column(inertia, tree.screw[k]))
            put_linear_first(A[:, k], 0, Motion(h.n, h.f))
        if p > 0:
            put_rigid(Ic, p, rigid_add(rigid_at(Ic, p), rigid_to_parent(body_transform_at(tree, X, i), inertia)))


composites_for = scratch_memory("W 12, X 12, Ic 10")


centroidal_momentum_matrix_states = entry(
    centroidal_momentum_matrix, composites_for, q="nq", A="-> 6, nv'", expands=True, angles=True
)
