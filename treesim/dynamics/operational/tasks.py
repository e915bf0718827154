"""Tasks: which coordinates of a robot's motion an operational space is made of.

A task is r rows x with velocity xdot = J v and acceleration xddot = J a + Jdot v: xddot is the time derivative of the
very numbers in xdot, also where their axes turn.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ...engine.call.evaluate import Argument, coerce
from ...errors import ArgumentError, listed, unknown_name
from ...system.display import ReprMixin, selection
from ...types import Reference, TaskRows
from ...validation.values import checked_text, is_name_of
from .frames import REFERENCES
from .motion import FrameMotion

SELECTIONS = {"position": np.eye(6)[:3], "orientation": np.eye(6)[3:]}
Rows: TypeAlias = TaskRows | ArrayLike | None


class FramesTask(ReprMixin):
    """A task whose velocity is a combination of frames' velocities: xdot = T (V_1; V_2; ...), T from their poses.

    Tasks of one's own derive from it.
    """

    def __repr__(self) -> str:
        return f"<{type(self).__name__} on {listed(self.frames)}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return list(vars(self).items())

    @property
    def frames(self) -> tuple[str, ...]:
        """The names of the frames."""
        raise NotImplementedError

    @property
    def count(self) -> int:
        """r, how many rows there are."""
        raise NotImplementedError

    def combination(self, motion: FrameMotion, reference: Reference) -> np.ndarray:
        """Return T (..., r, 6 k) for these motions of the k frames (world axes); reference: the default one."""
        raise NotImplementedError

    def velocity_terms(self, motion: FrameMotion, reference: Reference) -> np.ndarray:
        """Return Tdot (V_1; ...) (..., r): what xddot has besides T times the frames' classical accelerations."""
        raise NotImplementedError


def selected(rows: Rows, width: int = 6) -> np.ndarray:
    """Return rows (r, width) as given, or named "position" or "orientation", or all; raises ArgumentError."""
    if rows is None:
        return np.eye(width)
    if isinstance(rows, str):
        if width != 6 or rows not in SELECTIONS:
            raise unknown_name("selection of rows", rows, SELECTIONS if width == 6 else ())
        return SELECTIONS[rows]
    matrix = coerce(Argument("rows", rows, (width,)))
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise ArgumentError(f"rows must be a finite (r, {width}) matrix, got shape {matrix.shape}")
    return matrix


def _check(task: Any, *names: str, width: int = 6) -> None:
    """Raise ArgumentError, or UnknownNameError, for names, rows and axes that cannot be meant, whatever the robot."""
    for name in names:
        checked_text(f"{name} of a {type(task).__name__}", getattr(task, name))
    selected(task.rows, width)
    _along(getattr(task, "reference", None), "world")


def _axes(reference: Reference | None) -> str:
    """What to append to a task's line about its axes, where it says which."""
    return "" if reference is None else f", along {reference!r}"


def _along(reference: Reference | None, default: Reference) -> Reference:
    chosen = default if reference is None else reference
    if not is_name_of(chosen, REFERENCES):
        raise unknown_name("reference", chosen, REFERENCES)
    return chosen


def _cross_matrix(p: np.ndarray) -> np.ndarray:
    """px (..., 3, 3)."""
    o = np.zeros(p.shape[:-1])
    x, y, z = p[..., 0], p[..., 1], p[..., 2]
    return np.stack([o, -z, y, z, o, -x, -y, x, o], axis=-1).reshape(*p.shape[:-1], 3, 3)


