"""Validation of array arguments, and their conversion to rows of numbers, without copying if possible."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, NonFiniteError, shortened, text_of
from ..system.installation import installed_by
from ..system.memory import SMALL, check_memory
from .labels import Axis, in_order

Shape = tuple[int, ...]
NUMBER = 8  # bytes
LARGE = 4096  # numbers: looking at fewer takes less time than leaving out those that repeat
REAL = np.dtype(np.float64)
FORCES = ("tau", "control")  # labels
BRIDGES = ("jax", "torch")  # libraries whose gradients a plugin passes through treesim


class Argument(NamedTuple):
    """An array argument of a public function.

    label: its name. value: as given. shape: of one state. optional: whether it may be None. refuse: function that
    raises an error for invalid finite numbers (quaternions, see model.quaternions). axes: names along the last axes,
    those of `robot` (see model.named_axes), for values with labels. notice: function that warns of unusual numbers.
    """

    label: str
    value: Any
    shape: Shape
    optional: bool = False
    refuse: Callable[[np.ndarray], None] | None = None
    axes: tuple[Axis | None, ...] = ()
    robot: Any = None
    notice: Callable[[Any, str, np.ndarray], None] | None = None


def precision(*values: Any) -> type[np.floating]:
    """Return float32 if all values are float32 arrays, else float64."""
    for value in values:
        if not (isinstance(value, np.ndarray) and value.dtype == np.float32):
            return np.float64
    return np.float32


def coerce(argument: Argument, number: type[np.floating] = np.float64, batch: str = "...") -> np.ndarray:
    """Return the argument as an array of `number` whose last axes have the required shape; raises ArgumentError.

    Numbers with labels are put into the robot's order. batch: the other axes in an error.
    """
    label, value, shape = argument[:3]
    known = type(value) is np.ndarray and value.dtype == number
    array: np.ndarray = value if known else ordered_numbers(argument, number)
    if array.shape[array.ndim - len(shape) :] != shape or array.ndim < len(shape):
        wanted = ", ".join(map(str, shape))
        fault = f"{label} has shape {array.shape}, but ({wanted}) or ({batch}, {wanted}) is needed"
        raise ArgumentError(fault + first_names(argument, array.shape))
    if argument.notice is not None:
        argument.notice(argument.robot, label, array)
    return array


def first_names(argument: Argument, given: Shape) -> str:
    """Return what the first numbers are, if those of a joint of several coordinates, as a floating one, are missing."""
    missing = argument.shape[-1] - given[-1] if argument.shape and given else 0
    axis = argument.axes[-1] if argument.axes else None
    names = () if axis is None else axis(argument.robot).names[0]
    joint = names[0].rpartition(".")[0] if names else ""
    parts = [name.rpartition(".")[2] for name in names if joint and name.startswith(f"{joint}.")]
    if missing < 2 or len(parts) != missing:
        return ""
    forces = "; no motor moves this joint, so that their forces are 0" if argument.label in FORCES else ""
    return f": the first {missing} are {' '.join(parts)} of joint {joint!r}{forces}"


def ordered_numbers(argument: Argument, number: type[np.floating] = np.float64) -> np.ndarray:
    """Return the argument as an array of any shape; data frames and the like are put into the robot's order."""
    label, value = argument[:2]
    if argument.axes and type(value) is not np.ndarray:
        value = in_order(label, value, argument.axes, argument.robot)
    return real_numbers(label, value, number)


def real_numbers(label: str, value: Any, number: type[np.floating] = np.float64) -> np.ndarray:
    """Return real numbers as an array of `number`, without copying if possible; raises ArgumentError for other values.

    Numbers too large for `number` become infinite without a warning; callers reject them by name.
    """
    if type(value) is np.ndarray and value.dtype == number:
        return value
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiu":
            raise TypeError(f"its numbers are of type {array.dtype}")
        if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
            raise TypeError("some of them are masked: there is no number to compute with")
        if array.size > SMALL // NUMBER and array.dtype != number:
            check_copy(label, array.shape)
        if array.itemsize <= NUMBER and number is np.float64:  # nothing can overflow
            return array.astype(number, copy=False)
        with np.errstate(over="ignore"):
            return array.astype(number, copy=False)
    except (ArgumentError, MemoryError):
        raise
    except Exception as error:  # whatever a user's class raises
        fault = f"{label} must be an array of real numbers: {shortened(text_of(error, str))}"
        raise ArgumentError(_needs_bridge(label, value) or fault) from None


