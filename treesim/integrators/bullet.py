"""The stepping rule of Bullet's multibody solver, for comparisons step by step; order 1.

It is semi-implicit Euler with the base's velocity taken at its centre of mass, and damping taken explicitly.
Coulomb friction is not simulated, as in Bullet.
"""

from __future__ import annotations

import numpy as np

from .base import FixedStep, System, Vector, semi_implicit_step


class BulletRule(FixedStep):
    """v+ = v + dt qdd(q, v), q+ = q (+) dt v+, the base moving with its centre of mass."""

    name = "bullet"
    order = 1
    friction = False

    def step(self, system: System, t: float, q: Vector, v: Vector, dt: float) -> tuple[Vector, Vector]:
        """Return (q, v) at t + dt."""
        robot = system.robot
        centres = np.vstack([np.zeros(3), [body.inertia.com for body in robot.bodies]])
        turned = np.einsum("bij,bi->bj", robot.body_rotations, centres)
        q, v = semi_implicit_step(robot, q, v, system.acceleration(t, q, v), dt, turned)
        return q, v
