"""Gradients through segments of rollouts in free motion, and search for rollouts that are in free motion."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ..differentiation.step_sweep import BatchedPlaces, Fixed, FreeSweep, Gradients, Steps, free_sweep
from ..engine.call.buffer_pool import empty
from ..engine.graph.policies import Policy
from ..states.physics import Numbers
from .arguments import Method, Start
from .contact import ContactSteps
from .parameters import Physics
from .rollout import rollout_segment, unconstrained_steps

TABLES = "settings", "reals", "geometry"  # as `BatchedPlaces`
SAME = 1e-11  # of the largest number of a state: rounding in a segment


class FreeGradient:
    """Gradients through segments of rollouts in free motion; see `differentiation.step_sweep.Sweep`.

    method: of a world without contact.
    """

    def __init__(self, method: Method, start: Start, physics: Physics | None, policy: Policy | None) -> None:
        self._method, self._start, self._policy = method, start, policy
        self._batched = BatchedPlaces() if physics is None else places_of(physics)
        self._physics = None if physics is None else physics.in_free_motion()
        self.several = policy is not None and method.substeps > 1

    @cached_property
    def _sweep(self) -> FreeSweep:
        method = self._method
        table = tuple(method.constants[-1].tolist())
        return free_sweep(method.world.robot, method.rule, table, self._batched, self._policy, self.several)

    def takes(self, steps: slice, states: Sequence[np.ndarray]) -> np.ndarray:
        """Return whether rollouts (B,) are in free motion in a segment; states (B, n + 1, ...): q and v."""
        first, recorded = [x[:, 0] for x in states], [x[:, 1:] for x in states]
        found = [np.empty(x.shape) for x in recorded]
        segment = rollout_segment(self._method, self._start, 1, None, self._physics)
        if segment is not None:
            segment(slice(0, len(first[0])), steps, first, found, 1)
        same = np.ones(len(first[0]), bool)
        for x, y in zip(found, recorded, strict=True):
            same &= (abs(x - y) <= SAME * np.maximum(1.0, abs(y))).all(axis=(1, 2))
        return same

    def run(
        self, after: Gradients, fixed: Fixed, steps: Steps, controls: np.ndarray, impulses: np.ndarray | None = None
    ) -> Gradients:
        """Return the gradients at the start of the first step; see `Sweep`.

        steps: their states may be those at the starts of all parts.
        """
        method, parts, (count, n) = self._method, self._method.substeps, controls.shape[:2]
        if parts == 1 and method.code is None:
            return self._sweep.run(after, fixed, steps, controls)
        if steps.q.shape[1] > n:
            q, v, u = steps.q, steps.v, np.repeat(steps.control, parts, axis=1)
        else:
            q, v, u = parts_of_steps(method, self._start, self._physics, steps)
        on_q, on_v, on_control, first = (
            _at_part(x, parts, k)
            for x, k in ((steps.on_q, -1), (steps.on_v, -1), (steps.on_control, 0), (steps.first, 0))
        )
        own = empty((count, n * parts, controls.shape[2]), float)
        t = np.repeat(steps.t, parts, axis=1)
        found = self._sweep.run(after, fixed, Steps(q, v, u, on_q, on_v, on_control, t, first), own)
        own.reshape(count, n, parts, -1).sum(axis=2, out=controls)
        return found


def places_of(physics: Physics) -> BatchedPlaces:
    """Return the places of the numbers that differ between rollouts."""
    return BatchedPlaces(*(tuple(physics.tables[name].places.tolist()) for name in TABLES))


def parts_of_steps(method: Method, start: Start, physics: Physics | None, steps: Steps) -> list[np.ndarray]:
    """Return q, v and control (B, n s, ...) at the starts of the s parts of each step, in free motion.

    Controls are those within the effort limits.
    """
    count, n = steps.q.shape[:2]
    flat = [np.ascontiguousarray(x).reshape(count * n, -1) for x in (steps.q, steps.v, steps.control)]
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
    """Return what `_moved` returns, for steps that are repeated until forces are within their limits."""
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


def _at_part(x: np.ndarray, parts: int, k: int) -> np.ndarray:
    """Return numbers (B, n parts, m) that are those of each step (B, n, m) in its part k, and else 0."""
    found = np.zeros((*x.shape[:2], parts, x.shape[2]))
    found[:, :, k] = x
    return found.reshape(len(x), -1, x.shape[2])
