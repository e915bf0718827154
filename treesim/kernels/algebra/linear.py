"""Vectors and matrices of three dimensions as named tuples, and their products, written out."""

from typing import Any, NamedTuple

Number = Any


class Vector(NamedTuple):
    """A 3-vector."""

    x: Number
    y: Number
    z: Number


class Matrix(NamedTuple):
    """A 3x3 matrix, row by row."""

    xx: Number
    xy: Number
    xz: Number
    yx: Number
    yy: Number
    yz: Number
    zx: Number
    zy: Number
    zz: Number


class Symmetric(NamedTuple):
    """A symmetric 3x3 matrix."""

    xx: Number
    yy: Number
    zz: Number
    xy: Number
    xz: Number
    yz: Number


def add(a, b):
    """Return a + b."""
    return Vector(a.x + b.x, a.y + b.y, a.z + b.z)


def sub(a, b):
    """Return a - b."""
    return Vector(a.x - b.x, a.y - b.y, a.z - b.z)


def scale(a, s):
    """Return a s."""
    return Vector(a.x * s, a.y * s, a.z * s)


def dot(a, b):
    """Return a . b."""
    return a.x * b.x + a.y * b.y + a.z * b.z


def cross(a, b):
    """Return a x b."""
    return Vector(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)


def rotate(R, a):
    """R a."""
    return Vector(
        R.xx * a.x + R.xy * a.y + R.xz * a.z,
        R.yx * a.x + R.yy * a.y + R.yz * a.z,
        R.zx * a.x + R.zy * a.y + R.zz * a.z,
    )


def rotate_back(R, a):
    """R' a."""
    return Vector(
        R.xx * a.x + R.yx * a.y + R.zx * a.z,
        R.xy * a.x + R.yy * a.y + R.zy * a.z,
        R.xz * a.x + R.yz * a.y + R.zz * a.z,
    )


def matmul(A, B):
    """Return A B."""
    return Matrix(
        A.xx * B.xx + A.xy * B.yx + A.xz * B.zx,
        A.xx * B.xy + A.xy * B.yy + A.xz * B.zy,
        A.xx * B.xz + A.xy * B.yz + A.xz * B.zz,
        A.yx * B.xx + A.yy * B.yx + A.yz * B.zx,
        A.yx * B.xy + A.yy * B.yy + A.yz * B.zy,
        A.yx * B.xz + A.yy * B.yz + A.yz * B.zz,
        A.zx * B.xx + A.zy * B.yx + A.zz * B.zx,
        A.zx * B.xy + A.zy * B.yy + A.zz * B.zy,
        A.zx * B.xz + A.zy * B.yz + A.zz * B.zz,
    )


def matmul_transposed(A, B):
    """Return A B'."""
    return Matrix(
        A.xx * B.xx + A.xy * B.xy + A.xz * B.xz,
        A.xx * B.yx + A.xy * B.yy + A.xz * B.yz,
        A.xx * B.zx + A.xy * B.zy + A.xz * B.zz,
        A.yx * B.xx + A.yy * B.xy + A.yz * B.xz,
        A.yx * B.yx + A.yy * B.yy + A.yz * B.yz,
        A.yx * B.zx + A.yy * B.zy + A.yz * B.zz,
        A.zx * B.xx + A.zy * B.xy + A.zz * B.xz,
        A.zx * B.yx + A.zy * B.yy + A.zz * B.yz,
        A.zx * B.zx + A.zy * B.zy + A.zz * B.zz,
    )


def transpose(A):
    """Return A'."""
    return Matrix(A.xx, A.yx, A.zx, A.xy, A.yy, A.zy, A.xz, A.yz, A.zz)


def outer(a, b):
    """Return a b'."""
    return Matrix(a.x * b.x, a.x * b.y, a.x * b.z, a.y * b.x, a.y * b.y, a.y * b.z, a.z * b.x, a.z * b.y, a.z * b.z)


def full(S):
    """Return a symmetric matrix as a Matrix with all nine entries."""
    return Matrix(S.xx, S.xy, S.xz, S.xy, S.yy, S.yz, S.xz, S.yz, S.zz)


def matrix_add(A, B):
    """Return A + B."""
    return Matrix(
        A.xx + B.xx, A.xy + B.xy, A.xz + B.xz,
        A.yx + B.yx, A.yy + B.yy, A.yz + B.yz,
        A.zx + B.zx, A.zy + B.zy, A.zz + B.zz,
    )  # fmt: skip


def symmetric_add(A, B):
    """Return A + B of symmetric matrices."""
    return Symmetric(A.xx + B.xx, A.yy + B.yy, A.zz + B.zz, A.xy + B.xy, A.xz + B.xz, A.yz + B.yz)


def symmetric_apply(S, a):
    """S a."""
    return Vector(
        S.xx * a.x + S.xy * a.y + S.xz * a.z,
        S.xy * a.x + S.yy * a.y + S.yz * a.z,
        S.xz * a.x + S.yz * a.y + S.zz * a.z,
    )


def rotate_matrix(R, A):
    """R A R'."""
    return matmul_transposed(matmul(R, A), R)


def rotate_symmetric(R, S):
    """R S R'."""
    T = matmul(R, full(S))
    return Symmetric(
        T.xx * R.xx + T.xy * R.xy + T.xz * R.xz,
        T.yx * R.yx + T.yy * R.yy + T.yz * R.yz,
        T.zx * R.zx + T.zy * R.zy + T.zz * R.zz,
        T.xx * R.yx + T.xy * R.yy + T.xz * R.yz,
        T.xx * R.zx + T.xy * R.zy + T.xz * R.zz,
        T.yx * R.zx + T.yy * R.zy + T.yz * R.zz,
    )


def cross_symmetric(p, S):
    """px S."""
    return Matrix(
        p.y * S.xz - p.z * S.xy, p.y * S.yz - p.z * S.yy, p.y * S.zz - p.z * S.yz,
        p.z * S.xx - p.x * S.xz, p.z * S.xy - p.x * S.yz, p.z * S.xz - p.x * S.zz,
        p.x * S.xy - p.y * S.xx, p.x * S.yy - p.y * S.xy, p.x * S.yz - p.y * S.xz,
    )  # fmt: skip
