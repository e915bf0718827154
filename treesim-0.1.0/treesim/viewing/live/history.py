"""History of a live simulation's states."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import NamedTuple

import numpy as np

MOST_BYTES = 64 * 2**20  # of states; beyond, every second one is removed
FEWEST = 16  # states that are always stored


class Moment(NamedTuple):
    """State at time t [s]: q (nq,), v (nv,)."""

    t: float
    q: np.ndarray
    v: np.ndarray


class History:
    """States by time. Beyond 64 MiB every second state is removed, so the time resolution of a long run is coarser."""

    def __init__(self) -> None:
        self._moments: list[Moment] = []

    def __len__(self) -> int:
        return len(self._moments)

    @property
    def span(self) -> tuple[float, float]:
        """First and last time [s]; 0 and 0 for an empty history."""
        return (self._moments[0].t, self._moments[-1].t) if self._moments else (0.0, 0.0)

    def clear(self) -> None:
        """Remove all states."""
        self._moments.clear()

    def add(self, moment: Moment) -> None:
        """Add a state; states at its time or later are removed."""
        del self._moments[bisect_left(self._moments, moment.t, key=lambda kept: kept.t) :]
        self._moments.append(moment)
        size = 8 * (moment.q.size + moment.v.size) + 300  # including the objects' overhead
        if len(self._moments) > max(MOST_BYTES // size, FEWEST):
            del self._moments[1::2]

    def at(self, t: float) -> Moment | None:
        """Return the last state at or before t [s], else the first one; None for an empty history."""
        if not self._moments:
            return None
        return self._moments[max(bisect_right(self._moments, t, key=lambda kept: kept.t) - 1, 0)]
