"""Classical Runge-Kutta of order 4 on the configuration manifold (Munthe-Kaas 1998)."""

from __future__ import annotations

from .base import CompiledRule


class RungeKutta4(CompiledRule):
    """Four evaluations a step, weights 1 2 2 1; see `treesim.kernels.stepping.explicit_rules`."""

    name = "rk4"
    order = 4
    friction = False
    rule = "rk4"
