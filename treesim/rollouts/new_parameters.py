"""Model parameters of some states of a stepper that are replaced between steps."""

from __future__ import annotations

import numpy as np

from ..dynamics.physics import Parameters
from ..errors import ArgumentError, UnsupportedError, listed, quoted
from ..states.physics import INERTIAL
from .arguments import Method
from .parameters import Physics, given_fields, physics_of_rollouts

CONSTANT = ("gravity", "lower", "upper")  # starts and readings of states depend on them, too


def new_parameters(
    method: Method, physics: Physics | None, model_parameters: Parameters, count: int
) -> dict[str, np.ndarray]:
    """Return the numbers of `count` states for `Physics.put`, from model parameters that replace those of a stepper.

    Raises ArgumentError for other fields, bodies or joints than those of the stepper, or another number of states;
    UnsupportedError for fields that cannot be replaced.
    """
    fields = given_fields(method.world, model_parameters, method.options.integrator)
    known = {} if physics is None else physics.fields
    places, wanted = ({name: found.which.tolist() for name, found in of.items()} for of in (fields, known))
    if physics is None or places != wanted:
        names, needed = (listed(list(of)) or "none" for of in (places, wanted))
        raise ArgumentError(
            f"model_parameters must be those of the stepper, of the same links and joints ({needed}), got {names}"
        )
    for name in fields:
        if name in CONSTANT or (name in INERTIAL and method.world.sensors):
            why = " in a world with sensors" * (name not in CONSTANT)
            raise UnsupportedError(f"model_parameters[{quoted(name)}] cannot be replaced{why}: leave it to the stepper")
    new = physics_of_rollouts(method, fields)
    assert new is not None
    if new.counts - {count}:
        raise ArgumentError(f"model_parameters is for {sorted(new.counts)} states, but {count} are set")
    for name, (at, _) in new.tables.items():
        if not np.array_equal(at, physics.tables[name].places):
            raise ArgumentError("model_parameters must be 0 or infinite where those of the stepper are")
    return {name: np.broadcast_to(x, (count, x.shape[-1])) for name, x in new.numbers.items()}
