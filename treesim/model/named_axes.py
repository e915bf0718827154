"""Arguments of a robot's coordinates and degrees of freedom, whose labels are put into the robot's order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..validation.arrays import Argument
from ..validation.labels import NamedAxis
from .conventions import warn_of_conventions
from .coordinates import configuration_names, velocity_names

if TYPE_CHECKING:
    from .tree import Tree


def coordinate_axis(robot: Tree) -> NamedAxis:
    """Return the names along an axis of the coordinates (nq) of a robot."""
    return coordinates_of(*_joints(robot))


def velocity_axis(robot: Tree) -> NamedAxis:
    """Return the names along an axis of the degrees of freedom (nv) of a robot, of velocities as of forces."""
    names = velocity_names(*_joints(robot))
    return _degrees_of_freedom(names, robot.dof_names)


def body_axis(robot: Tree) -> NamedAxis:
    """Return the names along an axis of the bodies (N) of a robot."""
    return NamedAxis("body", (robot.body_names,))


def coordinates_of(joints: Sequence[str], types: Sequence[str]) -> NamedAxis:
    """Return the names along an axis of the coordinates of joints with names and types."""
    return NamedAxis("coordinate", (configuration_names(joints, types),), ("q.",))


def velocities_of(joints: Sequence[str], types: Sequence[str]) -> NamedAxis:
    """Return the names along an axis of the degrees of freedom of joints with names and types."""
    return _degrees_of_freedom(velocity_names(joints, types))


def _degrees_of_freedom(*names: tuple[str, ...]) -> NamedAxis:
    return NamedAxis("degree of freedom", names, ("v.", "tau."))


def _joints(robot: Tree) -> tuple[list[str], list[str]]:
    moving = [body.joint for body in robot.bodies if body.joint.mimic is None]
    return [joint.name for joint in moving], [joint.type for joint in moving]


COORDINATES, VELOCITIES = (coordinate_axis,), (velocity_axis,)
AXES = {"nq": coordinate_axis, "nv": velocity_axis, "N": body_axis}  # by the symbols of shapes


def coordinate_argument(robot: Tree, label: str, value: Any, optional: bool = False) -> Argument:
    """Return an argument of configurations (..., nq); lengths of quaternions are not checked."""
    return Argument(label, value, (robot.nq,), optional, None, COORDINATES, robot, warn_of_conventions)


def velocity_argument(robot: Tree, label: str, value: Any, optional: bool = False) -> Argument:
    """Return an argument of velocities, accelerations or forces (..., nv)."""
    return Argument(label, value, (robot.nv,), optional, None, VELOCITIES, robot)


def wrenches_argument(robot: Tree, value: Any) -> Argument:
    """Return the argument f_ext of wrenches (..., N, 6) on bodies."""
    return Argument("f_ext", value, (robot.n_bodies, 6), False, None, (body_axis, None), robot)
