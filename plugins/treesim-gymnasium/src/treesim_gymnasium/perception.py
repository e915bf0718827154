"""Observations of an inertial unit, and of the ground around links, which follow those of a task's function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import treesim
from treesim.errors import ArgumentError, quoted
from treesim.types import Engine

if TYPE_CHECKING:
    from .task import Task

IMU, NUMBERS = "imu of observations", 9  # name among the world's sensors; size


@dataclass(frozen=True, kw_only=True)
class Heights:
    """Heights of the ground on a grid around each of some frames, such as the feet.

    Observed are the heights of the ground above the frame's origin [m], from -clip to clip. The ground is what is below
    a point at the height of the frame, as in `treesim.ground_heights`: the floor under a table, the top of a step.
    Where there is no ground, -clip is observed. The grid is horizontal, centred at the frame, and turns with the x axis
    of the robot's first body.

    Parameters
    ----------
    frames : sequence of str
        Links, or other frames of the robot.
    grid : (int, int)
        Number of points along the heading, and to the left of it.
    spacing : float
        Distance of the points [m].
    clip : float
        Largest height above or below a frame [m].

    Raises
    ------
    ArgumentError
        For a value of another type, or out of range.

    Examples
    --------
    >>> from treesim_gymnasium import Heights
    >>> Heights(frames=["FL_foot", "FR_foot"], grid=(3, 1)).size
    6
    """

    frames: Sequence[str]
    grid: tuple[int, int] = (3, 3)
    spacing: float = 0.1
    clip: float = 0.5

    def __post_init__(self) -> None:
        if isinstance(self.frames, str) or not all(isinstance(name, str) for name in self.frames) or not self.frames:
            raise ArgumentError(f"frames of heights must be a list of names, got {quoted(self.frames)}")
        whole = [isinstance(n, int | np.integer) and not isinstance(n, bool) and n > 0 for n in self.grid]
        if whole != [True, True]:
            raise ArgumentError(f"grid of heights must be two whole numbers from 1 on, got {quoted(self.grid)}")
        for label in ("spacing", "clip"):
            if not 0 < getattr(self, label) < np.inf:
                raise ArgumentError(f"{label} of heights must be positive [m], got {quoted(getattr(self, label))}")

    @property
    def size(self) -> int:
        """Number of heights."""
        return len(self.frames) * self.grid[0] * self.grid[1]

    @property
    def offsets(self) -> np.ndarray:
        """Points (n, 2) of the grid, along the heading and to the left of it [m]."""
        axes = [self.spacing * (np.arange(n) - (n - 1) / 2) for n in self.grid]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)


class Perception:
    """Observations (n, size) of a task's inertial unit, then of its heights; compiled as a task's functions are.

    world: that of the task, with the inertial unit as a sensor. Raises UnknownNameError for an unknown frame,
    ArgumentError for heights in a world without ground.
    """

    def __init__(self, task: Task, engine: Engine, model_parameters: Mapping[str, Any] | None = None) -> None:
        self._given = task, engine, model_parameters
        self.world = world = task.world if isinstance(task.world, treesim.World) else treesim.World(task.world)
        robot, self.heights, self.imu = world.robot, task.heights, task.imu
        self.size = (0 if self.heights is None else self.heights.size) + (0 if self.imu is None else NUMBERS)
        gravity = np.asarray((model_parameters or {}).get("gravity", robot.gravity), float)
        self._strength = np.linalg.norm(gravity, axis=-1, keepdims=True)  # m/s^2
        self._down = gravity / np.maximum(self._strength, np.finfo(float).tiny)
        if task.imu is not None:
            unit = treesim.Imu(task.imu) if isinstance(task.imu, str) else task.imu
            self.world = world.with_sensors([*world.sensors, replace(unit, name=IMU)])
            sizes = {"q": robot.nq, "v": robot.nv, "g": 3}
            self._turning = _batch(_turning_of(robot, unit.frame), sizes, "what the imu observes", engine)
        if self.heights is not None:
            if not world.ground:
                raise ArgumentError("heights are observed of the ground, but the world has none: give World(ground=)")
            names = [*self.heights.frames, robot.body_names[0]]
            self._places = _batch(_places_of(robot, names), {"q": robot.nq}, "the places of heights", engine)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._given  # compiled code is in the disk cache

    def __deepcopy__(self, memo: dict[int, Any]) -> Perception:
        return self  # it never changes

    def look(self, stepper: treesim.BatchStepper, rows: slice | np.ndarray) -> np.ndarray:
        """Return the observations (n, size) of some states of a stepper."""
        q, v = stepper.q[rows], stepper.v[rows]
        parts = [np.empty((len(q), 0))]
        if self.imu is not None:
            parts.append(self._look_at_imu(q, v, stepper.sensors[IMU][rows], rows))
        if self.heights is not None:
            parts.append(self._look_at_ground(self.heights, q))
        return np.concatenate(parts, axis=1)

    def _look_at_imu(self, q: np.ndarray, v: np.ndarray, read: np.ndarray, rows: slice | np.ndarray) -> np.ndarray:
        """Return gravity's direction, angular velocity, and specific force in the last step, or at rest before one.

        read (n, 6): readings in the last step, whose angular velocity is taken from a given `Imu`.
        """
        down, strength = (x[rows] if x.ndim > 1 and len(x) > 1 else x for x in (self._down, self._strength))
        seen = self._turning(q, v, np.broadcast_to(down, (len(q), 3)))
        at_rest = -seen[:, :3] * strength
        known = np.concatenate([seen, at_rest], axis=1)
        read = read[:, [3, 4, 5, 0, 1, 2]]
        if isinstance(self.imu, str):
            read[:, :3] = np.nan
        known[:, 3:] = np.where(np.isnan(read), known[:, 3:], read)
        return known

    def _look_at_ground(self, heights: Heights, q: np.ndarray) -> np.ndarray:
        places = self._places(q).reshape(len(q), -1, 3)
        at, ahead = places[:, :-1], places[:, -1, :2]
        length = np.hypot(ahead[:, 0], ahead[:, 1])
        c, s = np.where(length > 0, ahead.T / np.where(length > 0, length, 1.0), [[1.0], [0.0]])[:, :, None, None]
        x, y = heights.offsets.T
        points = at[:, :, None, :2] + np.stack([c * x - s * y, s * x + c * y], axis=-1)
        finite = np.isfinite(points).all(axis=(1, 2, 3))
        found = np.full(points.shape[:3], np.nan)
        z = np.broadcast_to(at[:, :, None, 2:], (*points.shape[:3], 1))
        above = treesim.ground_heights(self.world, np.concatenate([points, z], axis=-1)[finite]) - at[finite, :, 2:]
        found[finite] = np.clip(above, -heights.clip, heights.clip)
        return found.reshape(len(q), -1)


def _batch(function: Any, sizes: dict[str, int], what: str, engine: Engine) -> treesim.BatchFunction:
    return treesim.BatchFunction(function, tuple(sizes.values()), what=what, named=tuple(sizes), engine=engine)


def _turning_of(robot: treesim.Tree, frame: str) -> Any:
    """Return the function of q, v and gravity's direction that computes it and the angular velocity in frame axes."""

    def turning(q: Any, v: Any, g: Any) -> list[Any]:
        R = treesim.frame_pose(robot, q, frame)[:3, :3]
        return [*(R.T @ g), *treesim.frame_velocity(robot, q, v, frame, reference="local")[3:]]

    return turning


def _places_of(robot: treesim.Tree, names: Sequence[str]) -> Any:
    """Return the function of q that computes the origins of frames, but of the last one its x axis."""

    def places(q: Any) -> list[Any]:
        poses = [treesim.frame_pose(robot, q, name) for name in names]
        return [x for pose in poses[:-1] for x in pose[:3, 3]] + list(poses[-1][:3, 0])

    return places
