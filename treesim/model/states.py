"""Entries on a robot's states: which arguments they take, of which shapes, and what they give, as they declare it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..engine.admission import CONFIGURATIONS, made_kernel
from ..engine.call.evaluate import Argument, evaluate
from ..engine.call.fast_entry import FastEntry
from ..kernels.entry import SYMBOLS
from ..kernels.status import FINE
from .quaternions import configuration

if TYPE_CHECKING:
    from .tree import Tree

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
    known: dict[str, Any] = {"tree": robot, **dict(zip(signature.tables, constants[2:], strict=True))}
    for symbol, text in (SYMBOLS | signature.sizes).items():
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


def state_function(entry: Any) -> Callable[..., np.ndarray]:
    """Return a function of an entry's only result: (robot, *constants, *values, engine="auto"), as in `on_states`.

    One state in float arrays goes straight to machine code, by this one call of Python; anything else is coerced,
    broadcast, or explained by `on_states`. The text of the function is made, with the declared shape in it.
    """
    signature = entry.signature
    (result,) = (array for array in signature.arrays if array.result)
    names = [array.name for array in signature.arrays if not array.result]
    constants, values, shape = (", ".join(x) for x in (("ints", "reals", *signature.tables), names, result.shape))
    sizes = {symbol: text for symbol, text in signature.sizes.items() if _mentions(shape, symbol)}
    used = " ".join([shape, *sizes.values()])
    symbols = {symbol: text for symbol, text in SYMBOLS.items() if _mentions(used, symbol)} | sizes
    lines = [
        f"def on_state(tree, {constants}, {values}, engine='auto'):",
        *(f"{symbol} = {text}" for symbol, text in symbols.items()),
        f"result = empty(({shape},))",
        f"if engine == 'auto' and fast.call({constants}, {values}, result) == {FINE}:",
        "    return result",
        f"values = {{{', '.join(f'{name!r}: {name}' for name in names)}}}",
        f"return on_states(tree, ({constants}), values, engine=engine)[0]",
    ]
    namespace = {"empty": np.empty, "fast": FastEntry(entry), "on_states": partial(on_states, entry)}
    place = f"state function of {entry.__module__}.{entry.__name__}"
    return made_kernel(place, "\n    ".join(lines) + "\n", "on_state", namespace)


def _mentions(text: str, word: str) -> bool:
    """Whether a word stands in expressions."""
    return re.search(rf"\b{word}\b", text) is not None


def _value(text: str, known: Mapping[str, Any]) -> int:
    """The number that an expression of a declaration stands for."""
    return int(eval(_expression(text), {}, dict(known)))


@lru_cache(maxsize=256)
def _expression(text: str) -> CodeType:
    return compile(text, "<declaration>", "eval")
