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
ModelParameters = Parameters | Numbers  # or as tables hold them


def physics_of(
    robot: Tree, model_parameters: ModelParameters | None, what: str, gravity: Any = None, armature: Any = None
) -> Numbers | None:
    """Return what `model_parameters` puts into the robot's table, None where nothing is given.

    gravity, armature: those for all states, which cannot be given as well. Raises what `given_physics` raises.
    """
    if model_parameters is None or isinstance(model_parameters, Numbers):
        return model_parameters
    fields = given_physics(robot, model_parameters, OF_ROBOT, what)
    for label, value in (("gravity", gravity), ("armature", armature)):
        if value is not None and label in fields:
            raise ArgumentError(f"{label} is given twice: as {label}= and in model_parameters")
    return robot_numbers(robot, fields) if fields else None


def check_physics_of_backend(solver: Any, robot: Tree, model_parameters: ModelParameters) -> None:
    """Raise UnsupportedError, naming it, for a backend that cannot take physics of each state's own, or no rotors."""
    if not is_one_kernel(solver, robot):
        raise UnsupportedError(
            f"backend {solver.name!r} takes no model_parameters, as no kernel reads them: take 'aba'"
        )
    if isinstance(model_parameters, Numbers) or "armature" in model_parameters:
        check_supported(solver, robot, 1.0)
