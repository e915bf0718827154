"""The gyroscopic term of bodies that turn by themselves, taken implicitly: semi-implicit Euler of it gains energy.

A body on a floating joint of the base that nothing hangs from obeys I (w+ - w) / h + w+ x I w+ = n, in its own axes,
about its centre of mass. One step of Newton's method from w, where the
explicit acceleration a obeys I a = n - w x I w, makes of it (as Catto, Numerical Methods, GDC 2015)

    (I + h (w x I - (I w) x)) a+ = I a,

which takes energy where the explicit rule adds it. The acceleration of the centre of mass stays as it is.
"""

from __future__ import annotations

from ..algebra.joints import FLOATING
from ..algebra.linear import Vector, add, cross, dot, scale, sub, symmetric_apply
from ..algebra.tables import central_at
from ..kinematics.configuration import put_vector, vector_at


def turns_by_itself(tree, i):
    """Whether body i floats on the base, and has no children."""
    found = tree.parent[i] == 0 and tree.code[i] == FLOATING
    for j in range(i + 1, tree.n_bodies + 1):
        found = found and tree.parent[j] != i
    return found


def solve_three(x, y, z, b):
    """The solution of the system whose matrix has these columns, by Cramer's rule."""
    yz = cross(y, z)
    d = dot(x, yz)
    return Vector(dot(b, yz) / d, dot(x, cross(b, z)) / d, dot(x, cross(y, b)) / d)


def changed_torque(S, D, w, h, a):
    """(S + D + h (w x S - (S w) x)) a."""
    Sa = symmetric_apply(S, a)
    gyroscopic = add(cross(a, symmetric_apply(S, w)), cross(w, Sa))
    return add(add(Sa, Vector(D.x * a.x, D.y * a.y, D.z * a.z)), scale(gyroscopic, h))


def implicit_turn(S, D, w, a, h):
    """a+ of a body of the inertia S, and D on its diagonal, that turns at w with the explicit acceleration a."""
    o, one = h * 0, h * 0 + 1
    x = changed_torque(S, D, w, h, Vector(one, o, o))
    y = changed_torque(S, D, w, h, Vector(o, one, o))
    z = changed_torque(S, D, w, h, Vector(o, o, one))
    return solve_three(x, y, z, changed_torque(S, D, w, o, a))


def turn_implicitly(tree, v, h, diagonal, qdd, points):
    """qdd <- with the gyroscopic terms of bodies that turn by themselves at the end of the step; diagonal: D and the
    rotor inertias; points <- their centres of mass, which are stepped as points are."""
    for i in range(1, tree.n_bodies + 1):
        if turns_by_itself(tree, i):
            central, j = central_at(tree.inertia, i), tree.v_start[i]
            u, a = vector_at(qdd, j), vector_at(qdd, j + 3)
            turned = implicit_turn(central.I, vector_at(diagonal, j + 3), vector_at(v, j + 3), a, h)
            put_vector(qdd, j, add(u, cross(sub(a, turned), central.c)))
            put_vector(qdd, j + 3, turned)
            put_vector(points, 3 * i, central.c)
