"""User functions, such as observations, rewards and control laws, compiled for batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ...engine.call.evaluate import check_engine, lanes_for
from ...engine.graph.expressions import Expression, is_number, name_of
from ...engine.graph.graph import Graph
from ...engine.graph.user_functions import call_traced
from ...errors import ArgumentError, quoted
from ...kernels.entries.applied import applied_states
from ...states.arguments import whole_number
from ...system.display import ReprMixin
from ...types import Engine
from ...validation.arrays import Argument, coerce
from ...validation.values import signature_of


class BatchFunction(ReprMixin):
    """User-defined function that treesim traces once and compiles for batches.

    Call the object with arrays (B, n) or (n,), which are broadcast together. A call returns the m numbers of each row,
    an array (B, m) in double precision.

    Parameters
    ----------
    function : callable
        Function of arrays (n,) that returns m numbers. The function is called once or twice, with symbolic numbers. It
        may use + - * /, integer powers, and comparisons by < and >. It may use NumPy's sin, cos, tan, their inverses,
        sqrt, exp, tanh, products and concatenations of arrays. It may also use maximum, minimum, absolute, less, select
        and atan2 of `treesim.numbers`, and treesim's functions of states (`frame_pose`, `mass_matrix`, `energy`, ...).
        The function cannot branch on its arguments, and cannot draw random numbers.
    sizes : sequence of int
        Size n of each array.
    what : str
        Name of the function in messages.
    named : sequence of str, optional
        Names of the arguments in messages.
    engine : str
        As in `treesim.forward_dynamics`.

    Raises
    ------
    ArgumentError
        If the function does not return a list of numbers.
    UnsupportedError
        If the function branches on its arguments, or the engine "specialized" cannot compile it.

    Notes
    -----
    Batches run on the number of threads that `treesim.use_threads` sets. The bits of a row of the result do not depend
    on other rows. Results are not checked for NaN. The function `copy.copy` returns the object itself. For pickling,
    the traced function must be defined at the top level of a module. Compilation takes 0.05 to 2 s; the code is cached
    on disk. A call takes about 10 us in addition to the operations, which use SIMD instructions.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> height = treesim.BatchFunction(lambda q: [treesim.frame_pose(robot, q, "ee_link")[2, 3]], [robot.nq])
    >>> height(np.full((3, 6), 0.5)).round(3)
    array([[-0.491],
           [-0.491],
           [-0.491]])
    """

    def __init__(
        self,
        function: Callable[..., Iterable[object]],
        sizes: Sequence[int],
        *,
        what: str = "the function",
        named: Sequence[str] | None = None,
        engine: Engine = "auto",
    ) -> None:
        check_engine(engine)
        self.function, self._what, self._engine = function, what, engine
        self.sizes = tuple(whole_number("a size", size) for size in sizes)
        self._names = tuple(named) if named is not None else tuple(f"x{k}" for k in range(len(self.sizes)))
        called = {f"{what} {name_of(function)}": function}
        self._traced = Expression(self.sizes, lambda *inputs: self._results(what, inputs), called)
        self.count = len(self._traced.results)
        self._code = None
        if engine != "generic":
            sizes, results = [*self.sizes], [self.count]
            self._code = lanes_for(applied_states, (self._traced,), sizes, results, np.dtype(float), engine)

    def _results(self, what: str, inputs: Sequence[np.ndarray]) -> np.ndarray:
        """Call the function on symbolic numbers, and validate its result."""
        called = f"{what} {name_of(self.function)}"
        try:
            signature_of(self.function).bind(*inputs)
        except ValueError:
            raise ArgumentError(f"{called} has no signature: write a function of ({', '.join(self._names)})") from None
        except TypeError as error:
            raise ArgumentError(f"{called} must take ({', '.join(self._names)}): {error}") from None
        graph = next((x.graph for array in inputs for x in array), Graph())
        copies = [array.copy() for array in inputs]  # which it may write to
        otherwise = ", or compute it with NumPy, on arrays of all rows"
        returned = call_traced(called, self.function, *copies, otherwise=otherwise)
        try:
            results = np.array([x[()] if isinstance(x, np.ndarray) else x for x in returned], dtype=object)
        except (TypeError, ValueError):  # no sequence, or of arrays
            results = np.empty(0, object)
        if results.ndim != 1 or not results.size or not all(is_number(x, graph) for x in results):
            raise ArgumentError(f"{called} must return a list of numbers, got {quoted(returned)}")
        return results

    def __copy__(self) -> Self:
        return self  # it never changes

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        made = partial(type(self), self.function, self.sizes, what=self._what, named=self._names)
        return partial(made, engine=self._engine), ()

    def __repr__(self) -> str:
        given = ", ".join(f"{name} ({size},)" for name, size in zip(self._names, self.sizes, strict=True))
        return f"<BatchFunction {name_of(self.function)}: {given} -> ({self.count},)>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [("operations", len(self._traced.order)), ("on lanes", self._code is not None)]

    def __call__(self, *arrays: ArrayLike) -> np.ndarray:
        """Return the results (B, m) for rows (B, n) or (n,) of each array; raises ArgumentError for other shapes."""
        if len(arrays) != len(self.sizes):
            raise ArgumentError(f"{len(self.sizes)} arrays are needed ({', '.join(self._names)}), got {len(arrays)}")
        given = [self._rows(*pair) for pair in zip(self._names, arrays, self.sizes, strict=True)]
        counts = {len(x) for x in given} - {1}
        if len(counts) > 1:
            raise ArgumentError(f"the arrays are of different numbers of rows: {sorted(counts)}")
        count = counts.pop() if counts else 1
        rows = [x if len(x) == count else np.broadcast_to(x, (count, x.shape[1])) for x in given]
        if self._code is None:
            with np.errstate(all="ignore"):
                return self._traced.columns(*rows)
        results = np.empty((count, self.count))
        if count:
            self._code.run([*rows, results], count)
        return results

    def _rows(self, name: str, value: ArrayLike, size: int) -> np.ndarray:
        if type(value) is np.ndarray and value.dtype == float and value.ndim == 2 and value.shape[1] == size:
            return value
        array = coerce(Argument(name, value, (size,)))
        if array.ndim > 2:
            raise ArgumentError(f"{name} has shape {array.shape}, but (B, {size}) or ({size},) is needed")
        return np.atleast_2d(array)
