"""Explicit midpoint rule on the configuration manifold; order 2."""

from __future__ import annotations

from .base import FixedStep, System, Vector


class Midpoint(FixedStep):
    """q+ = q (+) dt v_m, v+ = v + dt qdd(q_m, v_m), with (q_m, v_m) half an Euler step ahead."""

    name = "midpoint"
    order = 2
    friction = False

    def step(self, system: System, t: float, q: Vector, v: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return (q, v) at t + dt."""
        half = dt / 2
        q_middle = system.robot.integrate(q, half * v)
        v_middle = v + half * system.acceleration(t, q, v)
        a_middle = system.acceleration(t + half, q_middle, v_middle)
        return system.robot.integrate(q, dt * v_middle), v + dt * a_middle
