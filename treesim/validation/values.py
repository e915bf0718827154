"""Validation of single values: numbers, texts, flags, and objects of a class."""

from __future__ import annotations

import inspect
import math
import numbers
import operator
import os
from collections.abc import Collection, Mapping, Set
from typing import Any, TypeVar

import numpy as np

from ..errors import ArgumentError, plain_text, shortened, text_of, unknown_name
from .arrays import real_numbers

T = TypeVar("T")
MOST = 1 << 48  # of anything counted: array sizes in bytes stay below 2^63
MOST_PARTS = 1 << 20  # of an array in the place of a sequence
LONGEST = 1e9  # s, about thirty years: squares of it times any gain are still numbers
NO_SEQUENCES = (str, bytes, bytearray, Mapping, Set)  # which can be iterated over, but have no order, or no parts


def whole_number(label: str, value: Any, least: int = 0, most: int = MOST) -> int:
    """Return `value` as an int if it is an integer, of Python's or NumPy's types, from `least` to `most`.

    Raises ArgumentError naming `label` for other values, bool and float included.
    """
    number = index_or_none(value)
    if number is None or not least <= number <= most:
        raise ArgumentError(f"{label} must be a whole number {_range(least, most)}, got {short_repr(value)}")
    return number


def index_or_none(value: Any) -> int | None:
    """Return an integer as an int, None for other values."""
    try:
        return None if isinstance(value, bool | np.bool_) else operator.index(value)
    except Exception:  # whatever a user's class raises
        return None


def positive_number(
    label: str, value: Any, what: str = "number of seconds", zero: bool = False, most: float = LONGEST
) -> float:
    """Return `value` as a float if it is one positive real number, or zero if `zero`, of at most `most`.

    what: the kind of number, for the ArgumentError that names `label`.
    """
    number = finite_or_nan(value)
    if not (0 < number <= most or (zero and number == 0)):
        least = "not negative" if zero else "above 0"
        limit = f" and at most {most:g}" if math.isfinite(most) else ""
        raise ArgumentError(f"{label} must be a {what}, finite, {least}{limit}, got {short_repr(value)}")
    return number


def finite_seconds(label: str, value: Any) -> float:
    """Return `value` as a float if it is one finite real number; raises ArgumentError naming `label` otherwise."""
    number = finite_or_nan(value)
    if math.isnan(number):
        raise ArgumentError(f"{label} must be a finite number of seconds, got {short_repr(value)}")
    return number


def finite_or_nan(value: Any) -> float:
    """Return one real number, of Python's or NumPy's types, as a float; NaN for other or non-finite values."""
    if type(value) is float:
        return value if math.isfinite(value) else math.nan
    try:
        array = np.asarray(value)
        real = array.dtype.kind in "fiu" or isinstance(array[()], numbers.Real)
        number = float(array) if array.ndim == 0 and real and array.dtype.kind != "b" else math.nan
    except Exception:  # whatever a user's class raises
        return math.nan
    return number if math.isfinite(number) else math.nan


def finite_vector(label: str, value: Any, count: int | None = None, most: float = math.inf) -> np.ndarray:
    """Return `count` finite real numbers as an array; any number of them if `count` is None.

    Raises ArgumentError, naming `label`, for other values and for numbers beyond +-most.
    """
    plain = type(value) is tuple and {*map(type, value)} == {float}
    found = np.array(value) if plain else real_numbers(label, value)
    fits = found.ndim == 1 if count is None else found.shape == (count,)
    numbers = found.tolist() if fits else ()
    if not (fits and all(map(math.isfinite, numbers)) and max(map(abs, numbers), default=0.0) <= most):
        limit = f" between -{most:g} and {most:g}" if math.isfinite(most) else ""
        counted = "a sequence of" if count is None else count
        raise ArgumentError(f"{label} must be {counted} finite numbers{limit}, got {short_repr(value)}")
    return found


def checked_text(label: str, value: Any) -> str:
    """Return `value` if it is a str; raises ArgumentError naming `label` otherwise."""
    if not isinstance(value, str):
        raise ArgumentError(f"{label} must be a text, got {short_repr(value)}")
    if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ArgumentError(
            f"{label} must be a text without surrogates, to be written to files, got {short_repr(value)}"
        )
    return str.__str__(value)  # without the methods of a subclass, which may fail


