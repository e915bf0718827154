"""Regressor of inverse dynamics: tau = Y(q, v, a) pi, linear in the inertial parameters pi of all bodies.

Inverse dynamics are linear in each body's I, h = m c and m (Atkeson, An and Hollerbach 1986). So column c of body i is
the force of a body whose parameter c is one and whose others are zero, propagated to the base.
"""

import numpy as np

from ..algebra.columns import columns_to_parent, put_column, start_columns
from ..algebra.linear import Vector, add, cross, rotate, rotate_back
from ..algebra.spatial import Force, Motion
from ..algebra.tables import body_transform_at, matrix_at, motion_at, put_motion, put_transform
from ..entries.entry import MOVING, entry
from ..entries.scratch import scratch_memory
from ..kinematics.bodies import base_acceleration, body_acceleration, body_transform, body_velocity, zero_motion

PARAMETERS = 10  # of a body: m; m c; I about the origin as xx, xy, yy, xz, yz, zz
COLUMNS = 16  # those of the parameters, and others that fill whole vectors


def unit(c, one):
    """Return the unit vector along axis c."""
    o = one * 0
    if c == 0:
        return Vector(one, o, o)
    if c == 1:
        return Vector(o, one, o)
    return Vector(o, o, one)


def unit_inertia(c, w, one):
    """I w, for an inertia about the origin of which entry c is one, in the order xx, xy, yy, xz, yz, zz."""
    o = one * 0
    if c == 0:
        return Vector(w.x, o, o)
    if c == 1:
        return Vector(w.y, w.x, o)
    if c == 2:
        return Vector(o, w.y, o)
    if c == 3:
        return Vector(w.z, o, w.x)
    if c == 4:
        return Vector(o, w.z, w.y)
    return Vector(o, o, w.z)


def parameter_force(c, v, a, one):
    """I a + v x* I v of a body whose parameter c is one and whose others are zero."""
    o = one * 0
    zero, w = Vector(o, o, o), v.ang
    acceleration = add(a.lin, cross(w, v.lin))  # classical, of the body's origin
    if c == 0:
        return Force(zero, acceleration)
    if c < 4:
        h = unit(c - 1, one)
        return Force(cross(h, acceleration), add(cross(a.ang, h), cross(w, cross(w, h))))
    return Force(add(unit_inertia(c - 4, a.ang, one), cross(w, unit_inertia(c - 4, w, one))), zero)


def own_axes(R, m):
    """Motion in the axes of the body's own frame, from kernel coordinates."""
    return Motion(rotate(R, m.ang), rotate(R, m.lin))


def kernel_axes(R, f):
    """Force in kernel coordinates, from the axes of the body's own frame."""
    return Force(rotate_back(R, f.n), rotate_back(R, f.f))


def torque_regressor(tree, q, v, a, Y, turns, X, V, A):
    """Y' at (q, v, a), (10 N, nv): velocities and accelerations outward, then each parameter's force to the base.

    turns: rotations from kernel coordinates to each body's own axes, in which the parameters are.
    """
    Y.reshape(Y.size)[:] = 0
    F = np.empty((6, COLUMNS), X.dtype)  # force of each parameter
    start_columns(F, PARAMETERS)
    own, one = turns.reshape((tree.n_bodies + 1, 9)), tree.placement[0, 0]
    put_motion(V, 0, zero_motion(tree))
    put_motion(A, 0, base_acceleration(tree))
    for i in range(1, tree.n_bodies + 1):
        Xi = body_transform(tree, i, q)
        velocity = body_velocity(tree, i, Xi, motion_at(V, tree.parent[i]), v)
        put_transform(X, i, Xi)
        put_motion(V, i, velocity)
        put_motion(A, i, body_acceleration(tree, i, Xi, motion_at(A, tree.parent[i]), velocity, v, a))
    for i in range(1, tree.n_bodies + 1):
        R = matrix_at(own, i)
        velocity, acceleration = own_axes(R, motion_at(V, i)), own_axes(R, motion_at(A, i))
        for c in range(PARAMETERS):
            put_column(F, c, kernel_axes(R, parameter_force(c, velocity, acceleration, one)))
        rows, j = Y[PARAMETERS * (i - 1) : PARAMETERS * i], i
        while j > 0:
            for k in range(tree.v_start[j], tree.v_start[j + 1]):
                for c in range(PARAMETERS):
                    rows[c, k] = F[tree.screw[k], c]
            if tree.parent[j] > 0:
                columns_to_parent(body_transform_at(tree, X, j), F, PARAMETERS)
            j = tree.parent[j]


scratch_for = scratch_memory("X 12, V 6, A 6")


torque_regressor_states = entry(
    torque_regressor,
    scratch_for,
    {"turns": "TableOfReals"},
    **MOVING,
    Y=f"-> {PARAMETERS} * N, nv'",
    expands=True,
    angles=True,
)
