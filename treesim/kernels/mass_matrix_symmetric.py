"""The mass matrix by the symmetry-based method: inverse dynamics at rest of each joint's subtree alone (J91, s. 3).

A unit acceleration of joint i moves the bodies it carries and no others, so the column's entries of i and below come
from a recursion over these bodies, and those above from the symmetry of H. O(nv N) at most, as every body is asked
whether it belongs; the arithmetic is that of the subtrees.
"""

from __future__ import annotations

import numpy as np

from .annotations import Reals, TableOfIntegers, TableOfReals
from .crba import put_full
from .kinematics import body_transform, zero_motion
from .spatial import force_add, force_component, force_to_parent, motion_to_child, rigid_apply, unit_scaled_add
from .status import FINE, WRONG_SIZE
from .tables import (
    body_inertia,
    body_transform_at,
    force_at,
    motion_at,
    put_force,
    put_motion,
    put_transform,
    tree_tables,
)


def mark_subtree(tree, i, root):
    """root[j] = i for every body j of the subtree of body i, body i first."""
    root[i] = i
    for j in range(i + 1, tree.n_bodies + 1):
        if root[tree.parent[j]] == i:
            root[j] = i


def subtree_column(tree, i, k, X, A, F, root, H):
    """H_jk for the degrees of freedom j >= k of the subtree of body i, k one of joint i's own."""
    unit = unit_scaled_add(zero_motion(tree), tree.screw[k], tree.gravity[0] * 0 + 1)
    for j in range(i, tree.n_bodies + 1):
        if root[j] == i:
            a = unit if j == i else motion_to_child(body_transform_at(tree, X, j), motion_at(A, tree.parent[j]))
            put_motion(A, j, a)
            put_force(F, j, rigid_apply(body_inertia(tree, j), a))
    for j in range(tree.n_bodies, i - 1, -1):
        if root[j] == i:
            f = force_at(F, j)
            for row in range(max(k, tree.v_start[j]), tree.v_start[j + 1]):
                put_full(tree, H, row, k, force_component(f, tree.screw[row]))
            if j > i:
                p = tree.parent[j]
                put_force(F, p, force_add(force_at(F, p), force_to_parent(body_transform_at(tree, X, j), f)))
    H[k * tree.nv + k] += tree.armature[k]


def mass_matrix(tree, q, X, A, F, root, H):
    """H at configuration q, subtree by subtree; only entries on a path are written."""
    for i in range(1, tree.n_bodies + 1):
        put_transform(X, i, body_transform(tree, i, q))
        root[i] = 0
    for i in range(1, tree.n_bodies + 1):
        mark_subtree(tree, i, root)
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            subtree_column(tree, i, k, X, A, F, root, H)


def mass_matrix_symmetric_states(ints: TableOfIntegers, reals: TableOfReals, q: Reals, M: Reals) -> int:
    """The mass matrix of each state: M (count, nv, nv)."""
    tree = tree_tables(ints, reals)
    nq, nv, B = tree.nq, tree.nv, tree.n_bodies + 1
    count = q.size // nq
    if count < 1 or q.size != count * nq or M.size != count * nv * nv:
        return WRONG_SIZE
    body, root = np.empty((B, 24), q.dtype), np.zeros(B, np.int64)
    X, A, F = body[:, 0:12], body[:, 12:18], body[:, 18:24]
    M[:] = 0
    for s in range(count):
        H = M[s * nv * nv : (s + 1) * nv * nv]
        mass_matrix(tree, q[s * nq : (s + 1) * nq], X, A, F, root, H)
    return FINE
