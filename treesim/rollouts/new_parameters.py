"""Model parameters of some states of a stepper that are replaced between steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dynamics.physics import Parameters
from ..errors import ArgumentError, UnsupportedError, listed, quoted
from ..states.physics import INERTIAL, Given
from .arguments import Method
from .parameters import Physics, given_fields, physics_of_rollouts

CONSTANT = ("gravity", "lower", "upper")  # starts and readings of states depend on them, too


def new_parameters(
    method: Method, physics: Physics | None, rows: Any, model_parameters: Parameters
) -> list[np.ndarray]:
    """Return the arrays of some states for `Physics.put`, with model parameters that replace those of a stepper.

    Fields that are not given stay as they are. Raises ArgumentError for other fields, bodies or joints than those of
    the stepper, or another number of states; UnsupportedError for fields that cannot be replaced.
    """
    given = given_fields(method.world, model_parameters, method.options.integrator)
    known = {} if physics is None else physics.fields
    for name, field in given.items():
        if physics is None or name not in known or not np.array_equal(field.which, known[name].which):
            raise ArgumentError(
                f"model_parameters must be those of the stepper ({listed(list(known)) or 'none'}), of the same links "
                f"and joints; {quoted(name)} is not"
            )
        if name in CONSTANT or (name in INERTIAL and method.world.sensors):
            why = " in a world with sensors" * (name not in CONSTANT)
            raise UnsupportedError(f"model_parameters[{quoted(name)}] cannot be replaced{why}: leave it to the stepper")
    if physics is None or not given:
        return [] if physics is None else [x[rows] for x in physics.arrays]
    old = {name: Given(field.which, field.values[rows]) for name, field in known.items()}
    count = len(next(iter(old.values())).values)
    new = physics_of_rollouts(method, old | given)
    assert new is not None
    if new.counts - {count}:
        raise ArgumentError(f"model_parameters is for {sorted(new.counts)} states, but {count} are set")
    for name, (places, _) in new.tables.items():
        if not np.array_equal(places, physics.tables[name].places):
            raise ArgumentError("model_parameters must be 0 or infinite where those of the stepper are")
    return new.of_each(count).arrays
