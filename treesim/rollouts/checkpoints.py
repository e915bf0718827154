"""States of rollouts at the starts of their steps, recorded or computed again from checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

import numpy as np

from ..contact.checks import ContactChecks, begin_checks
from ..engine.call.buffer_pool import empty
from ..engine.call.steps import RolloutSegment
from .arguments import Method, Start
from .contact import ContactSteps
from .parameters import Physics
from .rollout import steps_of
from .rollouts import Rollouts, Run, times


class States(Protocol):
    """States of rollouts; segments: of steps, whose states are in memory at the same time."""

    rollouts: Rollouts
    segments: list[slice]

    def at(self, steps: slice) -> list[np.ndarray]:
        """Return q, v (B, n + 1, ...) at the starts of the n steps of a segment, and at its end."""

    def of_parts(self, steps: slice) -> list[np.ndarray] | None:
        """Return q, v (B, n s, ...) at the starts of all s parts of n steps; None if they are not recorded."""

    def impulses(self, steps: slice) -> np.ndarray | None:
        """Return the impulses (B, R) of contact before a segment; None without any.

        Where friction leaves several motions possible, they decide between them.
        """


class RecordedStates:
    """Recorded states, which become read-only, in segments of `length` steps behind the first one; see `States`.

    parts: the same rollouts with a record of each part of a step, if there are any. impulses: before each segment, of
    rollouts in contact.
    """

    def __init__(
        self,
        start: Start,
        rollouts: Rollouts,
        length: int,
        parts: Rollouts | None = None,
        impulses: list[np.ndarray | None] | None = None,
    ) -> None:
        self.rollouts, self._start, self._parts, self._impulses = rollouts, start, parts, impulses
        self.segments = _recorded_segments(start.steps, length)
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

    def impulses(self, steps: slice) -> np.ndarray | None:
        """Return the impulses before a segment."""
        return None if self._impulses is None else self._impulses[self.segments.index(steps)]

    def _of(self, found: Rollouts, steps: slice) -> list[np.ndarray]:
        if steps.start:
            return [x[:, steps.start - 1 : steps.stop] for x in (found.q, found.v)]
        begin = zip((self._start.q, self._start.v), (found.q, found.v), strict=True)
        return [np.concatenate([x[:, None], recorded[:, : steps.stop]], axis=1) for x, recorded in begin]


def recorded_in_contact(method: Method, start: Start, physics: Physics | None, length: int) -> RecordedStates:
    """Return rollouts in contact that record all states, and the impulses before each segment."""
    count, steps = len(start.q), start.steps
    arrays, checks = [empty((count, steps, x.shape[1]), float) for x in (start.q, start.v)], begin_checks(count)
    impulses = _passed(method, start, physics, _recorded_segments(steps, length), checks, arrays)[1]
    run = Run(method, start, {}, checks, None, None)
    rollouts = run.outcome(times(method.dt, 1, steps), arrays, np.full(count, steps))
    return RecordedStates(start, rollouts, length, impulses=impulses)


class Checkpoints:
    """Rollouts that record the last state only, and checkpoints at the starts of their segments; see `States`."""

    def __init__(self, method: Method, start: Start, physics: Physics | None, length: int) -> None:
        self.segments = _segments(0, start.steps, length)
        self._steps = partial(steps_of, method, start, 1, None, physics, None)
        checks = begin_checks(len(start.q)) if method.touches else None
        steps, count = start.steps, len(start.q)
        self._states, self._impulses = _passed(method, start, physics, self.segments, checks)
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
        steps_between, between, impulses = self._steps(), slice(steps.start, steps.stop - 1), self._impulses[k]
        if steps_between is not None and between.stop > between.start:
            if impulses is not None and isinstance(steps_between, ContactSteps):
                steps_between.restore(impulses)
            _carry(steps_between)(slice(0, len(now[0])), between, now, [x[:, 1:-1] for x in found], 1)
        return found

    def impulses(self, steps: slice) -> np.ndarray | None:
        """Return the impulses before a segment."""
        return self._impulses[self.segments.index(steps)]

    def of_parts(self, steps: slice) -> list[np.ndarray] | None:
        """Return None: the parts of steps are computed again."""


def _carry(steps: RolloutSegment | ContactSteps) -> RolloutSegment:
    return steps.carry if isinstance(steps, ContactSteps) else steps


def _passed(
    method: Method, start: Start, physics: Physics | None, segments: list[slice], checks: ContactChecks | None,
    records: Sequence[np.ndarray] | None = None,
) -> tuple[list[list[np.ndarray]], list[np.ndarray | None]]:  # fmt: skip
    """Return the states at the starts of segments and at the end of the last one, and the impulses before each.

    records (B, steps, ...): overwritten by the states after each step, if they are requested.
    """
    states, impulses, count = [[start.q, start.v]], list[np.ndarray | None](), len(start.q)
    steps = steps_of(method, start, 1, checks, physics, None)
    for part in segments:
        impulses.append(steps.impulses() if isinstance(steps, ContactSteps) and part.start > 0 else None)
        now, every = states[-1], part.stop - part.start if records is None else 1
        after = [np.empty((count, 1, x.shape[1])) for x in now] if records is None else [x[:, part] for x in records]
        if steps is None:
            for x, y in zip(after, now, strict=True):
                x[...] = y[:, None]
        else:
            _carry(steps)(slice(0, count), part, now, after, every)
        states.append([x[:, -1] for x in after])
    return states, impulses


def _recorded_segments(steps: int, length: int) -> list[slice]:
    """Return the segments of recorded states: the first step, whose start is not recorded, then those of the others."""
    return [slice(0, min(1, steps)), *_segments(1, steps, length)]


def _segments(first: int, last: int, length: int) -> list[slice]:
    return [slice(k, min(k + length, last)) for k in range(first, last, length)]
