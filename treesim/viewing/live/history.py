"""What a live simulation has been through, to go back to."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import NamedTuple

import numpy as np

MOST_BYTES = 64 * 2**20  # of states that are kept; beyond, every second one is forgotten
FEWEST = 16  # states that are kept at least


class Moment(NamedTuple):
    """A state that was shown: time [s], q (nq,), v (nv,)."""

    t: float
    q: np.ndarray
    v: np.ndarray


class History:
    """The states that were shown, by time. Where they take more than 64 MiB every second one is forgotten, so that a
    long run is kept whole, in coarser steps."""

    def __init__(self) -> None:
        self._moments: list[Moment] = []

    def __len__(self) -> int:
        return len(self._moments)

    @property
    def span(self) -> tuple[float, float]:
        """The first and the last time [s]; 0 and 0 where there is none."""
        return (self._moments[0].t, self._moments[-1].t) if self._moments else (0.0, 0.0)

    def clear(self) -> None:
        """Forget all."""
        self._moments.clear()

    def add(self, moment: Moment) -> None:
        """Keep a state, in place of all that were at its time or later."""
        del self._moments[bisect_left(self._moments, moment.t, key=lambda kept: kept.t) :]
        self._moments.append(moment)
        size = 8 * (moment.q.size + moment.v.size) + 300  # with what the objects themselves take
        if len(self._moments) > max(MOST_BYTES // size, FEWEST):
            del self._moments[1::2]

    def at(self, t: float) -> Moment | None:
        """Return the last state that is not after t [s], or else the first; None where there is none."""
        if not self._moments:
            return None
        return self._moments[max(bisect_right(self._moments, t, key=lambda kept: kept.t) - 1, 0)]
