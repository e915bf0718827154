"""Λ^-1 over the compressed tree of the bodies where task forces start or meet (PV-OSIMr)."""

from __future__ import annotations

from ..kernels.operational.pv_osim_r import inverse_inertia_pv_osim_r_states
from .base import CompiledMethod


class PvOsimR(CompiledMethod):
    """Λ^-1 over the compressed tree of the bodies where task forces start or meet (PV-OSIMr), O(N + m^2)."""

    name = "pv_osim_r"
    source = "Sathya, Decre, Swevers 2023, reduced"
    entry = inverse_inertia_pv_osim_r_states
