"""Rollouts with joint limits only: SIMD through all steps, repeated step by step where a limit is near."""

from __future__ import annotations

from copy import copy
from functools import lru_cache
from typing import Any

import numpy as np

from ..contact.checks import ContactChecks
from ..engine.call.batched import BatchedTables
from ..engine.call.specialized import BatchCode
from ..engine.call.steps import Arrays, Carried, Measured, carried_on_lanes, held_controls, step_code
from ..engine.graph.policies import Policy
from ..kernels.contact.limit_watching_step import SLACK
from ..kernels.entries.status import FINE
from ..kernels.stepping.step_entry import step_entry
from ..simulation.step import StepCode
from .arguments import Method, Start
from .contact import ContactSteps
from .parameters import Physics

CROWDED = 0.5  # fraction of rollouts at their limits from which all are stepped one by one


def under_contact(
    method: Method, start: Start, policy: Policy | None, checks: ContactChecks | None,
    physics: Physics | None = None, measured: Measured | None = None, wrenches: bool = False,
    controls: bool = False,
) -> ContactSteps:  # fmt: skip
    """Return the stepper of rollouts with contact or external forces, under controls or a policy.

    checks: overwritten. physics: batched model parameters. wrenches, controls: whether wrenches on bodies, and controls
    within their limits are requested.
    """
    world = method.world
    watched = (
        world.touching.only_limits
        and world.robot.mimic_map is None
        and not world.m
        and not world.kinematic
        and method.memory is None
        and policy is None
        and start.forces is None
        and not controls
    )
    return (WatchedSteps if watched else ContactSteps)(
        method, start, policy, method.options.engine, checks, physics, measured, wrenches, controls
    )


@lru_cache(maxsize=64)
def _begun(count: int, nv: int) -> tuple[np.ndarray, ...]:
    """Return read-only slack, force and work of `count` rollouts before the first step."""
    return tuple(np.broadcast_to(np.full((1, n), x), (count, n)) for n, x in ((1, np.inf), (nv, 0.0), (2, 0.0)))


def _watching(code: StepCode, dynamics: Any) -> tuple[Any, tuple[Any, ...], list[int]]:
    """Return the entry of unconstrained steps that monitor limits, its constants, and the sizes of its state."""
    robot, touching = code.world.robot, code.world.touching
    assert code.bound is not None
    constants = (*code.bound.constants, touching.layout, touching.geometry)
    entry = step_entry(code.rule, dynamics, results=(), carried=("extra", "force", "work"), extra=SLACK)
    return entry, constants, [robot.nq, robot.nv, 1, robot.nv, 2]


@lru_cache(maxsize=16)  # as many as cached methods
def watching_code(code: StepCode, dynamics: Any, engine: str) -> BatchCode | None:
    """Return the SIMD code of unconstrained steps that monitor limits, None if there is none."""
    entry, constants, sizes = _watching(code, dynamics)
    return step_code(entry, constants, [*sizes, code.world.robot.nv], sizes, float, engine)


