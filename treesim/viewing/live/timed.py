"""A simulation that tells how long its steps take."""

from __future__ import annotations

import time

import numpy as np

from ...simulation.simulation import Simulation

STEPS = 100  # over which the mean is taken, later ones counting more


class TimedSimulation(Simulation):
    """A `treesim.Simulation`, with step_seconds: what a step took lately, in the mean [s]; None before the second,
    since the first one may compile."""

    step_seconds: float | None = None
    _steps = 0

    def step(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (q, v) one dt after time t [s], as `treesim.Simulation` does, and take the time."""
        began = time.perf_counter()
        after = super().step(t, q, v)
        taken = time.perf_counter() - began
        if self._steps > 0:
            mean = taken if self.step_seconds is None else self.step_seconds
            self.step_seconds = mean + (taken - mean) / min(self._steps, STEPS)
        self._steps += 1
        return after
