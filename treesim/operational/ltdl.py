"""Λ^-1 = Y_D Y_d' from the sparse factors H = L' D L."""

from __future__ import annotations

from ..kernels.operational.operational_sparse import inverse_inertia_ltdl_states
from .base import CompiledMethod


class SparseLtdl(CompiledMethod):
    """Λ^-1 = Y_D Y_d' from the sparse factors H = L' D L."""

    name = "ltdl"
    source = "Featherstone 2010, section 6"
    entry = inverse_inertia_ltdl_states
