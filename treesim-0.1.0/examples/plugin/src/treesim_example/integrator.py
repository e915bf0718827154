"""Heun's method, of second order, in Python."""

from __future__ import annotations

from typing import Any

import numpy as np


class Heun:
    """The mean of the rates at the start and at the end of an Euler step."""

    name = "heun"
    order = 2
    joint_friction = False

    def step(self, system: Any, t: float, q: np.ndarray, v: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Return (q, v) at t + dt."""
        a = system.acceleration(t, q, v)
        v_end = v + dt * a
        q_end = system.robot.integrate(q, dt * v)  # never by adding numbers to quaternions
        a_end = system.acceleration(t + dt, q_end, v_end)
        return system.robot.integrate(q, dt * (v + v_end) / 2), v + dt * (a + a_end) / 2
