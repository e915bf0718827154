"""Masses, inertias, rotors and gravity of their own for the states of a batch, as functions of dynamics take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from ..errors import ArgumentError, UnsupportedError
from ..model.tree import Tree
from ..states.physics import OF_ROBOT, Numbers, given_physics, robot_numbers
from .base import check_supported, is_one_kernel

Parameters = Mapping[str, ArrayLike | Mapping[str, ArrayLike]]  # as users give them
OwnPhysics = Parameters | Numbers  # or as tables hold them


def physics_of(
    robot: Tree, parameters_of: OwnPhysics | None, what: str, gravity: Any = None, armature: Any = None
) -> Numbers | None:
    """Return what `parameters_of` puts into the robot's table, None where nothing is given.

    gravity, armature: those for all states, which cannot be given as well. Raises what `given_physics` raises.
    """
    if parameters_of is None or isinstance(parameters_of, Numbers):
        return parameters_of
    fields = given_physics(robot, parameters_of, OF_ROBOT, what)
    for label, value in (("gravity", gravity), ("armature", armature)):
        if value is not None and label in fields:
            raise ArgumentError(f"{label} is given twice: as {label}= and in parameters_of")
    return robot_numbers(robot, fields) if fields else None


def check_physics_of_backend(solver: Any, robot: Tree, parameters_of: OwnPhysics) -> None:
    """Raise UnsupportedError, naming it, for a backend that cannot take physics of each state's own, or no rotors."""
    if not is_one_kernel(solver, robot):
        raise UnsupportedError(
            f"backend {solver.name!r} takes no parameters_of: it is no kernel that reads the robot's table; take 'aba'"
        )
    if isinstance(parameters_of, Numbers) or "armature" in parameters_of:
        check_supported(solver, robot, 1.0)
