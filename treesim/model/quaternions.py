"""Validation of configurations: quaternions must have length 1 to a thousandth, and are normalized."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, quoted
from ..kernels.entries.status import LONGEST, SHORTEST
from ..validation.arrays import Argument
from .named_axes import coordinate_argument

if TYPE_CHECKING:
    from .tree import Tree


def configuration(robot: Tree, value: Any, label: str = "q") -> Argument:
    """Return the argument `label` of configurations (..., nq), whose validation checks the lengths of quaternions."""
    return coordinate_argument(robot, label, value)._replace(refuse=partial(refuse_lengths, robot, label))


def unit_quaternions(robot: Tree, label: str, q: np.ndarray) -> np.ndarray:
    """Return configurations q (..., nq) with the quaternions of spherical and floating joints scaled to length 1.

    label: name of q in errors. Raises ArgumentError as `refuse_lengths`.
    """
    q = q.copy()
    for _, part in _quaternions(robot, q):
        square = _square(part)
        if not _sensible(square).all():
            refuse_lengths(robot, label, q)
        part /= np.sqrt(square)[..., None]
    return q


def refuse_lengths(robot: Tree, label: str, q: np.ndarray) -> None:
    """Raise ArgumentError if a quaternion's length differs from 1 by more than a thousandth.

    The error names the joint, and the index of the state in q (..., nq). Without such a quaternion nothing is raised.
    """
    for joint, part in _quaternions(robot, q):
        wrong = np.argwhere(~_sensible(_square(part)))
        if len(wrong):
            state = tuple(int(k) for k in wrong[0])
            place = f"[{', '.join(map(str, state))}]" if state else ""
            length = float(np.hypot.reduce(part[state].astype(float)))
            raise ArgumentError(
                f"{label}{place}: the quaternion of joint {quoted(joint)} has length {length:.6g}, but must have "
                f"length 1: divide it by its length"
                + (", or start from robot.neutral(), where it is 0 0 0 1" if not length else "")
            )


def of_unit_length(robot: Tree, q: np.ndarray) -> np.ndarray:
    """Return whether (...) all quaternions of configurations q (..., nq) have length 1 to a thousandth.

    The numbers in q must be finite and small enough to be squared.
    """
    good = np.ones(q.shape[:-1], bool)
    for _, part in _quaternions(robot, q):
        good &= _sensible(_square(part))
    return good


def _square(part: np.ndarray) -> np.ndarray:
    """Squared lengths of quaternions (..., 4); infinite on overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.square(part).sum(axis=-1))


def _sensible(square: np.ndarray) -> np.ndarray:
    """Return whether squared lengths are those of lengths of 1 to a thousandth; False for NaN."""
    return np.asarray((square >= SHORTEST) & (square <= LONGEST))


def _quaternions(robot: Tree, q: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name of each joint with a quaternion, and a view (..., 4) of it in configurations q."""
    for joint, end in _ends(robot):
        yield joint, q[..., end - 4 : end]


@lru_cache(maxsize=256)
def _ends(robot: Tree) -> tuple[tuple[str, int], ...]:
    """Return the name of each joint with a quaternion, and the index after it in a configuration."""
    joints = [body.joint for body in robot.bodies if body.joint.type in ("spherical", "floating")]
    return tuple((joint.name, robot.q_index[joint.name].stop) for joint in joints)
