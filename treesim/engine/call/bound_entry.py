"""Kernel entry bound to one robot's tables, for calls on single states without overhead."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...kernels.entries.entry import on_mass_matrix
from ...validation.arrays import Shape
from ..frontend.fastcall import BAD_LAYOUT, STATES, owner_of_code
from ..frontend.object_layout import layout_is_known
from ..graph.graph import LONGEST
from ..threads import thread_count
from .call_sequence import Call, Place
from .evaluate import check_engine, lanes_for
from .fast_entry import fast_call
from .generic import compiled, runs_compiled
from .specialized import BatchCode, batches_only, single_code, with_batches

# Operations of kernels of the mass matrix whose straight-line code engine "auto" selects. Generic code executes the
# loops along rows of this matrix by SIMD instructions. Measured by calls of `treesim.Dynamics` with both engines, for
# unbranched chains of 20 to 100 bodies: straight-line code is 0.85 to 1.7 times as fast as generic code below the limit
# (2 to 4 times for humanoids), and 0.7 to 1.14 times above, after 3 to 16 s of compilation. Other kernels gain up to
# the longest traces: forward dynamics of chains of 20 to 400 bodies is 1.6 to 2.9 times as fast.
LONGEST_ON_MASS_MATRIX = 50_000
NOTHING = np.empty(0)


class BoundEntry:
    """Entry (*constants, *inputs, *results): `call(*nonempty inputs, *results)` returns its status.

    inputs, results: shapes of one state's arrays. `call` accepts only aligned, C-contiguous arrays of these
    shapes and of `number`. For anything else it does nothing and returns BAD_LAYOUT. engine: as in
    `treesim.Dynamics`. The first call compiles or loads the code; it may raise UnsupportedError for
    "specialized". All arrays may have an axis of states in front: `call` accepts few of them, and after a call of
    `batch`, which accepts at least `least`, some more. alone: whether batches always run on one thread. single: whether
    to compile code for single states.
    """

    def __init__(
        self,
        entry: Callable[..., int],
        constants: Sequence[Any],
        inputs: Sequence[Shape],
        results: Sequence[Shape],
        number: type[np.floating] = np.float64,
        engine: str = "auto",
        least: int = STATES,
        alone: bool = False,
        single: bool = True,
    ) -> None:
        check_engine(engine)
        self.entry, self.constants = entry, tuple(constants)
        self.inputs, self.results = tuple(inputs), tuple(results)
        self.number, self.engine, self._least, self._alone, self._single = number, engine, least, alone, single
        self.call: Callable[..., int] = self._first_call
        self._lanes: BatchCode | None = None
        self._on_one_thread: Callable[..., int] = _turned_down  # of batches that `call` leaves to threads
        self._specialized = False  # whether `call` is straight-line code
        self._shapes = [shape for shape in (*self.inputs, *self.results) if math.prod(shape)]

    def batch(self, *arrays: Any) -> int:
        """Run a batch and return its status, or do nothing and return BAD_LAYOUT.

        arrays: (states, *shape) as for `call`, not overlapping, of enough states for SIMD code.
        """
        if self._lanes is not None and thread_count() == 1:
            status = self._on_one_thread(*arrays)
            if status != BAD_LAYOUT:
                return status
        count = len(arrays[0]) if isinstance(arrays[0], np.ndarray) and arrays[0].ndim else 0
        if count < self._least or self.engine == "generic" or not self._fit(arrays, count):
            return BAD_LAYOUT
        if self._lanes is None:
            self._lanes = self._lane_code()
            if self._lanes is not None and self._specialized and self.call != self._first_call:
                single, self.call = self.call, with_batches(self.call, self._lanes, self._alone)
                self._on_one_thread = self.call if self._alone else with_batches(single, self._lanes, alone=True)
        rows = iter(arrays)
        every = (next(rows) if math.prod(shape) else np.empty((count, 0)) for shape in (*self.inputs, *self.results))
        return BAD_LAYOUT if self._lanes is None else self._lanes.run([x.reshape(count, -1) for x in every], count)

    def _fit(self, arrays: Sequence[Any], count: int) -> bool:
        """Return whether arrays are dense, of the right type and shape, and the last one, a result, overlaps none."""
        return (
            len(arrays) == len(self._shapes)
            and all(
                type(x) is np.ndarray and x.dtype == self.number and x.shape == (count, *shape) and x.flags.carray
                for x, shape in zip(arrays, self._shapes, strict=True)
            )
            and not any([np.may_share_memory(arrays[-1], x) for x in arrays[:-1]])  # a list takes half the time
        )

    def _lane_code(self) -> BatchCode | None:
        sizes, results = ([math.prod(shape) for shape in group] for group in (self.inputs, self.results))
        return lanes_for(self.entry, self.constants, sizes, results, self.number, self.engine)

    def call_of(self, arrays: Sequence[Place | np.ndarray]) -> Call | None:
        """Return the call of the same code in a sequence, with its inputs and results at places; None if there is none.

        Raises as the first `call`.
        """
        code, sizes = self._code(), [math.prod(shape) for shape in (*self.inputs, *self.results)]
        if code is _turned_down or not runs_compiled():
            return None
        if self._specialized:
            run = owner_of_code(code).address("run")
            return Call(run, [x for x, size in zip(arrays, sizes, strict=True) if size], code)
        whole = compiled(self.entry)
        return Call(whole.address, [*self.constants, *arrays], whole)

    def _first_call(self, *arrays: Any) -> int:
        """Look up the code, replace `call` by it, and call it."""
        self.call = self._code()
        return self.call(*arrays)

    def _code(self) -> Callable[..., int]:
        if not any(map(math.prod, self.results)):
            return _turned_down  # a robot that cannot move: there is nothing to compute
        if not self._single:
            self._specialized = runs_compiled() and layout_is_known()
            shapes = self.inputs, self.results, self.number is np.float32
            return batches_only(*shapes) if self._specialized else _turned_down
        if self.engine != "generic":
            limited = self.engine == "auto" and self.number is np.float64 and on_mass_matrix(self.entry)
            longest = LONGEST_ON_MASS_MATRIX if limited else LONGEST
            try:
                code = single_code(self.entry, self.constants, self.inputs, self.results, self.number, longest)
                self._specialized = True
                return code
            except UnsupportedError as error:
                if self.engine == "specialized":
                    raise UnsupportedError(f"no specialized code of {self.entry.__name__}: {error}") from None
        return self._generic()

    def _generic(self) -> Callable[..., int]:
        """Return the generic engine's fast call, for float64 only."""
        if self.number is not np.float64:
            return _turned_down
        enter, constants = fast_call(self.entry), self.constants
        shapes = (*self.inputs, *self.results)
        empty = [place for place, shape in enumerate(shapes) if not math.prod(shape)]
        if not empty:
            return lambda *arrays: enter(*constants, *arrays)

        def enter_with_empty(*arrays: Any) -> int:
            given = [*arrays]
            for place in empty:
                given.insert(place, NOTHING)
            return enter(*constants, *given)

        return enter_with_empty


def _turned_down(*arrays: Any) -> int:
    return BAD_LAYOUT
