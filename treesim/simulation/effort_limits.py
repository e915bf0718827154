"""Limits of forces with implicit gains: mean forces of steps, and controls that keep them within their limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..dynamics.tables import constants_of
from ..engine.call.batched import BatchedTables
from ..engine.call.bound_entry import BoundEntry
from ..engine.call.generic import bound_call
from ..kernels.stepping.mean_force import mean_forces_entry
from ..kernels.stepping.step import ON_LINE, SATURATED
from ..model.tree import Tree
from ..states.states import mimic_constants

if TYPE_CHECKING:
    from .step_result import StepResult

REPEATS = 4  # of a step, each with more forces at their limits
AT_LIMIT = np.array([0.0, SATURATED, -SATURATED, ON_LINE, -ON_LINE])  # control, by number of the limit


class MeanForces(NamedTuple):
    """Mean forces of the controls in a step (..., nv) [N m, N], and which limit each is beyond (see `mean_force`)."""

    mean: np.ndarray
    beyond: np.ndarray

    def saturated(self, control: np.ndarray) -> np.ndarray | None:
        """Return controls that set forces beyond their limits to them; None if there are none.

        control (..., nv + n): may end with a table of external forces.
        """
        beyond = self.beyond > 0
        if not beyond.any():
            return None
        changed = control.copy()
        forces = changed[..., : self.mean.shape[-1]]
        forces[beyond] = AT_LIMIT[self.beyond[beyond].astype(int)]
        return changed


class EffortLimits:
    """Computation of the mean forces in steps with implicit gains.

    settings: table of the steps, which may change. rows: whether steps have constraint impulses but no contact solve.
    actuators: whether some joints have actuators.
    """

    def __init__(
        self, robot: Tree, settings: np.ndarray, gravity: np.ndarray | None, rows: bool, actuators: bool
    ) -> None:
        q, v = (robot.nq,), (robot.nv,)
        entry = mean_forces_entry(robot.mimic_map is not None, rows, actuators)
        self.constants = *mimic_constants(robot, constants_of(robot, gravity)), settings
        self.bound = BoundEntry(entry, self.constants, (q, v, q, v, v), (v, v), engine="generic")

    def of(self, q: np.ndarray, v: np.ndarray, result: StepResult, batched: BatchedTables | None = None) -> MeanForces:
        """Return the mean forces of steps from (q, v); result.force: those at the start. batched: own settings."""
        given = [np.array(x, float, order="C", ndmin=2) for x in (q, v, result.q, result.v, result.force)]
        return MeanForces(*(x.reshape(v.shape) for x in self.bound_to(given, batched)()))

    def bound_to(self, given: Sequence[np.ndarray], batched: BatchedTables | None) -> Callable[[], MeanForces]:
        """Return the function that computes the mean forces of many steps from the present numbers of arrays.

        given (count, n): q, v, q_new, v_new, and forces at the start. Results are always in the same memory.
        """
        entry, constants, inputs = self.bound.entry, self.constants, [*given]
        if batched is not None:
            entry, constants = batched.taken_by(entry, constants, 7, 5)
            inputs.append(np.ascontiguousarray(batched.numbers))
        found = MeanForces(*np.empty((2, *given[1].shape)))
        call = bound_call(entry, *constants, *(x.reshape(-1) for x in (*inputs, *found)))

        def run() -> MeanForces:
            call()
            return found

        return run
