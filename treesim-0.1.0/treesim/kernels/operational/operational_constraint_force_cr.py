"""Λ^-1 by the constraint-force method with cyclic reduction along each path, O(N + k N') work in O(log^2 N) stages."""

from __future__ import annotations

from ..published.parallel.cyclic_reduction import (
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


def inverse_inertia_constraint_force_cr(tree, q, out, frames, memory):
    """Λ^-1, a column for each task row."""
    inverse_inertia(tree, q, out, frames, memory, eliminate_matrix, eliminate_vector, substitute)


inverse_inertia_constraint_force_cr_states = inverse_inertia_entry(inverse_inertia_constraint_force_cr, scratch_for)
