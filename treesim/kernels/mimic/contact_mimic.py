"""Contact of robots with followers: what the spanning tree's joints let through of the rows of contact.

An impulse along a row calls forth impulses mu of the followers' rows A that keep A v = 0: with Z of `delassus`,
Z_A of the rows A, and S = A (M + D)^-1 A', mu = -S^-1 Z_A' D^-1 Z lambda. So Z <- Z - Z_A S^-1 Z_A' D^-1 Z is all that
differs: G = Z' D^-1 Z and the response to impulses are then those of the independent coordinates.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..algebra.cholesky import solve
from .mimic import follower_rows, followers_of, respond_to_rows, with_shared_rotors


class Tie(NamedTuple):
    """The followers of a tree, and memory for their rows."""

    tied: Any
    rows: Any


def tie_memory(tree, followers, ratios, q):
    """The followers, and scratch memory for their rows, of the numbers in q."""
    tied = followers_of(followers, ratios)
    return Tie(tied, follower_rows(tree, tied, q))


def tied_tree(tree, tie):
    """The tree with rotor inertias spread over leaders and followers."""
    return with_shared_rotors(tree, tie.tied, tie.rows)


def hold_followers(tree, q, r, n, tie):
    """Z of the first n rows r, without what the followers do not let through."""
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
    """The tree as it is, without followers."""
    return tree


def hold_nothing(tree, q, r, n, tie):
    """All rows are let through, without followers."""
