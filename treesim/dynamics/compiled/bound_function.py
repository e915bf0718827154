"""Function of a bound robot: a kernel entry with its fast call, or Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ...engine.call.bound_entry import BoundEntry
from ...engine.call.buffer_pool import empty
from ...engine.call.evaluate import evaluate
from ...engine.frontend.fastcall import BAD_LAYOUT, STATES
from ...engine.llvm.single_state import FEW
from ...engine.threads import use_threads
from ...kernels.entries.status import FINE
from ...model.named_axes import wrenches_argument
from ...model.tree import Tree
from ...states.states import declared, for_mimic_joints
from ...types import Engine
from ...validation.arrays import Argument, batch_shape, ordered_numbers
from ..base import copied
from ..tables import kernel_wrenches

Explain = Callable[[dict[str, np.ndarray]], Exception]  # of finite arguments whose results are not


class Owner(Protocol):
    """What a function asks of the object to which it belongs (`bound.Dynamics`)."""

    robot: Tree
    dtype: np.dtype
    engine: Engine
    threads: int | None


class BoundFunction:
    """A kernel entry of a robot, with the arguments and the result that the entry declares.

    `call` is for single states in arrays of exact type and shape, `checked_call` for all other arguments.
    """

    def __init__(self, owner: Owner, entry: Any, constants: tuple[Any, ...], explain: Explain | None = None) -> None:
        self.owner, self.explain = owner, explain
        nothing = dict.fromkeys(array.name for array in entry.signature.arrays)  # each call puts in its own values
        arguments, (self.result,) = declared(entry, owner.robot, constants, nothing)
        self.arguments = [argument for argument in arguments if not argument.optional]
        self.forces = [argument for argument in arguments if argument.optional]  # f_ext, where it is taken
        inputs = [(0,) if argument.optional else argument.shape for argument in arguments]
        if owner.robot.mimic_map is not None:
            entry, constants = for_mimic_joints(entry, owner.robot, constants)
        self._bound = BoundEntry(
            entry, constants, inputs, [self.result], owner.dtype.type, owner.engine, FEW, owner.threads == 1
        )
        self._single: Callable[..., int] | None = None  # code that calls of batches do not replace
        self.call: Callable[..., int] = self._first_call

    def _first_call(self, *arrays: Any) -> int:
        """Compile or load the code and call it; later calls go directly to the code."""
        status = self._bound.call(*arrays)
        self.call = self._single or self._bound.call
        return status

    def checked_call(self, values: tuple[Any, ...], out: Any, f_ext: ArrayLike | None = None) -> np.ndarray:
        """Coerce and broadcast the arguments, run batches on the owner's threads, and raise errors."""
        result: np.ndarray | None = out
        if out is None and f_ext is None and isinstance(values[0], np.ndarray) and values[0].ndim == 2:
            result = empty((len(values[0]), *self.result), self.owner.dtype)
            if self.call(*values, result) == FINE:
                return result
        with use_threads(self.owner.threads):
            if result is not None and f_ext is None and self._bound.batch(*values, result) == FINE:
                self.call = self._single or self._bound.call
                return result
            return self._checked_call(values, out, f_ext)

    def _checked_call(self, values: tuple[Any, ...], out: Any, f_ext: ArrayLike | None) -> np.ndarray:
        owner, number, bound = self.owner, self.owner.dtype, self._bound
        arrays = [
            ordered_numbers(a._replace(value=x), number.type) for a, x in zip(self.arguments, values, strict=True)
        ]
        given = [argument._replace(value=x) for argument, x in zip(self.arguments, arrays, strict=True)]
        if f_ext is None:
            found = self._few_states(given, arrays)
            if found is not None:
                return copied(found, out)
        for argument in self.forces:
            forces = None if f_ext is None else ordered_numbers(wrenches_argument(owner.robot, f_ext), number.type)
            given.append(argument._replace(value=kernel_wrenches(owner.robot, forces)))
        results = [self.result]
        return evaluate(bound.entry, bound.constants, given, results, self.explain, engine=owner.engine, out=out)[0]

    def _few_states(self, given: list[Argument], arrays: list[np.ndarray]) -> np.ndarray | None:
        """Return the result of one state or a few in arrays of any layout, by the same code; None if it fails."""
        if any(x.shape[x.ndim - len(a.shape) :] != a.shape for a, x in zip(given, arrays, strict=True)):
            return None
        number, batch = self.owner.dtype, batch_shape(given, arrays)
        count = math.prod(batch)
        if not 0 < count < STATES:
            return None
        # an array out of a pickle has a descriptor of its own, which machine code takes for another number type
        full = [
            np.ascontiguousarray(np.broadcast_to(x, batch + a.shape).reshape((count,) * bool(batch) + a.shape), number)
            for a, x in zip(given, arrays, strict=True)
        ]
        result = np.empty((count,) * bool(batch) + self.result, number)
        status = self.call(*full, result)
        if status == BAD_LAYOUT and batch:
            status = self._bound.batch(*full, result)
            self.call = self._single or self._bound.call
        return result.reshape(batch + self.result) if status == FINE else None


class InPython(NamedTuple):
    """Function of a robot that no kernel computes; `checked_call` has the arguments of `BoundFunction.checked_call`."""

    checked_call: Callable[..., np.ndarray]

    def call(self, *arrays: Any) -> int:
        """Return BAD_LAYOUT: there is no fast call."""
        return BAD_LAYOUT
