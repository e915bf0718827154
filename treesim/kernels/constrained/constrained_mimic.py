"""Rows of frames and loops of robots with mimic joints: corrections by the mimic joints' constraints.

With the rows A of the mimic joints (see `mimic`), a force changes accelerations by H^-1 - H^-1 A' S^-1 A H^-1, S = A
H^-1 A'. So rows J of constraints have G = J H^-1 J' - B S^-1 B' with B = J H^-1 A'. Accelerations of the spanning tree,
from any method, are corrected by `hold`. H is the matrix of the given articulated inertias, with whatever has been
added to them.
"""

from typing import Any, NamedTuple

import numpy as np

from ..algebra.spatial import motion_add
from ..algebra.tables import body_transform_at, force_at, motion_at, put_force, put_motion, put_transform
from ..dynamics.aba import accelerate_outward
from ..mimic.mimic import (
    constrain_accelerations,
    mimic_joints_of,
    mimic_row_memory,
    solve_row,
    subtract_row_response,
    sweep_mimic_rows,
    unit_response,
    with_shared_rotors,
)
from .constraints import row_accelerations, row_count


class MimicConstraint(NamedTuple):
    """Functions for mimic joints, and their memory; for robots without mimic joints the functions do nothing.

    In these signatures, c is this tuple.

    with_rotors (tree, c): returns the tree with rotor inertias distributed over mimicked and mimic joints.

    respond (tree, c, X, U, D_inv): computes the rows of mimic joints from articulated quantities.

    uncouple (c), couple (c, i, k, D_inv, screw, K, index, side, n): compute B = J H^-1 A', initially zero, for the n
    rows that reach body i, at its degree of freedom k.

    reduce (c, G): subtracts B S^-1 B' from G of constraints, in its lower triangle.

    stiffen (tree, c, task, A, diagonal): the same for G's diagonal only, without B.

    hold (tree, c, qdd): applies the constraints of mimic joints to accelerations, or to changes of velocities.

    move (tree, c, accelerations): adds the last `hold`'s change to the bodies' accelerations.

    find (tree, c, task, A, X, C, U, D_inv, nu, qdd, accelerations, found): found = A a of the unconstrained motion.
    """

    with_rotors: Any
    respond: Any
    uncouple: Any
    couple: Any
    reduce: Any
    stiffen: Any
    hold: Any
    move: Any
    find: Any
    mimic: Any
    rows: Any
    B: Any  # (m, f)
    change: Any  # (nv,)


def mimic_constraint_memory(tree, mimic_ints, mimic_reals, layout, q):
    """Mimic joints, and scratch memory for their rows and those of constraints, with the dtype of q."""
    mimic = mimic_joints_of(mimic_ints, mimic_reals)
    return MimicConstraint(
        with_spread_rotors, respond_mimic_rows, clear_couplings, couple_at, subtract_mimic_response, take_from_diagonal,
        constrain_mimic_joints, move_bodies, find_free_rows, mimic, mimic_row_memory(tree, mimic, q),
        np.empty((row_count(layout), mimic.count), q.dtype), np.empty(tree.nv, q.dtype),
    )  # fmt: skip


def no_mimic_constraint():
    """Functions for robots without mimic joints."""
    return MimicConstraint(
        same_tree, respond_nothing, clear_nothing, couple_nothing, reduce_nothing, take_nothing, constrain_nothing,
        constrain_nothing, find_nothing, 0, 0, 0, 0,
    )  # fmt: skip


def with_spread_rotors(tree, mimic_constraint):
    """Return the tree with rotor inertias distributed over mimicked and mimic joints."""
    return with_shared_rotors(tree, mimic_constraint.mimic, mimic_constraint.rows)


def respond_mimic_rows(tree, mimic_constraint, X, U, D_inv):
    """Z of the rows of mimic joints, and the factor of S."""
    r = mimic_constraint.rows
    for i in range(1, tree.n_bodies + 1):
        put_transform(r.X, i, body_transform_at(tree, X, i))
    for k in range(tree.nv):
        put_force(r.U, k, force_at(U, k))
        r.D_inv[k] = D_inv[k]
    sweep_mimic_rows(tree, mimic_constraint.mimic, r)


