"""Constraints on frames, and the flat tables that kernels read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ArgumentError, NonFiniteError, plain_text, quoted
from ...model.loops import Loop
from ...model.tree import Tree
from ...states.arguments import checked_robot
from ...system.display import ReprMixin, selection
from ...types import Reference
from ...validation.arrays import Argument, coerce
from ...validation.values import checked_parts, checked_text, finite_or_nan, short_repr
from ..operational.frames import frame_pose, frame_velocity, in_world_axes, reference_code
from ..operational.rows import ROWS, Rows, row_matrix
from ..tables import frame_tables


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class _Constraint(ReprMixin):
    """Fields and representation of both kinds of constraint."""

    rows: Rows = "all"
    target: ArrayLike | None = None
    reference: Reference = "local_world_aligned"
    damping: float = 0.0
    stiffness: float = 0.0

    def _what(self) -> str:
        state = "held" if self.target is None else "driven"
        return f"{selection(self.rows)} {state}, along {self.reference!r}"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        labels = ("rows", "target", "damping", "stiffness")
        return [(label, getattr(self, label)) for label in labels]


@dataclass(frozen=True, eq=False, repr=False)
class FrameConstraint(_Constraint):
    """A constraint on the acceleration of a frame. By default, all six components of the acceleration are zero.

    Parameters
    ----------
    frame : str
        Name of the frame.
    rows : array_like or str, optional
        Constrained components: "linear" (a point contact), "angular", "all", or (r, 6) rows that multiply the frame's
        velocity, which is ordered as the result of `frame_velocity`.
    target : array_like, optional
        (r,) or (..., r) time derivative of the constrained velocity [m/s^2, rad/s^2]. Zero by default. In world axes
        the target is the classical acceleration of the origin; in the frame's own axes it is the spatial acceleration.
    reference : str
        Axes of the velocity: "local_world_aligned", or "local" for the frame's own.
    damping : float
        Factor of the velocity in Baumgarte's stabilisation [1/s].
    stiffness : float
        Factor of the displacement in Baumgarte's stabilisation [1/s^2]. The target becomes target - damping * velocity
        - stiffness * (displacement from `pose`).
    pose : array_like, optional
        (4, 4) desired pose of the frame in the world; required if `stiffness` is not zero.

    Raises
    ------
    ArgumentError
        If an argument has another type or shape.
    UnknownNameError
        If the reference is unknown.
    NonFiniteError
        If a number is not finite.

    Examples
    --------
    >>> treesim.FrameConstraint("ee_link", rows="linear", target=[0, 0, 1], damping=10)
    <FrameConstraint on 'ee_link': rows 'linear' driven, along 'local_world_aligned'>
    """

    frame: str
    _: KW_ONLY
    pose: ArrayLike | None = None

    def __post_init__(self) -> None:
        _check(self, "frame")
        if self.pose is not None:
            _pose(self)

    def __repr__(self) -> str:
        return f"<FrameConstraint on {self.frame!r}: {self._what()}>"

    @property
    def label(self) -> str:
        """Name of the constraint in messages."""
        return f"the constraint on frame {quoted(self.frame)}"

    @property
    def ends(self) -> tuple[str, None]:
        """The two ends of the constraint: the name of the constrained frame, and None for the world."""
        return self.frame, None


@dataclass(frozen=True, eq=False, repr=False)
class LoopConstraint(_Constraint):
    """A constraint on the relative acceleration of two frames. By default, the relative acceleration is zero.

    The argument `rows` multiplies the relative velocity: velocity of the first frame minus velocity of the second
    frame. The argument `target` is the required time derivative of this product.

    Parameters
    ----------
    first, second : str
        Names of the frames. Constraint forces are the forces on the first frame. The opposite forces act on the second
        frame.
    rows, target
        As in `FrameConstraint`.
    reference : str
        Axes of the velocity: "local_world_aligned", or "local" for the axes of the first frame.
    damping : float
        As in `FrameConstraint`.
    stiffness : float
        Factor in Baumgarte's stabilisation [1/s^2] of the displacement of the first frame from the second frame.
    name : str
        Name of the constraint in messages, where it precedes the names of the frames.

    Examples
    --------
    >>> treesim.LoopConstraint("left_hand", "right_hand", reference="local")
    <LoopConstraint between 'left_hand' and 'right_hand': all rows held, along 'local'>
    """

    first: str
    second: str
    _: KW_ONLY
    name: str = ""

    def __post_init__(self) -> None:
        _check(self, "first", "second", "name")

    def __repr__(self) -> str:
        return f"<LoopConstraint between {self.first!r} and {self.second!r}: {self._what()}>"

    @property
    def label(self) -> str:
        """Name of the constraint in messages."""
        own = f"{quoted(self.name)} " if self.name else ""
        return f"the loop {own}between frames {quoted(self.first)} and {quoted(self.second)}"

    @property
    def ends(self) -> tuple[str, str]:
        """Names of the first and the second frame of the constraint."""
        return self.first, self.second


Constraint = FrameConstraint | LoopConstraint


def _check(constraint: Constraint, *names: str) -> None:
    """Raise the errors of a constraint that do not depend on the robot."""
    for name in names:
        own = checked_text(f"{name} of a {type(constraint).__name__}", getattr(constraint, name))
        object.__setattr__(constraint, name, own)
    reference_code(constraint.reference)
    object.__setattr__(constraint, "reference", plain_text(constraint.reference))
    rows = _rows(constraint)
    for label in ("damping", "stiffness"):
        given = getattr(constraint, label)
        if math.isnan(finite_or_nan(given)):
            raise NonFiniteError(f"{label} of {constraint.label} must be a finite number, got {short_repr(given)}")
        object.__setattr__(constraint, label, finite_or_nan(given))
    if constraint.target is not None:
        coerce(Argument(f"target of {constraint.label}", constraint.target, (len(rows),)))


def loop_constraints(robot: Tree) -> tuple[LoopConstraint, ...]:
    """Return the constraints that close the robot's own loops (`Tree.loops`).

    Parameters
    ----------
    robot : Tree
        Robot.

    Returns
    -------
    tuple of LoopConstraint
        One constraint for each loop.

    Raises
    ------
    ArgumentError
        If `robot` is not a Tree.

    Examples
    --------
    >>> ends = [treesim.Frame(f"end{i}", i) for i in (1, 2)]
    >>> bars = [treesim.Body(f"bar{i}", 0, treesim.Joint(f"hinge{i}", "revolute")) for i in (1, 2)]
    >>> robot = treesim.Tree("scissors", bodies=bars, frames=ends, loops=[treesim.Loop("pin", "end1", "end2")])
    >>> treesim.loop_constraints(robot)
    (<LoopConstraint between 'end1' and 'end2': rows 'linear' held, along 'local_world_aligned'>,)
    """
    return tuple(_closing(loop) for loop in checked_robot(robot).loops)


def _closing(loop: Loop) -> LoopConstraint:
    if loop.type == "spherical":
        return LoopConstraint(loop.first, loop.second, rows="linear", name=loop.name)
    if loop.type == "fixed":
        return LoopConstraint(loop.first, loop.second, name=loop.name)
    across = np.linalg.svd(loop.axis[None])[2][1:]  # two directions that the axis may not turn in
    rows = np.vstack([ROWS["linear"], across @ ROWS["angular"]])
    return LoopConstraint(loop.first, loop.second, rows=rows, reference="local", name=loop.name)


class ConstraintTables(NamedTuple):
    """Flat tables of a set of C constraints.

    layout, geometry: for kernels. start (C + 1,): first row of each constraint. bodies (C, 2): bodies of the two
    frames, 0 = the base. rows (m, 6).
    """

    constraints: tuple[Constraint, ...]
    layout: np.ndarray
    geometry: np.ndarray
    start: np.ndarray
    bodies: np.ndarray
    rows: np.ndarray

    def name_of_row(self, r: int) -> str:
        """Return the name of row r in messages."""
        c = int(np.searchsorted(self.start, r, side="right")) - 1
        return f"row {r - self.start[c]} of {self.constraints[c].label}"


def constraint_tables(robot: Tree, constraints: Sequence[Constraint]) -> ConstraintTables:
    """Return the tables of a set of constraints.

    Raises UnknownNameError (frame, reference), ArgumentError (rows), NonFiniteError (rows), naming the constraint.
    """
    constraints = checked_parts("constraints", constraints, (FrameConstraint, LoopConstraint))
    rows = [_rows(c) for c in constraints]
    bodies, offsets = _ends(robot, [name for c in constraints for name in c.ends])
    start = np.cumsum([0, *(len(R) for R in rows)]).astype(np.int64)
    references = np.array([reference_code(c.reference) for c in constraints], dtype=np.int64)
    layout = np.concatenate([[len(rows)], bodies, start, references]).astype(np.int64)
    R = np.concatenate([np.empty((0, 6)), *rows])
    geometry = np.concatenate([offsets.ravel(), R.ravel()])
    return ConstraintTables(tuple(constraints), layout, geometry, start, bodies.reshape(-1, 2), R)


def _rows(constraint: Constraint) -> np.ndarray:
    rows = row_matrix(f"rows of {constraint.label}", constraint.rows)
    if len(rows) == 0:
        raise ArgumentError(f"rows of {constraint.label} have shape {rows.shape}, but (r, 6) with r >= 1 is needed")
    return rows


def _ends(robot: Tree, names: Sequence[str | None]) -> tuple[np.ndarray, np.ndarray]:
    """Return the bodies (k,) of frames, and their placements (k, 12) there; None is the world."""
    bodies = np.zeros(len(names), dtype=np.int64)
    offsets = np.tile([1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0], (len(names), 1))
    given = [k for k, name in enumerate(names) if name is not None]
    bodies[given], placements = frame_tables(robot, [name for name in names if name is not None])
    offsets[given] = placements.reshape(-1, 12)
    return bodies, offsets


def _finite(label: str, array: np.ndarray) -> np.ndarray:
    if not np.isfinite(array).all():
        raise NonFiniteError(f"{label} hold NaN or infinity")
    return array


def wanted_derivatives(robot: Tree, tables: ConstraintTables, q: ArrayLike, v: ArrayLike) -> np.ndarray:
    """Return the required R d/dt (v_first - v_second) (..., m): targets with stabilisation.

    Raises ArgumentError, NonFiniteError naming the constraint.
    """
    if all(c.target is None and not c.damping and not c.stiffness for c in tables.constraints):
        return np.zeros(len(tables.rows))
    parts = [_wanted(robot, c, tables.rows[a:b], q, v) for c, a, b in
             zip(tables.constraints, tables.start, tables.start[1:], strict=False)]  # fmt: skip
    batch = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    return np.concatenate([np.broadcast_to(part, (*batch, part.shape[-1])) for part in parts], axis=-1)


def _wanted(robot: Tree, constraint: Constraint, R: np.ndarray, q: ArrayLike, v: ArrayLike) -> np.ndarray:
    label = f"target of {constraint.label}"
    target = np.zeros(len(R)) if constraint.target is None else constraint.target
    wanted = _finite(label, coerce(Argument(label, target, (len(R),))))
    if constraint.damping:
        wanted = wanted - constraint.damping * _relative_velocity(robot, constraint, q, v) @ R.T
    if constraint.stiffness:
        gap = _in_axes(robot, constraint, q, displacement(robot, constraint, q))
        wanted = wanted - constraint.stiffness * gap @ R.T
    return wanted


def _relative_velocity(robot: Tree, constraint: Constraint, q: ArrayLike, v: ArrayLike) -> np.ndarray:
    """Return the velocity (..., 6) of the first frame minus that of the second, in the constraint's axes."""
    first, second = constraint.ends
    velocity = frame_velocity(robot, q, v, first)
    if second is not None:
        velocity = velocity - frame_velocity(robot, q, v, second)
    return _in_axes(robot, constraint, q, velocity)


