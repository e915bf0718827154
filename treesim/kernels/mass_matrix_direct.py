"""The mass matrix by the direct method: column k is inverse dynamics at rest of the unit acceleration e_k (J91, s. 3).

nv runs over all bodies: O(nv N), against O(N d) of `crba`.
"""

from __future__ import annotations

import numpy as np

from .annotations import Reals, TableOfIntegers, TableOfReals
from .at_rest import apply_mass_matrix
from .crba import put_full
from .kinematics import body_transform
from .status import FINE, WRONG_SIZE
from .tables import put_transform, tree_tables


def mass_matrix(tree, q, X, A, F, unit, column, H):
    """H at configuration q, column by column; of the two values of H_jk that of the later column stays."""
    for i in range(1, tree.n_bodies + 1):
        put_transform(X, i, body_transform(tree, i, q))
    for k in range(tree.nv):
        for j in range(tree.nv):
            unit[j] = 0
        unit[k] = 1  # J91 eq. 23
        apply_mass_matrix(tree, X, unit, column, A, F)
        for j in range(k + 1):
            put_full(tree, H, k, j, column[j])


def mass_matrix_direct_states(ints: TableOfIntegers, reals: TableOfReals, q: Reals, M: Reals) -> int:
    """The mass matrix of each state: M (count, nv, nv)."""
    tree = tree_tables(ints, reals)
    nq, nv, B = tree.nq, tree.nv, tree.n_bodies + 1
    count = q.size // nq
    if count < 1 or q.size != count * nq or M.size != count * nv * nv:
        return WRONG_SIZE
    body, dof = np.empty((B, 24), q.dtype), np.empty((2, nv), q.dtype)
    X, A, F = body[:, 0:12], body[:, 12:18], body[:, 18:24]
    for s in range(count):
        H = M[s * nv * nv : (s + 1) * nv * nv]
        mass_matrix(tree, q[s * nq : (s + 1) * nq], X, A, F, dof[0], dof[1], H)
    return FINE
