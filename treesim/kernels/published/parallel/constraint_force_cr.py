"""Constraint-force method with cyclic reduction along each path, O(N) work in O(log^2 N) stages."""

from __future__ import annotations

import numpy as np

from ...entries.annotations import Integers, TableOfIntegers, TableOfReals
from ...entries.entry import stages_of
from ..residual_check import check_memory, residual_status
from .constraint_force_stages import (
    constraint_force_entry,
    forward_dynamics,
    joint_wrenches_entry,
    memory_for,
    prepare,
    put_joint_wrenches,
    some_stages,
)
from .cyclic_reduction import (
    EXTRA,
    eliminate_matrix,
    eliminate_vector,
    elimination_rounds,
    substitute,
    substitution_rounds,
)


def forward_dynamics_constraint_force_cr(tree, q, v, tau, f_ext, qdd, paths, w):
    """Forward dynamics; returns a status, as `soundness` does."""
    return forward_dynamics(tree, q, v, tau, f_ext, qdd, paths, w, eliminate_matrix, eliminate_vector, substitute)


def scratch_for(tree, q):
    """Paths of a tree, and scratch memory, with the dtype of q."""
    return memory_for(tree, q, EXTRA, elimination_rounds, substitution_rounds)


forward_dynamics_constraint_force_cr_states = constraint_force_entry(forward_dynamics_constraint_force_cr, scratch_for)


def joint_wrenches_constraint_force_cr(tree, q, v, tau, f_ext, wrenches, turns, qdd, check, paths, w):
    """Wrenches across all joints, the unknowns of this method; returns a status."""
    status = forward_dynamics_constraint_force_cr(tree, q, v, tau, f_ext, qdd, paths, w)
    put_joint_wrenches(tree, paths, w, turns, wrenches)
    return max(status, residual_status(tree, w.X, v, tau, f_ext, qdd, check))


def scratch_for_wrenches(tree, q):
    """Scratch memory for accelerations, for their check, and for forward dynamics."""
    paths, w = scratch_for(tree, q)
    return np.empty(tree.nv, q.dtype), check_memory(tree, q), paths, w


joint_wrenches_constraint_force_cr_states = joint_wrenches_entry(
    joint_wrenches_constraint_force_cr, scratch_for_wrenches
)


def prepare_constraint_force_cr(ints: TableOfIntegers, reals: TableOfReals, paths: Integers) -> int:
    """Write the paths and stages of a tree to a table of `table_size` integers."""
    return prepare(ints, reals, paths, elimination_rounds, substitution_rounds)


@stages_of(forward_dynamics_constraint_force_cr_states, paths="Integers", memory="Reals")
def constraint_force_cr_stages(ints, reals, paths, memory, first, last, share, shares, q, v, tau, f_ext, qdd):
    """Compute one of `shares` shares of the stages from `first` to `last`, for one state."""
    return some_stages(
        ints, reals, paths, memory, first, last, share, shares,
        q, v, tau, f_ext, qdd, eliminate_matrix, eliminate_vector, substitute,
    )  # fmt: skip
