"""States of rollouts at the starts of their steps, recorded or computed again from checkpoints."""

from __future__ import annotations

from functools import partial
from typing import Protocol

import numpy as np

from ..contact.checks import begin_checks
from ..engine.call.buffer_pool import empty
from .arguments import Method, Start
from .parameters import Physics
from .rollout import rollout_segment
from .rollouts import Rollouts, Run, times


class States(Protocol):
    """States of rollouts; segments: of steps, whose states are in memory at the same time."""

    rollouts: Rollouts
    segments: list[slice]

    def at(self, steps: slice) -> list[np.ndarray]:
        """Return q, v (B, n + 1, ...) at the starts of the n steps of a segment, and at its end."""

    def of_parts(self, steps: slice) -> list[np.ndarray] | None:
        """Return q, v (B, n s, ...) at the starts of all s parts of n steps; None if they are not recorded."""


class RecordedStates:
    """Recorded states, which become read-only, in segments of `length` steps behind the first one; see `States`.

    parts: the same rollouts with a record of each part of a step, if there are any.
    """

    def __init__(self, start: Start, rollouts: Rollouts, length: int, parts: Rollouts | None = None) -> None:
        self.rollouts, self._start, self._parts = rollouts, start, parts
        self.segments = [slice(0, min(1, start.steps)), *_segments(1, start.steps, length)]
        for x in (rollouts.q, rollouts.v):
            x.setflags(write=False)

    def at(self, steps: slice) -> list[np.ndarray]:
        """Return the states at the starts and the end of steps."""
        return self._of(self.rollouts, steps)

    def of_parts(self, steps: slice) -> list[np.ndarray] | None:
        """Return q, v (B, n s, ...) at the starts of all s parts of n steps; None if they are not recorded."""
        if self._parts is None:
            return None
        count = self._parts.q.shape[1] // self._start.steps
        return [x[:, :-1] for x in self._of(self._parts, slice(count * steps.start, count * steps.stop))]

    def _of(self, found: Rollouts, steps: slice) -> list[np.ndarray]:
        if steps.start:
            return [x[:, steps.start - 1 : steps.stop] for x in (found.q, found.v)]
        begin = zip((self._start.q, self._start.v), (found.q, found.v), strict=True)
        return [np.concatenate([x[:, None], recorded[:, : steps.stop]], axis=1) for x, recorded in begin]


class Checkpoints:
    """Rollouts that record the last state only, and checkpoints at the starts of their segments; see `States`."""

    def __init__(self, method: Method, start: Start, physics: Physics | None, length: int) -> None:
        self.segments = _segments(0, start.steps, length)
        self._segment = partial(rollout_segment, method, start, 1, physics=physics)
        checks = begin_checks(len(start.q)) if method.touches else None
        steps, count = start.steps, len(start.q)
        self._states, segment = [[start.q, start.v]], self._segment(checks=checks)
        for part in self.segments:
            now = self._states[-1]
            after = [np.empty((count, 1, x.shape[1])) for x in now]
            if segment is None:
                after = [x[:, None] for x in now]
            else:
                segment(slice(0, count), part, now, after, part.stop - part.start)
            self._states.append([x[:, 0] for x in after])
        arrays = [x[:, None][:, : steps > 0] for x in self._states[-1]]
        run, records = Run(method, start, {}, checks, None, None), arrays[0].shape[1]
        self.rollouts = run.outcome(times(method.dt, steps, records), arrays, np.full(count, records))

    def at(self, steps: slice) -> list[np.ndarray]:
        """Return the states at the starts and the end of steps, between those of the checkpoints."""
        k = self.segments.index(steps)
        now = self._states[k]
        found = [empty((len(x), steps.stop - steps.start + 1, x.shape[1]), float) for x in now]
        for x, first, last in zip(found, now, self._states[k + 1], strict=True):
            x[:, 0], x[:, -1] = first, last
        segment, between = self._segment(checks=None), slice(steps.start, steps.stop - 1)
        if segment is not None and between.stop > between.start:
            segment(slice(0, len(now[0])), between, now, [x[:, 1:-1] for x in found], 1)
        return found

    def of_parts(self, steps: slice) -> list[np.ndarray] | None:
        """Return None: the parts of steps are computed again."""


def _segments(first: int, last: int, length: int) -> list[slice]:
    return [slice(k, min(k + length, last)) for k in range(first, last, length)]