def checked_texts(label: str, values: Any) -> tuple[str, ...]:
    """Return a str, or a sequence of str, as a tuple; raises ArgumentError naming `label` and the index otherwise."""
    parts = (values,) if isinstance(values, str) else parts_or_none(values)
    if parts is None:
        raise ArgumentError(f"{label} must be a text or a sequence of texts, got {short_repr(values)}")
    return tuple(checked_text(f"{label}[{k}]", one) for k, one in enumerate(parts))


def checked_file(label: str, value: Any) -> str | None:
    """Return the name of a file as str, or None; raises ArgumentError naming `label` for other values."""
    name = value if value is None or type(value) is str or not isinstance(value, os.PathLike) else os.fspath(value)
    if name is not None and not isinstance(name, str):
        raise ArgumentError(f"{label} must be the name of a file, or None, got {short_repr(value)}")
    return name


def checked_flag(label: str, value: Any) -> bool:
    """Return `value` if it is True or False; raises ArgumentError naming `label` otherwise."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(f"{label} must be True or False, got {short_repr(value)}")
    return bool(value)


def one_of(label: str, value: Any, names: Collection[Any]) -> Any:
    """Return `value` if it is one of `names`, texts or None; raises ArgumentError, which lists them, otherwise."""
    plain = plain_text(value)
    if (plain is None or type(plain) is str) and plain in names:
        return plain
    known = " or ".join(map(repr, names))
    raise ArgumentError(f"{label} must be {known}, got {shortened(short_repr(value))}")


def is_name_of(value: Any, names: Collection[str]) -> bool:
    """Return whether `value` is a str that is one of `names`; other types are allowed."""
    return isinstance(value, str) and str.__str__(value) in names


def known_name(kind: str, value: Any, names: Collection[str], of: str = "") -> str:
    """Return `value` as a str if it is one of `names`; raises UnknownNameError for the `kind` of name otherwise."""
    if not isinstance(value, str) or str.__str__(value) not in names:
        raise unknown_name(kind, value, names, of=of)
    return str.__str__(value)


def checked_part(label: str, value: Any, kind: type[T]) -> T:
    """Return `value` if it is a `kind`; raises ArgumentError naming `label` otherwise."""
    if not isinstance(value, kind):
        raise ArgumentError(f"{label} must be a {kind.__name__}, got {short_repr(value)}")
    return value


def checked_parts(label: str, values: Any, kind: type[T] | tuple[type[T], ...]) -> tuple[T, ...]:
    """Return a sequence as a tuple of objects of class `kind`; a single object is a sequence of one.

    Raises ArgumentError naming `label` for other values.
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if object not in kinds and isinstance(values, kinds):
        return (values,)
    named = " or ".join(one.__name__ for one in kinds)
    parts = parts_or_none(values)
    if parts is None:
        raise ArgumentError(f"{label} must be a sequence of {named} objects, got {short_repr(values)}")
    for k, part in enumerate(parts):
        if not isinstance(part, kinds):
            raise ArgumentError(f"{label}[{k}] must be a {named}, got {short_repr(part)}")
    return parts


def parts_or_none(values: Any) -> tuple[Any, ...] | None:
    """Return the parts of a sequence as a tuple, None for other values, such as a text or a mapping."""
    huge = isinstance(values, np.ndarray) and values.size > MOST_PARTS  # although it may take no memory
    try:
        return None if huge or isinstance(values, NO_SEQUENCES) else tuple(values)
    except Exception:  # whatever a user's class raises
        return None


def signature_of(function: Any) -> inspect.Signature:
    """Return the signature of a function.

    Raises TypeError for other values, ValueError without a signature, as of some functions in C.
    """
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        raise
    except Exception as error:  # whatever a user's class raises
        raise ValueError(f"no signature: {text_of(error)}") from error


def call_fault(function: Any, count: int) -> TypeError | None:
    """Return the error of a call of a function with `count` arguments; None if it takes them, or has no signature."""
    try:
        signature_of(function).bind(*range(count))
    except TypeError as error:
        return error
    except ValueError:  # as of some functions in C
        pass
    return None


def short_repr(value: Any) -> str:
    """Return the text of an invalid value in an error: its repr if that is short, else its type."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and type {value.dtype}"
    text = text_of(value)
    return text if len(text) <= 60 else f"{text[:50]}... ({type(value).__name__})"


def _range(least: int, most: int) -> str:
    return f"from {least} on" if most == MOST else f"between {least} and {most}"
