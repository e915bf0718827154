"""Coriolis matrix C(q, v) by a factorization at the level of bodies (Echeandia and Wensing 2021, Algorithm 1; EW21).

Of the matrices with C v = (bias - gravity), this is the one of Christoffel's symbols: dH/dt = C + C'. So dH/dt - 2 C is
skew-symmetric.
"""

from typing import NamedTuple

import numpy as np

from ..algebra.columns import column_at, columns_to_parent, put_column, start_columns
from ..algebra.linear import (
    Matrix,
    Vector,
    add,
    cross,
    dot,
    matrix_add,
    outer,
    rotate,
    rotate_back,
    scale,
    sub,
    symmetric_apply,
)
from ..algebra.numbers import in_vectors
from ..algebra.rotations import matrix_to_parent, to_parent
from ..algebra.spatial import (
    Force,
    force_add,
    force_component,
    force_dot,
    rigid_add,
    rigid_apply,
    rigid_column,
    rigid_to_parent,
    unit_cross,
    unit_scaled_add,
)
from ..algebra.tables import (
    body_inertia,
    body_transform_at,
    matrix_at,
    motion_at,
    put_motion,
    put_rigid,
    put_transform,
    rigid_at,
)
from ..entries.entry import entry
from ..entries.scratch import scratch_memory
from ..kinematics.bodies import body_transform, body_velocity, zero_motion
from .crba import LONGEST_LINE, first_of_line


class CoriolisFactor(NamedTuple):
    """A body's factor B = [N 0; -px 0] of its Coriolis forces B v, where p is its linear momentum (EW21).

    B = 1/2 ((v x*) I - I (v x) + f(I v)), for the matrix f(h) of the product m x* h by m.
    """

    N: Matrix
    p: Vector


def diagonal(s):
    """Return s 1."""
    o = s * 0
    return Matrix(s, o, o, o, s, o, o, o, s)


def coriolis_factor(inertia, v):
    """B of a rigid body at velocity v = (w, u): N = wx (I - tr(I)/2 1) + (u.h) 1 - u h', p = m u + w x h."""
    w, u, S = v.ang, v.lin, inertia.I
    half = (S.xx + S.yy + S.zz) / 2
    o = half * 0
    x = cross(w, sub(symmetric_apply(S, Vector(o + 1, o, o)), Vector(half, o, o)))
    y = cross(w, sub(symmetric_apply(S, Vector(o, o + 1, o)), Vector(o, half, o)))
    z = cross(w, sub(symmetric_apply(S, Vector(o, o, o + 1)), Vector(o, o, half)))
    N = matrix_add(Matrix(x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z), diagonal(dot(u, inertia.h)))
    return CoriolisFactor(matrix_add(N, outer(scale(u, -1), inertia.h)), rigid_apply(inertia, v).f)


def factor_add(a, b):
    """Return a + b of factors B."""
    return CoriolisFactor(matrix_add(a.N, b.N), add(a.p, b.p))


def factor_to_parent(X, B):
    """X' B X: rotate N and p, then shift the origin by r: N + (r.p) 1 - p r'."""
    r, p = X.p, to_parent(X, B.p)
    N = matrix_add(matrix_to_parent(X, B.N), diagonal(dot(r, p)))
    return CoriolisFactor(matrix_add(N, outer(scale(p, -1), r)), p)


def factor_apply(B, m):
    """B m = (N w, w x p), for a motion m = (w, u)."""
    return Force(rotate(B.N, m.ang), cross(m.ang, B.p))


def factor_apply_transposed(B, m):
    """B' m = (N' w + p x u, 0), for a motion m = (w, u)."""
    o = B.p.x * 0
    return Force(add(rotate_back(B.N, m.ang), cross(B.p, m.lin)), Vector(o, o, o))


def factor_at(A, i):
    """Factor B in row i."""
    return CoriolisFactor(matrix_at(A, i), Vector(A[i, 9], A[i, 10], A[i, 11]))


def put_factor(A, i, B):
    """Write a factor B to row i."""
    N = B.N
    A[i, 0], A[i, 1], A[i, 2] = N.xx, N.xy, N.xz
    A[i, 3], A[i, 4], A[i, 5] = N.yx, N.yy, N.yz
    A[i, 6], A[i, 7], A[i, 8] = N.zx, N.zy, N.zz
    A[i, 9], A[i, 10], A[i, 11] = B.p.x, B.p.y, B.p.z


