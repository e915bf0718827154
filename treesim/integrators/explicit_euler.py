"""Explicit Euler: position and velocity from the rates at the start of the step; order 1."""

from __future__ import annotations

from .base import FixedStep, System, Vector


class ExplicitEuler(FixedStep):
    """q+ = q (+) dt v, v+ = v + dt qdd(q, v). Gains energy on oscillations: for teaching and comparison."""

    name = "explicit_euler"
    order = 1
    friction = False

    def step(self, system: System, t: float, q: Vector, v: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return (q, v) at t + dt."""
        return system.robot.integrate(q, dt * v), v + dt * system.acceleration(t, q, v)
