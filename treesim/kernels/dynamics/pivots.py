"""Pivots D of H = L' D L by articulated quantities, and H's own diagonal, in O(N), to find joints without inertia."""

from ..algebra.spatial import force_component, rigid_column
from ..algebra.tables import body_inertia, put_rigid, rigid_at
from ..entries.entry import entry
from ..entries.scratch import scratch_memory
from .crba import add_to_parent
from .rjk import articulated_quantities


def diagonal(tree, X, Ic, H):
    """H_kk = S' Ic S + armature, with composite inertias by a backward sweep."""
    for i in range(1, tree.n_bodies + 1):
        put_rigid(Ic, i, body_inertia(tree, i))
    for i in range(tree.n_bodies, 0, -1):
        inertia = rigid_at(Ic, i)
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            H[k] = force_component(rigid_column(inertia, tree.screw[k]), tree.screw[k]) + tree.armature[k]
        add_to_parent(tree, i, inertia, X, Ic)


def pivots(tree, q, D, H, X, P, Ic, U, D_inv):
    """D and the diagonal of H; where a pivot vanishes, those of its ancestors are invalid."""
    articulated_quantities(tree, q, X, P, U, D_inv)
    diagonal(tree, X, Ic, H)
    for k in range(tree.nv):
        D[k] = 1 / D_inv[k]


scratch_for = scratch_memory("X 12, P 21, Ic 10", "U 6, D_inv")


pivots_states = entry(pivots, scratch_for, q="nq", D="-> nv", H="-> nv")
