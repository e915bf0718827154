"""Random pushes of a robot during episodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from treesim.errors import ArgumentError, quoted

from .philox import uniform


@dataclass(frozen=True, kw_only=True)
class Pushes:
    """Random forces on a link: one push in each interval of an episode, at a random time within the interval.

    A push is a constant force at the link's origin, along the world's axes, uniform between low and high. It acts in
    all steps that begin during the push. It depends on the environment's seed, the number of the episode and the
    interval only.

    Parameters
    ----------
    link : str
        Name of the link, or of another frame of the robot.
    low : array_like, shape (3,)
        Smallest force [N].
    high : array_like, shape (3,)
        Largest force [N].
    interval : float
        Length of the intervals [s]; the first one begins with the episode.
    duration : float
        Length of a push [s], at most `interval`.

    Raises
    ------
    ArgumentError
        For a value that is not finite or out of range.

    Examples
    --------
    >>> from treesim_gymnasium import Pushes
    >>> Pushes(link="pelvis", low=(-50, -50, 0), high=(50, 50, 0), interval=2.0, duration=0.1)
    Pushes(link='pelvis', low=(-50, -50, 0), high=(50, 50, 0), interval=2.0, duration=0.1)
    """

    link: str
    low: ArrayLike
    high: ArrayLike
    interval: float
    duration: float

    def __post_init__(self) -> None:
        """Raise ArgumentError for an invalid field."""
        bounds = []
        for label in ("low", "high"):
            try:
                bound = np.asarray(getattr(self, label), float)
            except (TypeError, ValueError):
                bound = np.empty(0)
            if bound.shape != (3,) or not np.isfinite(bound).all():
                raise ArgumentError(f"{label} must be 3 finite numbers, got {quoted(getattr(self, label))}")
            bounds.append(bound)
        if (bounds[0] > bounds[1]).any():
            raise ArgumentError(f"low must not be above high, got {quoted(self.low)} and {quoted(self.high)}")
        if not (_is_number(self.interval) and _is_number(self.duration) and 0 < self.duration <= self.interval):
            given = f"{quoted(self.duration)} and {quoted(self.interval)}"
            raise ArgumentError(f"duration and interval must be positive, and duration <= interval, got {given}")

    def forces(self, seeds: np.ndarray, streams: np.ndarray, episodes: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Return the forces (n, m, 3) at times t (n, m) of episodes, by keys and numbers, uint64 (n,) each."""
        number = np.floor(t / self.interval + 1e-9).astype(int)  # of the interval; times contain rounding errors
        found = np.zeros((*t.shape, 3))
        low, high = np.asarray(self.low, float), np.asarray(self.high, float)
        for k in np.unique(number):
            rows = np.flatnonzero((number == k).any(axis=1))
            x = uniform(seeds[rows], streams[rows], episodes[rows], 4, block=int(k) + 1)
            start = k * self.interval + (self.interval - self.duration) * x[:, :1]
            since = t[rows] - start
            acts = (number[rows] == k) & (since >= -1e-9) & (since < self.duration - 1e-9)
            found[rows] += acts[..., None] * (low + (high - low) * x[:, None, 1:])
        return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))
