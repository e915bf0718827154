"""Λ^-1 by the constraint-force method with elimination along each path, O(N + k N')."""

from __future__ import annotations

from ..published.parallel.path_elimination import (
    EXTRA,
    eliminate_matrix,
    eliminate_vector,
    elimination_rounds,
    substitute,
    substitution_rounds,
)
from .inverse_inertia import inverse_inertia_entry
from .operational_constraint_force import inverse_inertia, memory_for


def extra_for(rounds):
    """Return the number of additional elements per body."""
    return EXTRA


def scratch_for(tree, codes, offsets, q):
    """Frames, paths of a tree, and scratch memory, with the dtype of q."""
    return memory_for(tree, codes, offsets, q, elimination_rounds, substitution_rounds, extra_for)


def inverse_inertia_constraint_force(tree, q, out, frames, memory):
    """Λ^-1, a column for each task row."""
    inverse_inertia(tree, q, out, frames, memory, eliminate_matrix, eliminate_vector, substitute)


inverse_inertia_constraint_force_states = inverse_inertia_entry(inverse_inertia_constraint_force, scratch_for)
