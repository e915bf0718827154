"""Explicit Euler: position and velocity from the rates at the start of the step; order 1."""

from __future__ import annotations

from .base import CompiledRule


class ExplicitEuler(CompiledRule):
    """q+ = q (+) dt v, v+ = v + dt qdd(q, v). Gains energy on oscillations: for teaching and comparison."""

    name = "explicit_euler"
    order = 1
    friction = False
    rule = "explicit_euler"
