"""Noise of the observations of policies."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..simulation.sensor_draws import NOISE, Draws

LABEL = "observations of the policy"  # of their noise among random numbers


class PolicyNoise(NamedTuple):
    """Uniform noise within half widths (n,), by Philox from seed, rollout and step.

    In rollouts it is the attribute `noise` of the function that is the policy; its numbers follow the parameters p.
    """

    widths: np.ndarray
    seed: int

    def of(self, step: int, rollouts: np.ndarray) -> np.ndarray:
        """Return the noise (B, n) of a step of rollouts with numbers (B,)."""
        samples = np.full((len(rollouts), 1), step)
        drawn = Draws.of(self.seed, rollouts, 0).numbers(LABEL, NOISE, samples, len(self.widths))
        found: np.ndarray = (2 * drawn[:, 0] - 1) * self.widths
        return found


def noise_of(policy: Any) -> PolicyNoise:
    """Return the noise of a policy of rollouts; without numbers if it has none."""
    found = getattr(policy, "noise", None)
    return found if isinstance(found, PolicyNoise) else PolicyNoise(np.empty(0), 0)