# transforms, velocities, composite inertias and composite factors
scratch_for = scratch_memory("X 12, V 6, Ic 10, Bc 12")


def start_joint(tree, j, end, F, C, m):
    """Write the forces of joint j to columns, those of k to column end - 1 - k, and its own entries of C.

    F: forces F1 = Ic Sd + Bc S, F2 = Ic S, F3 = Bc' S. Adds Ic and Bc to those of the parent.
    """
    inertia, B = rigid_at(m.Ic, j), factor_at(m.Bc, j)
    for k in range(tree.v_start[j], tree.v_start[j + 1]):
        S, Sd = unit_scaled_add(zero_motion(tree), tree.screw[k], tree.placement[0, 0]), screw_rate(tree, j, k, m.V)
        F1 = force_add(rigid_apply(inertia, Sd), factor_apply(B, S))
        put_column(F[0], end - 1 - k, F1)
        put_column(F[1], end - 1 - k, rigid_column(inertia, tree.screw[k]))
        put_column(F[2], end - 1 - k, factor_apply_transposed(B, S))
        for e in range(tree.v_start[j], tree.v_start[j + 1]):
            C[e, k] = force_component(F1, tree.screw[e])
    p = tree.parent[j]
    if p > 0:
        X = body_transform_at(tree, m.X, j)
        put_rigid(m.Ic, p, rigid_add(rigid_at(m.Ic, p), rigid_to_parent(X, inertia)))
        put_factor(m.Bc, p, factor_add(factor_at(m.Bc, p), factor_to_parent(X, B)))


def coriolis_line(tree, first, last, C, m):
    """Entries of C between the degrees of freedom of the bodies first .. last of a line and those and their ancestors.

    Their forces are in columns (`start_joint`), to which every body of the line adds its own on the way to the base.
    """
    F = np.empty((3, 6, LONGEST_LINE), C.dtype)
    end = begin = tree.v_start[last + 1]
    for r in range(3):
        start_columns(F[r], end - tree.v_start[first])
    i = last
    while i > 0:
        for e in range(tree.v_start[i], tree.v_start[i + 1]):
            Sd = screw_rate(tree, i, e, m.V)
            for c in range(end - begin):
                k = end - 1 - c
                C[e, k] = F[0, tree.screw[e], c]  # C_ij = S_i' F1, C_ji = Sd_i' F2 + S_i' F3
                C[k, e] = force_dot(column_at(F[1], c), Sd) + F[2, tree.screw[e], c]
        if i >= first:
            start_joint(tree, i, end, F, C, m)
            begin = tree.v_start[i]
        if tree.parent[i] > 0:
            X = body_transform_at(tree, m.X, i)
            for r in range(3):
                columns_to_parent(X, F[r], end - begin)
        i = tree.parent[i]


def screw_rate(tree, i, k, V):
    """Sd = v x S of degree of freedom k of body i."""
    return unit_cross(motion_at(V, i), tree.screw[k], tree.placement[0, 0])


def coriolis_matrix(tree, q, v, C, m):
    """C at (q, v): velocities outward; composite inertias and factors inward, each column along its path."""
    C.reshape(C.size)[:] = 0
    put_motion(m.V, 0, zero_motion(tree))
    for i in range(1, tree.n_bodies + 1):
        X = body_transform(tree, i, q)
        velocity, inertia = body_velocity(tree, i, X, motion_at(m.V, tree.parent[i]), v), body_inertia(tree, i)
        put_transform(m.X, i, X)
        put_motion(m.V, i, velocity)
        put_rigid(m.Ic, i, inertia)
        put_factor(m.Bc, i, coriolis_factor(inertia, velocity))
    last = tree.n_bodies
    while last > 0:
        first = first_of_line(tree, last) if in_vectors() else last
        coriolis_line(tree, first, last, C, m)
        last = first - 1


coriolis_matrix_states = entry(
    coriolis_matrix, (scratch_for,), q="nq", v="nv", C="-> nv', nv'", expands=True, angles=True
)
