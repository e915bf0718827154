"""Articulated-body algorithm: qdd = FD(q, qd, tau) in O(N), without precomputed bias (RBDA Table 7.1; J91 Lemma 6.5).

A joint with several degrees of freedom is eliminated one unit screw at a time, last first. This equals the block
elimination with D = S' IA S, and needs no inverse of a matrix.
"""

from ..algebra.spatial import (
    articulated,
    articulated_add,
    articulated_apply,
    articulated_column,
    articulated_downdate,
    articulated_to_parent,
    articulated_with_column,
    force_add,
    force_component,
    force_dot,
    force_scale,
    force_sub,
    force_to_parent,
    motion_add,
    motion_component,
    motion_to_child,
    motion_with_component,
    unit_cross,
    velocity_force,
    with_component,
)
from ..algebra.tables import (
    articulated_at,
    body_inertia,
    body_transform_at,
    central_at,
    force_at,
    motion_at,
    put_articulated,
    put_force,
    put_motion,
    put_transform,
)
from ..entries.entry import DRIVEN, entry
from ..entries.scratch import scratch_memory
from ..kinematics.bodies import base_acceleration, body_transform, body_velocity, zero_motion


def eliminate_screw(IA, pA, screw, armature, tau):
    """Eliminate one screw: return U = IA S, D^-1, nu = D^-1 u, and reduced IA and pA (RBDA eq. 7.43-7.47).

    D = S' U + rho, u = tau - S' pA. Along S, with the rotor inertia rho, (IA - U D^-1 U') S = U D^-1 rho and S' (pA + U
    nu) = tau - rho nu. These components are computed in this form. It is exact: without a rotor they are zero and tau.
    """
    U = articulated_column(IA, screw)
    D_inv = 1 / (force_component(U, screw) + armature)
    G = force_scale(U, D_inv)
    Ia = articulated_with_column(articulated_downdate(IA, U, G), screw, force_scale(G, armature))
    nu, pa = pass_force(pA, U, D_inv, screw, armature, tau)
    return U, D_inv, nu, Ia, pa


def pass_force(pA, U, D_inv, screw, armature, tau):
    """Return nu = D^-1 u of an eliminated screw, and the reduced bias force pA + U nu."""
    nu = (tau - force_component(pA, screw)) * D_inv
    return nu, with_component(force_add(pA, force_scale(U, nu)), screw, tau - armature * nu)


def release_screw(a, U, D_inv, nu, screw, armature):
    """Return qdd of one screw, and the acceleration a + S qdd after it (RBDA eq. 7.45; J91 eq. 46).

    With G = U D^-1, qdd = nu - G' a and S' G = 1 - D^-1 rho; so S' (a + S qdd) = nu - (G - S)' a. This form is used
    because, without a rotor, it does not depend on a along S.
    """
    G = with_component(force_scale(U, D_inv), screw, -armature * D_inv)  # G - S
    beyond = nu - force_dot(G, a)
    return beyond - motion_component(a, screw), motion_with_component(a, screw, beyond)


def velocity_product(tree, i, velocity, v):
    """c_i = v_i x S qd of joint i."""
    first = tree.v_start[i]
    c = unit_cross(velocity, tree.screw[first], v[first])
    for k in range(first + 1, tree.v_start[i + 1]):
        c = motion_add(c, unit_cross(velocity, tree.screw[k], v[k]))
    return c


def start_body(tree, q, v, X, V, C, IA, pA, i):
    """Write X, velocity, c, rigid-body inertia and bias force of body i."""
    Xi = body_transform(tree, i, q)
    velocity = body_velocity(tree, i, Xi, motion_at(V, tree.parent[i]), v)
    inertia = body_inertia(tree, i)
    put_transform(X, i, Xi)
    put_motion(V, i, velocity)
    put_motion(C, i, velocity_product(tree, i, velocity, v))
    put_articulated(IA, i, articulated(inertia))
    put_force(pA, i, velocity_force(central_at(tree.inertia, i), velocity))


def start_outward(tree, q, v, f_ext, X, V, C, IA, pA):
    """Forward sweep: velocities, and each body's own inertia and bias force."""
    put_motion(V, 0, zero_motion(tree))
    for i in range(1, tree.n_bodies + 1):
        start_body(tree, q, v, X, V, C, IA, pA, i)
    for i in range(1, f_ext.shape[0] + 1):
        put_force(pA, i, force_sub(force_at(pA, i), force_at(f_ext, i - 1)))


def articulate_body(tree, tau, X, C, IA, pA, U, D_inv, nu, i):
    """Write U, D^-1 and nu = D^-1 u of joint i, and add the reduced IA and pA to the parent's."""
    inertia, bias = articulated_at(IA, i), force_at(pA, i)
    for k in range(tree.v_start[i + 1] - 1, tree.v_start[i] - 1, -1):
        Uk, D_inv[k], nu[k], inertia, bias = eliminate_screw(inertia, bias, tree.screw[k], tree.armature[k], tau[k])
        put_force(U, k, Uk)
    p = tree.parent[i]
    if p > 0:
        bias = force_add(bias, articulated_apply(inertia, motion_at(C, i)))  # pa = pA + Ia c + U D^-1 u
        Xi = body_transform_at(tree, X, i)
        put_articulated(IA, p, articulated_add(articulated_at(IA, p), articulated_to_parent(Xi, inertia)))
        put_force(pA, p, force_add(force_at(pA, p), force_to_parent(Xi, bias)))


def articulate_inward(tree, tau, X, C, IA, pA, U, D_inv, nu):
    """Backward sweep: articulated inertias and bias forces."""
    for i in range(tree.n_bodies, 0, -1):
        articulate_body(tree, tau, X, C, IA, pA, U, D_inv, nu, i)


def accelerate_body(tree, X, C, U, D_inv, nu, qdd, A, i):
    """Write qdd of joint i, and the acceleration of body i."""
    Xi = body_transform_at(tree, X, i)
    a = motion_add(motion_to_child(Xi, motion_at(A, tree.parent[i])), motion_at(C, i))  # a' = X a_λ + c
    for k in range(tree.v_start[i], tree.v_start[i + 1]):
        qdd[k], a = release_screw(a, force_at(U, k), D_inv[k], nu[k], tree.screw[k], tree.armature[k])
    put_motion(A, i, a)


def accelerate_outward(tree, X, C, U, D_inv, nu, qdd, A):
    """Forward sweep: qdd, and the bodies' accelerations, with gravity as an acceleration of the base."""
    put_motion(A, 0, base_acceleration(tree))
    for i in range(1, tree.n_bodies + 1):
        accelerate_body(tree, X, C, U, D_inv, nu, qdd, A, i)


def forward_dynamics(tree, q, v, tau, f_ext, qdd, X, V, C, IA, pA, U, D_inv, nu):
    """qdd = FD(q, v, tau): forward sweep of velocities, backward sweep of inertias, forward sweep of accelerations.

    Accelerations overwrite V.
    """
    start_outward(tree, q, v, f_ext, X, V, C, IA, pA)
    articulate_inward(tree, tau, X, C, IA, pA, U, D_inv, nu)
    accelerate_outward(tree, X, C, U, D_inv, nu, qdd, V)


scratch_for = scratch_memory("X 12, V 6, C 6, IA 21, pA 6", "U 6, D_inv, nu")


forward_dynamics_states = entry(
    forward_dynamics, scratch_for, **DRIVEN, qdd="-> nv", follows="qdd", articulated=True, angles=True
)
