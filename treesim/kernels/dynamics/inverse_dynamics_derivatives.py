"""Derivatives of inverse dynamics, tau = ID(q, v, a), in q and v, with the mass matrix (Singh, Russell, Wensing 2022).

S. Singh, R. P. Russell, P. M. Wensing, Efficient analytical derivatives of rigid-body dynamics using spatial vector
algebra, IEEE Robotics and Automation Letters 7 (2022); SRW22. Derivatives in q are along the unit screws of the joints,
as in `Tree.integrate`.

All vectors of a subtree of the base have the axes and the origin of its first body. The paper's are the world's, with
errors that grow with the square of the distance. A joint of several degrees of freedom is one joint here, of which the
paper's equation holds without the term of its own force.
"""

from typing import Any, NamedTuple

from ..algebra.linear import Vector, add, cross, dot
from ..algebra.spatial import (
    Force,
    force_add,
    force_dot,
    force_sub,
    force_to_parent,
    rigid_add,
    rigid_apply,
    rigid_to_parent,
)
from ..algebra.tables import (
    body_inertia,
    force_at,
    motion_at,
    put_force,
    put_rigid,
    rigid_at,
    transform_at,
)
from ..entries.entry import MOVING, entry
from ..entries.scratch import scratch_memory
from ..kinematics.bodies import base_acceleration
from ..kinematics.screw_motion import move_body
from .coriolis import coriolis_factor, factor_add, factor_apply, factor_apply_transposed, factor_at, put_factor
from .crba import put_full

DQ, DV, MASS = 0, 1, 2  # places of the three matrices in a row of the result (nv, 3, nv)


class ScrewForces(NamedTuple):
    """Forces of degree of freedom k, on which its path to the base depends.

    v = 2 B S + I (Pd + Sd), q = 2 B Pd + I Pdd, mass = I S, and the moment back = 2 B' S, for the composite inertia I
    and factor B of its body (SRW22 eq. 50 to 53).
    """

    v: Force
    q: Force
    mass: Force
    back: Vector


# those of `move_body`; forces, composite inertias and factors
scratch_for = scratch_memory("W 12, V 6, A 6, F 6, Ic 10, Bc 12", "S 6, Pd 6, Pdd 6, Q 6")


def force_cross(v, f):
    """v x* f: rate of a force that moves with v (RBDA eq. 2.32)."""
    return Force(add(cross(v.ang, f.n), cross(v.lin, f.f)), cross(v.ang, f.f))


def twice(f):
    """2 f of a force."""
    return force_add(f, f)


def start_body(tree, i, q, v, a, f_ext, m):
    """Write the motion of body i (`move_body`), its inertia, factor B and force."""
    move_body(tree, i, q, v, a, base_acceleration(tree), m)
    W, velocity = transform_at(m.W, i), motion_at(m.V, i)
    inertia = rigid_to_parent(W, body_inertia(tree, i))
    f = force_add(rigid_apply(inertia, motion_at(m.A, i)), force_cross(velocity, rigid_apply(inertia, velocity)))
    if f_ext.shape[0] > 0:
        f = force_sub(f, force_to_parent(W, force_at(f_ext, i - 1)))
    put_rigid(m.Ic, i, inertia)
    put_factor(m.Bc, i, coriolis_factor(inertia, velocity))
    put_force(m.F, i, f)


def screw_forces(i, k, m):
    """Return the forces of degree of freedom k of body i."""
    inertia, B, S = rigid_at(m.Ic, i), factor_at(m.Bc, i), motion_at(m.S, k)
    v = force_add(twice(factor_apply(B, S)), rigid_apply(inertia, motion_at(m.Q, k)))
    q = force_add(twice(factor_apply(B, motion_at(m.Pd, k))), rigid_apply(inertia, motion_at(m.Pdd, k)))
    back = factor_apply_transposed(B, S).n
    return ScrewForces(v, q, rigid_apply(inertia, S), add(back, back))


def put_own_entries(tree, i, k, forces, D, H, put, m):
    """Write the entries between degree of freedom k and those of the same joint i."""
    for e in range(tree.v_start[i], tree.v_start[i + 1]):
        S = motion_at(m.S, e)
        D[e, DQ, k], D[e, DV, k] = force_dot(forces.q, S), force_dot(forces.v, S)
        if e < k:
            put(tree, H, k, e, force_dot(forces.mass, S))
    put(tree, H, k, k, force_dot(forces.mass, motion_at(m.S, k)) + tree.armature[k])


def put_path_entries(tree, i, k, forces, D, H, put, m):
    """Write the entries between degree of freedom k of joint i and those of its ancestors (SRW22 eq. 50 to 53)."""
    j = tree.parent[i]
    while j > 0:
        for e in range(tree.v_start[j], tree.v_start[j + 1]):
            S, Q = motion_at(m.S, e), motion_at(m.Q, e)
            D[e, DQ, k], D[e, DV, k] = force_dot(forces.q, S), force_dot(forces.v, S)
            D[k, DQ, e] = force_dot(forces.mass, motion_at(m.Pdd, e)) + dot(forces.back, motion_at(m.Pd, e).ang)
            D[k, DV, e] = force_dot(forces.mass, Q) + dot(forces.back, S.ang)
            put(tree, H, k, e, force_dot(forces.mass, S))
        j = tree.parent[j]


def derivatives_and_mass_matrix(tree, q, v, a, f_ext, D, H, put, m):
    """D = [dtau/dq, dtau/dv] at (q, v, a), row by row, and H stored by `put` (`crba`), both zero off the paths.

    Poses, velocities and accelerations outward; composite inertias, factors and forces inward, with the entries of each
    degree of freedom and its path. f_ext has N rows of six numbers in the bodies' axes, which move with them, or none.
    """
    for i in range(1, tree.n_bodies + 1):
        start_body(tree, i, q, v, a, f_ext, m)
    for i in range(tree.n_bodies, 0, -1):
        f = force_at(m.F, i)
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            forces = screw_forces(i, k, m)
            put_own_entries(tree, i, k, forces, D, H, put, m)
            q_force = force_add(forces.q, force_cross(motion_at(m.S, k), f))
            put_path_entries(tree, i, k, forces._replace(q=q_force), D, H, put, m)
        p = tree.parent[i]
        if p > 0:
            put_rigid(m.Ic, p, rigid_add(rigid_at(m.Ic, p), rigid_at(m.Ic, i)))
            put_factor(m.Bc, p, factor_add(factor_at(m.Bc, p), factor_at(m.Bc, i)))
            put_force(m.F, p, force_add(force_at(m.F, p), f))


def inverse_dynamics_derivatives(tree, q, v, a, f_ext, D, m: Any):
    """D = [dtau/dq, dtau/dv, H] at (q, v, a), each row of the three matrices side by side."""
    D.reshape(D.size)[:] = 0
    derivatives_and_mass_matrix(tree, q, v, a, f_ext, D, D[:, MASS], put_full, m)


inverse_dynamics_derivatives_states = entry(
    inverse_dynamics_derivatives,
    (scratch_for,),
    **MOVING,
    f_ext="N, 6 | none",
    D="-> nv', 3, nv'",
    expands=True,
    angles=True,
)
