"""Simulation that measures the time of its steps."""

from __future__ import annotations

import time

import numpy as np

from ...simulation.simulation import Simulation

STEPS = 100  # of the running mean


class TimedSimulation(Simulation):
    """`treesim.Simulation` that measures the mean time of recent steps.

    step_seconds: this mean [s]; None before the second step, since the first one may compile.
    """

    step_seconds: float | None = None
    _steps = 0

    def step(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (q, v) at t + dt, as `treesim.Simulation` does, and measure the time."""
        began = time.perf_counter()
        after = super().step(t, q, v)
        taken = time.perf_counter() - began
        if self._steps > 0:
            mean = taken if self.step_seconds is None else self.step_seconds
            self.step_seconds = mean + (taken - mean) / min(self._steps, STEPS)
        self._steps += 1
        return after
