"""States of rollouts at the starts of their steps, recorded or computed again from checkpoints."""

from __future__ import annotations

from functools import partial
from typing import Protocol

import numpy as np

from ..contact.checks import begin_checks
from ..engine.call.buffer_pool import empty
from ..states.physics import Numbers
from .arguments import Method, Start
from .contact import ContactSteps
from .parameters import Physics
from .rollout import rollout_segment, unconstrained_steps
from .rollouts import Rollouts, Run, times


class States(Protocol):
    """States of rollouts; segments: of steps, whose states are in memory at the same time."""

    rollouts: Rollouts
    segments: list[slice]

    def at(self, steps: slice) -> list[np.ndarray]:
        """Return q, v (B, n, ...) at the starts of the steps of a segment."""


class RecordedStates:
    """Recorded states, which become read-only, in segments of `length` steps behind the first one; see `States`."""

    def __init__(self, start: Start, rollouts: Rollouts, length: int) -> None:
        self.rollouts, self._start = rollouts, start
        self.segments = [slice(0, min(1, start.steps)), *_segments(1, start.steps, length)]
        for x in (rollouts.q, rollouts.v):
            x.setflags(write=False)

    def at(self, steps: slice) -> list[np.ndarray]:
        """Return the states at the starts of steps."""
        if not steps.start:
            return [x[:, None] for x in (self._start.q, self._start.v)]
        return [x[:, steps.start - 1 : steps.stop - 1] for x in (self.rollouts.q, self.rollouts.v)]


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
        arrays = [x[:, None][:, : steps > 0] for x in self._states.pop()]
        run, records = Run(method, start, {}, checks, None, None), arrays[0].shape[1]
        self.rollouts = run.outcome(times(method.dt, steps, records), arrays, np.full(count, records))

    def at(self, steps: slice) -> list[np.ndarray]:
        """Return the states at the starts of steps, computed from the checkpoint at the start of the first one."""
        now = self._states[self.segments.index(steps)]
        found = [empty((len(x), steps.stop - steps.start, x.shape[1]), float) for x in now]
        for x, own in zip(found, now, strict=True):
            x[:, 0] = own
        segment, between = self._segment(checks=None), slice(steps.start, steps.stop - 1)
        if segment is not None and between.stop > between.start:
            segment(slice(0, len(now[0])), between, now, [x[:, 1:] for x in found], 1)
        return found


def _segments(first: int, last: int, length: int) -> list[slice]:
    return [slice(k, min(k + length, last)) for k in range(first, last, length)]


def parts_of_steps(
    method: Method, start: Start, physics: Physics | None, q: np.ndarray, v: np.ndarray, u: np.ndarray
) -> list[np.ndarray]:
    """Return q, v and control (B, n s, ...) at the starts of the s parts of each step, in free motion.

    q, v, u (B, n, ...): at the starts of n steps. Controls are those within the effort limits.
    """
    count, n = q.shape[:2]
    flat = [np.ascontiguousarray(x).reshape(count * n, -1) for x in (q, v, u)]
    physics = None if physics is None else _repeated(physics, count, n)
    begin = start._replace(q=flat[0], v=flat[1], law=None)
    found = (_settled if method.code is not None else _moved)(method, begin, physics, flat)
    return [x.reshape(count, n * method.substeps, -1) for x in found]


def _moved(method: Method, begin: Start, physics: Physics | None, flat: list[np.ndarray]) -> list[np.ndarray]:
    """Return the states and controls (B n, s, ...) at the starts of the parts."""
    parts, part = method.substeps, method._replace(substeps=1)
    q, v, u = (np.repeat(x[:, None], parts, axis=1) for x in flat)
    if parts > 1:
        segment = unconstrained_steps(part, begin._replace(u=u[:, 1:]), physics)
        segment(slice(0, len(q)), slice(0, parts - 1), [begin.q, begin.v], [q[:, 1:], v[:, 1:]], 1)
    return [q, v, u]


def _settled(method: Method, begin: Start, physics: Physics | None, flat: list[np.ndarray]) -> list[np.ndarray]:
    """Return the same where steps are repeated until forces are within their limits."""
    steps = ContactSteps(method, begin, None, method.options.engine, None, physics)
    found, (q, v, u) = list[tuple[np.ndarray, ...]](), flat
    for _ in range(method.substeps):
        result, control = steps.settled(q, v, u)
        found.append((q, v, control))
        q, v = result.q, result.v
    return [np.stack(x, axis=1) for x in zip(*found, strict=True)]


def _repeated(physics: Physics, count: int, n: int) -> Physics:
    """Return the model parameters of each rollout n times."""
    tables = {
        name: Numbers(x.places, np.repeat(np.broadcast_to(x.values, (count, x.places.size)), n, axis=0))
        for name, x in physics.tables.items()
    }
    return physics._replace(tables=tables)
