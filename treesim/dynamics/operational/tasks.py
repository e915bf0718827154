"""Tasks: the coordinates of an operational space.

A task has r rows x with velocity xdot = J v and acceleration xddot = J a + Jdot v. xddot is the time derivative of the
components of xdot, also if their axes rotate.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ...errors import listed
from ...model.matrices import cross_matrix
from ...system.display import ReprMixin, selection
from ...types import Reference
from ...validation.values import checked_text
from .frames import in_world_axes
from .motion import FrameMotion
from .rows import Rows, row_matrix


class FramesTask(ReprMixin):
    """Base class of tasks whose velocity is a combination of frames' velocities: xdot = T (V_1; V_2; ...).

    T depends on the frames' poses. Derive user-defined tasks from this class.
    """

    def __repr__(self) -> str:
        return f"<{type(self).__name__} on {listed(self.frames)}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return list(vars(self).items())

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of the frames on which the task depends."""
        raise NotImplementedError

    @property
    def count(self) -> int:
        """Number of rows r."""
        raise NotImplementedError

    def combination(self, motion: FrameMotion, reference: Reference) -> np.ndarray:
        """Return the combination T of the frames' velocities.

        Parameters
        ----------
        motion : FrameMotion
            Motions of the k frames in world axes.
        reference : str
            Axes to use if the task has no reference: "local_world_aligned" or "local".

        Returns
        -------
        numpy.ndarray
            (..., r, 6 k) matrix T.
        """
        raise NotImplementedError

    def velocity_terms(self, motion: FrameMotion, reference: Reference) -> np.ndarray:
        """Return Tdot (V_1; ...): the task's acceleration minus T times the frames' classical accelerations.

        Parameters
        ----------
        motion : FrameMotion
            Motions of the k frames in world axes.
        reference : str
            Axes to use if the task has no reference: "local_world_aligned" or "local".

        Returns
        -------
        numpy.ndarray
            (..., r) velocity terms.
        """
        raise NotImplementedError


def _check(task: Any, *names: str, width: int = 6) -> None:
    """Raise ArgumentError or UnknownNameError for invalid names, rows and axes, which do not depend on the robot."""
    for name in names:
        object.__setattr__(task, name, checked_text(f"{name} of a {type(task).__name__}", getattr(task, name)))
    row_matrix("rows", task.rows, width)
    _aligned(getattr(task, "reference", None), "local_world_aligned")


def _axes(reference: Reference | None) -> str:
    """Return the text about the task's axes in its representation; empty without a reference."""
    return "" if reference is None else f", along {reference!r}"


def _aligned(reference: Reference | None, default: Reference) -> bool:
    return in_world_axes(default if reference is None else reference)


