"""Destination of rollout results: new memory, the caller's arrays, or files."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..engine.call.buffer_pool import empty
from ..errors import ArgumentError
from ..states.arguments import short_repr
from ..system.memory import check_memory
from ..validation.arrays import Shape, check_out
from ..validation.values import parts_or_none
from .files import ResultFiles
from .time_slices import Progress


class Results:
    """Arrays for q, v, the work if it is integrated, and readings: new memory, the caller's, or files.

    shapes: of the arrays of states. facts: dt, every, and names of the sensors' columns by sensor. The caller's arrays
    are for states.
    """

    def __init__(
        self, out: Any, shapes: Sequence[Shape], number: Any, arguments: Sequence[np.ndarray], facts: dict[str, Any]
    ) -> None:
        self.facts, self.sensors = facts, facts.get("sensors", {})
        self.files: ResultFiles | None = None
        given = {2, len(shapes)}
        shapes = [*shapes, *((*shapes[0][:2], len(columns)) for columns in self.sensors.values())]
        if out is None:
            self.arrays = _fresh(shapes, number)
        elif isinstance(out, str | os.PathLike):
            self.files = ResultFiles(out, shapes, number, facts)
            self.arrays = self.files.arrays
        elif isinstance(out, tuple | list) and len(parts := parts_or_none(out) or ()) in given:
            own = _given(parts, shapes[: len(parts)], number, arguments)
            self.arrays = [*own, *(empty(shape, number) for shape in shapes[len(parts) :])]
        else:
            raise ArgumentError(f"out must be a file name or two arrays (q, v), got {short_repr(out)}")

    def save_progress(self, done: Progress) -> None:
        """Record the progress, after the results are in their place."""
        if self.files is not None:
            self.files.save_progress(done)

    def finish(self) -> None:
        """Complete the results."""
        if self.files is not None:
            self.arrays = self.files.finish()

    def leave(self, done: Progress) -> str:
        """Stop before completion; return a sentence on where unfinished files are, empty without files."""
        if self.files is None:
            return ""
        if done == Progress():
            self.files.remove()
            return ""
        return f"; {self.files.leave()}"


def _fresh(shapes: Sequence[Shape], number: Any) -> list[np.ndarray]:
    needed = sum(math.prod(shape) for shape in shapes) * np.dtype(number).itemsize
    count, records = shapes[0][:2]
    check_memory(
        needed + 8 * (count + records),
        f"{count} rollouts of {records} recorded steps",
        "record fewer with every=, or name files with out=",
    )
    return [empty(shape, number) for shape in shapes]


def _given(
    out: Sequence[Any], shapes: Sequence[Shape], number: Any, arguments: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Return the caller's arrays; raises ArgumentError if they overlap each other or an argument."""
    arrays = [check_out(x, shape, number) for x, shape in zip(out, shapes, strict=True)]
    for k, x in enumerate(arrays):
        others = [*arguments, *arrays[:k]]
        if not x.flags.aligned or any(np.may_share_memory(x, other) for other in others):
            raise ArgumentError(f"out[{k}] must be aligned in memory, and share none with another argument")
    return arrays
