"""Classical Runge-Kutta of order 4 on the configuration manifold (Munthe-Kaas 1998).

The configuration is written q(t) = q0 (+) d(t); the stages step d, whose rate follows from the velocity by the
inverse of the tangent of the exponential, so the order holds with quaternions too.
"""

from __future__ import annotations

from .base import FixedStep, System, Vector, chart_rate


class RungeKutta4(FixedStep):
    """Four evaluations a step, weights 1 2 2 1."""

    name = "rk4"
    order = 4
    friction = False

    def step(self, system: System, t: float, q: Vector, v: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return (q, v) at t + dt."""
        robot = system.robot

        def rates(time: float, d: Vector, velocity: Vector) -> tuple[Vector, Vector]:
            configuration = robot.integrate(q, d)
            return chart_rate(robot, d, velocity), system.acceleration(time, configuration, velocity)

        half = dt / 2
        d1, a1 = v, system.acceleration(t, q, v)
        d2, a2 = rates(t + half, half * d1, v + half * a1)
        d3, a3 = rates(t + half, half * d2, v + half * a2)
        d4, a4 = rates(t + dt, dt * d3, v + dt * a3)
        displacement = dt / 6 * (d1 + 2 * d2 + 2 * d3 + d4)
        return robot.integrate(q, displacement), v + dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
