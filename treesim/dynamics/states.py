"""Entries on a robot's states: which arguments they take, of which shapes, and what they give, as they declare it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..engine.admission import CONFIGURATIONS
from ..engine.call.evaluate import Argument, evaluate
from ..model.quaternions import configuration
from ..model.tree import Tree

Shape = tuple[int, ...]
Explain = Callable[[dict[str, np.ndarray]], Exception]


def on_states(
    entry: Callable[..., int],
    robot: Tree,
    constants: Sequence[Any],
    values: Mapping[str, ArrayLike | None],
    explain: Explain | None = None,
    **options: Any,
) -> list[np.ndarray]:
    """Return an entry's results on all states, with leading axes as the values' broadcast; `evaluate` has the details.

    constants: what the entry takes before the arrays of states: the robot's two tables, and those that it declares.
    values: its arrays by their declared names, which messages use. options: as in `evaluate`.
    """
    arguments, results = declared(entry, robot, constants, values)
    return evaluate(entry, constants, arguments, results, explain, **options)


def declared(
    entry: Any, robot: Tree, constants: Sequence[Any], values: Mapping[str, ArrayLike | None]
) -> tuple[list[Argument], list[Shape]]:
    """Return an entry's arguments, with the values given for them, and the shapes of its results, on one robot."""
    signature = entry.signature
    known = {"N": robot.n_bodies, "nq": robot.nq, "nv": robot.nv, "nnz": robot.nnz}
    known |= dict(zip(signature.tables, constants[2:], strict=True))
    for symbol, text in signature.sizes.items():
        known[symbol] = _value(text, known)
    arguments, results = [], []
    for array in signature.arrays:
        shape = tuple(_value(length, known) for length in array.shape)
        if array.result:
            results.append(shape)
        elif array.name in CONFIGURATIONS:
            arguments.append(configuration(robot, values[array.name], array.name))
        else:
            arguments.append(Argument(array.name, values[array.name], shape, array.optional))
    return arguments, results


def _value(text: str, known: Mapping[str, Any]) -> int:
    """The number that an expression of a declaration stands for."""
    return int(eval(_expression(text), {}, dict(known)))


@lru_cache(maxsize=256)
def _expression(text: str) -> CodeType:
    return compile(text, "<declaration>", "eval")
