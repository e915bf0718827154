"""Composite-rigid-body algorithm: the mass matrix H, packed by ancestor depth (RBDA Table 6.2).

Row k of the packed matrix holds H_kj for the ancestors j of k, root first, and H_kk last; nothing else of H is ever
non-zero (F05, section 3), so nothing else is stored.
"""

from __future__ import annotations

import numpy as np

from .annotations import Reals, TableOfIntegers, TableOfReals
from .kinematics import body_transform
from .spatial import force_component, force_to_parent, rigid_add, rigid_column, rigid_to_parent
from .status import WRONG_SIZE, status_of
from .tables import body_transform_at, put_rigid, put_transform, rigid_at, tree_tables


def mass_matrix_row(tree, i, k, F, X, H):
    """Row k of H, k a degree of freedom of joint i: the force F = Ic S carried along the path to the base."""
    row = tree.row_start[k]
    for j in range(tree.v_start[i], k + 1):
        H[row + tree.dof_depth[j]] = force_component(F, tree.screw[j])
    H[row + tree.dof_depth[k]] += tree.armature[k]
    while tree.parent[i] > 0:
        F = force_to_parent(body_transform_at(tree, X, i), F)
        i = tree.parent[i]
        for j in range(tree.v_start[i], tree.v_start[i + 1]):
            H[row + tree.dof_depth[j]] = force_component(F, tree.screw[j])


def packed_mass_matrix(tree, q, X, Ic, H):
    """H at configuration q: transforms outward, composite inertias inward, each row along the path."""
    for i in range(1, tree.n_bodies + 1):
        put_transform(X, i, body_transform(tree, i, q))
        put_rigid(Ic, i, rigid_at(tree.inertia, i))
    for i in range(tree.n_bodies, 0, -1):
        inertia = rigid_at(Ic, i)
        p = tree.parent[i]
        if p > 0:
            put_rigid(Ic, p, rigid_add(rigid_at(Ic, p), rigid_to_parent(body_transform_at(tree, X, i), inertia)))
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            mass_matrix_row(tree, i, k, rigid_column(inertia, tree.screw[k]), X, H)


def unpack_symmetric(tree, H, M):
    """The full symmetric matrix M (flat, by rows) of a packed H."""
    nv = tree.nv
    M[:] = 0
    for k in range(nv):
        j = k
        while j >= 0:
            M[k * nv + j] = M[j * nv + k] = H[tree.row_start[k] + tree.dof_depth[j]]
            j = tree.dof_parent[j]


def mass_matrix_states(ints: TableOfIntegers, reals: TableOfReals, q: Reals, M: Reals) -> int:
    """The mass matrix of each state: M (count, nv, nv)."""
    tree = tree_tables(ints, reals)
    nq, nv, B = tree.nq, tree.nv, tree.n_bodies + 1
    count = q.size // nq
    if count < 1 or q.size != count * nq or M.size != count * nv * nv:
        return WRONG_SIZE
    body, H = np.empty((B, 22), q.dtype), np.empty(tree.nnz, q.dtype)
    X, Ic = body[:, 0:12], body[:, 12:22]
    for s in range(count):
        packed_mass_matrix(tree, q[s * nq : (s + 1) * nq], X, Ic, H)
        unpack_symmetric(tree, H, M[s * nv * nv : (s + 1) * nv * nv])
    return status_of(q)  # the model is finite, so M is as finite as q; q is shorter
