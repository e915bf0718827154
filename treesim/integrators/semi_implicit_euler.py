"""Semi-implicit (symplectic) Euler: velocity first, then position with the new velocity; order 1, the default.

Joint damping, Coulomb friction and a controller's gains enter implicitly, as additions to the mass matrix's diagonal.
A floating base is stepped in axes that do not turn during the step: stepping its body-frame velocity instead adds
(omega dt)^2 / 2 of speed in every step.
"""

from __future__ import annotations

import numpy as np

from .base import FixedStep, System, Vector, semi_implicit_step


class SemiImplicitEuler(FixedStep):
    """v+ = v + dt qdd(q, v, v+ in the damping), q+ = q (+) dt v+."""

    name = "semi_implicit_euler"
    order = 1
    friction = True

    def step(self, system: System, t: float, q: Vector, v: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return (q, v) at t + dt."""
        a = system.implicit_acceleration(t, q, v, dt)
        origins = np.zeros((system.robot.n_bodies + 1, 3))
        q, v = semi_implicit_step(system.robot, q, v, a, dt, origins)
        return q, v
