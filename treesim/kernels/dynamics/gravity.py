"""Gravity forces: inverse dynamics at rest (RBDA Table 5.1), in which all bodies accelerate as the base, by -g."""

from ..algebra.linear import cross, scale
from ..algebra.spatial import Force, force_add, force_component, force_to_parent, to_child
from ..algebra.tables import body_transform_at, central_at, force_at, put_force, put_transform
from ..entries.entry import entry
from ..entries.scratch import scratch_memory
from ..kinematics.bodies import base_acceleration, body_transform
from ..kinematics.configuration import put_vector, vector_at


def gravity_forces(tree, q, tau, X, F, a):
    """tau = ID(q, 0, 0): accelerations forward, forces backward."""
    put_vector(a[0], 0, base_acceleration(tree).lin)
    for i in range(1, tree.n_bodies + 1):
        Xi, body = body_transform(tree, i, q), central_at(tree.inertia, i)
        acceleration = to_child(Xi, vector_at(a[tree.parent[i]], 0))
        force = scale(acceleration, body.m)
        put_transform(X, i, Xi)
        put_vector(a[i], 0, acceleration)
        put_force(F, i, Force(cross(body.c, force), force))
    for i in range(tree.n_bodies, 0, -1):
        f, p = force_at(F, i), tree.parent[i]
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            tau[k] = force_component(f, tree.screw[k])  # tau_i = S' f
        if p > 0:
            put_force(F, p, force_add(force_at(F, p), force_to_parent(body_transform_at(tree, X, i), f)))  # f_λ += X' f


gravity_forces_states = entry(
    gravity_forces, scratch_memory("X 12, F 6, a 3"), q="nq", tau="-> nv'", expands=True, angles=True
)
