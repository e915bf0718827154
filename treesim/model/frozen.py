"""What cannot be changed: arrays whose memory nobody may write to, and objects whose attributes stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any, Self, TypeVar, dataclass_transform

import numpy as np

T = TypeVar("T")


def frozen(values: Any, number: type = float) -> np.ndarray:
    """Return a copy of `values`, an array of `number`, that can neither be written to nor be made writable.

    numpy lets whoever owns an array's memory unlock it. This memory belongs to a `bytes` object, so neither the array
    nor its views nor its base can be unlocked. O(size).
    """
    array: np.ndarray = np.asarray(values, number)
    return np.ndarray(array.shape, array.dtype, array.tobytes())


class Immutable:
    """A base of classes whose `__init__` sets all attributes, named in `__slots__`, and `_frozen` last, for good.

    Copies, deep ones too, are the object itself. A subclass says by `__reduce__` what it is made of: pickles hold that.
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
    """Decorate a dataclass that is frozen and has no `__dict__` by which to get around that.

    Dataclasses with slots stumble over names that are no fields, in some versions of Python; these refuse them too.
    Copies, deep ones too, are the object itself; what is unpickled is frozen as well.
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
    """Set the fields of a record that comes out of a pickle, bit for bit, to arrays that stay as they are."""
    for label, value in zip(type(self).__slots__, values, strict=True):
        kept = frozen(value, value.dtype) if isinstance(value, np.ndarray) else value
        object.__setattr__(self, label, kept)


def _refuse_setting(self: object, label: str, value: object) -> None:
    raise FrozenInstanceError(f"a {type(self).__name__} is immutable: cannot set {label!r}; build a new one")


def _refuse_deleting(self: object, label: str) -> None:
    raise FrozenInstanceError(f"a {type(self).__name__} is immutable: cannot delete {label!r}")
