"""Tables of numbers of a tree and of scratch memory, and conversion of their rows to tuples and back.

Row 0 of every table over bodies is the fixed base, row i body i. Degrees of freedom count from 0; -1 stands for "none"
(the base).
"""

from typing import Any, NamedTuple

from .linear import Matrix, Symmetric, Vector
from .rotations import GENERAL, Transform
from .spatial import ArticulatedInertia, CentralInertia, Force, Motion, RigidInertia, rigid

# places in the table of integers, behind N: nq, nv, number of entries of a packed L, number of joints with quaternions
NQ, NV, NNZ, QUATERNIONS = 1, 2, 3, 4
HEADER = 5
N_PLACEMENT, N_INERTIA = 12, 10  # numbers per body


class Tree(NamedTuple):
    """Constant tables of one tree."""

    n_bodies: int
    nq: int
    nv: int
    nnz: int
    parent: Any  # (N+1,) λ
    code: Any  # (N+1,) joint type
    kind: Any  # (N+1,) kind of rotation to the parent, see rotations
    q_start: Any  # (N+1,) first coordinate of joint i
    v_start: Any  # (N+2,) first degree of freedom of joint i; joint i owns v_start[i] .. v_start[i+1]
    last_dof: Any  # (N+1,) last degree of freedom on the path to body i
    screw: Any  # (nv,) unit screw of each degree of freedom
    dof_parent: Any  # (nv,) λe
    dof_depth: Any  # (nv,) number of ancestors in the expanded graph
    row_start: Any  # (nv,) start of row k in a packed matrix; its entry for the ancestor of depth e is row_start[k] + e
    placement: Any  # (N+1, 12) rotation by rows, then translation
    inertia: Any  # (N+1, 10) I about the centre of mass (xx yy zz xy xz yz), the centre of mass c, m
    armature: Any  # (nv,) rotor inertia, added to H's diagonal
    gravity: Any  # (3,) in base axes
    angles: Any = ()  # sines and cosines of the configuration where they are known, see joints


def tree_tables(ints, reals):
    """Return the tables of a tree from its two flat arrays (see treesim.model.pack)."""
    N, nq, nv, nnz = ints[0], ints[NQ], ints[NV], ints[NNZ]
    B = N + 1
    a = HEADER
    parent = ints[a : a + B]
    code = ints[a + B : a + 2 * B]
    kind = ints[a + 2 * B : a + 3 * B]
    q_start = ints[a + 3 * B : a + 4 * B]
    v_start = ints[a + 4 * B : a + 5 * B + 1]
    last_dof = ints[a + 5 * B + 1 : a + 6 * B + 1]
    d = a + 6 * B + 1
    placement = reals[: B * N_PLACEMENT].reshape((B, N_PLACEMENT))
    r = B * (N_PLACEMENT + N_INERTIA)
    inertia = reals[B * N_PLACEMENT : r].reshape((B, N_INERTIA))
    return Tree(
        N, nq, nv, nnz, parent, code, kind, q_start, v_start, last_dof,
        ints[d : d + nv], ints[d + nv : d + 2 * nv], ints[d + 2 * nv : d + 3 * nv], ints[d + 3 * nv : d + 4 * nv],
        placement, inertia, reals[r : r + nv], reals[r + nv : r + nv + 3], (),
    )  # fmt: skip


def with_armature(tree, armature):
    """Return the same tree with other rotor inertias."""
    return tree._replace(armature=armature)


def with_gravity(tree, gravity):
    """Return the same tree with another gravity."""
    return tree._replace(gravity=gravity)


# ---- tuples from rows and to rows


def motion_at(A, i):
    """Motion in row i."""
    return Motion(Vector(A[i, 0], A[i, 1], A[i, 2]), Vector(A[i, 3], A[i, 4], A[i, 5]))


def put_motion(A, i, m):
    """Write a motion to row i."""
    A[i, 0], A[i, 1], A[i, 2] = m.ang.x, m.ang.y, m.ang.z
    A[i, 3], A[i, 4], A[i, 5] = m.lin.x, m.lin.y, m.lin.z


