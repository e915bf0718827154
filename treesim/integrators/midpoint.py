"""Explicit midpoint rule on the configuration manifold; order 2."""

from __future__ import annotations

from .base import CompiledRule


class Midpoint(CompiledRule):
    """q+ = q (+) dt v_m, v+ = v + dt qdd(q_m, v_m), with (q_m, v_m) half an Euler step ahead."""

    name = "midpoint"
    order = 2
    friction = False
    rule = "midpoint"
