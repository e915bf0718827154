"""Motions of kinematic bodies: through waypoints, and of conveyor belts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError
from ..model.frozen import frozen
from ..model.matrices import UNIT
from ..system.display import ReprMixin, vector
from ..validation.arrays import real_numbers
from ..validation.values import checked_flag, finite_vector, short_repr

STRAIGHT = (0.0, 0.0, 0.0, 1.0)  # quaternion x, y, z, w without rotation
CLOSED = 1e-9  # m: largest distance of the first and the last waypoint of a periodic motion
Motion = Callable[[float], ArrayLike]


@dataclass(frozen=True, repr=False, eq=False)
class Waypoints(ReprMixin):
    """Motion of a kinematic body through given poses, for example of a lift, a door or a moving obstacle.

    Between two poses, the body moves along a straight line and turns about a fixed axis, at constant speeds. Before the
    first and after the last pose, the body is at rest.

    Parameters
    ----------
    times : array_like, shape (K,)
        Times [s], increasing.
    positions : array_like, shape (K, 3)
        Positions of the body's frame in the world [m].
    quaternions : array_like, shape (K, 4), optional
        Orientations of the body as quaternions x, y, z, w. Without rotation by default.
    periodic : bool
        Repeat the motion. The last pose must then be equal to the first one.

    Raises
    ------
    ArgumentError
        If the arrays do not fit together, or times do not increase.

    Examples
    --------
    >>> lift = treesim.Waypoints([0.0, 1.0, 3.0], [(0, 0, 0), (0, 0, 0), (0, 0, 0.5)])
    >>> lift(2.0)
    array([0.  , 0.  , 0.25, 0.  , 0.  , 0.  , 1.  ])
    """

    times: np.ndarray
    positions: np.ndarray
    quaternions: np.ndarray = None  # type: ignore[assignment]  # without rotation, see __post_init__
    periodic: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        times = finite_vector("times of Waypoints", self.times)
        if not len(times) or (times[1:] <= times[:-1]).any():
            raise ArgumentError(f"times of Waypoints must increase, got {short_repr(self.times)}")
        turns = np.tile(STRAIGHT, (len(times), 1)) if self.quaternions is None else self.quaternions
        for label, given, n in (("positions", self.positions, 3), ("quaternions", turns, 4)):
            array = real_numbers(f"{label} of Waypoints", given)
            if array.shape != (len(times), n) or not np.isfinite(array).all():
                raise ArgumentError(
                    f"{label} of Waypoints must be {len(times)} x {n} finite numbers, a row for each of its times"
                )
            if label == "quaternions":
                array = np.array([unit_quaternion(row) for row in array])
            object.__setattr__(self, label, frozen(array))
        object.__setattr__(self, "times", frozen(times))
        checked_flag("periodic", self.periodic)
        if self.periodic and not (len(times) > 1 and _same_pose(self._at(times[0]), self._at(times[-1]))):
            raise ArgumentError("the last pose of periodic Waypoints must be the first one")

    def __call__(self, t: float) -> np.ndarray:
        """Return the pose (7,) at time t [s]: position, then quaternion."""
        first, last = self.times[0], self.times[-1]
        return self._at(first + (t - first) % (last - first) if self.periodic else t)

    def _at(self, t: float) -> np.ndarray:
        k = int(np.searchsorted(self.times, t, "right")) - 1
        if k < 0 or k == len(self.times) - 1:
            return np.concatenate([self.positions[max(k, 0)], self.quaternions[max(k, 0)]])
        s = (t - self.times[k]) / (self.times[k + 1] - self.times[k])
        turn = self.quaternions[k]
        if not np.array_equal(turn, self.quaternions[k + 1]):  # else SciPy would take most of a simulation's time
            from scipy.spatial.transform import Rotation

            start, end = (Rotation.from_quat(self.quaternions[i]) for i in (k, k + 1))
            turn = (start * Rotation.from_rotvec(s * (start.inv() * end).as_rotvec())).as_quat()
        return np.concatenate([(1 - s) * self.positions[k] + s * self.positions[k + 1], turn])

    _row_labels = ("periodic",)

    def __repr__(self) -> str:
        return f"<Waypoints: {len(self.times)} poses, {self.times[0]:g} ... {self.times[-1]:g} s>"


@dataclass(frozen=True, repr=False)
class Conveyor(ReprMixin):
    """Motion of a conveyor belt: the pose of the kinematic body is constant, and its surface moves.

    Parameters
    ----------
    velocity : array_like, shape (3,)
        Velocity of the surface along the world's axes [m/s].
    position : array_like, shape (3,)
        Position of the body's frame in the world [m].
    quaternion : array_like, shape (4,)
        Orientation of the body as a quaternion x, y, z, w.

    Raises
    ------
    ArgumentError
        If a value has another shape or is not finite.

    Examples
    --------
    >>> belt = treesim.free_body("belt", "box", (4.0, 0.6, 0.1), 1.0)
    >>> crate = treesim.free_body("crate", "box", (0.2, 0.2, 0.2), 1.0)
    >>> world = treesim.World(crate, bodies=belt, kinematic={"belt": treesim.Conveyor((0.5, 0, 0))})
    >>> run = treesim.Simulation(world).run(1.0, q0=[0, 0, 0.15, 0, 0, 0, 1, *belt.neutral()])
    >>> run.v[-1, :3].round(6) + 0.0
    array([0.5, 0. , 0. ])
    """

    velocity: tuple[float, float, float]
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    quaternion: tuple[float, float, float, float] = STRAIGHT

    def __post_init__(self) -> None:
        for label in ("velocity", "position"):
            object.__setattr__(
                self, label, tuple(finite_vector(f"{label} of Conveyor", getattr(self, label), 3).tolist())
            )
        turn = unit_quaternion(finite_vector("quaternion of Conveyor", self.quaternion, 4))
        object.__setattr__(self, "quaternion", tuple(turn.tolist()))

    def __call__(self, t: float) -> np.ndarray:
        """Return the pose (7,): position, then quaternion."""
        return np.array([*self.position, *self.quaternion])

    def __repr__(self) -> str:
        return f"<Conveyor: {vector(np.array(self.velocity))} m/s>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [("position [m]", vector(self.position))]


def _same_pose(one: np.ndarray, other: np.ndarray) -> bool:
    sign = np.where(one[3:] @ other[3:] < 0, -1.0, 1.0)  # q and -q are one orientation
    return bool(np.abs(one - np.concatenate([other[:3], sign * other[3:]])).max() <= CLOSED)


def unit_quaternion(quaternion: np.ndarray) -> np.ndarray:
    """Return a quaternion scaled to length 1, unchanged if it is that up to rounding; raises ArgumentError if far."""
    length = float(np.linalg.norm(quaternion))
    if not 0.5 < length < 2.0:
        raise ArgumentError(f"a quaternion must be of length 1, got {short_repr(quaternion.tolist())}")
    return quaternion if abs(length - 1.0) <= UNIT else quaternion / length
