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

Q, V, CONTROL, WARM_START, OUT = range(5)  # arguments of a sequence


class View(NamedTuple):
    """Part of a block of numbers: its first number, the one behind its last, and its shape."""

    first: int
    end: int
    shape: tuple[int, ...]

    def of(self, block: np.ndarray) -> np.ndarray:
        """Return the part of a block."""
        part = block[self.first : self.end]
        return part if len(self.shape) == 1 else part.reshape(self.shape)

    @property
    def place(self) -> Place:
        """Its place in a sequence."""
        return Place(OUT, self.first, self.end - self.first)


class Between(NamedTuple):
    """What the calls of a part pass to each other: the end and the work of the unconstrained step, and kinematics."""

    q_free: View
    v_free: View
    work_free: View
    kinematics: View


class ResultBlock:
    """Results of a step of one state in one array, with the attributes of `StepResult`.

    Those that are not needed for the next step are made of their parts of the array when they are read.
    """

    def __init__(self, out: np.ndarray, views: StepResult) -> None:
        self._out, self._views = out, views
        q, v, contact = views.q, views.v, views.warm_start
        self.q, self.v = out[q.first : q.end], out[v.first : v.end]
        self.warm_start = None if contact is None else out[contact.first : contact.end]

    def __getattr__(self, name: str) -> Any:
        view = getattr(self._views, name)
        found = None if view is None else view.of(self._out)
        setattr(self, name, found)
        return found


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
        return ResultBlock(self._out, self._sequence.parts[k])

    def leave_out(self) -> bool:
        """Return whether there was no memory for a contact in any part."""
        return any(self._out.item(first + LEFT_OUT) for first in self._sequence.diagnostics)


class StepSequence:
    """Equal parts of a step as one call: `call(q, v, control, warm_start, out)` returns the worst status.

    out (size,): results of the parts, overwritten; `parts`: their views; `diagnostics`: first number of each part's. As
    a built-in function, `call` returns BAD_LAYOUT for arrays of another type or size. It is None if `free`, the
    unconstrained step, is, or has no code that code can call.
    """

    def __init__(self, free: BoundEntry | None, stage: ContactSolve | None, shapes: StepResult, count: int) -> None:
        self.bound = None if stage is None else stage.bound  # another one when memory has grown
        self.call: Callable[..., int] | None = None
        self.size = 0
        if free is None:
            return
        self.parts = [StepResult(*map(self._view, shapes)) for _ in range(count)]
        self.diagnostics = [part.solver_info.first for part in self.parts if stage is not None]
        sizes = [*(x[0] for x in (shapes.q, shapes.v, shapes.force)), 0 if stage is None else shapes.warm_start[0]]
        state, control = [Place(k, 0, sizes[k]) for k in (Q, V, WARM_START)], Place(CONTROL, 0, sizes[CONTROL])
        between = None if stage is None else Between(*map(self._view, stage.between))
        calls: list[Call | None] = []
        for part in self.parts:
            calls += _calls(free, stage, state, control, part, between)
            state = [view.place for view in (part.q, part.v, part.warm_start) if view is not None]
        found = [call for call in calls if call is not None]
        if len(found) == len(calls):
            self.call = call_sequence([*sizes, self.size], found)

    def _view(self, shape: tuple[int, ...] | None) -> Any:
        """Return the next part of `out`, of a shape."""
        if shape is None:
            return None
        first, self.size = self.size, self.size + math.prod(shape)
        return View(first, self.size, shape)


def _calls(
    free: BoundEntry, stage: ContactSolve | None, state: list[Place], control: Place, part: Any, between: Any
) -> Iterator[Call | None]:
    """Yield the calls of a part that starts at `state`: q, v and impulses of the warm start."""
    rows = [view.place for view in part.constraint_rows()]
    if stage is None:
        results = [view.place for view in (part.q, part.v, part.force, part.work)]
        yield free.call_of([*state[:2], control, *results, *rows])
        return
    q_free, v_free, work_free, kinematics = [view.place for view in between]
    force = part.force.place
    yield free.call_of([*state[:2], control, q_free, v_free, force, work_free, *rows])
    q, v, warm_start = state
    found = np.ascontiguousarray(nothing_found(np.empty(q.size)))
    given = ContactInput(q, v, q_free, v_free, force, work_free, warm_start, found)
    yield from stage.calls_of(given, kinematics, ContactOutput(*(view.place for view in part.contact_output())))
