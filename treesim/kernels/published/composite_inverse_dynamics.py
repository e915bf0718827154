"""Inverse dynamics with composite-body inertias: tau = ID(q, qd, qdd) (J91 eq. 29, Lemma 3.2).

The force through joint i is f = R a + y: R a as if all joints beyond were locked, y due to their motion. The recursions
for y (backward) and a (forward) are independent. J91 treats the system at rest; here the accelerations relative to the
parent include c = v x S qd, and the forces include b = v x* I v - f_ext.
"""

from ..algebra.spatial import (
    force_add,
    force_component,
    force_sub,
    force_to_parent,
    motion_add,
    motion_to_child,
    rigid_apply,
    velocity_force,
)
from ..algebra.tables import (
    body_inertia,
    body_transform_at,
    central_at,
    force_at,
    motion_at,
    put_force,
    put_motion,
    put_rigid,
    put_transform,
    rigid_at,
)
from ..dynamics.crba import add_to_parent
from ..entries.entry import entry
from ..entries.scratch import scratch_memory
from ..kinematics.bodies import base_acceleration, body_acceleration, body_transform, body_velocity, zero_motion


def inverse_dynamics_composite(tree, q, v, a, f_ext, tau, X, V, A, Y, R):
    """tau = ID(q, v, a): velocities forward, composite inertias and y backward, accelerations and forces forward.

    A contains first the acceleration S qdd + c of each body relative to its parent, then its acceleration. Y contains y
    + b.
    """
    put_motion(V, 0, zero_motion(tree))
    for i in range(1, tree.n_bodies + 1):
        Xi = body_transform(tree, i, q)
        velocity = body_velocity(tree, i, Xi, motion_at(V, tree.parent[i]), v)
        inertia = body_inertia(tree, i)
        put_transform(X, i, Xi)
        put_motion(V, i, velocity)
        put_motion(A, i, body_acceleration(tree, i, Xi, zero_motion(tree), velocity, v, a))
        put_rigid(R, i, inertia)
        put_force(Y, i, velocity_force(central_at(tree.inertia, i), velocity))
    for i in range(1, f_ext.shape[0] + 1):
        put_force(Y, i, force_sub(force_at(Y, i), force_at(f_ext, i - 1)))
    for i in range(tree.n_bodies, 0, -1):
        inertia = rigid_at(R, i)
        add_to_parent(tree, i, inertia, X, R)
        p = tree.parent[i]
        if p > 0:  # y_λ += X' (y + b + R (S qdd + c))
            y = force_add(force_at(Y, i), rigid_apply(inertia, motion_at(A, i)))
            put_force(Y, p, force_add(force_at(Y, p), force_to_parent(body_transform_at(tree, X, i), y)))
    put_motion(A, 0, base_acceleration(tree))
    for i in range(1, tree.n_bodies + 1):
        carried = motion_to_child(body_transform_at(tree, X, i), motion_at(A, tree.parent[i]))
        put_motion(A, i, motion_add(carried, motion_at(A, i)))
        f = force_add(rigid_apply(rigid_at(R, i), motion_at(A, i)), force_at(Y, i))  # f = R a + y + b
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            tau[k] = force_component(f, tree.screw[k]) + tree.armature[k] * a[k]  # tau_i = S' f


scratch_for = scratch_memory("X 12, V 6, A 6, Y 6, R 10")


inverse_dynamics_composite_states = entry(
    inverse_dynamics_composite, scratch_for, q="nq", v="nv", a="nv", f_ext="N, 6 | none", tau="-> nv'", expands=True
)
