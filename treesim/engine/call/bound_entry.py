"""A kernel entry bound to one robot's tables, to be called on single states without overhead."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...validation.arrays import Shape
from ..frontend.fastcall import BAD_LAYOUT
from .evaluate import check_engine, lanes_for
from .fast_entry import fast_call
from .specialized import STATES, BatchCode, single_code

NOTHING = np.empty(0)


class BoundEntry:
    """An entry (*constants, *inputs, *results): `call(*inputs that are not empty, *results)` returns its status.

    inputs, results: shapes of one state's arrays. `call` takes aligned, C-contiguous arrays of these shapes and of
    `number` only, and answers everything else with BAD_LAYOUT, having done nothing. engine: as in `treesim.Dynamics`;
    code is made, or found on the disk, at the first call, which may raise UnsupportedError for "specialized". `batch`
    does the same for arrays of many states.
    """

    def __init__(
        self,
        entry: Callable[..., int],
        constants: Sequence[Any],
        inputs: Sequence[Shape],
        results: Sequence[Shape],
        number: type[np.floating] = np.float64,
        engine: str = "auto",
    ) -> None:
        check_engine(engine)
        self.entry, self.constants = entry, tuple(constants)
        self.inputs, self.results = tuple(inputs), tuple(results)
        self.number, self.engine = number, engine
        self.call: Callable[..., int] = self._first_call
        self._lanes: BatchCode | None = None
        self._shapes = [shape for shape in (*self.inputs, *self.results) if math.prod(shape)]

    def batch(self, *arrays: Any) -> int:
        """Return the status of a batch: arrays (states, *shape) as `call` takes them, which share no memory, of enough
        states to be worth lanes; or BAD_LAYOUT, having done nothing."""
        count = len(arrays[0]) if isinstance(arrays[0], np.ndarray) and arrays[0].ndim else 0
        if count < STATES or self.engine == "generic" or not self._fit(arrays, count):
            return BAD_LAYOUT
        if self._lanes is None:
            self._lanes = self._lane_code()
        rows = iter(arrays)
        every = (next(rows) if math.prod(shape) else np.empty((count, 0)) for shape in (*self.inputs, *self.results))
        return BAD_LAYOUT if self._lanes is None else self._lanes.run([x.reshape(count, -1) for x in every], count)

    def _fit(self, arrays: Sequence[Any], count: int) -> bool:
        """Whether arrays are dense, of the right number type and shape, and the last, the result, lies apart."""
        return (
            len(arrays) == len(self._shapes)
            and all(
                type(x) is np.ndarray and x.dtype == self.number and x.shape == (count, *shape) and x.flags.carray
                for x, shape in zip(arrays, self._shapes, strict=True)
            )
            and not any(np.may_share_memory(arrays[-1], x) for x in arrays[:-1])
        )

    def _lane_code(self) -> BatchCode | None:
        sizes, results = ([math.prod(shape) for shape in group] for group in (self.inputs, self.results))
        return lanes_for(self.entry, self.constants, sizes, results, self.number, self.engine)

    def _first_call(self, *arrays: Any) -> int:
        """Find the code, and stay out of the way from then on."""
        self.call = self._code()
        return self.call(*arrays)

    def _code(self) -> Callable[..., int]:
        if not any(map(math.prod, self.results)):
            return _turned_down  # a robot that cannot move: there is nothing to compute
        if self.engine != "generic":
            try:
                return single_code(self.entry, self.constants, self.inputs, self.results, self.number)
            except UnsupportedError as error:
                if self.engine == "specialized":
                    raise UnsupportedError(f"no specialized code of {self.entry.__name__}: {error}") from None
        return self._generic()

    def _generic(self) -> Callable[..., int]:
        """The generic engine's fast call, for float64 only."""
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
