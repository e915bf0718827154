"""A step of one state, in equal parts, as one call of compiled code whose results are parts of one array."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..contact.contact_solve import ContactSolve
from ..contact.convex_pairs import nothing_found
from ..contact.unsolved import bounds_if_solved
from ..engine.call.bound_entry import BoundEntry
from ..engine.call.call_sequence import Bound, Call, Place, call_sequence
from ..engine.frontend.fastcall import BAD_LAYOUT, OUT_OF_BOUNDS
from ..kernels.contact.layout import INFO
from ..kernels.contact.step_records import StepInput
from ..kernels.entries.status import FINE
from .effort_limits import EffortLimits
from .external_forces import ExternalJointForces
from .state import State
from .step_result import StepResult

Q, V, CONTROL, WARM_START, OUT = range(5)  # indices of the arguments of `call`


class View(NamedTuple):
    """Part of `out`: its slice, its shape, and its place."""

    at: slice
    shape: tuple[int, ...]
    place: Place


class ResultBlocks(Sequence[StepResult]):
    """Results of the parts of a step of one state, in one array `out`, of which they are made when one is read.

    sequence: the step's. solved: whether the contact problems of all parts are solved, without deep overlaps.
    """

    __slots__ = ("_made", "out", "sequence", "solved")

    def __init__(self, out: np.ndarray, sequence: StepSequence, solved: bool) -> None:
        self.out, self.sequence, self.solved = out, sequence, solved
        self._made: list[StepResult] | None = None

    @property
    def every(self) -> list[StepResult]:
        """The results of each part."""
        if self._made is None:
            out = self.out
            self._made = [
                StepResult(*[None if x is None else out[x.at].reshape(x.shape) for x in views])
                for views in self.sequence.parts
            ]
        return self._made

    def __len__(self) -> int:
        return len(self.sequence.parts)

    def __getitem__(self, k: Any) -> Any:
        return self.every[k]

    def __iter__(self) -> Iterator[StepResult]:
        return iter(self.every)

    def __reduce__(self) -> tuple[Any, ...]:
        copies = [StepResult(*(None if x is None else x.copy() for x in part)) for part in self.every]
        return list, (copies,)


class PartCode(NamedTuple):
    """Code of a part of a step.

    free: the unconstrained step, None if it runs in Python. stage: contact solve. shapes: of the results. forces: joint
    forces of external forces, whose table follows the control. effort: mean forces of steps with implicit gains.
    with_kinematics: whether `free` also computes the kinematics of the contact solve.
    """

    free: BoundEntry | None
    stage: ContactSolve | None
    shapes: StepResult
    forces: ExternalJointForces | None = None
    effort: EffortLimits | None = None
    with_kinematics: bool = False


class StepSequence:
    """Equal parts of a step of one state as one call, see `run`.

    parts: places of their results in `out`, an array of `size` numbers. q, v, contact: slices of the state at the end;
    contact is None without contact. forces, works: slices of the results of each part. With joint limits only, the
    calls are those of unconstrained steps, and tests whether parts are near limits, which need the contact solve.
    `call(q, v, control, warm_start, out)` returns FINE if the results are valid and contact is solved; `go_on(before,
    control, out)` starts at the state at the end of another step's `out`. Both are built-in functions if `free`, the
    unconstrained step, and the contact solve have code that code can call; otherwise they return BAD_LAYOUT.

    code: of each part. own_controls: whether `control` is one of each part, one after the other. solves: whether the
    contact solve is called in any case.
    """

    def __init__(self, code: PartCode, count: int, own_controls: bool = False, solves: bool = False) -> None:
        free, stage, shapes, *_ = self._code = code
        self.bound = None if stage is None else stage.bound  # another one when memory has grown
        self.size = 0
        self.parts = [StepResult(*map(self._view, shapes)) for _ in range(count)]
        self.q, self.v, self.contact = (_slice(self.parts[-1], name) for name in ("q", "v", "warm_start"))
        self.forces, self.works = ([_slice(part, name) for part in self.parts] for name in ("force", "work"))
        self._cold = np.zeros(shapes.warm_start or 0)
        self.call: Callable[..., int] = _refused
        self.go_on: Callable[..., int] = _refused
        quick = stage is not None and stage.quick is not None and not solves
        self.new = np.zeros if quick else np.empty  # of joint limits that do not act, all results are 0
        self._near_limits: list[View] = [self._view((1,)) for _ in self.parts if quick]
        self._beyond: list[View] = [self._view(shapes.force) for _ in self.parts if code.effort is not None]
        self._solved: StepSequence | None = None
        self._own_controls = own_controls
        if free is not None:
            self._write()

    def _write(self) -> None:
        """Replace `call` and `go_on` by the calls of the parts, if there is code of all."""
        _, stage, shapes, forces, effort, _ = self._code
        given = [shape[0] for shape in (shapes.q, shapes.v, shapes.force, shapes.warm_start or (0,))]
        q, v, control, warm_start = (Place(k, 0, size) for k, size in enumerate(given))
        external, at_start = np.empty((2, control.size))
        given[CONTROL] *= len(self.parts) if self._own_controls else 1
        wrenches = Place(CONTROL, given[CONTROL], 0 if forces is None else forces.size)
        given[CONTROL] += wrenches.size
        near = [view.place for view in self._near_limits]
        between = [] if stage is None or near else [np.empty(shape) for shape in stage.between]
        state, calls = [q, v, warm_start], list[Call | None]()
        for k, part in enumerate(self.parts):
            control = control._replace(first=k * control.size if self._own_controls else 0)
            if forces is None:
                controls: list[Any] = [control]
            else:
                calls.append(forces.bound.call_of([*state[:2], wrenches, external]))
                controls = [control, external]
            force = part.force.place if effort is None else at_start
            calls += self._calls(k, state, controls, force, between)
            if effort is not None:
                ends = part.q.place, part.v.place, at_start, part.force.place, self._beyond[k].place
                calls.append(effort.bound.call_of([*state[:2], *ends]))
            state = [part.q.place, part.v.place, warm_start if part.warm_start is None else part.warm_start.place]
        found = [call for call in calls if call is not None]
        if len(found) == len(calls):
            within = [*near, *(view.place for view in self._beyond)]
            bounds = [*_bounds(self.parts, stage), *(Bound(place, 0.0) for place in within)]
            self.call = call_sequence([*given, self.size], found, bounds)
            of = self._places_in_block()
            calls_on = [call._replace(arrays=[of(x) for x in call.arrays]) for call in found]
            bounds_on = [bound._replace(part=of(bound.part)) for bound in bounds]
            self.go_on = call_sequence([self.size, given[CONTROL], self.size], calls_on, bounds_on)

    def _calls(
        self, k: int, state: list[Place], controls: list[Any], force: Any, between: list[np.ndarray]
    ) -> Iterator[Call | None]:
        """Yield the calls of the k-th part, which starts at `state`: q, v and impulses of the warm start.

        controls: places of the control and, with external forces, of their joint forces. force: place of the force at
        the start. between: what the calls pass to each other if contact is solved (`ContactSolve.between`).
        """
        free, stage, _, _, _, with_kinematics = self._code
        part: Any = self.parts[k]
        q, v, warm_start = state
        assert free is not None
        rows = [view.place for view in part.constraint_rows()]
        own = [part.q.place, part.v.place, force, part.work.place]
        if not between:
            yield free.call_of([q, v, *controls, *own, *rows])
            if stage is not None:
                assert stage.quick is not None
                yield stage.quick.call_of([q, own[0], self._near_limits[k].place])
        else:
            assert stage is not None
            q_free, v_free, work_free, kinematics = between
            more = [kinematics] if with_kinematics else rows
            yield free.call_of([q, v, *controls, q_free, v_free, own[2], work_free, *more])
            found = nothing_found(np.empty(q.size))
            external = controls[1] if len(controls) > 1 else None
            given = StepInput(q, v, q_free, v_free, own[2], external, work_free, warm_start, found)
            output = [view.place for view in part.contact_output()[:-1]]
            yield from stage.calls_of(given, kinematics, output, with_kinematics)

    def _places_in_block(self) -> Callable[[Any], Any]:
        """Return the function from places in the arguments of `call` to those of `go_on`."""
        end = self.parts[-1]
        starts = [None if view is None else view.place.first for view in (end.q, end.v, end.warm_start)]
        first = dict(zip((Q, V, WARM_START), starts, strict=True))
        arguments = {CONTROL: 1, OUT: 2}

        def of(x: Any) -> Any:
            if not isinstance(x, Place):
                return x
            return x._replace(argument=arguments.get(x.argument, 0), first=x.first + (first.get(x.argument) or 0))

        return of

    def run(self, q: np.ndarray, v: np.ndarray, control: Any, warm_start: np.ndarray | None) -> ResultBlocks | None:
        """Take the step; return its results, or None where `results_of` does; warm_start: None for zeros."""
        out = self.new(self.size)
        if warm_start is None:
            warm_start = self._cold
        status = self.call(q, v, control, warm_start, out)
        if status == FINE:
            return ResultBlocks(out, self, True)
        return self.results_of(status, out, q, v, control, warm_start)

    def results_of(
        self, status: int, out: np.ndarray, q: np.ndarray, v: np.ndarray, control: np.ndarray, warm_start: np.ndarray
    ) -> ResultBlocks | None:
        """Return the results of a step from the status of `call` or `go_on`.

        Returns None where the step must be taken otherwise: for parts that run in Python; several parts near joint
        limits, if there is no other contact; where a force is beyond its limit; for arrays of another layout; for steps
        that fail; and where there was no memory for a contact.
        """
        if status == FINE:
            return ResultBlocks(out, self, True)
        if status != OUT_OF_BOUNDS:
            return None
        if any(out[view.at].any() for view in self._beyond):
            return None
        if any(out[view.at] for view in self._near_limits):
            return self._with_contact.run(q, v, control, warm_start) if len(self.parts) == 1 else None
        results = ResultBlocks(out, self, False)
        return None if any(part.solver_info[INFO.left_out] for part in results) else results

    @property
    def _with_contact(self) -> StepSequence:
        """The same step with the contact solve in any case."""
        if self._solved is None:
            self._solved = StepSequence(self._code, len(self.parts), self._own_controls, solves=True)
        return self._solved

    def _view(self, shape: tuple[int, ...] | None) -> Any:
        """Return the next part of `out`, of a shape."""
        if shape is None:
            return None
        first, size = self.size, math.prod(shape)
        self.size += size
        return View(slice(first, self.size), shape, Place(OUT, first, size))


def results_in(state: State) -> ResultBlocks:
    """Return the results of the step to a state that consists of parts of their block."""
    values = vars(state)
    return ResultBlocks(values["_block"], values["_sequence"], True)


def _refused(*arrays: Any) -> int:
    return BAD_LAYOUT


def _slice(part: Any, name: str) -> Any:
    """Return the slice of a part's result in `out`, None if it has none."""
    view = getattr(part, name)
    return None if view is None else view.at


def _bounds(parts: Sequence[StepResult], stage: ContactSolve | None) -> Iterator[Bound]:
    """Yield the bounds of the diagnostics of contact that is solved without deep overlaps."""
    bounds = [] if stage is None else [*bounds_if_solved(), (INFO.penetration, stage.touching.largest_overlap)]
    for part in parts:
        if part.solver_info is not None:
            for k, largest in bounds:
                yield Bound(Place(OUT, part.solver_info.place.first + k, 1), largest)
