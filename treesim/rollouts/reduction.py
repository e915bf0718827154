"""Reduction of rollouts by measures: one expression of the state after a step that updates all measures' memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import cache, partial
from typing import Any

import numpy as np

from ..contact.named_wrenches import NamedWrenches, WrenchRows
from ..engine.call.expression_code import columns_of
from ..engine.call.steps import Arrays, Carried, Measured, RolloutSegment
from ..engine.graph.expressions import Expression, is_number
from ..engine.graph.user_functions import call_traced
from ..errors import ArgumentError, UnsupportedError, quoted, unknown_name
from ..kernels.algebra.numbers import absolute, less, select
from ..kernels.stepping.measured_step import ENDED, HEADER, SEEN, STEP
from ..simulation.world import World
from ..states.arguments import short_repr
from ..validation.values import signature_of
from .arguments import Method, Start, bodies_in_contact, check_clock
from .measures import Measure
from .sensors import stand_still

WRENCH = 6
TAKEN = "(t, q, v), (t, q, v, p), (t, q, v, p, c) or (t, q, v, p, c, s)"
WITH_CONTACT, WITH_READINGS = 5, 6  # arguments


class Reduction(Expression):
    """Expression that updates the measures' memory after a step.

    Inputs: q, v, p, contact wrenches c (optional), readings of sensors (if a measure takes them), and the memory
    before. Memory: the header of `kernels.stepping.measured_step`, then each measure's own. stops: whether a measure
    ends rollouts. contact, reads: whether a measure takes wrenches, and readings.
    """

    def __init__(
        self, measures: Mapping[str, Measure], nq: int, nv: int, k: int, bodies: int, dt: float, number: Any,
        sensors: Mapping[str, int] | None = None, rows: WrenchRows | None = None,
    ) -> None:  # fmt: skip
        """Trace the measures.

        k: number of parameters. bodies: number of bodies with contact, including the base; 0 without contact. dt: step
        [s]. number: type of the arrays. sensors: numbers of their columns by name. rows: names of the rows of contact
        wrenches. Raises UnsupportedError for a function that branches, ArgumentError for one with other arguments, or
        that does not return a number.
        """
        self.sensors, self.rows = dict(sensors or {}), rows
        self.measures, self.largest = measures, float(np.finfo(number).max)
        self.takes = {name: _taken(name, measure.function) for name, measure in measures.items()}
        self.stops = any(measure.stops for measure in measures.values())
        self.reads = WITH_READINGS in self.takes.values()
        self.contact = any(takes >= WITH_CONTACT for takes in self.takes.values()) and bodies > 0
        self._refuse_missing(k, bodies)
        self.begin = np.array([0.0] * HEADER + [x for m in measures.values() for x in m.begin(self.largest)])
        self.dt = dt
        read = [sum(self.sensors.values())] if self.reads else []
        groups = nq, nv, k, WRENCH * bodies if self.contact else 0, *read, len(self.begin)
        named = {f"measure {name!r}": measure.function for name, measure in measures.items()}
        super().__init__(groups, self._after, named)

    def _refuse_missing(self, k: int, bodies: int) -> None:
        for name, takes in self.takes.items():
            if takes == WITH_READINGS and not self.sensors:
                raise ArgumentError(
                    f"measure {quoted(name)} takes readings s, but the world has no sensors: give it some"
                )
            if takes == WITH_CONTACT and not bodies:
                raise ArgumentError(
                    f"measure {quoted(name)} takes wrenches of contact, but nothing in this world can touch"
                )
            if takes == 4 and not k:
                raise ArgumentError(f"measure {quoted(name)} takes parameters p, but no parameters are given")

    def _after(self, q: Any, v: Any, p: Any, c: Any, *others: Any) -> list[Any]:
        """Return the memory after a step that ends in q and v; others: readings, if they are taken; memory before."""
        *readings, kept = others
        s = _Named(self.sensors, readings[0]) if readings else None
        t = self.dt * (kept[STEP] + 1)
        finite = less(absolute(sum(q) + sum(v)), self.largest)
        wrench = NamedWrenches.of(c.reshape(-1, WRENCH), self.rows)
        alive = finite * (1 - kept[ENDED])
        header = list(kept[:HEADER])
        header[STEP], header[SEEN] = kept[STEP] + 1, kept[SEEN] + alive
        own, place = [], HEADER
        for name, measure in self.measures.items():
            before = kept[place : place + len(measure.begin(self.largest))]
            place += len(before)
            x = self._value(name, measure.function, (t, q, v, p, wrench, s))
            own += [select(alive, new, old) for new, old in zip(measure.after(before, x, t), before, strict=True)]
            if measure.stops:
                header[ENDED] = select(alive, select(x, 1.0, header[ENDED]), header[ENDED])
        return [*header, *own]

    def _result_name(self, k: int, called: str) -> str:
        sizes = ((name, len(measure.begin(self.largest))) for name, measure in self.measures.items())
        names = [*[called] * HEADER, *(f"measure {name!r}" for name, size in sizes for _ in range(size))]
        return names[k]

    def _value(self, name: str, function: Callable[..., Any], given: tuple[Any, ...]) -> Any:
        """Return the traced value of a measure's function."""
        t = given[0]
        copies = [copy(one) for one in given[: self.takes[name]]]  # which it may modify
        x = call_traced(f"measure {name!r}", function, *copies)
        if not is_number(x, t.graph):
            what = f"an array of shape {x.shape}" if isinstance(x, np.ndarray) else short_repr(x)
            raise ArgumentError(f"measure {quoted(name)} must return one number or condition, got {what}")
        return x if hasattr(x, "graph") else t.constant(float(x))


