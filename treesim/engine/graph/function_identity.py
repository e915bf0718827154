"""Identity of a user's function: its code, and the numbers that it refers to, which a trace takes as constants."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import FunctionType, MethodType, NoneType
from typing import Any

import numpy as np

from .user_functions import MOST_VALUES, is_library, variables_of

DEEPEST = 20  # values in values that are compared
PLAIN = (NoneType, bool, int, float, complex, str, bytes)
CONTAINERS = (tuple, list, set, frozenset, dict)


class FunctionIdentity:
    """Key of a function: equal for functions with the same code that refer to the same values.

    Numbers, texts, arrays, lists and dictionaries of these, and partial functions are compared by content, and so are
    attributes of the user's objects and classes. Other objects, such as robots, are compared by identity; the key keeps
    them alive. A function that is defined again, as a lambda in a loop, has an equal key. If a number that it refers to
    changes, its key differs.
    """

    __slots__ = ("_contents", "_hash", "_known", "function")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._known: dict[int, tuple[int, Any]] = {}
        self._contents = self._of(function, 0)
        self._hash = hash(self._contents)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionIdentity) and self._contents == other._contents

    def _of(self, value: Any, depth: int) -> Any:
        """Return the contents of a value as nested tuples."""
        kind = type(value)
        if kind in PLAIN:
            return kind, repr(value)
        if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
            return value.shape, value.dtype.str, value.tobytes()
        if id(value) in self._known:
            return self._known[id(value)][0]  # which occurrence it is
        self._known[id(value)] = len(self._known), value
        if len(self._known) > MOST_VALUES or depth > DEEPEST:
            return kind, id(value)
        within = [self._of(x, depth + 1) for x in _parts(value)]
        if kind in (FunctionType, MethodType):
            return getattr(value, "__code__", id(value)), *within
        return (kind, *within) if kind in (*CONTAINERS, partial) else (kind, id(value), *within)


def _parts(value: Any) -> list[Any]:
    """Return the values that a value consists of or refers to; none for objects of treesim, NumPy and Python."""
    kind = type(value)
    if kind in CONTAINERS:
        return [x for pair in value.items() for x in pair] if kind is dict else [*value]
    if isinstance(value, partial):
        return [value.func, value.args, value.keywords]
    owner = value if isinstance(value, type | FunctionType | MethodType) else kind
    if owner.__module__ == "builtins" or is_library(owner.__module__ or ""):
        return []
    return [*vars(value).values()] if owner is value and isinstance(value, type) else [kind, *variables_of(value)]