class WatchedSteps(ContactSteps):
    """Steps of robots whose only contact is that with joint limits.

    SIMD code steps all rollouts through a segment of unconstrained motion and monitors their distance from
    limits. Rollouts that may have reached one are repeated step by step, with the same code for the
    unconstrained motion. The bits do not depend on the division into segments.
    """

    crowded = False  # whether most were at their limits in the segment before

    def _lane_code(self, engine: str) -> BatchCode | None:
        """Return the SIMD code of unconstrained steps that monitor limits."""
        own = self.watched
        if own is None and self.measured is None:
            return watching_code(self.code, self.method.dynamics, engine)
        entry, constants, sizes = _watching(self.code, self.method.dynamics)
        fixed = []
        if own is not None:
            entry, constants = own.taken_by(entry, constants, 2 * len(sizes) + 1, len(sizes))
            fixed = [own.numbers.shape[1]]
        inputs, held = [*sizes, *fixed, self.method.world.robot.nv], self.method.substeps
        return step_code(entry, constants, inputs, sizes, float, engine, self.measured, held, invariant=len(fixed))

    def _batched(self, physics: Physics | None) -> tuple[BatchedTables | None, BatchedTables | None]:
        """Return the batched model parameters, which here include limits monitored by the unconstrained steps."""
        self.watched: BatchedTables | None = None
        if physics is not None:
            entry, _, _ = _watching(self.code, self.method.dynamics)
            self.watched = physics.within(entry, "reals", "settings", "geometry", count=len(self.start.q))
        self.own_watched: list[np.ndarray] = []
        return super()._batched(physics)

    def _begin(self, rows: slice, steps: slice, q: np.ndarray) -> None:
        super()._begin(rows, steps, q)
        self.own_watched = [] if self.watched is None else [self.watched.numbers[rows]]

    def _free(self, *arrays: np.ndarray) -> int:
        if self.lanes is None:
            return super()._free(*arrays)
        q, v, control, q_new, v_new, force, work = arrays
        slack = np.empty((len(q), 1))
        begun, unread = [q, v, *_begun(*v.shape)], list[np.ndarray]()
        if self.measured:  # the same code; its measures before contact are ignored
            begin, parameters = self.measured.reduction.begin, self.measured.parameters
            kept = np.broadcast_to(begin, (len(q), len(begin)))
            begun += [kept, np.broadcast_to(np.zeros(1), (len(q), parameters.shape[1]))]
            unread = [np.empty(kept.shape)]
        given = [*begun, *self.own_watched, control, q_new, v_new, slack, force, work, *unread]
        return self.lanes.run(given, len(q))

    def _carry(self, rows: slice, steps: slice, states: Arrays, results: Arrays, every: int) -> Carried:
        if self.lanes is None or self.crowded or results[0].dtype != float:
            carried = super()._carry(rows, steps, states, results, every)
            self.crowded = bool(np.count_nonzero(self.kept.any(axis=1)) > CROWDED * len(self.kept))
            return carried
        self._begin(rows, steps, states[0])
        ends, near = self._freely(rows, steps, states, results, every)
        again = near.nonzero()[0]
        self.crowded = again.size > CROWDED * near.size
        if not again.size:
            self.kept[...] = 0.0
            return Carried(ends, True)
        self.kept[~near] = 0.0
        return self._again(again, rows, steps, states, results, every, ends)

    def _freely(
        self, rows: slice, steps: slice, states: Arrays, results: Arrays, every: int
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """Step all rollouts without limits; return their final states and the mask of those that came near a limit."""
        assert self.lanes is not None
        count, many, held = len(states[0]), steps.stop - steps.start, self.method.substeps
        (q, v, *total), kept = states[: len(self.method.sizes)], states[len(self.method.sizes) :]
        own = self.measured and self.measured.of(rows)
        slack, force, work = _begun(*v.shape)
        last = [np.empty((count, 1, x.shape[1])) for x in (slack, force, work)]  # the last record remains
        unread = last if every == many else [np.broadcast_to(x, (count, many // every, x.shape[2])) for x in last]
        begun = carried_on_lanes([q, v, slack, force, total[0] if total else work, *kept], own, float)
        outputs = [*results[:2], *unread[:2], results[2] if total else unread[2], *results[len(self.method.sizes) :]]
        controls = held_controls(self.start.u[rows, steps], held)
        arrays = [*begun, *self.own_watched, controls, *outputs]
        status = self.lanes.run(arrays, count, many * held, every * held)
        ends = [np.array(x[:, -1]) for x in results]
        near = ~(last[0][:, 0, 0] >= 0)
        if status != FINE:
            for x in ends:
                near |= ~np.isfinite(x).all(axis=1)
        return ends, near

    def _again(
        self, near: np.ndarray, rows: slice, steps: slice, states: Arrays, results: Arrays, every: int,
        ends: list[np.ndarray],
    ) -> Carried:  # fmt: skip
        """Repeat the rollouts `near` with limits, step by step."""
        part = copy(self)
        part.own, part.own_watched = ([x[near] for x in group] for group in (self.own, self.own_watched))
        part.own_touching = None if self.own_touching is None else self.own_touching.of(near)
        part.own_gains = None if self.own_gains is None else self.own_gains.of(near)
        part.kept, part.next = self.kept[near], np.empty_like(self.kept[near])
        recorded = results[: len(self.method.sizes)]
        worst, own = self.checks.residual[rows][near], [np.empty_like(x[near]) for x in recorded]
        found = part._walk(
            lambda step, now: self.start.u[rows, step][near], worst, steps, [x[near] for x in states], own, every,
            self.measured and self.measured.of(rows).of(near),
        )  # fmt: skip
        self.kept[near] = part.kept
        self.checks.residual[rows.start + near] = worst
        for result, x in zip(recorded, own, strict=True):
            result[near] = x
        for end, x in zip(ends, found.states, strict=True):
            end[near] = x
        return Carried(ends, found.finite)
