"""Recursive Newton-Euler algorithm: tau = ID(q, qd, qdd) (RBDA Table 5.1)."""

from ..algebra.spatial import force_add, force_component, force_sub, force_to_parent, net_force
from ..algebra.tables import body_transform_at, central_at, force_at, motion_at, put_force, put_motion, put_transform
from ..entries.entry import MOVING, entry
from ..entries.scratch import scratch_memory
from ..kinematics.bodies import base_acceleration, body_acceleration, body_transform, body_velocity, zero_motion


def inverse_dynamics(tree, q, v, a, f_ext, tau, X, V, A, F):
    """tau = ID(q, v, a): accelerations forward, forces backward. f_ext has N rows of six numbers, or none."""
    put_motion(V, 0, zero_motion(tree))
    put_motion(A, 0, base_acceleration(tree))
    for i in range(1, tree.n_bodies + 1):
        Xi = body_transform(tree, i, q)
        velocity = body_velocity(tree, i, Xi, motion_at(V, tree.parent[i]), v)
        acceleration = body_acceleration(tree, i, Xi, motion_at(A, tree.parent[i]), velocity, v, a)
        put_transform(X, i, Xi)
        put_motion(V, i, velocity)
        put_motion(A, i, acceleration)
        put_force(F, i, net_force(central_at(tree.inertia, i), velocity, acceleration))
    for i in range(1, f_ext.shape[0] + 1):
        put_force(F, i, force_sub(force_at(F, i), force_at(f_ext, i - 1)))
    joint_forces(tree, X, F, a, tau)


def joint_forces(tree, X, F, a, tau):
    """Backward sweep: tau = S' f, with the forces of rotors at accelerations a. Overwrites F."""
    for i in range(tree.n_bodies, 0, -1):
        f = force_at(F, i)
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            tau[k] = force_component(f, tree.screw[k]) + tree.armature[k] * a[k]  # tau_i = S' f
        p = tree.parent[i]
        if p > 0:
            put_force(F, p, force_add(force_at(F, p), force_to_parent(body_transform_at(tree, X, i), f)))  # f_λ += X' f


scratch_for = scratch_memory("X 12, V 6, A 6, F 6")


inverse_dynamics_states = entry(
    inverse_dynamics, scratch_for, **MOVING, f_ext="N, 6 | none", tau="-> nv'", expands=True, angles=True
)
