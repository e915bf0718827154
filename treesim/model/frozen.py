"""Immutability: read-only arrays, and base class and decorator for objects with constant attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any, Self, TypeVar, dataclass_transform

import numpy as np

from ..errors import out_of_memory

T = TypeVar("T")


def frozen(values: Any, number: type = float) -> np.ndarray:
    """Return a copy of `values`, an array of `number`, that can neither be written to nor be made writable.

    numpy lets the owner of an array's memory make it writable again. Here the memory belongs to a `bytes` object, so
    neither the array nor its views nor its base can be made writable. O(size).
    """
    array: np.ndarray = np.asarray(values, number)
    try:
        return np.ndarray(array.shape, array.dtype, array.tobytes())
    except MemoryError:
        raise out_of_memory(f"an array of shape {array.shape}", array.nbytes) from None


class Immutable:
    """Base class of objects whose attributes cannot change after `__init__`.

    `__init__` sets all attributes, which `__slots__` names, and sets `_frozen` last. `copy` and `deepcopy` return the
    object itself. A subclass defines `__reduce__` for pickling.
    """

    __slots__ = ("__weakref__", "_frozen")

    _frozen: bool

    def __setattr__(self, label: str, value: object) -> None:
        if getattr(self, "_frozen", False):
            _refuse_setting(self, label, value)
        super().__setattr__(label, value)

    def __delattr__(self, label: str) -> None:
        _refuse_deleting(self, label)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(*, eq: bool = True) -> Callable[[type[T]], type[T]]:
    """Decorate a class as a frozen dataclass with slots.

    Without a `__dict__` no attribute can be changed behind the dataclass. In some versions of Python, dataclasses with
    slots raise TypeError for names that are no fields; these raise FrozenInstanceError for every name. `copy` and
    `deepcopy` return the object itself; an unpickled record is frozen as well.
    """

    def made(plain: type[T]) -> type[T]:
        with_slots = dataclass(frozen=True, slots=True, eq=eq)(plain)
        with_slots.__setattr__ = _refuse_setting  # type: ignore[method-assign, assignment]
        with_slots.__delattr__ = _refuse_deleting  # type: ignore[method-assign, assignment]
        with_slots.__setstate__ = _restore  # type: ignore[attr-defined]
        with_slots.__copy__ = _itself  # type: ignore[attr-defined]
        with_slots.__deepcopy__ = _itself  # type: ignore[attr-defined]
        return with_slots

    return made


def _itself(self: T, memo: object = None) -> T:
    return self


def _restore(self: Any, values: list[Any]) -> None:
    """Set the fields of an unpickled record by its constructor, which changes no bit of the values of a record.

    The last fields, if a pickle of an earlier version does not have them, get their defaults.
    """
    made = type(self)(**dict(zip(type(self).__slots__, values, strict=False)))
    for label in type(self).__slots__:
        object.__setattr__(self, label, getattr(made, label))


def _refuse_setting(self: object, label: str, value: object) -> None:
    raise FrozenInstanceError(f"a {type(self).__name__} is immutable: cannot set {label!r}; build a new one")


def _refuse_deleting(self: object, label: str) -> None:
    raise FrozenInstanceError(f"a {type(self).__name__} is immutable: cannot delete {label!r}")
