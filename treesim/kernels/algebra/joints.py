"""Joint transforms by joint type."""

from typing import Any, NamedTuple

import numpy as np

from .linear import Matrix, Vector, add, matmul, rotate
from .numbers import in_vectors, put_sincos, sincos
from .rotations import GENERAL, Transform

REVOLUTE, PRISMATIC, SPHERICAL, PLANAR, FLOATING = 0, 1, 2, 3, 4


class Angles(NamedTuple):
    """Sine and cosine of all coordinates of a configuration, of which those of angles have a meaning."""

    sine: Any  # (nq,)
    cosine: Any


def angle_memory(tree, q):
    """Return memory for sines and cosines, with the dtype of q."""
    return Angles(np.empty(tree.nq, q.dtype), np.empty(tree.nq, q.dtype))


def with_angles(tree, q, angles):
    """Return the tree with the sines and cosines of its configuration, which are computed a vector at a time.

    Transforms of this tree must all be at q. Where loops are not vectorized, each transform computes its own.
    """
    if in_vectors():
        put_sincos(q, angles.sine, angles.cosine)
        return tree._replace(angles=angles)
    return tree


def sincos_at(angles, q, k):
    """Sine and cosine of the angle q[k], read where they are known."""
    if len(angles) > 0:
        return angles.sine[k], angles.cosine[k]
    return sincos(q[k])


def turned_about_z(R, c, s):
    """R Rz, for the rotation Rz about z with cosine c and sine s."""
    return Matrix(
        c * R.xx + s * R.xy, c * R.xy - s * R.xx, R.xz,
        c * R.yx + s * R.yy, c * R.yy - s * R.yx, R.yz,
        c * R.zx + s * R.zy, c * R.zy - s * R.zx, R.zz,
    )  # fmt: skip


def quaternion_matrix(x, y, z, w):
    """Rotation of the normalized quaternion xyzw: R = 1 + s (w [e]x + [e]x^2), s = 2 / |q|^2, e = (x, y, z).

    Entries accept lengths that differ from 1 by rounding only (status.status_of_quaternions); s removes the difference.
    """
    return scaled_quaternion_matrix(x, y, z, w, 2 / (x * x + y * y + z * z + w * w))


def unit_quaternion_matrix(x, y, z, w):
    """Rotation of the quaternion xyzw, which must have length 1."""
    return scaled_quaternion_matrix(x, y, z, w, 2)


def scaled_quaternion_matrix(x, y, z, w, s):
    """1 + s (w [e]x + [e]x^2), e = (x, y, z): the rotation of a quaternion of length sqrt(2 / s)."""
    return Matrix(
        1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y),
        s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x),
        s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y),
    )  # fmt: skip


def joint_transform(code, kind, fixed, angles, q, k):
    """Pose of the body's frame in its parent: `fixed` (placement on the parent) times the joint's own displacement.

    q[k:]: the joint's coordinates: angle; length; quaternion xyzw; x, y, angle; or x, y, z, quaternion xyzw.
    kind: kind of rotation of a revolute joint, see `rotations`. angles: those of q, or ().
    """
    if code == REVOLUTE:
        s, c = sincos_at(angles, q, k)
        if kind == GENERAL:
            return Transform(GENERAL, turned_about_z(fixed.R, c, s), fixed.p)
        return Transform(kind, Matrix(c, -s, c, s, c, c, c, c, c), fixed.p)  # of R only c and s are looked at
    if code == PRISMATIC:
        R = fixed.R
        return Transform(GENERAL, R, Vector(fixed.p.x + R.xz * q[k], fixed.p.y + R.yz * q[k], fixed.p.z + R.zz * q[k]))
    if code == SPHERICAL:
        return Transform(GENERAL, matmul(fixed.R, quaternion_matrix(q[k], q[k + 1], q[k + 2], q[k + 3])), fixed.p)
    if code == PLANAR:
        shift = Vector(q[k], q[k + 1], q[k] * 0)
        s, c = sincos_at(angles, q, k + 2)
        return Transform(GENERAL, turned_about_z(fixed.R, c, s), add(fixed.p, rotate(fixed.R, shift)))
    shift = Vector(q[k], q[k + 1], q[k + 2])
    R = quaternion_matrix(q[k + 3], q[k + 4], q[k + 5], q[k + 6])
    return Transform(GENERAL, matmul(fixed.R, R), add(fixed.p, rotate(fixed.R, shift)))
