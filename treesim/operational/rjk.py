"""Λ^-1 = R Omega R' by the low-order recursion of Rodriguez, Jain and Kreutz-Delgado."""

from __future__ import annotations

from ..kernels.operational_rjk import inverse_inertia_rjk_states
from .base import CompiledMethod


class Rjk(CompiledMethod):
    """Λ^-1 = R Omega R' by the low-order recursion of Rodriguez, Jain and Kreutz-Delgado."""

    name = "rjk"
    source = "Featherstone 2010, appendix B, Figure 15 corrected"
    entry = inverse_inertia_rjk_states
