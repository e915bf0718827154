"""Sensors of a world in rollouts: readings of the steps that end at records."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..engine.call.steps import Arrays, Carried, Measured, RolloutSegment
from ..kernels.stepping.measured_step import ENDED, SEEN
from ..model.tree import Tree
from ..simulation.readings import Readings, recorded
from ..simulation.sensor_draws import Draws
from ..simulation.sensor_errors import errors_of
from ..simulation.sensors import Inertias, Steps, check_welds, read, reads_welds
from ..states.physics import Given
from .arguments import Method, Start, bodies_in_contact
from .contact import ContactSteps

STATES = 8192  # read together, to limit the memory


def method_for_sensors(method: Method) -> Method:
    """Return the settings of the same steps with code that returns applied controls, if sensors take them."""
    if method.code is None and any(sensor.takes_controls for sensor in method.world.sensors):
        return method._replace(code=method.code_of(False))
    return method


class Taken(NamedTuple):
    """Results of K steps of some rollouts which sensors take; None where they do not.

    mean_wrench (count, K, N + 1, 6): of contact, on bodies. applied (count, K, nv): controls within their limits.
    external (count or 1, K, 21 N): tables of external forces. on_welds (count or 1, K, 21 W): their parts on welds.
    """

    mean_wrench: np.ndarray | None = None
    applied: np.ndarray | None = None
    external: np.ndarray | None = None
    on_welds: np.ndarray | None = None


class SensorSteps:
    """Reader of sensors in rollouts, from the states before and after a step, contact, controls and external forces.

    fields: batched model parameters. every: number of steps between two records. Readings of a step depend on nothing
    but the step.
    """

    def __init__(self, method: Method, start: Start, fields: Mapping[str, Given], every: int = 1) -> None:
        world = method.world
        self.every = every
        self._current: ContactSteps | None = None  # which took the latest steps, if other steps may go on
        self.forces = start.forces
        self.method, self.start, self.robot, self.sensors = method, start, world.robot, world.sensors
        self.columns = {sensor.label: sensor._columns(self.robot) for sensor in self.sensors}
        self.sizes = [len(columns) for columns in self.columns.values()]
        takes_contact = any(sensor.takes_contact for sensor in self.sensors)
        self.contact = takes_contact and bodies_in_contact(method) > 0
        self.controls = any(sensor.takes_controls for sensor in self.sensors)
        # what steps of contact record in addition to states: their attributes, and the shapes of one state's
        wrenches, controls = (self.robot.n_bodies + 1, 6), (self.robot.nv,)
        taken = ("mean_wrench", wrenches, self.contact), ("applied", controls, self.controls)
        self.recorded = {name: shape for name, shape, wanted in taken if wanted}
        self.external = any(sensor.takes_forces for sensor in self.sensors)
        self.welds = reads_welds(self.robot, self.sensors)
        self._inertias = _inertias(self.robot, fields)
        if self._inertias is not None:
            check_welds(self.robot, self.sensors, self._inertias)
        self._gravity = fields["gravity"].values[..., 0, :] if "gravity" in fields else self.robot.gravity
        self.errors = errors_of(self.sensors, self.robot, method.dt)
        self.remembers = self.errors is not None and self.errors.size > 0  # readings depend on earlier steps
        self._memory = np.zeros((len(start.q), self.errors.size if self.errors is not None else 0))

    def with_forces(self, taken: Taken, rows: slice, steps: slice) -> Taken:
        """Return results of steps of the rollouts `rows` with the tables of external forces, if sensors take these."""
        forces = self.forces
        if forces is None or not self.external:
            return taken
        tables = [[forces.at(rows, k, welds) for k in range(steps.start, steps.stop)] for welds in (False, True)]
        return taken._replace(external=np.stack(tables[0], 1), on_welds=np.stack(tables[1], 1) if self.welds else None)

    def read(self, rows: slice, states: Arrays, ends: Arrays, taken: Taken) -> list[np.ndarray]:
        """Return the readings (count, K, n) of K steps of each of the rollouts `rows`, NaN where states are not finite.

        states, ends: q and v (count, K, n) at the start and the end of the steps.
        """
        (count, records), made = ends[0].shape[:2], []
        most = max(1, STATES // max(1, records))
        for first in range(0, count, most):
            part = slice(first, min(first + most, count))
            moved = [x[part].reshape((part.stop - first) * records, x.shape[2]) for x in (*states, *ends)]
            numbers = np.repeat(np.arange(rows.start, rows.start + count)[part], records)
            own = Taken(*(x if x is None or len(x) == 1 else x[part] for x in taken))
            made.append(self._read(numbers, moved, own))
        if not made:
            return [np.empty((0, records, n)) for n in self.sizes]
        return [np.concatenate(x).reshape(count, records, x[0].shape[1]) for x in zip(*made, strict=True)]

    def draws(self, rows: slice, steps: slice) -> Draws:
        """Return the numbers of the rollouts `rows` at the first of the steps, for random numbers of sensors."""
        numbers = self.start.rollouts
        own = np.arange(rows.start, rows.stop) if numbers is None else numbers[rows]
        return Draws.of(self.start.seed, own, steps.start)

    def with_errors(self, rows: slice, draws: Draws, exact: list[np.ndarray]) -> list[np.ndarray]:
        """Return the readings (count, K, n) of K steps in a row from the exact ones, with the errors of sensors."""
        if self.errors is None:
            return exact
        return self.errors.readings(exact, draws, self._memory[rows], draws.first == 0)

    def _read(self, numbers: np.ndarray, moved: Arrays, taken: Taken) -> list[np.ndarray]:
        """Return the readings (K, n) of K steps, of the rollouts `numbers` (K,)."""
        robot, count = self.robot, len(numbers)
        contact, applied, external, on_welds = (
            x if x is None else np.broadcast_to(x, (count // x.shape[1], *x.shape[1:])).reshape(count, *x.shape[2:])
            for x in taken
        )
        contact = np.zeros((count, robot.n_bodies + 1, 6)) if contact is None else contact
        applied = np.zeros((count, robot.nv)) if applied is None else applied
        inertias = self._inertias
        if inertias is not None:
            inertias = Inertias(*(_of(x, k, numbers) for k, x in enumerate(inertias, 1)))
        gravity, dt = _of(self._gravity, 1, numbers), np.full(count, self.method.dt)
        q, v, q_next, v_next = moved
        steps = Steps(robot, gravity, dt, q, v, q_next, v_next, applied, contact, external, on_welds, inertias)
        return read(self.sensors, steps)

    def over(
        self, piece: RolloutSegment, by: ContactSteps | None, measured: Measured | None,
        between: ContactSteps | None = None,
    ) -> RolloutSegment:  # fmt: skip
        """Return a rollout segment that runs `piece` and also writes readings, which follow the states in its arrays.

        by: the steps whose `carry` piece is, None for others. measured: measures that take readings; those that do not
        are updated by `piece`. between: faster steps, without wrenches, for those that no record follows. Rollouts have
        no readings after their end.
        """
        n, last = len(self.method.sizes), len(self.method.sizes) + len(self.sizes)

        def sensed(rows: slice, steps: slice, states: Arrays, results: Arrays, every: int) -> Carried:
            given = rows, steps, [*states[:n], *states[last:]], [*results[:n], *results[last:]], results[n:last]
            if measured is not None:
                ends, finite = self._read_all_steps(piece, by, measured, *given, every)
            elif self.every == 1:
                ends, finite = self._read_records(piece, by, *given)
            elif self.remembers:
                ends, finite = self._read_every_step(piece, by, *given, every)
            else:
                ends, finite = self._read_last_steps(piece, by, between, *given, every)
            for kept in ends[n:]:
                number = steps.start + every * np.arange(1, results[n].shape[1] + 1)
                over = (kept[:, ENDED, None] != 0) & (number > kept[:, SEEN, None])
                for readings in results[n:last]:
                    readings[over] = np.nan
            return Carried([*ends[:n], *states[n:last], *ends[n:]], finite)

        return sensed

    def _read_records(
        self, piece: RolloutSegment, by: ContactSteps | None, rows: slice, steps: slice, states: Arrays,
        results: Arrays, readings: Arrays,
    ) -> Carried:  # fmt: skip
        """Run `piece` with a record of each step, and read sensors from the records of several steps at once."""
        finite, n = True, len(self.method.sizes)
        several = max(1, STATES // max(1, len(results[0])))
        for first in range(0, steps.stop - steps.start, several):
            part = slice(first, min(first + several, steps.stop - steps.start))
            own, now = [x[:, part] for x in results], slice(steps.start + part.start, steps.start + part.stop)
            begun, recorded = states, dict[str, np.ndarray]()
            if by is not None:
                by.recorded, records = tuple(self.recorded), own[0].shape[:2]
                recorded = {name: np.empty((*records, *shape)) for name, shape in self.recorded.items()}
            states, fine = piece(rows, now, begun, [*own[:n], *recorded.values(), *own[n:]], 1)
            finite = finite and fine
            starts = [np.concatenate([x[:, None], y[:, :-1]], axis=1) for x, y in zip(begun[:2], own, strict=False)]
            taken = self.with_forces(Taken(**recorded), rows, now)
            every = self.with_errors(rows, self.draws(rows, now), self.read(rows, starts, own[:2], taken))
            for x, found in zip(readings, every, strict=True):
                x[:, part] = found
        return Carried(states, finite)

    def _read_last_steps(
        self, piece: RolloutSegment, by: ContactSteps | None, between: ContactSteps | None, rows: slice, steps: slice,
        states: Arrays, results: Arrays, readings: Arrays, every: int,
    ) -> Carried:  # fmt: skip
        """Run `piece`, or `between`, to the last step before each record, then `piece`, and read sensors in that step.

        Which code takes a step depends on its number alone, not on the division into segments.
        """
        finite = True
        for record in range(readings[0].shape[1]):
            end, places = steps.start + (record + 1) * every, [x[:, record : record + 1] for x in results]
            recorded = end % self.every == 0
            last = end - recorded
            if last > end - every:
                unread = [np.empty((len(x), 1, x.shape[2])) for x in results] if recorded else places
                to_last = piece if between is None else between.carry
                self._continue_by(by if between is None else between, end - every)
                states, fine = to_last(rows, slice(end - every, last), states, unread, last - end + every)
                finite = finite and fine
            if recorded:
                self._continue_by(by, last)
                own = [x[:, record : record + 1] for x in readings]
                states, fine = self._read_records(piece, by, rows, slice(last, end), states, places, own)
                finite = finite and fine
        return Carried(states, finite)

    def _read_every_step(
        self, piece: RolloutSegment, by: ContactSteps | None, rows: slice, steps: slice, states: Arrays,
        results: Arrays, readings: Arrays, every: int,
    ) -> Carried:  # fmt: skip
        """Run `piece` and read sensors in every step; keep the states and readings of records."""
        finite, several = True, max(1, STATES // max(1, len(results[0])))
        for first in range(0, steps.stop - steps.start, several):
            part = slice(first, min(first + several, steps.stop - steps.start))
            made = [np.empty((len(x), part.stop - first, x.shape[2])) for x in (*results, *readings)]
            own, found = made[: len(results)], made[len(results) :]
            now = slice(steps.start + first, steps.start + part.stop)
            states, fine = self._read_records(piece, by, rows, now, states, own, found)
            finite = finite and fine
            records = slice(first // every, part.stop // every)
            ends = every * np.arange(records.start + 1, records.stop + 1) - 1 - first
            for x, all_steps in zip((*results, *readings), made, strict=True):
                if x.flags.writeable:  # unlike the memory of measures, which is in the states
                    x[:, records] = all_steps[:, ends]
        return Carried(states, finite)

    def _continue_by(self, by: ContactSteps | None, step: int) -> None:
        """Continue from the impulses of other steps at a step, unless it is the first one; record states alone."""
        if by is None:
            return
        if self._current not in (None, by) and step:
            by.take_over(self._current)
        by.recorded = ()
        self._current = by

    def _read_all_steps(
        self, piece: RolloutSegment, by: ContactSteps | None, measured: Measured, rows: slice, steps: slice,
        states: Arrays, results: Arrays, readings: Arrays, every: int,
    ) -> Carried:  # fmt: skip
        """Run `piece` step by step, and update measures with the readings of each step."""
        *now, kept = states
        finite, reduced = True, measured.of(rows)
        found = np.empty((len(kept), sum(self.sizes)))
        columns = np.split(found[:, None], np.cumsum(self.sizes)[:-1], axis=2)
        for step in range(steps.start, steps.stop):
            before, ended = now, kept[:, ENDED] != 0
            worst = None if by is None else by.checks.residual[rows].copy()
            unread = [np.empty((len(x), 1, x.shape[2])) for x in results[:-1]]
            after, fine = self._read_records(piece, by, rows, slice(step, step + 1), now, unread, columns)
            finite = finite and fine
            if by is not None and worst is not None:
                by.checks.residual[rows] = np.where(ended, worst, by.checks.residual[rows])
            wrench = by.mean_wrench.reshape(len(kept), -1) if by is not None and reduced.reduction.contact else 0.0
            now, kept = reduced.after(before, after, kept, wrench, found)
            record, left = divmod(step + 1 - steps.start, every)
            if not left:
                for x, end in zip((*results[:-1], *readings), (*now, *(x[:, 0] for x in columns)), strict=True):
                    x[:, record - 1] = end
        return Carried([*now, kept], finite)


class LastStep(SensorSteps):
    """Reader of sensors in the last step of a batch stepper, whose states and results are stored.

    last: states (B, n) before and after it, its other results, and the numbers of its rollouts; None before the first
    step. found: the readings (B, n), of sensors that depend on earlier steps. first: number of the first step of a
    call. keys (3, B): seed, rollout and number of each state's episode, the stepper's. ages (B,): steps in it before
    the call.
    """

    def __init__(self, method: Method, start: Start, fields: Mapping[str, Given], first: int, keys: np.ndarray) -> None:
        super().__init__(method, start, fields)
        self.last: tuple[list[np.ndarray], list[np.ndarray], Taken, Draws] | None = None
        self.found: list[np.ndarray] | None = None
        self.first = first
        self.ages, self.keys = np.zeros(len(start.q), np.int64), keys

    def stored(self) -> tuple[Any, ...]:
        """Return what the next readings depend on, besides the states."""
        return self.last, self.found, self._memory

    def restore(self, state: tuple[Any, ...]) -> None:
        """Load the results of `stored`."""
        self.last, self.found, self._memory = copy.deepcopy(state)

    def draws(self, rows: slice, steps: slice) -> Draws:
        """Return the numbers of the states `rows` at the first of the steps, for random numbers of sensors."""
        seed, rollout, episode = self.keys[:, rows].copy()
        return Draws(seed, rollout, episode.astype(np.int64), self.ages[rows] + steps.start - self.first)

    def run(
        self, piece: RolloutSegment, by: ContactSteps | None, steps: slice, states: Arrays, results: Arrays
    ) -> bool:
        """Run `piece` and read sensors in every step; return whether the states (B, 1, n) at the end are finite."""
        rows, count = slice(0, len(states[0])), steps.stop - steps.start
        readings = [np.empty((rows.stop, 1, n)) for n in self.sizes]
        _, finite = self._read_every_step(piece, by, rows, steps, states, results, readings, count)
        self.found = [x[:, 0] for x in readings]
        return finite

    def store(self, states: Arrays, ends: Arrays, by: ContactSteps | None, step: int) -> None:
        """Copy the states before and after a step that `by` has just taken, and its results."""
        begun, last = ([np.array(x) for x in each] for each in (states, ends))
        rows, steps = slice(0, len(begun[0])), slice(step, step + 1)
        taken = Taken() if by is None else Taken(**{name: getattr(by, name)[:, None] for name in self.recorded})
        self.last = begun, last, self.with_forces(taken, rows, steps), self.draws(rows, steps)

    def forget(self, rows: Any) -> None:
        """Delete the readings of some states."""
        for x in (*(() if self.last is None else self.last[0]), *(self.found or ())):
            x[rows] = np.nan

    def readings(self) -> Readings:
        """Return the readings (B, n) by name; what is not read is not computed."""
        if self.found is not None:
            return recorded(self.columns, dict(zip(self.columns, self.found, strict=True)))
        if self.last is None:
            return Readings(self.columns, lambda name: np.full((len(self.start.q), len(self.columns[name])), np.nan))
        *moved, taken, draws = self.last
        states, ends = ([x[:, None].copy() for x in each] for each in moved)

        @cache
        def found() -> dict[str, np.ndarray]:
            rows = slice(0, len(ends[0]))
            every = self.with_errors(rows, draws, self.read(rows, states, ends, taken))
            return {name: x[:, 0] for name, x in zip(self.columns, every, strict=True)}

        return Readings(self.columns, lambda name: found()[name])


def sensor_steps(
    method: Method, start: Start, fields: Mapping[str, Given], every: int, wanted: bool
) -> SensorSteps | None:
    """Return the reader of a world's sensors; None if there are none, or no readings are wanted."""
    return SensorSteps(method, start, fields, every) if wanted and method.world.sensors else None


def stand_still(rows: slice, steps: slice, states: Arrays, results: Arrays, every: int) -> Carried:
    """Write the states of robots that cannot move to all records, see `engine.call.steps.RolloutSegment`."""
    for result, x in zip(results, states, strict=True):
        result[...] = x[:, None]
    return Carried(states, True)


def _inertias(robot: Tree, fields: Mapping[str, Given]) -> Inertias | None:
    """Return the bodies' inertias of batched model parameters, (N, ...) or (B, N, ...) each; None if none is given."""
    names = ("mass", "center_of_mass", "inertia")
    if fields.keys().isdisjoint(names):
        return None
    own = zip(names, Inertias.of(robot), strict=True)
    return Inertias(*(fields[name].over(x) if name in fields else x for name, x in own))


def _of(x: np.ndarray, axes: int, numbers: np.ndarray) -> np.ndarray:
    """Return rows of x (B, ...) by rollout; x itself if it has only the `axes` of one, or B is 1."""
    if x.ndim == axes:
        return x
    return x[numbers] if len(x) > 1 else x[0]
