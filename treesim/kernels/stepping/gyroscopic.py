"""Implicit gyroscopic term of free bodies; in semi-implicit Euler an explicit one would add energy.

A body on a floating joint of the base, without children, satisfies I (w+ - w) / h + w+ x I w+ = n, in its own axes,
about its centre of mass. One Newton step from w, with the explicit acceleration a of I a = n - w x I w, results in
(as Catto, Numerical Methods, GDC 2015)
    (I + h (w x I - (I w) x)) a+ = I a.
It dissipates energy where the explicit integrator adds it. The acceleration of the centre of mass does not change.
"""

from ..algebra.joints import FLOATING
from ..algebra.linear import Vector, add, cross, dot, scale, sub, symmetric_apply
from ..algebra.tables import central_at
from ..kinematics.configuration import put_vector, vector_at


def turns_by_itself(tree, i):
    """Return whether body i floats on the base, and has no children."""
    found = tree.parent[i] == 0 and tree.code[i] == FLOATING
    for j in range(i + 1, tree.n_bodies + 1):
        found = found and tree.parent[j] != i
    return found


def solve_three(x, y, z, b):
    """Solve the system whose matrix has the columns x, y, z by Cramer's rule."""
    yz = cross(y, z)
    d = dot(x, yz)
    return Vector(dot(b, yz) / d, dot(x, cross(b, z)) / d, dot(x, cross(y, b)) / d)


def changed_torque(S, D, w, h, a):
    """(S + D + h (w x S - (S w) x)) a."""
    Sa = symmetric_apply(S, a)
    gyroscopic = add(cross(a, symmetric_apply(S, w)), cross(w, Sa))
    return add(add(Sa, Vector(D.x * a.x, D.y * a.y, D.z * a.z)), scale(gyroscopic, h))


def implicit_turn(S, D, w, a, h):
    """Return a+ for inertia S, with D added to its diagonal, angular velocity w and explicit acceleration a."""
    o, one = h * 0, h * 0 + 1
    x = changed_torque(S, D, w, h, Vector(one, o, o))
    y = changed_torque(S, D, w, h, Vector(o, one, o))
    z = changed_torque(S, D, w, h, Vector(o, o, one))
    return solve_three(x, y, z, changed_torque(S, D, w, o, a))


def turn_implicitly(tree, v, h, diagonal, qdd, points):
    """Replace qdd of free bodies by that with the implicit gyroscopic term.

    diagonal: D and the rotor inertias. points <- the bodies' centres of mass, whose velocities are integrated.
    """
    for i in range(1, tree.n_bodies + 1):
        if turns_by_itself(tree, i):
            central, j = central_at(tree.inertia, i), tree.v_start[i]
            u, a = vector_at(qdd, j), vector_at(qdd, j + 3)
            turned = implicit_turn(central.I, vector_at(diagonal, j + 3), vector_at(v, j + 3), a, h)
            put_vector(qdd, j, add(u, cross(sub(a, turned), central.c)))
            put_vector(qdd, j + 3, turned)
            put_vector(points, 3 * i, central.c)