def _turned(rotation: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """E' applied to both halves of (..., 6), E (..., 3, 3)."""
    return (twist.reshape(*twist.shape[:-1], 2, 3) @ rotation).reshape(twist.shape)


def _turn_of_both(rotation: np.ndarray) -> np.ndarray:
    """diag(E', E') (..., 6, 6)."""
    turn = np.zeros((*rotation.shape[:-2], 6, 6))
    turn[..., :3, :3] = turn[..., 3:, 3:] = np.swapaxes(rotation, -1, -2)
    return turn


@dataclass(frozen=True, eq=False, repr=False)
class FrameTask(FramesTask):
    """Rows on the motion of one frame: xdot = rows (velocity of its origin; angular velocity).

    frame: its name. rows: (r, 6), or "position", "orientation", or None for all six. reference: along the axes of the
    "world" or of the frame ("local"); None leaves it to `operational_space`. With "local" axes xddot is the derivative
    of these components: R' a - w x R' pdot for the origin, not the classical acceleration R' a.

    Example:
        >>> treesim.FrameTask("ee_link", "position", reference="local")
        <FrameTask on 'ee_link': rows 'position', along 'local'>
    """

    frame: str
    rows: Rows = None
    reference: Reference | None = None

    def __post_init__(self) -> None:
        _check(self, "frame")

    def __repr__(self) -> str:
        return f"<FrameTask on {self.frame!r}: {selection(self.rows)}{_axes(self.reference)}>"

    @property
    def frames(self) -> tuple[str, ...]:
        """The names of the frames."""
        return (self.frame,)

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(selected(self.rows))

    def combination(self, motion: FrameMotion, reference: Reference) -> np.ndarray:
        """Return T (..., r, 6)."""
        R = selected(self.rows)
        if _along(self.reference, reference) == "world":
            return np.broadcast_to(R, (*motion.position.shape[:-2], *R.shape))
        return R @ _turn_of_both(motion.rotation[..., 0, :, :])

    def velocity_terms(self, motion: FrameMotion, reference: Reference) -> np.ndarray:
        """Return (..., r): -w x pdot in turning axes, nothing along the world's."""
        R = selected(self.rows)
        V = motion.velocity[..., 0, :]
        if _along(self.reference, reference) == "world":
            return np.zeros((*V.shape[:-1], len(R)))
        turning = np.concatenate([-np.cross(V[..., 3:], V[..., :3]), np.zeros_like(V[..., 3:])], axis=-1)
        return _turned(motion.rotation[..., 0, :, :], turning) @ R.T


@dataclass(frozen=True, eq=False, repr=False)
class RelativeTask(FramesTask):
    """Rows on the motion of frame `second` as seen from frame `first`, an observer who turns with it:
    xdot = rows (pdot_2 - pdot_1 - w_1 x (p_2 - p_1); w_2 - w_1).

    rows: (r, 6), or "position", "orientation", or None for all six. reference: these vectors along the axes of the
    "world", or of `first` ("local"): then the first three are the rate of `second`'s coordinates in `first`. None
    leaves it to `operational_space`. xddot is the derivative of these components: along first's axes it holds the
    Coriolis and centrifugal terms of that frame.

    Example:
        >>> robot = treesim.load("ur5")
        >>> task = treesim.RelativeTask("forearm_link", "ee_link", rows="orientation")
        >>> treesim.operational_space(robot, np.full(6, 0.5), np.zeros(6), task)  # three wrist joints
        <OperationalSpace of 'ur5': 3 rows, rank 3, nv 6>
    """

    first: str
    second: str
    _: KW_ONLY
    rows: Rows = None
    reference: Reference | None = None

    def __post_init__(self) -> None:
        _check(self, "first", "second")

    def __repr__(self) -> str:
        ends = f"{self.second!r} seen from {self.first!r}"
        return f"<RelativeTask of {ends}: {selection(self.rows)}{_axes(self.reference)}>"

    @property
    def frames(self) -> tuple[str, ...]:
        """The names of the frames."""
        return (self.first, self.second)

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(selected(self.rows))

    def combination(self, motion: FrameMotion, reference: Reference) -> np.ndarray:
        """Return T (..., r, 12)."""
        arm = motion.position[..., 1, :] - motion.position[..., 0, :]
        T = np.zeros((*arm.shape[:-1], 6, 12))
        T[..., :, :6], T[..., :, 6:] = -np.eye(6), np.eye(6)
        T[..., :3, 3:6] = _cross_matrix(arm)  # - w_1 x arm = arm x w_1
        if _along(self.reference, reference) == "local":
            T = _turn_of_both(motion.rotation[..., 0, :, :]) @ T
        return selected(self.rows) @ T

    def velocity_terms(self, motion: FrameMotion, reference: Reference) -> np.ndarray:
        """Return (..., r): -w_1 x (pdot_2 - pdot_1), and in turning axes -w_1 x xdot besides."""
        V1, V2 = motion.velocity[..., 0, :], motion.velocity[..., 1, :]
        w, apart = V1[..., 3:], V2[..., :3] - V1[..., :3]
        terms = np.concatenate([-np.cross(w, apart), np.zeros_like(w)], axis=-1)
        if _along(self.reference, reference) == "local":
            seen = apart - np.cross(w, motion.position[..., 1, :] - motion.position[..., 0, :])
            turning = [-np.cross(w, seen), -np.cross(w, V2[..., 3:] - w)]
            terms = _turned(motion.rotation[..., 0, :, :], terms + np.concatenate(turning, axis=-1))
        return terms @ selected(self.rows).T


@dataclass(frozen=True, eq=False, repr=False)
class CenterOfMassTask(ReprMixin):
    """Rows on the velocity of the centre of mass of all bodies, along the world's axes: (r, 3), or None for all.

    Example:
        >>> treesim.CenterOfMassTask([[1, 0, 0], [0, 1, 0]])  # above the ground, at any height
        <CenterOfMassTask: 2 rows>
    """

    rows: ArrayLike | None = None

    def __post_init__(self) -> None:
        _check(self, width=3)

    def __repr__(self) -> str:
        return f"<CenterOfMassTask: {selection(self.rows)}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [("rows", self.rows), ("reference", "world")]

    @property
    def matrix(self) -> np.ndarray:
        """The rows (r, 3)."""
        return selected(self.rows, 3)

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.matrix)


Task: TypeAlias = str | FramesTask | CenterOfMassTask
