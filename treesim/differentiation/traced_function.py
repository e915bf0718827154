"""Users' functions, traced and differentiated, with code that is compiled once for each function and its shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ..engine.call.evaluate import in_precision
from ..engine.call.expression_code import Columns, states_of
from ..engine.graph import derivatives
from ..engine.graph.expressions import Expression, is_number, name_of
from ..engine.graph.function_identity import FunctionIdentity
from ..engine.graph.graph import Graph, TooLongError
from ..engine.graph.user_functions import call_traced
from ..errors import ArgumentError, NonFiniteError, UnsupportedError, quoted
from ..system.memory import check_memory
from ..validation.arrays import NUMBER, Shape, rows
from ..validation.values import call_fault

MOST = 16  # traced functions that a process keeps
UNDEFINED = {
    "value": "are the numbers of a sensible size, and is no root or quotient undefined?",
    "derivative": "roots have no derivative where their argument is 0: add a small number there",
}


class TracedFunction:
    """Function of arrays of given shapes, which returns one array, and its derivatives.

    shapes: () for a number, (n,) for an array. Raises ArgumentError if the function does not return an array of
    numbers, UnsupportedError if it cannot be traced.
    """

    def __init__(self, function: Callable[..., Any], shapes: Sequence[Shape]) -> None:
        self.called, self.shapes = f"the function {name_of(function)}", tuple(shapes)
        self.result: Shape = ()
        fault = call_fault(function, len(shapes))
        if fault is not None:
            raise ArgumentError(f"{self.called} must take {len(shapes)} arguments, one for each primal: {fault}")
        sizes = [math.prod(shape) for shape in shapes]
        self.primal = Expression(sizes, lambda *groups: self._results(function, groups), {self.called: function})
        self.value = states_of(self.primal)
        self.tangents = cache(self._tangents)
        self.gradients = cache(self._gradients)

    def _results(self, function: Callable[..., Any], groups: Sequence[np.ndarray]) -> np.ndarray:
        """Call the function on symbolic numbers, and validate its result."""
        graph = next((x.graph for group in groups for x in group), Graph())
        given = [group.copy() if shape else group[0] for group, shape in zip(groups, self.shapes, strict=True)]
        returned = call_traced(self.called, function, *given)
        try:
            array = np.asarray(returned, dtype=object)
        except ValueError:  # of arrays of several shapes
            array = np.empty(0, dtype=object)
        numbers = [x[()] if isinstance(x, np.ndarray) and not x.ndim else x for x in array.flat]
        if not numbers or not all(is_number(x, graph) for x in numbers):
            raise ArgumentError(f"{self.called} must return one array of finite numbers, got {quoted(returned)}")
        self.result, found = array.shape, np.empty(len(numbers), dtype=object)
        found[:] = numbers
        return found

    def _tangents(self, moving: tuple[bool, ...]) -> Columns:
        """Return a function of the primals, and tangents of those that move, that returns value and tangent."""
        return self._derivative(lambda: derivatives.forward(self.primal, moving))

    def _gradients(self) -> Columns:
        """Return a function of the primals and of weights of the results that returns value and gradients."""
        return self._derivative(lambda: derivatives.reverse(self.primal))

    def value_of_pullback(self, *groups: np.ndarray) -> np.ndarray:
        """Return the value, computed by the code of the gradients: so a first gradient compiles one code only."""
        size = math.prod(self.result)
        found: np.ndarray = self.gradients()(*groups, np.zeros((len(groups[0]), size)))[:, :size]
        return found

    def _derivative(self, differentiate: Callable[[], Expression]) -> Columns:
        try:
            return states_of(differentiate())
        except TooLongError as error:
            raise UnsupportedError(
                f"the derivative of {self.called} cannot be compiled: {error}; divide the function into parts, and "
                "chain their derivatives, or use forward_dynamics_derivatives and the like, which have no such limit"
            ) from error

    def run(
        self, code: Columns, batch: Shape, arrays: Sequence[np.ndarray], shapes: Sequence[Shape], values: int
    ) -> np.ndarray:
        """Return the results (states, n) of code on all states of a batch, with which the arrays are broadcast.

        values: how many results are the function's value; the others are derivatives. Raises NonFiniteError.
        """
        numbers = 2 * sum(map(math.prod, shapes)) + 2 * math.prod(self.result)
        check_memory(NUMBER * numbers * math.prod(batch), f"{self.called} on {batch}", "give fewer states at once")
        found = code(*[rows(x, batch, shape) for x, shape in zip(arrays, shapes, strict=True)])
        if not np.isfinite(found).all():
            finite = np.isfinite(found)
            what = "derivative" if finite[:, :values].all() else "value"
            state = tuple(map(int, np.unravel_index(finite.all(axis=1).argmin(), batch)))
            where = f" in state {state}" if state else ""
            raise NonFiniteError(f"the {what} of {self.called} is not finite{where}: {UNDEFINED[what]}")
        return found

    def shaped(self, numbers: np.ndarray, shape: Shape, number: Any) -> np.ndarray:
        """Return results in their shape and number type."""
        found = np.ascontiguousarray(numbers).reshape(shape)
        return found if number is np.float64 else in_precision(self.called, found, number)


def traced_function(function: Callable[..., Any], shapes: Sequence[Shape]) -> TracedFunction:
    """Return a function traced for arrays of these shapes; equal requests return the same object.

    The key of the function contains the numbers that it refers to, so it is traced again when one of them changes.
    """
    if not callable(function):
        raise ArgumentError(f"function must be a function of arrays, got {quoted(function)}")
    return _traced(FunctionIdentity(function), tuple(shapes))


@lru_cache(maxsize=MOST)
def _traced(key: FunctionIdentity, shapes: tuple[Shape, ...]) -> TracedFunction:
    return TracedFunction(key.function, shapes)