def _turned(rotation: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """E' times both halves of twists (..., 6), for rotations E (..., 3, 3)."""
    return (twist.reshape(*twist.shape[:-1], 2, 3) @ rotation).reshape(twist.shape)


def _turn_of_both(rotation: np.ndarray) -> np.ndarray:
    """Matrices diag(E', E') (..., 6, 6)."""
    turn = np.zeros((*rotation.shape[:-2], 6, 6))
    turn[..., :3, :3] = turn[..., 3:, 3:] = np.swapaxes(rotation, -1, -2)
    return turn


@dataclass(frozen=True, eq=False, repr=False)
class FrameTask(FramesTask):
    """Task on the motion of one frame.

    The task velocity xdot is the matrix `rows` times the frame's velocity (6,): three linear, then three angular
    components.

    Parameters
    ----------
    frame : str
        Name of the frame.
    rows : array_like or str, optional
        "linear", "angular", "all", or (r, 6) rows.
    reference : str, optional
        Axes: "local_world_aligned", or "local" for the frame's own. By default the reference passed to
        `treesim.operational_space`.

    Notes
    -----
    In "local" axes, xddot is the time derivative of the components of xdot. Let R be the frame's orientation, and w its
    angular velocity along its own axes. Let pdot and a be the velocity and the acceleration of the frame's origin in
    world axes. The linear part of xddot is then R' a - w x R' pdot, not the classical acceleration R' a.

    Examples
    --------
    >>> treesim.FrameTask("ee_link", "linear", reference="local")
    <FrameTask on 'ee_link': rows 'linear', along 'local'>
    """

    frame: str
    rows: Rows = "all"
    reference: Reference | None = None

    def __post_init__(self) -> None:
        _check(self, "frame")

    def __repr__(self) -> str:
        return f"<FrameTask on {self.frame!r}: {selection(self.rows)}{_axes(self.reference)}>"

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of the frames on which the task depends."""
        return (self.frame,)

    @property
    def count(self) -> int:
        """Number of rows of the task."""
        return len(row_matrix("rows", self.rows))

    def combination(self, motion: FrameMotion, reference: Reference) -> np.ndarray:
        """Return the matrix T that maps the frame's velocity in world axes to the task velocity xdot.

        Parameters
        ----------
        motion, reference
            As in `FramesTask.combination`.

        Returns
        -------
        numpy.ndarray
            (..., r, 6) matrix T.
        """
        R = row_matrix("rows", self.rows)
        if _aligned(self.reference, reference):
            return np.broadcast_to(R, (*motion.position.shape[:-2], *R.shape))
        return R @ _turn_of_both(motion.rotation[..., 0, :, :])

    def velocity_terms(self, motion: FrameMotion, reference: Reference) -> np.ndarray:
        """Return the terms of the task acceleration that depend on velocities only; in world axes they are zero.

        In "local" axes, these terms are -w x pdot, with the frame's angular velocity w and the velocity pdot of its
        origin.

        Parameters
        ----------
        motion, reference
            As in `FramesTask.velocity_terms`.

        Returns
        -------
        numpy.ndarray
            (..., r) velocity terms.
        """
        R = row_matrix("rows", self.rows)
        V = motion.velocity[..., 0, :]
        if _aligned(self.reference, reference):
            return np.zeros((*V.shape[:-1], len(R)))
        turning = np.concatenate([-np.cross(V[..., 3:], V[..., :3]), np.zeros_like(V[..., 3:])], axis=-1)
        return _turned(motion.rotation[..., 0, :, :], turning) @ R.T


@dataclass(frozen=True, eq=False, repr=False)
class RelativeTask(FramesTask):
    """Task on the motion of frame `second` relative to frame `first`, as seen by an observer who rotates with `first`.

    Let p_1 and w_1 be the position and the angular velocity of `first`, and p_2 and w_2 those of `second`. Let R be the
    matrix (r, 6) that the argument `rows` selects. The task velocity is then
    xdot = R (pdot_2 - pdot_1 - w_1 x (p_2 - p_1); w_2 - w_1).

    Parameters
    ----------
    first, second : str
        Names of the frames on which the task depends.
    rows : array_like or str, optional
        "linear", "angular", "all", or (r, 6) rows.
    reference : str, optional
        Axes: "local_world_aligned", or "local" for the axes of `first`. By default the reference passed to
        `treesim.operational_space`. In "local" axes, the first three rows are the time derivative of the coordinates of
        `second` in `first`.

    Notes
    -----
    The acceleration xddot is the time derivative of the components of xdot. In the axes of `first`, it includes
    Coriolis and centrifugal terms.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> task = treesim.RelativeTask("forearm_link", "ee_link", rows="angular")
    >>> treesim.operational_space(robot, np.full(6, 0.5), np.zeros(6), task)  # three wrist joints
    <OperationalSpace of 'ur5': 3 rows, rank 3, nv 6>
    """

    first: str
    second: str
    _: KW_ONLY
    rows: Rows = "all"
    reference: Reference | None = None

    def __post_init__(self) -> None:
        _check(self, "first", "second")

    def __repr__(self) -> str:
        ends = f"{self.second!r} seen from {self.first!r}"
        return f"<RelativeTask of {ends}: {selection(self.rows)}{_axes(self.reference)}>"

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of the frames on which the task depends."""
        return (self.first, self.second)

    @property
    def count(self) -> int:
        """Number of rows of the task."""
        return len(row_matrix("rows", self.rows))

    def combination(self, motion: FrameMotion, reference: Reference) -> np.ndarray:
        """Return the matrix T that maps the velocities of both frames in world axes to the task velocity xdot.

        Parameters
        ----------
        motion, reference
            As in `FramesTask.combination`.

        Returns
        -------
        numpy.ndarray
            (..., r, 12) matrix T.
        """
        arm = motion.position[..., 1, :] - motion.position[..., 0, :]
        T = np.zeros((*arm.shape[:-1], 6, 12))
        T[..., :, :6], T[..., :, 6:] = -np.eye(6), np.eye(6)
        T[..., :3, 3:6] = cross_matrix(arm)  # - w_1 x arm = arm x w_1
        if not _aligned(self.reference, reference):
            T = _turn_of_both(motion.rotation[..., 0, :, :]) @ T
        return row_matrix("rows", self.rows) @ T

    def velocity_terms(self, motion: FrameMotion, reference: Reference) -> np.ndarray:
        """Return the velocity terms of xddot: -w_1 x (pdot_2 - pdot_1), and in "local" axes also -w_1 x xdot.

        Parameters
        ----------
        motion, reference
            As in `FramesTask.velocity_terms`.

        Returns
        -------
        numpy.ndarray
            (..., r) velocity terms.
        """
        V1, V2 = motion.velocity[..., 0, :], motion.velocity[..., 1, :]
        w, apart = V1[..., 3:], V2[..., :3] - V1[..., :3]
        terms = np.concatenate([-np.cross(w, apart), np.zeros_like(w)], axis=-1)
        if not _aligned(self.reference, reference):
            seen = apart - np.cross(w, motion.position[..., 1, :] - motion.position[..., 0, :])
            turning = [-np.cross(w, seen), -np.cross(w, V2[..., 3:] - w)]
            terms = _turned(motion.rotation[..., 0, :, :], terms + np.concatenate(turning, axis=-1))
        return terms @ row_matrix("rows", self.rows).T


@dataclass(frozen=True, eq=False, repr=False)
class CenterOfMassTask(ReprMixin):
    """Task on the velocity of the robot's centre of mass, in world axes.

    Parameters
    ----------
    rows : array_like or str, optional
        "all", or (r, 3) rows.

    Examples
    --------
    >>> treesim.CenterOfMassTask([[1, 0, 0], [0, 1, 0]])  # horizontal motion only
    <CenterOfMassTask: 2 rows>
    """

    rows: Literal["all"] | ArrayLike | None = "all"

    def __post_init__(self) -> None:
        _check(self, width=3)

    def __repr__(self) -> str:
        return f"<CenterOfMassTask: {selection(self.rows)}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [("rows", self.rows), ("reference", "local_world_aligned")]

    @property
    def matrix(self) -> np.ndarray:
        """Matrix (r, 3) that maps the velocity of the centre of mass to the task velocity."""
        return row_matrix("rows", self.rows, 3)

    @property
    def count(self) -> int:
        """Number of rows of the task."""
        return len(self.matrix)


Task: TypeAlias = str | FramesTask | CenterOfMassTask
