"""Λ^-1 in one inward pass with the articulated quantities (PV-OSIM)."""

from __future__ import annotations

from ..kernels.operational.pv_osim import inverse_inertia_pv_osim_states
from .base import CompiledMethod


class PvOsim(CompiledMethod):
    """Λ^-1 in one inward pass with the articulated quantities (PV-OSIM)."""

    name = "pv_osim"
    source = "Sathya, Decre, Swevers 2023"
    entry = inverse_inertia_pv_osim_states
