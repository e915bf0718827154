"""Mass matrix by the symmetry-based method: inverse dynamics at rest of each joint's subtree (J91, s. 3).

A unit acceleration of joint i moves the bodies of its subtree only. A recursion over these bodies computes the column's
entries of i and below; those above follow from the symmetry of H. O(nv N) at most, since every body is tested for
membership; the arithmetic is that of the subtrees.
"""

import numpy as np

from ..algebra.spatial import force_add, force_component, force_to_parent, motion_to_child, rigid_apply, unit_scaled_add
from ..algebra.tables import body_inertia, body_transform_at, force_at, motion_at, put_force, put_motion, put_transform
from ..dynamics.crba import put_full
from ..entries.entry import entry
from ..kinematics.bodies import body_transform, zero_motion


def mark_subtree(tree, i, root):
    """root[j] = i for every body j of the subtree of body i."""
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
    H[k, k] += tree.armature[k]


def mass_matrix_symmetric(tree, q, M, X, A, F, root):
    """M at configuration q, subtree by subtree."""
    M.reshape(M.size)[:] = 0  # in a row, which is filled at once
    for i in range(1, tree.n_bodies + 1):
        put_transform(X, i, body_transform(tree, i, q))
        root[i] = 0
    for i in range(1, tree.n_bodies + 1):
        mark_subtree(tree, i, root)
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            subtree_column(tree, i, k, X, A, F, root, M)


def scratch_for(tree, q):
    """Scratch memory for one state, with the dtype of q: one row per body, and an integer."""
    body, root = np.empty((tree.n_bodies + 1, 24), q.dtype), np.zeros(tree.n_bodies + 1, np.int64)
    return body[:, 0:12], body[:, 12:18], body[:, 18:24], root


mass_matrix_symmetric_states = entry(mass_matrix_symmetric, scratch_for, q="nq", M="-> nv', nv'", expands=True)