def force_at(A, i):
    """Force in row i."""
    return Force(Vector(A[i, 0], A[i, 1], A[i, 2]), Vector(A[i, 3], A[i, 4], A[i, 5]))


def put_force(A, i, f):
    """Write a force to row i."""
    A[i, 0], A[i, 1], A[i, 2] = f.n.x, f.n.y, f.n.z
    A[i, 3], A[i, 4], A[i, 5] = f.f.x, f.f.y, f.f.z


def put_linear_first(row, start, m):
    """Write a motion, linear part first, to row[start:]."""
    row[start], row[start + 1], row[start + 2] = m.lin.x, m.lin.y, m.lin.z
    row[start + 3], row[start + 4], row[start + 5] = m.ang.x, m.ang.y, m.ang.z


def body_transform_at(tree, A, i):
    """Transform of body i, of the body's kind, in row i."""
    X = transform_at(A, i)
    return Transform(tree.kind[i], X.R, X.p)


def matrix_at(A, i):
    """3x3 matrix in row i."""
    return Matrix(A[i, 0], A[i, 1], A[i, 2], A[i, 3], A[i, 4], A[i, 5], A[i, 6], A[i, 7], A[i, 8])


def transform_at(A, i):
    """General transform in row i."""
    return Transform(GENERAL, matrix_at(A, i), Vector(A[i, 9], A[i, 10], A[i, 11]))


def put_transform(A, i, X):
    """Write a transform to row i."""
    R, p = X.R, X.p
    A[i, 0], A[i, 3] = R.xx, R.yx
    A[i, 9], A[i, 10], A[i, 11] = p.x, p.y, p.z
    if X.kind == GENERAL:
        A[i, 1], A[i, 2], A[i, 4], A[i, 5] = R.xy, R.xz, R.yy, R.yz
        A[i, 6], A[i, 7], A[i, 8] = R.zx, R.zy, R.zz


def symmetric_at(A, i, k):
    """Symmetric matrix in row i, from element k on."""
    return Symmetric(A[i, k], A[i, k + 1], A[i, k + 2], A[i, k + 3], A[i, k + 4], A[i, k + 5])


def put_symmetric(A, i, k, S):
    """Write a symmetric matrix to row i, from element k on."""
    A[i, k], A[i, k + 1], A[i, k + 2], A[i, k + 3], A[i, k + 4], A[i, k + 5] = S.xx, S.yy, S.zz, S.xy, S.xz, S.yz


def rigid_at(A, i):
    """Rigid-body inertia in row i."""
    return RigidInertia(symmetric_at(A, i, 0), Vector(A[i, 6], A[i, 7], A[i, 8]), A[i, 9])


def central_at(A, i):
    """Rigid-body inertia about the centre of mass in row i of the tree's table."""
    return CentralInertia(symmetric_at(A, i, 0), Vector(A[i, 6], A[i, 7], A[i, 8]), A[i, 9])


def body_inertia(tree, i):
    """Inertia of body i about its frame's origin."""
    return rigid(central_at(tree.inertia, i))


def put_rigid(A, i, inertia):
    """Write a rigid-body inertia to row i."""
    h = inertia.h
    put_symmetric(A, i, 0, inertia.I)
    A[i, 6], A[i, 7], A[i, 8], A[i, 9] = h.x, h.y, h.z, inertia.m


def articulated_at(A, i):
    """Articulated-body inertia in row i."""
    return ArticulatedInertia(
        symmetric_at(A, i, 0),
        Matrix(A[i, 6], A[i, 7], A[i, 8], A[i, 9], A[i, 10], A[i, 11], A[i, 12], A[i, 13], A[i, 14]),
        symmetric_at(A, i, 15),
    )


def put_articulated(A, i, inertia):
    """Write an articulated-body inertia to row i."""
    H = inertia.H
    put_symmetric(A, i, 0, inertia.I)
    A[i, 6], A[i, 7], A[i, 8] = H.xx, H.xy, H.xz
    A[i, 9], A[i, 10], A[i, 11] = H.yx, H.yy, H.yz
    A[i, 12], A[i, 13], A[i, 14] = H.zx, H.zy, H.zz
    put_symmetric(A, i, 15, inertia.M)
