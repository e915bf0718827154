"""The time that a step takes: the mean of recent ones."""

import pytest

from treesim.simulation.simulation import Simulation
from treesim.viewing.live import timed
from treesim.viewing.live.timed import TimedSimulation


@pytest.mark.parametrize(("steps", "mean"), [(1, 2.0), (4, 1.25), (100, 1.01), (500, 1.01)])
def test_the_last_of_many_steps_counts_for_a_hundredth(steps, mean, monkeypatch):
    """The first step, which compiles, does not count; the last takes 2 s, the others 1 s."""
    seconds = iter([60.0, *[1.0] * (steps - 1), 2.0])
    clock = [0.0]

    def step(self, t, q, v):
        clock[0] += next(seconds)
        return q, v

    monkeypatch.setattr(Simulation, "step", step)
    monkeypatch.setattr(timed.time, "perf_counter", lambda: clock[0])
    simulation = object.__new__(TimedSimulation)
    for _ in range(steps + 1):
        simulation.step(0.0, None, None)
    assert simulation.step_seconds == pytest.approx(mean)
