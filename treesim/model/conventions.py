"""Warning of configurations that look like other conventions: angles in degrees, quaternions with w first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import ConventionWarning, listed
from ..system.user_warnings import warn

if TYPE_CHECKING:
    from .tree import Tree

FULL_TURN = 2 * np.pi
ABSURD = 1e4  # [rad] of a run that diverges, not degrees
MOST_STATES = 64  # of a batch, whose numbers are compared


class Usual(NamedTuple):
    """Range (nq,) of usual coordinates, an unusual value (nq,), NaN if none, and joints already warned of."""

    lower: np.ndarray
    upper: np.ndarray
    unusual: np.ndarray
    warned: set[str]


def warn_of_conventions(robot: Tree, label: str, q: np.ndarray) -> None:
    """Warn, once for each joint, of angles beyond a full turn and the joint's limits, and of quaternions 1 0 0 0.

    label: name of q (..., nq), of which the first 64 states are compared. Cost 3 us.
    """
    if not q.size:
        return
    usual, states = robot._usual or _usual_of(robot), q.reshape(-1, robot.nq)[:MOST_STATES]
    unusual = (states < usual.lower) | (states > usual.upper) | (states == usual.unusual)
    if True not in unusual:  # without the Python functions of `any`
        return
    unusual &= np.abs(states) < ABSURD
    found = [name for name, where in robot.q_index.items() if unusual[:, where].any() and name not in usual.warned]
    usual.warned.update(found)
    turned = [name for name in found if robot.joint(name).type != "revolute"]
    if angles := [name for name in found if name not in turned]:
        x = np.abs(states[:, robot.q_index[angles[0]]]).max()
        warn(
            f"{label} of {robot.name!r}: joints beyond their limits and a full turn, as if in degrees: "
            f"{listed(angles, 3)}. Angles are in rad: np.radians({x:.4g}) is {np.radians(x):.4g}",
            ConventionWarning,
        )
    if turned:
        warn(
            f"{label} of {robot.name!r}: the quaternion of {listed(turned, 3)} is 1 0 0 0, half a turn about x. "
            "Quaternions are x y z w: 0 0 0 1 is no rotation",
            ConventionWarning,
        )


def _usual_of(robot: Tree) -> Usual:
    lower, upper, unusual = (np.full(robot.nq, x) for x in (-np.inf, np.inf, np.nan))
    for joint, where in robot.q_index.items():
        kind = robot.joint(joint).type
        if kind == "revolute":
            lower[where] = np.minimum(robot.lower[where], -FULL_TURN)
            upper[where] = np.maximum(robot.upper[where], FULL_TURN)
        elif kind in ("floating", "spherical"):
            unusual[where.stop - 4] = 1.0
    object.__setattr__(robot, "_usual", usual := Usual(lower, upper, unusual, set()))
    return usual