def _needs_bridge(label: str, value: Any) -> str | None:
    """Return the fault of numbers that another library traces or differentiates; None for other values."""
    within = value.flat if isinstance(value, np.ndarray) else value if isinstance(value, list | tuple) else [value]
    for x in within:
        library = str(type(x).__module__).partition(".")[0]
        if library in BRIDGES and (library != "torch" or getattr(x, "requires_grad", False)):
            return (
                f"{label} has numbers that {library} traces or differentiates: call functions of treesim_{library}, "
                f"such as treesim_{library}.forward_dynamics; {installed_by(f'./plugins/treesim-{library}')}"
            )
    return None


def in_layout(*arrays: Any) -> list[Any]:
    """Return arrays as compiled code of one state takes them, without copying if possible; None stays None.

    They are dense, writable and aligned, and of NumPy's own dtype object, which arrays do not have after unpickling.
    """
    return [x if x is None or (x.dtype is REAL and x.flags.carray) else x.astype(float, order="C") for x in arrays]


def check_copy(label: str, shape: Shape) -> None:
    """Raise ArgumentError, naming the argument, if a copy of its numbers of that shape does not fit in memory.

    All states of an argument may share one memory, so that the argument itself takes little.
    """
    size = NUMBER * math.prod(shape)
    if size > SMALL:
        check_memory(size, f"a copy of {label}, of shape {shape},", "give fewer states at once")


def batch_shape(arguments: Sequence[Argument], arrays: Sequence[np.ndarray | None]) -> Shape:
    """Return the leading axes of all arguments, broadcast together; raises ArgumentError if they do not fit."""
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
    """Return an argument's numbers as an array (states, numbers), a view where two strides suffice.

    An argument that all states share is not copied: its stride from state to state is 0.
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
    """Return rows in which to compute a result: a view of `out`, or a new array that is copied to it afterwards.

    The array is new if `out` has no such view or shares memory with an argument.
    """
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
    elif not out.flags.writeable or _repeats(out):
        fault = "; it is read-only, or some of its numbers share their place"
    if fault is not None:
        raise ArgumentError(f"out must be a writable array of {np.dtype(number)} and shape {shape}{fault}")
    return out


def _repeats(array: np.ndarray) -> bool:
    """Return whether some numbers of an array share their place."""
    axes = zip(array.shape, array.strides, strict=True)
    return array.size > 0 and any(length > 1 and stride == 0 for length, stride in axes)


def refuse_invalid(arguments: Sequence[Argument], arrays: Sequence[np.ndarray | None]) -> None:
    """Raise the errors of `refuse_non_finite`, then those of the arguments' own checks for finite numbers."""
    refuse_non_finite(arguments, arrays)
    for argument, array in zip(arguments, arrays, strict=True):
        if array is not None and argument.refuse is not None:
            argument.refuse(array)


def refuse_non_finite(arguments: Sequence[Argument], arrays: Sequence[np.ndarray | None]) -> None:
    """Raise NonFiniteError for NaN or infinity, naming the first such argument and the index in it."""
    for argument, given in zip(arguments, arrays, strict=True):
        array = given if given is None or given.size < LARGE else _distinct(given)
        if array is not None and not np.isfinite(array).all():
            where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
            place = ", ".join(map(str, where))
            raise NonFiniteError(f"{argument.label}[{place}] is {array[where]}, not a finite number")


def _distinct(array: np.ndarray) -> np.ndarray:
    """Return a view without repeated numbers: of axes that are broadcast, the first entry alone."""
    if 0 not in array.strides:
        return array
    return array[tuple(slice(1) if stride == 0 else slice(None) for stride in array.strides)]
