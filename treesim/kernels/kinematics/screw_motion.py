"""Screws of all degrees of freedom and their rates, along the axes of each subtree's first body.

All vectors of a subtree of the base have the axes and the origin of its first body: they do not depend on where a
floating base is, and need no transforms to be added.
"""

from ..algebra.linear import Matrix, Vector, cross
from ..algebra.rotations import GENERAL, Transform, compose
from ..algebra.spatial import VX, WX, WY, Motion, motion_add, motion_cross, motion_scaled_add, motion_to_child
from ..algebra.tables import motion_at, put_motion, put_transform, transform_at
from .bodies import body_transform, zero_motion


def first_pose(tree):
    """Pose of a subtree's first body in its own axes: the identity."""
    o = tree.gravity[0] * 0
    return Transform(GENERAL, Matrix(o + 1, o, o, o, o + 1, o, o, o, o + 1), Vector(o, o, o))


def screw_at(W, k):
    """Return unit screw k of a body with the pose W, in the axes of W."""
    R, o = W.R, W.p.x * 0
    axis = k % VX
    a = Vector(R.xz, R.yz, R.zz)
    if axis == WX:
        a = Vector(R.xx, R.yx, R.zx)
    if axis == WY:
        a = Vector(R.xy, R.yy, R.zy)
    if k >= VX:
        return Motion(Vector(o, o, o), a)
    return Motion(a, cross(W.p, a))


def parent_motion(tree, i, table):
    """Return the parent's velocity or acceleration in a table, along the axes of body i's subtree; 0 of the base."""
    if tree.parent[i] == 0:
        return zero_motion(tree)
    return motion_at(table, tree.parent[i])


def move_body(tree, i, q, v, a, base, m):
    """Write pose W, velocity V and acceleration A of body i, and the screws of its joint.

    base: acceleration of the base. Of each degree of freedom, m has the screw S, and Pd = v_λ x S, Q = Pd + v x S and
    Pdd = a_λ x S + v_λ x Pd, for the velocity v of the body, and v_λ and a_λ of its parent (Singh, Russell, Wensing
    2022, eq. 7, 8).
    """
    p, X = tree.parent[i], body_transform(tree, i, q)
    W, v_parent, a_parent = first_pose(tree), zero_motion(tree), motion_to_child(X, base)
    if p > 0:
        W, v_parent, a_parent = compose(transform_at(m.W, p), X), motion_at(m.V, p), motion_at(m.A, p)
    velocity, acceleration = v_parent, a_parent
    for k in range(tree.v_start[i], tree.v_start[i + 1]):
        S = screw_at(W, tree.screw[k])
        Pd = motion_cross(v_parent, S)
        put_motion(m.S, k, S)
        put_motion(m.Pd, k, Pd)
        put_motion(m.Pdd, k, motion_add(motion_cross(a_parent, S), motion_cross(v_parent, Pd)))
        velocity = motion_scaled_add(velocity, S, v[k])
    for k in range(tree.v_start[i], tree.v_start[i + 1]):
        S = motion_at(m.S, k)
        Sd = motion_cross(velocity, S)
        put_motion(m.Q, k, motion_add(motion_at(m.Pd, k), Sd))
        acceleration = motion_scaled_add(motion_scaled_add(acceleration, S, a[k]), Sd, v[k])
    put_transform(m.W, i, W)
    put_motion(m.V, i, velocity)
    put_motion(m.A, i, acceleration)
