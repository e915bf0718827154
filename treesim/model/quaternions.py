"""Configurations that users give, and the quaternions in them: of length 1 up to rounding, which is scaled out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError
from ..kernels.entries.status import LONGEST, SHORTEST
from ..validation.arrays import Argument

if TYPE_CHECKING:
    from .tree import Tree


def configuration(robot: Tree, value: Any, label: str = "q") -> Argument:
    """Return an argument of configurations (..., nq), in which quaternions are of length 1; label: its name."""
    return Argument(label, value, (robot.nq,), refuse=partial(refuse_lengths, robot, label))


def unit_quaternions(robot: Tree, label: str, q: np.ndarray) -> np.ndarray:
    """Return configurations q (..., nq) with the quaternions of spherical and floating joints scaled to length 1.

    label: what to call q in an error. Raises ArgumentError as `refuse_lengths`.
    """
    q = q.copy()
    for _, part in _quaternions(robot, q):
        square = _square(part)
        if not _sensible(square).all():
            refuse_lengths(robot, label, q)
        part /= np.sqrt(square)[..., None]
    return q


def refuse_lengths(robot: Tree, label: str, q: np.ndarray) -> None:
    """Raise ArgumentError naming the joint, and the state among several, of the first quaternion in configurations
    q (..., nq) whose length differs from 1 by more than a thousandth."""
    for joint, part in _quaternions(robot, q):
        wrong = np.argwhere(~_sensible(_square(part)))
        if len(wrong):
            state = tuple(int(k) for k in wrong[0])
            place = f"[{', '.join(map(str, state))}]" if state else ""
            length = float(np.hypot.reduce(part[state].astype(float)))
            raise ArgumentError(
                f"{label}{place}: the quaternion of joint {joint!r} has length {length:.6g}, but must have length 1: "
                f"divide it by its length"
                + (", or start from robot.neutral(), where it is 0 0 0 1" if not length else "")
            )


def of_unit_length(robot: Tree, q: np.ndarray) -> np.ndarray:
    """Return whether (...) all quaternions of configurations q (..., nq), finite and of sensible size, are of length
    1, to a thousandth."""
    good = np.ones(q.shape[:-1], bool)
    for _, part in _quaternions(robot, q):
        good &= _sensible(_square(part))
    return good


def _square(part: np.ndarray) -> np.ndarray:
    """Squares of the lengths of quaternions (..., 4); infinite for what is too large."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.square(part).sum(axis=-1))


def _sensible(square: np.ndarray) -> np.ndarray:
    """Whether squares of lengths are 1, to a thousandth each way; NaN is not."""
    return np.asarray((square >= SHORTEST) & (square <= LONGEST))


def _quaternions(robot: Tree, q: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Each joint with a quaternion, and its part (..., 4) of configurations q, in place."""
    for joint, end in _ends(robot):
        yield joint, q[..., end - 4 : end]


@lru_cache(maxsize=256)
def _ends(robot: Tree) -> tuple[tuple[str, int], ...]:
    """Each joint with a quaternion, and where that ends in a configuration."""
    joints = [body.joint for body in robot.bodies if body.joint.type in ("spherical", "floating")]
    return tuple((joint.name, robot.q_index[joint.name].stop) for joint in joints)
