"""Rows of frames and loops of robots with followers: what the spanning tree's joints let through of them.

With the followers' rows A (see `mimic`) a force changes accelerations by H^-1 - H^-1 A' S^-1 A H^-1, S = A H^-1 A'.
So rows J of constraints see G = J H^-1 J' - B S^-1 B' with B = J H^-1 A', and what any method finds for the spanning
tree's accelerations is brought to those of the robot by `hold`. H is the matrix of the articulated inertias that are
given, with whatever has been added to them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algebra.spatial import motion_add
from ..algebra.tables import body_transform_at, force_at, motion_at, put_force, put_motion, put_transform
from ..dynamics.aba import accelerate_outward
from ..mimic.mimic import (
    follower_rows,
    followers_of,
    hold_to_leaders,
    solve_row,
    spread_followers,
    take_from,
    unit_response,
    with_shared_rotors,
)
from .constraints import row_accelerations


class Tie(NamedTuple):
    """What followers change, as functions, and their memory; for robots without followers these do nothing.

    felt (tree, tie): the tree whose joints are held, with rotor inertias spread over leaders and followers.
    answer (tree, tie, X, U, D_inv): the followers' rows, by articulated quantities.
    uncouple (tie), couple (tie, i, k, D_inv, screw, K, index, side, n): B = J H^-1 A' of the n rows that reach body i,
    where they pass its degree of freedom k.
    reduce (tie, G): G of constraints, in its lower triangle, without what followers do not let through, by B.
    stiffen (tree, tie, task, A, diagonal): the same of G's diagonal alone, without B.
    hold (tree, tie, qdd): accelerations, or changes of velocities, with followers held to their leaders.
    move (tree, tie, accelerations): the bodies' accelerations, as the last `hold` changes them.
    find (tree, tie, task, A, X, C, U, D_inv, nu, qdd, accelerations, found): found = what rows see of the free motion.
    """

    felt: Any
    answer: Any
    uncouple: Any
    couple: Any
    reduce: Any
    stiffen: Any
    hold: Any
    move: Any
    find: Any
    tied: Any
    rows: Any
    B: Any  # (m, f)
    change: Any  # (nv,)


def tie_memory(tree, followers, ratios, m, q):
    """The followers of a tree, and scratch memory for their rows beside m rows of constraints, of the numbers in q."""
    tied = followers_of(followers, ratios)
    return Tie(
        with_spread_rotors, answer_rows, clear_couplings, couple_at, take_followers, take_from_diagonal,
        hold_followers, move_bodies, find_free_rows, tied, follower_rows(tree, tied, q),
        np.empty((m, tied.count), q.dtype), np.empty(tree.nv, q.dtype),
    )  # fmt: skip


def no_tie():
    """That of robots without followers."""
    return Tie(
        same_tree, answer_nothing, clear_nothing, couple_nothing, reduce_nothing, take_nothing, hold_nothing,
        hold_nothing, find_nothing, 0, 0, 0, 0,
    )  # fmt: skip


def with_spread_rotors(tree, tie):
    """The tree with rotor inertias spread over leaders and followers."""
    return with_shared_rotors(tree, tie.tied, tie.rows)


def answer_rows(tree, tie, X, U, D_inv):
    """The followers' rows Z, and the factor of S."""
    r = tie.rows
    for i in range(1, tree.n_bodies + 1):
        put_transform(r.X, i, body_transform_at(tree, X, i))
    for k in range(tree.nv):
        put_force(r.U, k, force_at(U, k))
        r.D_inv[k] = D_inv[k]
    spread_followers(tree, tie.tied, r)


def clear_couplings(tie):
    """B = 0."""
    for r in range(tie.B.shape[0]):
        for b in range(tie.tied.count):
            tie.B[r, b] = tie.rows.G[b, b] * 0


def couple_at(tie, i, k, D_inv, screw, K, index, side, n):
    """B += Z' D^-1 Z_A at degree of freedom k, Z = S' K of the n rows that reach body i."""
    for b in range(tie.tied.count):
        if tie.rows.alive[i, b] > 0:
            share = D_inv * tie.rows.Z[k, b]
            for a in range(n):
                tie.B[index[a], b] += K[side[a], index[a], screw] * share


def couple_rows(tree, tie, task, A):
    """B = J H^-1 A'."""
    for b in range(tie.tied.count):
        unit_response(tree, tie.tied, b, tie.change, tie.rows)
        row_accelerations(task, A, tie.rows.A, tie.B[:, b])


def take_followers(tie, G):
    """G <- G - B S^-1 B', in the lower triangle."""
    take_from(tie.tied, tie.B, G, tie.rows)


def take_from_diagonal(tree, tie, task, A, diagonal):
    """The diagonal of G <- that of G - B S^-1 B'."""
    couple_rows(tree, tie, task, A)
    for j in range(diagonal.size):
        solve_row(tie.tied, tie.B, j, tie.rows)
        for b in range(tie.tied.count):
            diagonal[j] -= tie.B[j, b] * tie.rows.force[b]


def hold_followers(tree, tie, qdd):
    """qdd with followers held to their leaders, in place."""
    hold_to_leaders(tree, tie.tied, qdd, tie.rows)


def move_bodies(tree, tie, accelerations):
    """The bodies' accelerations with what the followers' rows add to them."""
    for i in range(1, tree.n_bodies + 1):
        put_motion(accelerations, i, motion_add(motion_at(accelerations, i), motion_at(tie.rows.A, i)))


def find_free_rows(tree, tie, task, A, X, C, U, D_inv, nu, qdd, accelerations, found):
    """found = A a under the joints' nu, with followers held to their leaders."""
    accelerate_outward(tree, X, C, U, D_inv, nu, qdd, accelerations)
    hold_followers(tree, tie, qdd)
    move_bodies(tree, tie, accelerations)
    row_accelerations(task, A, accelerations, found)


def same_tree(tree, tie):
    """The tree as it is, without followers."""
    return tree


def answer_nothing(tree, tie, X, U, D_inv):
    """There are no rows, without followers."""


def find_nothing(tree, tie, task, A, X, C, U, D_inv, nu, qdd, accelerations, found):
    """What has been found stays, without followers."""


def clear_nothing(tie):
    """Nothing is coupled, without followers."""


def couple_nothing(tie, i, k, D_inv, screw, K, index, side, n):
    """Nothing is coupled, without followers."""


def reduce_nothing(tie, G):
    """All of G is let through, without followers."""


def take_nothing(tree, tie, task, A, G):
    """All of G is let through, without followers."""


def hold_nothing(tree, tie, x):
    """Nothing is held, without followers."""