class Measuring:
    """Memory (B, n) of the measures of all rollouts while they run."""

    def __init__(self, reduction: Reduction, parameters: np.ndarray, number: Any, engine: str) -> None:
        self.reduction, self.number = reduction, number
        self.measured = Measured(reduction, parameters, cache(partial(columns_of, reduction, engine)))
        self.kept = np.tile(reduction.begin, (len(parameters), 1))

    def over(self, piece: RolloutSegment) -> RolloutSegment:
        """Return a rollout segment that runs `piece` and updates this memory."""

        def measured(rows: slice, steps: slice, states: Arrays, results: Arrays, every: int) -> Carried:
            kept = self.kept[rows]
            if kept[:, ENDED].all():
                return stand_still(rows, steps, states, results, every)
            count, records = len(kept), (steps.stop - steps.start) // every
            last = np.empty((count, 1, kept.shape[1]), self.number)  # overwritten by each record; the last one remains
            unread = np.broadcast_to(last, (count, records, kept.shape[1]))
            ends, finite = piece(rows, steps, [*states, kept], [*results, unread], every)
            self.kept[rows] = ends[-1]
            return Carried(ends[:-1], finite)

        return measured

    @property
    def seen(self) -> np.ndarray:
        """Number of measured steps (B,)."""
        return self.kept[:, SEEN].astype(int)

    @property
    def ended(self) -> np.ndarray:
        """Mask (B,) of rollouts that a measure ended: in the last measured step."""
        return self.kept[:, ENDED] != 0

    @property
    def seen_to_diverge(self) -> np.ndarray:
        """Mask (B,) of rollouts with a state that is not finite, recorded or not."""
        return (self.seen < self.kept[:, STEP]) & (self.kept[:, ENDED] == 0)

    def fields(self, count: int) -> dict[str, Any]:
        """Return the arguments of `Rollouts` on measures, for the first `count` rollouts."""
        measures = {name: x[:count] for name, x in self._values().items()}
        return {"measures": measures, "measured": self.seen[:count], "ended": self.ended[:count]}

    def _values(self) -> dict[str, np.ndarray]:
        """Return the measures by name, (B,) or (B, bins) each."""
        found, place, seen = {}, HEADER, self.seen
        for name, measure in self.reduction.measures.items():
            size = len(measure.begin(1.0))
            found[name] = measure.value(self.kept[:, place : place + size], seen)
            if found[name].dtype.kind == "f":
                found[name] = found[name].astype(self.number, copy=False)
            place += size
        return found


class _Named(Mapping[str, np.ndarray]):
    """Readings (n,) of sensors by name, of which each is a copy."""

    def __init__(self, sizes: Mapping[str, int], values: np.ndarray) -> None:
        places = np.split(values, np.cumsum(list(sizes.values()))[:-1])
        self._values = dict(zip(sizes, places, strict=True))

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._values:
            raise unknown_name("sensor", name, self._values)
        return self._values[name].copy()

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def sensor_sizes(world: World) -> dict[str, int]:
    """Return the numbers of columns of a world's sensors by name."""
    return {sensor.label: len(sensor._columns(world.robot)) for sensor in world.sensors}


def measuring_of(measures: Mapping[str, Measure], method: Method, start: Start) -> Measuring | None:
    """Return the measuring of rollouts, None without measures; raises ArgumentError, UnsupportedError."""
    if not measures:
        return None
    world, k = method.world, start.p.shape[1]
    robot = world.robot
    if not robot.nv:
        raise UnsupportedError(f"{quoted(robot.name)} cannot move: there is nothing to measure")
    check_clock(start.steps, start.number)
    bodies = bodies_in_contact(method)
    sizes, rows = sensor_sizes(world), world.touching.wrench_rows
    reduction = Reduction(measures, robot.nq, robot.nv, k, bodies, method.dt, start.number, sizes, rows)
    return Measuring(reduction, start.p, start.number, method.options.engine)


def _taken(name: str, function: Callable[..., Any]) -> int:
    """Return how many of t, q, v, p, c, s a measure's function takes."""
    try:
        signature = signature_of(function)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"measure {quoted(name)}: {short_repr(function)} has no signature: give lambda t, q, v: ..."
        ) from None
    for count in (3, 4, WITH_CONTACT, WITH_READINGS):
        try:
            signature.bind(*range(count))
        except TypeError:
            continue
        return count
    raise ArgumentError(f"measure {quoted(name)} must take {TAKEN}, not {signature}")


def checked_measures(measure: Any) -> dict[str, Measure]:
    """Return measures by name, none for None; raises ArgumentError for anything else."""
    if measure is None:
        return {}
    if not isinstance(measure, Mapping) or not all(isinstance(name, str) for name in measure):
        raise ArgumentError(f"measure must be a dict of measures by name, got {short_repr(measure)}")
    for name, one in measure.items():
        if not isinstance(one, Measure):
            raise ArgumentError(
                f"measure {quoted(name)} is {short_repr(one)}: make it by a function of treesim.measures, as any_"
            )
    return dict(measure)
