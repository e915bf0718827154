"""Gradients of rollouts in the fields of model parameters, from those in the numbers of tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import UnsupportedError, quoted
from ..kernels.stepping.step import Settings
from ..states.physics import OF_ROBOT, Given, field_gradient, robot_numbers
from .actuator_parameters import OF_ACTUATORS
from .arguments import Method
from .parameters import FIELDS, OF_CONTACT, Physics

FRICTION = "ground_friction"
THETA = Settings._fields.index("theta") - 1


def refuse_fields(method: Method, physics: Physics | None) -> None:
    """Raise UnsupportedError for model parameters in which steps have no derivatives."""
    if physics is None:
        return
    for name in physics.fields:
        if (name in OF_CONTACT and name != FRICTION) or name in OF_ACTUATORS:
            raise UnsupportedError(f"model_parameters[{quoted(name)}]: rollouts have no gradients in it: leave it out")
    if FRICTION in physics.fields and method.world.touching.counts.shapes:
        raise UnsupportedError(
            f"model_parameters[{quoted(FRICTION)}]: rollouts of many free bodies have no gradients in it: leave it out"
        )
    places, values = physics.tables["settings"]
    of_theta = (places - 1) // method.world.robot.spanning.nv == THETA
    between = (values[..., of_theta] > method.rule.theta) & (values[..., of_theta] < 1)
    if method.rule.implicit and between.any():
        raise UnsupportedError(
            "joints are so stiff that the implicitness of their gains and damping depends on model_parameters, in "
            f"which {method.options.integrator!r} has no derivatives: take semi-implicit Euler, or more substeps"
        )


def in_fields(
    method: Method, physics: Physics | None, given: Mapping[str, Any] | None, gradient: np.ndarray
) -> dict[str, Any]:
    """Return the gradient in each given field, from that (B, m) in the numbers of `BatchedPlaces`.

    given: fields as the caller gave them.
    """
    if physics is None or given is None:
        return {}
    robot, fields = method.world.robot, physics.fields
    start, found = 0, dict[str, np.ndarray]()
    own = {name: field for name, field in fields.items() if name not in OF_ROBOT and name != FRICTION}
    for name, field in own.items():
        found[name], start = gradient[:, start : start + field.which.size], start + field.which.size
    start = physics.tables["settings"].places.size
    for name, field in ((name, field) for name, field in fields.items() if name in OF_ROBOT):
        size = robot_numbers(robot, {name: field}).places.size
        found[name] = field_gradient(robot, name, field, gradient[:, start : start + size])
        start += size
    if FRICTION in fields:
        found[FRICTION] = gradient[:, start:].sum(axis=1, keepdims=True)
    return {name: _as_given(method, name, fields[name], given[name], x) for name, x in found.items()}


def _as_given(method: Method, name: str, field: Given, given: Any, gradient: np.ndarray) -> Any:
    """Return a gradient (B, n, ...) as an array, or by body or joint if the field was given so."""
    if not isinstance(given, Mapping):
        return gradient[:, 0] if FIELDS[name].of == "world" else gradient
    robot, start, found = method.world.robot, 0, {}
    for key in given:
        joint = robot.v_index[key] if FIELDS[name].of == "joints" else None
        size = 1 if joint is None else joint.stop - joint.start
        part = gradient[:, start : start + size]
        found[key], start = part[:, 0] if size == 1 else part, start + size
    return found
