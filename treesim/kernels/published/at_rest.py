"""Inverse dynamics at rest: tau = H a, without velocity and gravity (J91, s. 3)."""

from ..algebra.spatial import motion_to_child, rigid_apply, unit_scaled_add
from ..algebra.tables import body_inertia, body_transform_at, motion_at, put_force, put_motion
from ..dynamics.rnea import joint_forces
from ..kinematics.bodies import zero_motion


def apply_mass_matrix(tree, X, a, tau, A, F):
    """tau = H a for the transforms X: accelerations forward, forces backward (J91 eq. 22, as a recursion)."""
    put_motion(A, 0, zero_motion(tree))
    for i in range(1, tree.n_bodies + 1):
        acceleration = motion_to_child(body_transform_at(tree, X, i), motion_at(A, tree.parent[i]))
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            acceleration = unit_scaled_add(acceleration, tree.screw[k], a[k])  # a_i = X a_λ + S qdd
        put_motion(A, i, acceleration)
        put_force(F, i, rigid_apply(body_inertia(tree, i), acceleration))
    joint_forces(tree, X, F, a, tau)
