"""Time steps of many states in compiled code: state is carried from step to step, and recorded every few steps.

Results (count, records, n) are the states after every `every` steps; they may be memory-mapped files, and
no other array is as large. States that are not finite stay in the results. The work is divided into rollout
segments: some of the states through some of their steps, starting from the end of the segment before. The
division does not change a bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...kernels.stepping.measured_step import ENDED, measured_step_entry
from ..graph.policies import Policy
from ..threads import over_threads
from .batched import BatchedTables
from .evaluate import STATES_PER_TASK, lanes_for
from .expression_code import Columns, columns_of
from .generic import compiled
from .specialized import BatchCode

Step = Callable[..., int]
Arrays = Sequence[np.ndarray]
TESTED = 1 << 16  # numbers that are tested at once
# the controls (states, m) of the states first .. last - 1, which are given, at a step
Controls = Callable[[int, int, int, Arrays], np.ndarray]


class Carried(NamedTuple):
    """States (count, n) at the end of a segment, and whether all recorded numbers and all controls are finite."""

    states: Arrays
    finite: bool


# carries the states given, those of the rollouts `rows`, through the steps `steps`, and writes results (count, records,
# n), one record after every so many steps, which must divide the number of steps
RolloutSegment = Callable[[slice, slice, Arrays, Arrays, int], Carried]


class Measured(NamedTuple):
    """Measures of rollouts.

    reduction: the expression of `measured_step_entry`. parameters (B, k): of the measures' functions. code: returns
    the function that evaluates the reduction between steps. The measures' memory is the last of a segment's states and
    is not recorded.
    """

    reduction: Any
    parameters: np.ndarray
    code: Callable[[], Columns]

    def of(self, rows: Any) -> Measured:
        """Return the measures of some rollouts."""
        return self._replace(parameters=self.parameters[rows])

    def after(
        self, before: Arrays, now: Arrays, kept: np.ndarray, wrench: np.ndarray | float = 0.0, *readings: np.ndarray
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """Return the states and the measures' memory after a step; ended rollouts stay at the states before it.

        wrench (count, 6 (N + 1)): contact wrenches, if the reduction takes them. readings (count, n): of all sensors,
        likewise.
        """
        ended = kept[:, ENDED, None] != 0
        held = [np.where(ended, old, x) for old, x in zip(before, now, strict=True)] if ended.any() else list(now)
        c = wrench if self.reduction.contact else np.empty((len(kept), 0))
        with np.errstate(all="ignore"):
            return held, self.code()(*held[:2], self.parameters.astype(float), c, *readings, kept)


def under_controls(
    entry: Step,
    constants: Sequence[Any],
    sizes: Sequence[int],
    controls: np.ndarray,
    number: Any,
    engine: str = "auto",
    held: int = 1,
    batched: BatchedTables | None = None,
    measured: Measured | None = None,
) -> RolloutSegment:
    """Return a rollout segment under given controls.

    entry(*constants, *states, control, *next states) does one substep. sizes: n of each state array (count, n).
    controls (count, steps, m): their strides may be 0. held: substeps of a step, under the same control.
    batched: batched model parameters. Raises UnsupportedError if the engine "specialized" is not supported.
    """
    own = [] if batched is None else [batched.numbers]
    if batched is not None:
        entry, constants = batched.taken_by(entry, constants, 2 * len(sizes) + 1, len(sizes))
    inputs = [*sizes, *(x.shape[1] for x in own), controls.shape[2]]
    code = step_code(entry, constants, inputs, sizes, number, engine, measured, held, invariant=len(own))

    def piece(rows: slice, steps: slice, states: Arrays, results: Arrays, every: int) -> Carried:
        given, fixed, reduced = controls[rows, steps], [x[rows] for x in own], measured and measured.of(rows)
        if code is not None:
            each = held_controls(given, held)
            begun = [*carried_on_lanes(states, reduced, number), *fixed]
            return _on_lanes(code, [*begun, each], results, each.shape[1], every * held)

        def taken(first: int, last: int, step: int, now: Arrays) -> np.ndarray:
            return given[first:last, step]

        ends, finite = _one_by_one(
            entry, constants, states, fixed, taken, results, given.shape[1], every, held, reduced
        )
        return Carried(ends, finite and all_finite(given))

    return piece


def under_policy(
    entries: tuple[Step, Step],
    constants: Sequence[Any],
    sizes: Sequence[int],
    policy: Policy,
    parameters: np.ndarray,
    dt: float,
    number: Any,
    engine: str = "auto",
    held: int = 1,
    batched: BatchedTables | None = None,
    measured: Measured | None = None,
) -> RolloutSegment:
    """Return a rollout segment under a policy with parameters (count, k), evaluated once per step of dt [s].

    entries: that of `under_controls`, whose first states are q and v; and the same with the policy:
    (*constants, policy, held, step number, substep number, control, *states, parameters, then the next of all
    but the parameters). held, batched: as in `under_controls`.
    """
    if policy.stages:
        return _between_steps(
            entries[0], constants, sizes, policy, parameters, dt, number, engine, held, batched, measured
        )
    entry, traced = entries
    counted = [1, 1, sizes[1], *sizes]
    known: tuple[Any, ...] = (*constants, policy, held)
    own = [] if batched is None else [batched.numbers]
    if batched is not None:
        entry, constants = batched.taken_by(entry, constants, 2 * len(sizes) + 1, len(sizes))
        traced, known = batched.taken_by(traced, known, 2 * len(counted) + 1, len(counted))
    inputs = [*counted, *(x.shape[1] for x in own), parameters.shape[1]]
    invariant = 1 + len(own)
    code = step_code(traced, known, inputs, counted, number, engine, measured, held, first=3, invariant=invariant)

    def piece(rows: slice, steps: slice, states: Arrays, results: Arrays, every: int) -> Carried:
        p, count, many, fixed = parameters[rows], len(states[0]), steps.stop - steps.start, [x[rows] for x in own]
        reduced = measured and measured.of(rows)
        if code is not None:
            begun = [np.broadcast_to(np.full((1, 1), x, number), (count, 1)) for x in (steps.start, 0)]
            begun.append(np.broadcast_to(np.zeros((1, 1), number), (count, sizes[1])))
            unread = [np.broadcast_to(np.empty((count, 1, n), number), (count, many // every, n)) for n in counted[:3]]
            begun += [*carried_on_lanes(states, reduced, number), *fixed, p]
            ends = _on_lanes(code, begun, [*unread, *results], many * held, every * held)
            return Carried(ends.states[3:], ends.finite)
        exact = p.astype(float)

        def taken(first: int, last: int, step: int, now: Arrays) -> np.ndarray:
            return policy.columns(dt * (steps.start + step), *now[:2], exact[first:last])

        return _one_by_one(entry, constants, states, fixed, taken, results, many, every, held, reduced)

    return piece


def _between_steps(
    entry: Step, constants: Sequence[Any], sizes: Sequence[int], policy: Policy, parameters: np.ndarray, dt: float,
    number: Any, engine: str, held: int, batched: BatchedTables | None, measured: Measured | None,
) -> RolloutSegment:  # fmt: skip
    """Return a rollout segment under a policy that calls networks, and runs between steps; as `under_policy`."""
    own = [] if batched is None else [batched.numbers]
    if batched is not None:
        entry, constants = batched.taken_by(entry, constants, 2 * len(sizes) + 1, len(sizes))
    inputs = [*sizes, *(x.shape[1] for x in own), sizes[1]]
    code = step_code(entry, constants, inputs, sizes, number, engine, measured, held, invariant=len(own))
    columns = columns_of(policy, engine)

    def piece(rows: slice, steps: slice, states: Arrays, results: Arrays, every: int) -> Carried:
        p, fixed, reduced = parameters[rows].astype(float), [x[rows] for x in own], measured and measured.of(rows)
        many = steps.stop - steps.start

        def taken(first: int, last: int, step: int, now: Arrays) -> np.ndarray:
            q, v = (x.astype(float, copy=False) for x in now[:2])
            return columns(dt * (steps.start + step), q, v, p[first:last])

        if code is None:
            return _one_by_one(entry, constants, states, fixed, taken, results, many, every, held, reduced)
        now, finite = states, True
        news = [[np.empty((len(x), 1, x.shape[1]), number) for x in states] for _ in range(2)]
        for step in range(many):
            u = taken(0, len(p), step, now).astype(number, copy=False)[:, None]
            begun = [*carried_on_lanes(now, reduced, number), *fixed, held_controls(u, held)]
            now, is_finite = _on_lanes(code, begun, news[step % 2], held, held)
            finite = finite and is_finite
            if (step + 1) % every == 0:
                for result, x in zip(results[: len(sizes)], now, strict=False):
                    result[:, step // every] = x
        return Carried(now, finite)

    return piece


def held_controls(controls: np.ndarray, held: int) -> np.ndarray:
    """Return the controls (count, steps, m) repeated for the substeps of each step."""
    count, steps, m = controls.shape
    if held == 1 or not controls.size:
        return controls
    own = controls[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in controls.strides[:2])]
    several = own.repeat(held, axis=1) if own.shape[1] == steps else own  # shared controls are not copied
    return np.broadcast_to(several, (count, steps * held, m))


def all_finite(array: np.ndarray) -> bool:
    """Return whether all numbers are finite; uses memory for one entry of the first axis, or for `TESTED` numbers.

    Entries repeated by a stride of 0 are read once.
    """
    own = array[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in array.strides)]
    several = max(1, TESTED * len(own) // max(1, own.size))
    return all(bool(np.isfinite(own[k : k + several]).all()) for k in range(0, len(own), several))


def step_code(
    entry: Step, constants: Sequence[Any], inputs: Sequence[int], results: Sequence[int], number: Any, engine: str,
    measured: Measured | None = None, held: int = 1, first: int = 0, invariant: int = 0,
) -> BatchCode | None:  # fmt: skip
    """Return the SIMD code of steps of an entry with measures, None if there is none.

    All results and the measures' memory are carried from step to step. held: substeps of a step. first: index
    of q among the results, followed by v. invariant: as in `batch_code`. `carried_on_lanes` returns the inputs
    that the code takes.
    """
    if engine == "generic":
        return None
    moving = len(results)
    if measured is None:
        steps = {"carried": moving, "invariant": invariant}
        return lanes_for(entry, constants, inputs, results, np.dtype(number), engine, **steps)
    reduction, kept = measured.reduction, len(measured.reduction.begin)
    entry = measured_step_entry(entry, len(constants), first, moving)
    sizes = [*inputs[:moving], kept, measured.parameters.shape[1], *inputs[moving:]]
    steps = {"carried": moving + 1, "invariant": invariant + 1}
    known = (reduction, held, *constants)
    return lanes_for(entry, known, sizes, [*results, kept], np.dtype(number), engine, **steps)


def carried_on_lanes(states: Arrays, measured: Measured | None, number: Any) -> list[np.ndarray]:
    """Return the initial states, and the parameters of measures, in the code's number type."""
    if measured is None:
        return [*states]
    return [*states[:-1], *(x.astype(number, copy=False) for x in (states[-1], measured.parameters))]


