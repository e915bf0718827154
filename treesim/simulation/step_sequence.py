"""A step of one state, in equal parts, as one call of compiled code whose results are parts of one array."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..contact.contact_solve import ContactInput, ContactOutput, ContactSolve
from ..contact.convex_pairs import nothing_found
from ..contact.unsolved import solved_at
from ..engine.call.bound_entry import BoundEntry
from ..engine.call.call_sequence import Call, Place, call_sequence
from ..kernels.contact.contact_step import LEFT_OUT
from .step_result import StepResult

Q, V, CONTROL, WARM_START, OUT, SCRATCH = range(6)  # arguments of a sequence


class View(NamedTuple):
    """Part of an argument of a sequence: the argument, its first number, the one behind its last, and its shape."""

    argument: int
    first: int
    end: int
    shape: tuple[int, ...]

    def of(self, block: np.ndarray) -> np.ndarray:
        """Return the part of a block."""
        part = block[self.first : self.end]
        return part if len(self.shape) == 1 else part.reshape(self.shape)

    @property
    def place(self) -> Place:
        """Its place, for calls."""
        return Place(self.argument, self.first, self.end - self.first)


class ResultBlock:
    """Results of a step of one state in one array, with the attributes of `StepResult`.

    Those that are not needed for the next step are made of their parts of the array when they are read.
    """

    def __init__(self, out: np.ndarray, views: StepResult, state: tuple[slice, slice, slice]) -> None:
        self._out, self._views = out, views
        q, v, warm_start = state
        self.q, self.v, self.warm_start = out[q], out[v], out[warm_start]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # not from a pickle yet, or a method of none
            raise AttributeError(name)
        view = getattr(self._views, name)
        found = None if view is None else view.of(self._out)
        setattr(self, name, found)
        return found

    def copy(self) -> StepResult:
        """Return the results in arrays of their own."""
        return StepResult(*(None if view is None else view.of(self._out).copy() for view in self._views))


class ResultBlocks(Sequence[ResultBlock]):
    """Results of the parts of a step of one state, in one array `out`.

    solved: whether the contact problems of all parts are solved.
    """

    __slots__ = ("_out", "_sequence", "solved")

    def __init__(self, out: np.ndarray, sequence: StepSequence) -> None:
        self._out, self._sequence, self.solved = out, sequence, True
        for first in sequence.diagnostics:
            self.solved = self.solved and solved_at(out, first)

    def __len__(self) -> int:
        return len(self._sequence.parts)

    def __getitem__(self, k: Any) -> Any:
        return ResultBlock(self._out, self._sequence.parts[k], self._sequence.states[k])

    def __reduce__(self) -> tuple[Any, ...]:
        return list, ([part.copy() for part in self],)

    def leave_out(self) -> bool:
        """Return whether there was no memory for a contact in any part."""
        return any(self._out.item(first + LEFT_OUT) for first in self._sequence.diagnostics)


class StepSequence:
    """Equal parts of a step as one call: `call(q, v, control, warm_start, out, scratch)` returns the worst status.

    out: results of the parts, overwritten; `parts`: their views; `states`: places of q, v and impulses of each;
    `diagnostics`: first number of each part's. `sizes`: of all arguments. With joint limits only, the calls are those
    of unconstrained steps, and `near_limits` views of the scratch memory, 1 for parts near limits, which need the
    contact solve. As a built-in function, `call` returns BAD_LAYOUT for arrays of another type or size. It is None if
    `free`, the unconstrained step, is, or has no code that code can call.
    """

    def __init__(self, free: BoundEntry | None, stage: ContactSolve | None, shapes: StepResult, count: int) -> None:
        self.bound = None if stage is None else stage.bound  # another one when memory has grown
        self.call: Callable[..., int] | None = None
        self.sizes = [0] * 6
        if free is None:
            return
        self.parts = [StepResult(*map(self._view, shapes)) for _ in range(count)]
        self.states = [_state_of(part) for part in self.parts]
        self.diagnostics = [part.solver_info.first for part in self.parts if stage is not None]
        quick = stage is not None and stage.quick is not None
        between = [self._view(shape, SCRATCH) for shape in (() if stage is None or quick else stage.between)]
        self.near_limits = [self._view((1,), SCRATCH) for _ in self.parts if quick]
        given = (shapes.q, shapes.v, shapes.force, (0,) if stage is None else shapes.warm_start)
        q, v, control, warm_start = (self._view(shape, k).place for k, shape in enumerate(given))
        state = [q, v, warm_start]
        calls: list[Call | None] = []
        for k, part in enumerate(self.parts):
            calls += _calls(free, stage, state, control, part, self.near_limits[k : k + 1] or between)
            state = [part.q.place, part.v.place, warm_start if part.warm_start is None else part.warm_start.place]
        found = [call for call in calls if call is not None]
        if len(found) == len(calls):
            self.call = call_sequence(self.sizes, found)

    def memory(self) -> tuple[np.ndarray, np.ndarray]:
        """Allocate `out`, zeros where only joint limits act, and `scratch`."""
        new = np.zeros if self.near_limits else np.empty
        return new(self.sizes[OUT]), np.empty(self.sizes[SCRATCH])

    def is_near_limits(self, scratch: np.ndarray) -> bool:
        """Return whether joint limits may act in any part, so that its results are invalid."""
        return any(scratch.item(view.first) for view in self.near_limits)

    def _view(self, shape: tuple[int, ...] | None, argument: int = OUT) -> Any:
        """Return the next part of an argument, of a shape."""
        if shape is None:
            return None
        first = self.sizes[argument]
        self.sizes[argument] += math.prod(shape)
        return View(argument, first, self.sizes[argument], shape)


def _state_of(part: StepResult) -> tuple[slice, slice, slice]:
    """Return the places of q, v and the impulses, empty without contact, at the end of a part."""
    views = (part.q, part.v, part.warm_start)
    q, v, warm_start = (slice(0, 0) if view is None else slice(view.first, view.end) for view in views)
    return q, v, warm_start


def _calls(
    free: BoundEntry, stage: ContactSolve | None, state: list[Place], control: Place, part: Any, between: list[View]
) -> Iterator[Call | None]:
    """Yield the calls of a part that starts at `state`: q, v and impulses of the warm start.

    between: what the calls pass to each other (`ContactSolve.between`), or whether the part is near joint limits.
    """
    q, v, warm_start = state
    rows = [view.place for view in part.constraint_rows()]
    own = [view.place for view in (part.q, part.v, part.force, part.work)]
    if stage is None:
        yield free.call_of([q, v, control, *own, *rows])
    elif stage.quick is not None:
        yield free.call_of([q, v, control, *own, *rows])
        yield stage.quick.call_of([q, own[0], between[0].place])
    else:
        q_free, v_free, work_free, kinematics = [view.place for view in between]
        yield free.call_of([q, v, control, q_free, v_free, own[2], work_free, *rows])
        found = nothing_found(np.empty(q.size))
        given = ContactInput(q, v, q_free, v_free, own[2], work_free, warm_start, found)
        yield from stage.calls_of(given, kinematics, ContactOutput(*(view.place for view in part.contact_output())))
