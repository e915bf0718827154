"""Transforms between a body and its parent, and the four kinds of rotation in them.

Most joints of real robots rotate about one of the coordinate axes of their parent. Every body's frame is oriented so
that its joint's axis is z. The rotation from child to parent is then a rotation about z, followed by a cyclic
permutation of axes: a third of the multiplications of a general rotation. Any other rotation is GENERAL.
"""

from __future__ import annotations

from typing import NamedTuple

from .linear import Matrix, Number, Symmetric, Vector, add, matmul, rotate, rotate_back, rotate_matrix, rotate_symmetric

TURN, TURN_CYCLED, TURN_CYCLED_BACK, GENERAL = 0, 1, 2, 3


class Transform(NamedTuple):
    """Pose of a child frame in its parent: rotation R, then the cyclic permutation `kind`; p is the child's origin.

    Unless kind is GENERAL, R is a rotation about z, of which only the entries xx (cosine) and yx (sine) are used.
    """

    kind: int
    R: Matrix
    p: Vector


def turn(c: Number, s: Number, a: Vector) -> Vector:
    """Rz a."""
    return Vector(c * a.x - s * a.y, s * a.x + c * a.y, a.z)


def turn_matrix(c, s, A):
    """Rz A Rz'.

    Rz does not change xx + yy and xy - yx of the xy block; m determines both entries that change.
    """
    m = s * (A.xx - A.yy) + c * (A.xy + A.yx)
    d, e = s * m, c * m
    return Matrix(
        A.xx - d, e - A.yx, c * A.xz - s * A.yz,
        e - A.xy, A.yy + d, s * A.xz + c * A.yz,
        c * A.zx - s * A.zy, s * A.zx + c * A.zy, A.zz,
    )  # fmt: skip


def turn_symmetric(c, s, S):
    """Rz S Rz', as in `turn_matrix`."""
    m = s * (S.xx - S.yy) + (c + c) * S.xy
    d = s * m
    return Symmetric(S.xx - d, S.yy + d, S.zz, c * m - S.xy, c * S.xz - s * S.yz, s * S.xz + c * S.yz)


def cycle(kind, a):
    """Return a with its coordinates permuted to z x y or y z x, or unchanged, by `kind`."""
    if kind == TURN_CYCLED:
        return Vector(a.z, a.x, a.y)
    if kind == TURN_CYCLED_BACK:
        return Vector(a.y, a.z, a.x)
    return a


def cycle_matrix(kind, A):
    """Return A with its rows and columns permuted as by `cycle`."""
    if kind == TURN_CYCLED:
        return Matrix(A.zz, A.zx, A.zy, A.xz, A.xx, A.xy, A.yz, A.yx, A.yy)
    if kind == TURN_CYCLED_BACK:
        return Matrix(A.yy, A.yz, A.yx, A.zy, A.zz, A.zx, A.xy, A.xz, A.xx)
    return A


def cycle_symmetric(kind, S):
    """Return S with its rows and columns permuted as by `cycle`."""
    if kind == TURN_CYCLED:
        return Symmetric(S.zz, S.xx, S.yy, S.xz, S.yz, S.xy)
    if kind == TURN_CYCLED_BACK:
        return Symmetric(S.yy, S.zz, S.xx, S.yz, S.xy, S.xz)
    return S


def to_parent(X, a):
    """Transform a vector from the child's to the parent's axes."""
    if X.kind == GENERAL:
        return rotate(X.R, a)
    return cycle(X.kind, turn(X.R.xx, X.R.yx, a))


def to_child(X, a):
    """Transform a vector from the parent's to the child's axes."""
    if X.kind == GENERAL:
        return rotate_back(X.R, a)
    back = TURN_CYCLED_BACK if X.kind == TURN_CYCLED else (TURN_CYCLED if X.kind == TURN_CYCLED_BACK else TURN)
    return turn(X.R.xx, -X.R.yx, cycle(back, a))


def matrix_to_parent(X, A):
    """Transform a 3x3 matrix from the child's to the parent's axes."""
    if X.kind == GENERAL:
        return rotate_matrix(X.R, A)
    return cycle_matrix(X.kind, turn_matrix(X.R.xx, X.R.yx, A))


def symmetric_to_parent(X, S):
    """Transform a symmetric 3x3 matrix from the child's to the parent's axes."""
    if X.kind == GENERAL:
        return rotate_symmetric(X.R, S)
    return cycle_symmetric(X.kind, turn_symmetric(X.R.xx, X.R.yx, S))


def rotation(X):
    """Full rotation matrix of a transform."""
    if X.kind == GENERAL:
        return X.R
    c, s = X.R.xx, X.R.yx
    o = c * 0
    u, v, w = cycle(X.kind, Vector(c, s, o)), cycle(X.kind, Vector(-s, c, o)), cycle(X.kind, Vector(o, o, o + 1))
    return Matrix(u.x, v.x, w.x, u.y, v.y, w.y, u.z, v.z, w.z)


def compose(X, Y):
    """Pose of a grandchild (Y in the child) in the parent (child X), as a GENERAL transform."""
    return Transform(GENERAL, matmul(rotation(X), rotation(Y)), add(to_parent(X, Y.p), X.p))