def _on_lanes(code: BatchCode, inputs: Arrays, results: Arrays, steps: int, every: int) -> Carried:
    status = code.run([*inputs, *results], len(inputs[0]), steps, every)
    return Carried([x[:, -1] for x in results], status == 0)


def _one_by_one(
    entry: Step,
    constants: Sequence[Any],
    states: Arrays,
    fixed: Arrays,
    controls: Controls,
    results: Arrays,
    steps: int,
    every: int,
    held: int,
    measured: Measured | None = None,
) -> Carried:
    """Run without SIMD code: each thread steps its states in double precision; fixed: inputs that do not change."""
    machine_code = compiled(entry)
    ends = [np.empty(x.shape) for x in states]

    def part(first: int, last: int) -> int:
        now = [np.array(x[first:last], dtype=float, order="C") for x in states]
        kept, reduced = ([now.pop()], measured.of(slice(first, last))) if measured else ([], None)
        new = [np.empty_like(x) for x in now]
        own = [np.array(x[first:last], dtype=float, order="C") for x in fixed]
        status = 0
        for step in range(steps):
            control = np.array(controls(first, last, step, now), dtype=float, order="C")
            before = [x.copy() for x in now] if reduced else []
            for _ in range(held):
                status = int(machine_code(*constants, *(x.reshape(-1) for x in (*now, *own, control, *new))))
                now, new = new, now
            if reduced:
                now, kept[0] = reduced.after(before, now, kept[0])
            if (step + 1) % every == 0:
                for result, x in zip(results, now, strict=not kept):
                    result[first:last, step // every] = x
        for end, x in zip(ends, (*now, *kept), strict=True):
            end[first:last] = x
        return status

    return Carried(ends, over_threads(part, len(states[0]), STATES_PER_TASK) == 0)
