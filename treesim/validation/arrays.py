"""A user's arrays as rows of numbers, one for each state, read and written in place whatever their order in memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, NonFiniteError

Shape = tuple[int, ...]


class Argument(NamedTuple):
    """One array argument of a public function: its name, the value given, the shape of one state, whether it may be
    None, and what raises an error for finite numbers that cannot be meant (quaternions, see model.quaternions)."""

    label: str
    value: Any
    shape: Shape
    optional: bool = False
    refuse: Callable[[np.ndarray], None] | None = None


def precision(*values: Any) -> type[np.floating]:
    """Return float32 if all of a user's values are arrays of it, else float64."""
    single = all(isinstance(value, np.ndarray) and value.dtype == np.float32 for value in values)
    return np.float32 if single else np.float64


def coerce(argument: Argument, number: type[np.floating] = np.float64) -> np.ndarray:
    """Return the argument as an array of `number` whose last axes have the wanted shape, or raise ArgumentError."""
    label, value, shape = argument[:3]
    array = real_numbers(label, value, number)
    if array.shape[array.ndim - len(shape) :] != shape or array.ndim < len(shape):
        wanted = ", ".join(map(str, shape))
        raise ArgumentError(f"{label} has shape {array.shape}, but ({wanted}) or (..., {wanted}) is needed")
    return array


def real_numbers(label: str, value: Any, number: type[np.floating] = np.float64) -> np.ndarray:
    """Return a user's numbers as an array of `number`, in place if it is one; raises ArgumentError for what is none.

    Numbers too large for `number` become infinite, without a warning: what takes them refuses them by name.
    """
    if type(value) is np.ndarray and value.dtype == number:
        return value
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiu":
            raise TypeError(f"its numbers are of type {array.dtype}")
        if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
            raise TypeError("some of them are masked: there is no number to compute with")
        with np.errstate(over="ignore"):
            return array.astype(number, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"{label} must be an array of real numbers: {error}") from None


def batch_shape(arguments: Sequence[Argument], arrays: Sequence[np.ndarray | None]) -> Shape:
    """Return the leading axes of all arguments, broadcast against each other, or raise ArgumentError."""
    pairs = [(a, x) for a, x in zip(arguments, arrays, strict=True) if x is not None]
    shapes = [x.shape[: x.ndim - len(a.shape)] for a, x in pairs]
    if all(shape == shapes[0] for shape in shapes):
        return shapes[0] if shapes else ()
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        details = ", ".join(f"{a.label} {shape}" for (a, _), shape in zip(pairs, shapes, strict=True))
        raise ArgumentError(f"the batch axes do not fit together: {details}") from None


def rows(array: np.ndarray | None, batch: Shape, shape: Shape) -> np.ndarray:
    """Return an array (states, numbers) that holds an argument's numbers, in place where two strides lead to them.

    What all states share is not repeated: its stride from state to state is 0.
    """
    count = math.prod(batch)
    if array is None:
        return np.empty((count, 0))
    if array.shape != batch + shape:
        array = np.broadcast_to(array, batch + shape)
    if not array.flags.aligned:
        array = array.copy()
    return array.reshape(count, math.prod(shape))  # copies only what has no such strides


def result_rows(out: np.ndarray, batch: Shape, shape: Shape, arrays: Sequence[np.ndarray | None]) -> np.ndarray:
    """Return rows to compute a result in: those of `out` in place, or, where it has no such rows or shares memory with
    an argument, fresh ones, to be copied to it."""
    shared = any(x is not None and np.may_share_memory(out, x) for x in arrays)
    if shared or not out.flags.aligned:
        return np.empty((math.prod(batch), math.prod(shape)), out.dtype)
    return rows(out, batch, shape)


def check_out(out: Any, shape: Shape, number: Any) -> np.ndarray:
    """Return `out`, or raise ArgumentError if a result of that shape and dtype cannot be written to it."""
    fault = None
    if not isinstance(out, np.ndarray) or isinstance(out, np.ma.MaskedArray):
        fault = f", got {type(out).__name__}"
    elif out.dtype != number or out.shape != shape:
        fault = f", got {out.dtype} and shape {out.shape}"
    elif not out.flags.writeable or any(n > 1 and s == 0 for n, s in zip(out.shape, out.strides, strict=True)):
        fault = "; it is read-only, or some of its numbers share their place"
    if fault is not None:
        raise ArgumentError(f"out must be a writable array of {np.dtype(number)} and shape {shape}{fault}")
    return out


def refuse_invalid(arguments: Sequence[Argument], arrays: Sequence[np.ndarray | None]) -> None:
    """Raise what `refuse_non_finite` raises, then what the arguments' own checks raise for finite numbers."""
    refuse_non_finite(arguments, arrays)
    for argument, array in zip(arguments, arrays, strict=True):
        if array is not None and argument.refuse is not None:
            argument.refuse(array)


def refuse_non_finite(arguments: Sequence[Argument], arrays: Sequence[np.ndarray | None]) -> None:
    """Raise NonFiniteError naming the first argument, and the place in it, that holds NaN or infinity."""
    for argument, array in zip(arguments, arrays, strict=True):
        if array is not None and not np.isfinite(array).all():
            where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
            place = ", ".join(map(str, where))
            raise NonFiniteError(f"{argument.label}[{place}] is {array[where]}, not a finite number")
