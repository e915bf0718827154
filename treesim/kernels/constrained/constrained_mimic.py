"""Rows of frames and loops of robots with mimic joints: corrections by the mimic joints' constraints.

With the rows A of the mimic joints (see `mimic`), a force changes accelerations by H^-1 - H^-1 A' S^-1 A H^-1, S = A
H^-1 A'. So rows J of constraints have G = J H^-1 J' - B S^-1 B' with B = J H^-1 A'. Accelerations of the spanning tree,
from any method, are corrected by `hold`. H is the matrix of the given articulated inertias, with whatever has been
added to them.
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
    """Functions for mimic joints, and their memory; for robots without mimic joints the functions do nothing.

    felt (tree, tie): returns the tree with rotor inertias distributed over mimicked and mimic joints.

    answer (tree, tie, X, U, D_inv): computes the rows of mimic joints from articulated quantities.

    uncouple (tie), couple (tie, i, k, D_inv, screw, K, index, side, n): compute B = J H^-1 A', initially zero, for the
    n rows that reach body i, at its degree of freedom k.

    reduce (tie, G): subtracts B S^-1 B' from G of constraints, in its lower triangle.

    stiffen (tree, tie, task, A, diagonal): the same for G's diagonal only, without B.

    hold (tree, tie, qdd): applies the constraints of mimic joints to accelerations, or to changes of velocities.

    move (tree, tie, accelerations): adds the last `hold`'s change to the bodies' accelerations.

    find (tree, tie, task, A, X, C, U, D_inv, nu, qdd, accelerations, found): found = A a of the unconstrained motion.
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
    """Mimic joints, and scratch memory for their rows and m rows of constraints, with the dtype of q."""
    tied = followers_of(followers, ratios)
    return Tie(
        with_spread_rotors, answer_rows, clear_couplings, couple_at, take_followers, take_from_diagonal,
        hold_followers, move_bodies, find_free_rows, tied, follower_rows(tree, tied, q),
        np.empty((m, tied.count), q.dtype), np.empty(tree.nv, q.dtype),
    )  # fmt: skip


def no_tie():
    """Functions for robots without mimic joints."""
    return Tie(
        same_tree, answer_nothing, clear_nothing, couple_nothing, reduce_nothing, take_nothing, hold_nothing,
        hold_nothing, find_nothing, 0, 0, 0, 0,
    )  # fmt: skip


def with_spread_rotors(tree, tie):
    """Return the tree with rotor inertias distributed over mimicked and mimic joints."""
    return with_shared_rotors(tree, tie.tied, tie.rows)


def answer_rows(tree, tie, X, U, D_inv):
    """Z of the rows of mimic joints, and the factor of S."""
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
    """Subtract the diagonal of B S^-1 B' from that of G."""
    couple_rows(tree, tie, task, A)
    for j in range(diagonal.size):
        solve_row(tie.tied, tie.B, j, tie.rows)
        for b in range(tie.tied.count):
            diagonal[j] -= tie.B[j, b] * tie.rows.force[b]


def hold_followers(tree, tie, qdd):
    """Correct qdd by the constraints of mimic joints, in place."""
    hold_to_leaders(tree, tie.tied, qdd, tie.rows)


def move_bodies(tree, tie, accelerations):
    """Add the last change by mimic joints' constraints to the bodies' accelerations."""
    for i in range(1, tree.n_bodies + 1):
        put_motion(accelerations, i, motion_add(motion_at(accelerations, i), motion_at(tie.rows.A, i)))


def find_free_rows(tree, tie, task, A, X, C, U, D_inv, nu, qdd, accelerations, found):
    """found = A a for the joints' nu, with the constraints of mimic joints."""
    accelerate_outward(tree, X, C, U, D_inv, nu, qdd, accelerations)
    hold_followers(tree, tie, qdd)
    move_bodies(tree, tie, accelerations)
    row_accelerations(task, A, accelerations, found)


def same_tree(tree, tie):
    """Return the tree unchanged; variant without mimic joints."""
    return tree


def answer_nothing(tree, tie, X, U, D_inv):
    """Do nothing; variant without mimic joints."""


def find_nothing(tree, tie, task, A, X, C, U, D_inv, nu, qdd, accelerations, found):
    """Do nothing; variant without mimic joints, which leaves `found` unchanged."""


def clear_nothing(tie):
    """Do nothing; variant without mimic joints."""


def couple_nothing(tie, i, k, D_inv, screw, K, index, side, n):
    """Do nothing; variant without mimic joints."""


def reduce_nothing(tie, G):
    """Do nothing; variant without mimic joints."""


def take_nothing(tree, tie, task, A, G):
    """Do nothing; variant without mimic joints."""


def hold_nothing(tree, tie, x):
    """Do nothing; variant without mimic joints."""
