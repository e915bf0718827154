"""Contact of robots with mimic joints: the constraint response of the spanning tree to rows of contact.

Impulses lambda along contact rows cause impulses mu along the mimic rows A, such that A v = 0. With Z of `delassus`,
Z_A of the rows A, and S = A (M + D)^-1 A', mu = -S^-1 Z_A' D^-1 Z lambda. So it suffices to replace Z by Z - Z_A S^-1
Z_A' D^-1 Z. G = Z' D^-1 Z and the response to impulses are then those of the independent coordinates.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..algebra.cholesky import solve
from .mimic import follower_rows, followers_of, respond_to_rows, with_shared_rotors


class Tie(NamedTuple):
    """Mimic joints of a tree, and scratch memory for their rows."""

    tied: Any
    rows: Any


def tie_memory(tree, followers, ratios, q):
    """Mimic joints, and scratch memory for their rows, with the dtype of q."""
    tied = followers_of(followers, ratios)
    return Tie(tied, follower_rows(tree, tied, q))


def tied_tree(tree, tie):
    """Return the tree with rotor inertias distributed over mimicked and mimic joints."""
    return with_shared_rotors(tree, tie.tied, tie.rows)


def hold_followers(tree, q, r, n, tie):
    """Correct Z of the first n rows r by the constraints of mimic joints: Z <- Z - Z_A S^-1 Z_A' D^-1 Z."""
    tied, own = tie.tied, tie.rows
    respond_to_rows(tree, tied, q, own)
    for row in range(n):
        for b in range(tied.count):
            own.force[b] = r.still[0]
        take_forces(tree, tied, own, r, row)
        solve(own.G, own.force)
        give_forces(tree, tied, own, r, row)
    for i in range(1, tree.n_bodies + 1):
        for b in range(tied.count):
            if own.alive[i, b] > 0:
                for k in range(tree.v_start[i], tree.v_start[i + 1]):
                    r.first[k], r.last[k] = 0, n


def take_forces(tree, tied, own, r, row):
    """own.force = -Z_A' D^-1 Z[:, row]."""
    for i in range(1, tree.n_bodies + 1):
        for b in range(tied.count):
            if own.alive[i, b] > 0:
                for k in range(tree.v_start[i], tree.v_start[i + 1]):
                    own.force[b] -= own.Z[k, b] * own.D_inv[k] * r.Z[k, row]


def give_forces(tree, tied, own, r, row):
    """Z[:, row] += Z_A own.force."""
    for i in range(1, tree.n_bodies + 1):
        for b in range(tied.count):
            if own.alive[i, b] > 0:
                for k in range(tree.v_start[i], tree.v_start[i + 1]):
                    r.Z[k, row] += own.Z[k, b] * own.force[b]


def any_tree(tree, tie):
    """Return the tree unchanged; variant of `tied_tree` without mimic joints."""
    return tree


def hold_nothing(tree, q, r, n, tie):
    """Do nothing; variant of `hold_followers` without mimic joints."""