def displacement(robot: Tree, constraint: Constraint, q: ArrayLike) -> np.ndarray:
    """Return the displacement (..., 6) of the first frame from its target pose: translation, rotation vector.

    Both are in world axes.
    """
    from scipy.spatial.transform import Rotation

    first, second = constraint.ends
    found = frame_pose(robot, q, first)
    belongs = frame_pose(robot, q, second) if second is not None else _pose(constraint)
    turn = found[..., :3, :3] @ np.swapaxes(belongs[..., :3, :3], -1, -2)
    vector = Rotation.from_matrix(turn.reshape(-1, 3, 3)).as_rotvec().reshape(*turn.shape[:-2], 3)
    return np.concatenate([found[..., :3, 3] - belongs[..., :3, 3], vector], axis=-1)


def _pose(constraint: Constraint) -> np.ndarray:
    if not isinstance(constraint, FrameConstraint) or constraint.pose is None:
        raise ArgumentError(f"stiffness of {constraint.label} needs a target pose (4, 4)")
    label = f"pose of {constraint.label}"
    return _finite(label, coerce(Argument(label, constraint.pose, (4, 4))))


def _in_axes(robot: Tree, constraint: Constraint, q: ArrayLike, x: np.ndarray) -> np.ndarray:
    """Return x (..., 6), given in world axes, in the constraint's axes."""
    if in_world_axes(constraint.reference):
        return x
    turn = frame_pose(robot, q, constraint.ends[0])[..., :3, :3]
    return np.einsum("...ij,...pi->...pj", turn, x.reshape(*x.shape[:-1], 2, 3)).reshape(x.shape)