def clear_couplings(mimic_constraint):
    """B = 0."""
    for r in range(mimic_constraint.B.shape[0]):
        for b in range(mimic_constraint.mimic.count):
            mimic_constraint.B[r, b] = mimic_constraint.rows.G[b, b] * 0


def couple_at(mimic_constraint, i, k, D_inv, screw, K, index, side, n):
    """B += Z' D^-1 Z_A at degree of freedom k, Z = S' K of the n rows that reach body i."""
    for b in range(mimic_constraint.mimic.count):
        if mimic_constraint.rows.active[i, b] > 0:
            share = D_inv * mimic_constraint.rows.Z[k, b]
            for a in range(n):
                mimic_constraint.B[index[a], b] += K[side[a], index[a], screw] * share


def couple_rows(tree, mimic_constraint, task, A):
    """B = J H^-1 A'."""
    for b in range(mimic_constraint.mimic.count):
        unit_response(tree, mimic_constraint.mimic, b, mimic_constraint.change, mimic_constraint.rows)
        row_accelerations(task, A, mimic_constraint.rows.A, mimic_constraint.B[:, b])


def subtract_mimic_response(mimic_constraint, G):
    """G <- G - B S^-1 B', in the lower triangle."""
    subtract_row_response(mimic_constraint.mimic, mimic_constraint.B, G, mimic_constraint.rows)


def take_from_diagonal(tree, mimic_constraint, task, A, diagonal):
    """Subtract the diagonal of B S^-1 B' from that of G."""
    couple_rows(tree, mimic_constraint, task, A)
    for j in range(diagonal.size):
        solve_row(mimic_constraint.mimic, mimic_constraint.B, j, mimic_constraint.rows)
        for b in range(mimic_constraint.mimic.count):
            diagonal[j] -= mimic_constraint.B[j, b] * mimic_constraint.rows.force[b]


def constrain_mimic_joints(tree, mimic_constraint, qdd):
    """Correct qdd by the constraints of mimic joints, in place."""
    constrain_accelerations(tree, mimic_constraint.mimic, qdd, mimic_constraint.rows)


def move_bodies(tree, mimic_constraint, accelerations):
    """Add the last change by mimic joints' constraints to the bodies' accelerations."""
    for i in range(1, tree.n_bodies + 1):
        put_motion(accelerations, i, motion_add(motion_at(accelerations, i), motion_at(mimic_constraint.rows.A, i)))


def find_free_rows(tree, mimic_constraint, task, A, X, C, U, D_inv, nu, qdd, accelerations, found):
    """found = A a for the joints' nu, with the constraints of mimic joints."""
    accelerate_outward(tree, X, C, U, D_inv, nu, qdd, accelerations)
    constrain_mimic_joints(tree, mimic_constraint, qdd)
    move_bodies(tree, mimic_constraint, accelerations)
    row_accelerations(task, A, accelerations, found)


def same_tree(tree, mimic_constraint):
    """Return the tree unchanged; variant without mimic joints."""
    return tree


def respond_nothing(tree, mimic_constraint, X, U, D_inv):
    """Do nothing; variant without mimic joints."""


def find_nothing(tree, mimic_constraint, task, A, X, C, U, D_inv, nu, qdd, accelerations, found):
    """Do nothing; variant without mimic joints, which leaves `found` unchanged."""


def clear_nothing(mimic_constraint):
    """Do nothing; variant without mimic joints."""


def couple_nothing(mimic_constraint, i, k, D_inv, screw, K, index, side, n):
    """Do nothing; variant without mimic joints."""


def reduce_nothing(mimic_constraint, G):
    """Do nothing; variant without mimic joints."""


def take_nothing(tree, mimic_constraint, task, A, G):
    """Do nothing; variant without mimic joints."""


def constrain_nothing(tree, mimic_constraint, x):
    """Do nothing; variant without mimic joints."""
