"""Λ^-1 by the constraint-force method with parallel cyclic reduction along each path, O(log^2 N) stages."""

from __future__ import annotations

from ..published.parallel.parallel_cyclic_reduction import (
    eliminate_matrix,
    eliminate_vector,
    elimination_rounds,
    extra_for,
    substitute,
    substitution_rounds,
)
from .inverse_inertia import inverse_inertia_entry
from .operational_constraint_force import inverse_inertia, memory_for


def scratch_for(tree, codes, offsets, q):
    """Frames, paths of a tree, and scratch memory, with the dtype of q."""
    return memory_for(tree, codes, offsets, q, elimination_rounds, substitution_rounds, extra_for)


def inverse_inertia_constraint_force_pcr(tree, q, out, frames, memory):
    """Λ^-1, a column for each task row."""
    inverse_inertia(tree, q, out, frames, memory, eliminate_matrix, eliminate_vector, substitute)


inverse_inertia_constraint_force_pcr_states = inverse_inertia_entry(inverse_inertia_constraint_force_pcr, scratch_for)
