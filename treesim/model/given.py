"""What a user gives that is no array: a robot, whole and positive numbers, functions; each checked in one place."""

from __future__ import annotations

import inspect
import math
import numbers
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ArgumentError, UnsupportedError, listed, quoted
from .mimic import no_followers
from .tree import Tree

MOST = 1 << 48  # of anything counted: array sizes in bytes stay below 2^63
LONGEST = 1e9  # s, about thirty years: squares of it times any gain are still numbers


def checked_robot(value: Any) -> Tree:
    """Return `value` if it is a Tree; raises ArgumentError otherwise."""
    if not isinstance(value, Tree):
        raise ArgumentError(f"robot must be a Tree, as treesim.load returns it, not {told(value)}")
    return value


def refuse_followers(robot: Tree, what: str) -> None:
    """Raise UnsupportedError, naming them, for a robot whose joints follow others: `what` does not serve those."""
    if robot.coupling is not None:
        raise no_followers(robot.name, robot.followers, what)


def checked_frames(value: Any) -> tuple[str, ...]:
    """Return the names of frames, of which one needs no sequence; raises ArgumentError for anything else."""
    try:
        return (value,) if isinstance(value, str) else tuple(value)
    except TypeError:
        raise ArgumentError(f"frames must be a frame's name, or a sequence of names, not {told(value)}") from None


def refuse_lent_rotors(robot: Tree, what: str, instead: str) -> None:
    """Raise UnsupportedError, naming them, for a robot with joints that carry no inertia but what others of the same
    leader lend them: `what` takes no negative rotor inertias, as the lender's then is; `instead` does."""
    lent = np.zeros(0) if robot.coupling is None else robot.coupling.lent
    if (lent > 0).any():
        names = listed([robot.spanning.dof_name(int(k)) for k in np.flatnonzero(lent > 0)], limit=3)
        raise UnsupportedError(
            f"{what} does not serve joints that carry no inertia and follow others, or are followed, as {names} of "
            f"{quoted(robot.name)}: give their links some, or take {instead!r}"
        )


def whole_number(label: str, value: Any, least: int = 0, most: int = MOST) -> int:
    """Return `value` as an int if it is a whole number, of Python's or NumPy's types, from least to most.

    Raises ArgumentError naming `label`; True and False, and floats, are no whole numbers.
    """
    try:
        number = None if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        raise ArgumentError(f"{label} must be a whole number {_range(least, most)}, got {told(value)}")
    return number


def positive_number(
    label: str, value: Any, what: str = "number of seconds", zero: bool = False, most: float = LONGEST
) -> float:
    """Return `value` as a float if it is one real number above 0, or, with `zero`, not below; at most `most`.

    what: the kind of number, for the ArgumentError that names `label`.
    """
    number = _real(value)
    if not (0 < number <= most or (zero and number == 0)):
        least = "not negative" if zero else "above 0"
        limit = f" and at most {most:g}" if math.isfinite(most) else ""
        raise ArgumentError(f"{label} must be a {what}, finite, {least}{limit}, got {told(value)}")
    return number


def checked_progress(value: Any) -> Callable[[int, int], None] | None:
    """Return `value` if it is None or can be called as progress(done, total); raises ArgumentError otherwise."""
    if value is None:
        return None
    if not callable(value):
        raise ArgumentError(f"progress must be a function progress(done, total) or None, got {told(value)}")
    try:
        inspect.signature(value).bind(0, 1)
    except TypeError as error:
        raise ArgumentError(f"progress must take two numbers, (done, total): {error}") from None
    except ValueError:  # a function of C's that tells nothing of its arguments
        pass
    return value  # type: ignore[no-any-return]


def told(value: Any) -> str:
    """Return what to call a wrong value in an error: its text if that is short, else its type."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and type {value.dtype}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:50]}... ({type(value).__name__})"


def _real(value: Any) -> float:
    """The number that `value` is, NaN if it is none or not finite."""
    try:
        array = np.asarray(value)
        real = array.dtype.kind in "fiu" or isinstance(array[()], numbers.Real)
        number = float(array) if array.ndim == 0 and real and array.dtype.kind != "b" else math.nan
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return number if math.isfinite(number) else math.nan


def _range(least: int, most: int) -> str:
    return f"from {least} on" if most == MOST else f"between {least} and {most}"
