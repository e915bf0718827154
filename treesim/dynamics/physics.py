"""Batched model parameters of dynamics functions: masses, inertias, rotors and gravity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from ..errors import ArgumentError, UnsupportedError
from ..model.tree import Tree
from ..states.physics import OF_ROBOT, Numbers, given_physics, robot_numbers
from ..validation.values import short_repr
from .base import check_supported, is_one_kernel

Parameters = Mapping[str, ArrayLike | Mapping[str, ArrayLike]]  # as users pass them
ModelParameters = Parameters | Numbers  # or as elements of tables


def physics_of(
    robot: Tree, model_parameters: ModelParameters | None, what: str, gravity: Any = None, armature: Any = None
) -> Numbers | None:
    """Return the elements that `model_parameters` sets in the robot's table; None if there are none.

    gravity, armature: arguments for all states, which may not be given twice. Raises the errors of `given_physics`.
    """
    if model_parameters is None or isinstance(model_parameters, Numbers):
        return model_parameters
    if not isinstance(model_parameters, Mapping):
        raise ArgumentError(f"model_parameters must be a dict, got {short_repr(model_parameters)}")
    fields = given_physics(robot, model_parameters, OF_ROBOT, what)
    for label, value in (("gravity", gravity), ("armature", armature)):
        if value is not None and label in fields:
            raise ArgumentError(f"{label} is given twice: as {label}= and in model_parameters")
    return robot_numbers(robot, fields) if fields else None


def check_physics_of_backend(solver: Any, robot: Tree, model_parameters: ModelParameters) -> None:
    """Raise UnsupportedError for a backend that does not support batched model parameters, or armature among them."""
    if not is_one_kernel(solver, robot):
        raise UnsupportedError(f"backend {solver.name!r} does not support model_parameters: use 'aba'")
    if isinstance(model_parameters, Numbers) or (
        isinstance(model_parameters, Mapping) and "armature" in model_parameters
    ):
        check_supported(solver, robot, 1.0)
