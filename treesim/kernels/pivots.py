"""Pivots D of H = L' D L by articulated quantities, beside H's own diagonal, in O(N): which joints move no inertia."""

from __future__ import annotations

import numpy as np

from .annotations import Reals, TableOfIntegers, TableOfReals
from .crba import add_to_parent
from .rjk import articulated_quantities
from .spatial import force_component, rigid_column
from .status import FINE, WRONG_SIZE
from .tables import body_inertia, put_rigid, rigid_at, tree_tables


def diagonal(tree, X, Ic, H):
    """H_kk = S' Ic S + armature, composite inertias inward."""
    for i in range(1, tree.n_bodies + 1):
        put_rigid(Ic, i, body_inertia(tree, i))
    for i in range(tree.n_bodies, 0, -1):
        inertia = rigid_at(Ic, i)
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            H[k] = force_component(rigid_column(inertia, tree.screw[k]), tree.screw[k]) + tree.armature[k]
        add_to_parent(tree, i, inertia, X, Ic)


def pivots_states(ints: TableOfIntegers, reals: TableOfReals, q: Reals, D: Reals, H: Reals) -> int:
    """D and the diagonal of H in each state; where a pivot vanishes, those of its ancestors are not to be trusted."""
    tree = tree_tables(ints, reals)
    nq, nv = tree.nq, tree.nv
    count = q.size // nq
    if count < 1 or q.size != count * nq or D.size != count * nv or H.size != D.size:
        return WRONG_SIZE
    body, dof = np.empty((tree.n_bodies + 1, 43), q.dtype), np.empty((nv, 7), q.dtype)  # one row of scratch each
    X, P, Ic = body[:, 0:12], body[:, 12:33], body[:, 33:43]
    for s in range(count):
        w = slice(s * nv, (s + 1) * nv)
        articulated_quantities(tree, q[s * nq : (s + 1) * nq], X, P, dof[:, 0:6], dof[:, 6])
        diagonal(tree, X, Ic, H[w])
        for k in range(nv):
            D[s * nv + k] = 1 / dof[k, 6]
    return FINE
