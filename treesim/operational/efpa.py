"""Λ^-1 by the extended force propagator: tasks meet at their nearest common ancestor."""

from __future__ import annotations

from ..kernels.operational.efpa import inverse_inertia_efpa_states
from .base import CompiledMethod


class Efpa(CompiledMethod):
    """Λ^-1 by the extended force propagator: tasks meet at their nearest common ancestor."""

    name = "efpa"
    source = "after Wensing, Featherstone, Orin 2012"
    entry = inverse_inertia_efpa_states
