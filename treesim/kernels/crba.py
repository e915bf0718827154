"""Composite-rigid-body algorithm: the mass matrix H, packed by ancestor depth (RBDA Table 6.2; J91, s. 3).

Row k of the packed matrix holds H_kj for the ancestors j of k, root first, and H_kk last; nothing else of H is ever
non-zero (F05, section 3), so nothing else is stored.
"""

from __future__ import annotations

import numpy as np

from .annotations import Reals, TableOfIntegers, TableOfReals
from .kinematics import body_transform
from .spatial import force_component, force_to_parent, rigid_add, rigid_column, rigid_to_parent
from .status import WRONG_SIZE, status_of
from .tables import body_inertia, body_transform_at, put_rigid, put_transform, rigid_at, tree_tables


def put_packed(tree, H, k, j, value):
    """H_kj to its place in a packed matrix."""
    H[tree.row_start[k] + tree.dof_depth[j]] = value


def put_full(tree, H, k, j, value):
    """H_kj and H_jk to their places in a full matrix, by rows."""
    H[k * tree.nv + j] = H[j * tree.nv + k] = value


def mass_matrix_row(tree, i, k, F, X, H, put):
    """Row k of H, k a degree of freedom of joint i: the force F = Ic S carried along the path to the base."""
    for j in range(tree.v_start[i], k):
        put(tree, H, k, j, force_component(F, tree.screw[j]))
    put(tree, H, k, k, force_component(F, tree.screw[k]) + tree.armature[k])
    while tree.parent[i] > 0:
        F = force_to_parent(body_transform_at(tree, X, i), F)
        i = tree.parent[i]
        for j in range(tree.v_start[i], tree.v_start[i + 1]):
            put(tree, H, k, j, force_component(F, tree.screw[j]))


def add_to_parent(tree, i, inertia, X, Ic):
    """Ic_λ += X' Ic X: what body i carries, its parent carries too (J91 eq. 25)."""
    p = tree.parent[i]
    if p > 0:
        put_rigid(Ic, p, rigid_add(rigid_at(Ic, p), rigid_to_parent(body_transform_at(tree, X, i), inertia)))


def mass_matrix(tree, q, X, Ic, H, put):
    """H at configuration q, written by `put`: transforms outward, composite inertias inward, each row along its path.

    Only entries on a path are written.
    """
    for i in range(1, tree.n_bodies + 1):
        put_transform(X, i, body_transform(tree, i, q))
        put_rigid(Ic, i, body_inertia(tree, i))
    for i in range(tree.n_bodies, 0, -1):
        inertia = rigid_at(Ic, i)
        add_to_parent(tree, i, inertia, X, Ic)
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            mass_matrix_row(tree, i, k, rigid_column(inertia, tree.screw[k]), X, H, put)


def mass_matrix_states(ints: TableOfIntegers, reals: TableOfReals, q: Reals, M: Reals) -> int:
    """The mass matrix of each state: M (count, nv, nv)."""
    tree = tree_tables(ints, reals)
    nq, nv, B = tree.nq, tree.nv, tree.n_bodies + 1
    count = q.size // nq
    if count < 1 or q.size != count * nq or M.size != count * nv * nv:
        return WRONG_SIZE
    body = np.empty((B, 22), q.dtype)
    X, Ic = body[:, 0:12], body[:, 12:22]
    M[:] = 0
    for s in range(count):
        mass_matrix(tree, q[s * nq : (s + 1) * nq], X, Ic, M[s * nv * nv : (s + 1) * nv * nv], put_full)
    return status_of(q)  # the model is finite, so M is as finite as q; q is shorter


def mass_matrix_packed_states(ints: TableOfIntegers, reals: TableOfReals, q: Reals, M: Reals) -> int:
    """The packed mass matrix of each state: M (count, nnz), of which every number is written."""
    tree = tree_tables(ints, reals)
    nq, nnz, B = tree.nq, tree.nnz, tree.n_bodies + 1
    count = q.size // nq
    if count < 1 or q.size != count * nq or M.size != count * nnz:
        return WRONG_SIZE
    body = np.empty((B, 22), q.dtype)
    X, Ic = body[:, 0:12], body[:, 12:22]
    for s in range(count):
        mass_matrix(tree, q[s * nq : (s + 1) * nq], X, Ic, M[s * nnz : (s + 1) * nnz], put_packed)
    return status_of(q)  # the model is finite, so M is as finite as q; q is shorter
