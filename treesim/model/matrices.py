"""Rotations and products of 3x3 matrices for the model's tables, with the same bits on every processor.

The products of BLAS, the decompositions of LAPACK, and NumPy's sine and cosine depend on processor and library in their
last digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..engine.trigonometry import sincos

IDENTITY = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
SHORTEST = 1e-12  # a shorter quaternion is zero up to rounding
ROTATIONS = 60  # at most, of Jacobi's method; it needs about 10
UNIT = 1e-15  # largest deviation from 1 of the squared length of a vector that has been scaled to length 1


def rotation_of(quaternion: np.ndarray) -> np.ndarray:
    """Return the rotation matrices (..., 3, 3) of unit quaternions xyzw (..., 4)."""
    one = quaternion.ndim == 1
    x, y, z, w = quaternion.tolist() if one else np.moveaxis(quaternion, -1, 0)
    R = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip
    return R if one else np.moveaxis(R, (0, 1), (-2, -1))


def rotation_from_rpy(rpy: Sequence[float]) -> np.ndarray:
    """Return the 3x3 rotation Rz(yaw) Ry(pitch) Rx(roll) of URDF's fixed-axis angles [rad]."""
    if not any(rpy):
        return IDENTITY.copy()
    (sr, cr), (sp, cp), (sy, cy) = map(sincos, map(float, rpy))
    rows = [
        [cp * cy, sp * (sr * cy) - cr * sy, sp * (cr * cy) + sr * sy],
        [cp * sy, sp * (sr * sy) + cr * cy, sp * (cr * sy) - sr * cy],
        [-sp, cp * sr, cp * cr],
    ]
    return np.array(rows) + 0.0  # no negative zeros


def rotation_from_quaternion(xyzw: Sequence[float]) -> np.ndarray:
    """Return the 3x3 rotation of a quaternion of any length but zero; raises ValueError for SHORTEST and less."""
    x, y, z, w = xyzw
    length = math.sqrt(x * x + y * y + z * z + w * w)
    if length <= SHORTEST:
        raise ValueError("a quaternion of length zero")
    return rotation_of(np.array(xyzw) / length) + 0.0  # no negative zeros


def is_rotation(matrix: np.ndarray) -> bool:
    """Return whether a finite (3, 3) matrix is a rotation to 1e-6; avoids overflow of products of large elements."""
    (a, b, c), (d, e, f), (g, h, i) = matrix.tolist()
    if max(map(abs, (a, b, c, d, e, f, g, h, i))) > 2:
        return False
    lengths = a * a + b * b + c * c - 1, d * d + e * e + f * f - 1, g * g + h * h + i * i - 1
    cosines = a * d + b * e + c * f, a * g + b * h + c * i, d * g + e * h + f * i
    turns = a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g) > 0  # and does not mirror
    return bool(turns and max(map(abs, (*lengths, *cosines))) <= 1e-6)


def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the product of matrices (..., n, 3) and (..., 3, m), or of a matrix (n, 3) and a vector (3,)."""
    if max(A.ndim, B.ndim) > 2 or len(A) != 3:  # the same sums as below
        wide = B if B.ndim > 1 else B[:, None]
        found = A[..., 0, None] * wide[..., None, 0, :] + A[..., 1, None] * wide[..., None, 1, :]
        found = found + A[..., 2, None] * wide[..., None, 2, :] + 0.0
        return np.asarray(found if B.ndim > 1 else found[..., 0])
    columns, sums = B.T.tolist() if B.ndim > 1 else [B.tolist()], []
    for x, y, z in A.tolist():
        for p, q, r in columns:
            sums.append(x * p + y * q + z * r)
    return np.array(sums).reshape(A.shape[:1] + B.shape[1:]) + 0.0  # no negative zeros


def cross_matrix(r: np.ndarray) -> np.ndarray:
    """Return the matrices rx (..., 3, 3) of vectors r (..., 3), with rx @ a = r x a."""
    r = np.asarray(r)
    found = np.zeros((*r.shape, 3), r.dtype)
    found[..., (2, 0, 1), (1, 2, 0)] = r
    found[..., (1, 2, 0), (2, 0, 1)] = -r
    return found


def unit_vector(vector: np.ndarray) -> np.ndarray:
    """Return a vector (3,) scaled to length 1, however long or short it is; zero stays zero.

    A vector whose length is 1 up to rounding is returned unchanged, so that scaling it again changes no bit.
    """
    x, y, z = vector.tolist()
    if abs(x * x + y * y + z * z - 1.0) <= UNIT:
        return vector
    _, exponent = math.frexp(max(map(abs, vector.tolist())))
    scaled = np.ldexp(vector, -exponent)  # exact; its squares neither overflow nor vanish
    x, y, z = scaled.tolist()
    length = math.sqrt(x * x + y * y + z * z)
    return np.asarray(scaled / length if length > 0 else scaled)


def vector_length(vector: np.ndarray) -> float:
    """Return the length of a vector (3,)."""
    x, y, z = vector.tolist()
    return math.sqrt(x * x + y * y + z * z)


def principal_axes(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues (3,) of a symmetric matrix in ascending order, and the rotation (3, 3) to its axes.

    Jacobi's method (Golub and Van Loan, Matrix Computations, section 8.5): rotations in the plane of the largest
    off-diagonal entry. About 20 us.
    """
    S, V = matrix.tolist(), np.eye(3).tolist()
    for _ in range(ROTATIONS):
        p, q = max(((0, 1), (0, 2), (1, 2)), key=lambda at: abs(S[at[0]][at[1]]))
        if S[p][q] == 0:
            break
        theta = (S[q][q] - S[p][p]) / (2 * S[p][q])
        t = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(theta * theta + 1))
        c = 1 / math.sqrt(t * t + 1)
        s, r = t * c, 3 - p - q
        S[p][p], S[q][q] = S[p][p] - t * S[p][q], S[q][q] + t * S[p][q]
        S[p][q] = S[q][p] = 0.0
        S[r][p], S[r][q] = c * S[r][p] - s * S[r][q], s * S[r][p] + c * S[r][q]
        S[p][r], S[q][r] = S[r][p], S[r][q]
        for row in V:
            row[p], row[q] = c * row[p] - s * row[q], s * row[p] + c * row[q]
    moments = np.array([S[k][k] for k in range(3)])
    order = np.argsort(moments, kind="stable")
    turned = np.array(V)[:, order]
    return moments[order], turned if (order[1] - order[0]) % 3 == 1 else -turned  # a rotation, of determinant 1
