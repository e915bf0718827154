"""Options of a step, which simulations, steppers and rollouts share."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from numpy.typing import ArrayLike

from ..contact.base import ContactSolver, chosen_solver
from ..dynamics.base import DynamicsBackend
from ..engine.call.evaluate import check_engine
from ..engine.threads import checked_threads
from ..plugins import DEFAULT_INTEGRATOR
from ..states.arguments import positive_number
from ..types import BackendName, ContactSolverName, Engine, IntegratorName
from ..validation.values import finite_vector


@dataclass(frozen=True, kw_only=True)
class StepOptions:
    """What a step needs, besides the world and the state; the fields are documented as parameters of `Stepper`.

    Raises ArgumentError, UnknownNameError for an invalid dt, gravity, number of threads, engine, or contact solver. The
    other fields are checked for a world, where its steps are compiled.
    """

    dt: float = 1e-3
    integrator: IntegratorName = DEFAULT_INTEGRATOR
    backend: BackendName | DynamicsBackend = "aba"
    engine: Engine = "auto"
    kp: ArrayLike = 0.0
    kd: ArrayLike = 0.0
    gravity: Any = None
    substeps: int | None = None
    threads: int | None = field(default=None, compare=False)  # results do not depend on it
    contact_solver: ContactSolverName | ContactSolver = "pgs"

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("dt", positive_number("dt", self.dt))
        put("threads", checked_threads(self.threads))
        put("gravity", None if self.gravity is None else finite_vector("gravity", self.gravity, 3).copy())
        check_engine(self.engine)
        chosen_solver(self.contact_solver)

    def copied(self, *left_out: str) -> dict[str, Any]:
        """Return the fields by name, except those left out, with copies of gains, whose arrays callers may change."""
        own = {**vars(self), "kp": copy.deepcopy(self.kp), "kd": copy.deepcopy(self.kd)}
        return {name: value for name, value in own.items() if name not in left_out}
