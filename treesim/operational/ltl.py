"""Λ^-1 = Y Y' from the sparse factor H = L' L."""

from __future__ import annotations

from ..kernels.operational.operational_sparse import inverse_inertia_ltl_states
from .base import CompiledMethod


class SparseLtl(CompiledMethod):
    """Λ^-1 = Y Y' from the sparse factor H = L' L."""

    name = "ltl"
    source = "Featherstone 2010, section 6"
    entry = inverse_inertia_ltl_states
