"""Contact of robots with mimic joints: the constraint response of the spanning tree to rows of contact.

Impulses lambda along contact rows cause impulses mu along the mimic rows A, such that A v = 0. With Z of `delassus`,
Z_A of the rows A, and S = A (M + D)^-1 A', mu = -S^-1 Z_A' D^-1 Z lambda. So it suffices to replace Z by Z - Z_A S^-1
Z_A' D^-1 Z. G = Z' D^-1 Z and the response to impulses are then those of the independent coordinates.
"""

from typing import Any, NamedTuple

from ..algebra.cholesky import solve
from .mimic import mimic_joints_of, mimic_row_memory, respond_to_rows, with_shared_rotors


class MimicRows(NamedTuple):
    """Mimic joints of a tree, and scratch memory for their rows."""

    mimic: Any
    rows: Any


def mimic_constraint_memory(tree, mimic_ints, mimic_reals, q):
    """Mimic joints, and scratch memory for their rows, with the dtype of q."""
    mimic = mimic_joints_of(mimic_ints, mimic_reals)
    return MimicRows(mimic, mimic_row_memory(tree, mimic, q))


def with_mimic_rotors(tree, mimic_constraint):
    """Return the tree with rotor inertias distributed over mimicked and mimic joints."""
    return with_shared_rotors(tree, mimic_constraint.mimic, mimic_constraint.rows)


def constrain_mimic_joints(tree, q, r, n, mimic_constraint):
    """Correct Z of the first n rows r by the constraints of mimic joints: Z <- Z - Z_A S^-1 Z_A' D^-1 Z."""
    mimic, own = mimic_constraint.mimic, mimic_constraint.rows
    respond_to_rows(tree, mimic, q, own)
    for row in range(n):
        for b in range(mimic.count):
            own.force[b] = r.still[0]
        take_forces(tree, mimic, own, r, row)
        solve(own.G, own.force)
        give_forces(tree, mimic, own, r, row)
    for i in range(1, tree.n_bodies + 1):
        for b in range(mimic.count):
            if own.active[i, b] > 0:
                for k in range(tree.v_start[i], tree.v_start[i + 1]):
                    r.first[k], r.last[k] = 0, n


def take_forces(tree, mimic, own, r, row):
    """own.force = -Z_A' D^-1 Z[:, row]."""
    for i in range(1, tree.n_bodies + 1):
        for b in range(mimic.count):
            if own.active[i, b] > 0:
                for k in range(tree.v_start[i], tree.v_start[i + 1]):
                    own.force[b] -= own.Z[k, b] * own.D_inv[k] * r.Z[k, row]


def give_forces(tree, mimic, own, r, row):
    """Z[:, row] += Z_A own.force."""
    for i in range(1, tree.n_bodies + 1):
        for b in range(mimic.count):
            if own.active[i, b] > 0:
                for k in range(tree.v_start[i], tree.v_start[i + 1]):
                    r.Z[k, row] += own.Z[k, b] * own.force[b]


def any_tree(tree, mimic_constraint):
    """Return the tree unchanged; variant of `with_mimic_rotors` without mimic joints."""
    return tree


def constrain_nothing(tree, q, r, n, mimic_constraint):
    """Do nothing; variant of `constrain_mimic_joints` without mimic joints."""
