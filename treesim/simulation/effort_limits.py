"""Limits of forces with implicit gains: mean forces of steps, and controls that keep them within their limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..dynamics.tables import constants_of
from ..engine.call.batched import BatchedTables
from ..engine.call.bound_entry import BoundEntry
from ..engine.call.generic import bound_call
from ..kernels.stepping.mean_force import mean_forces_entry, put_at_limits, rows_beyond
from ..kernels.stepping.step import ON_LINE, ROUNDING, SATURATED, Settings
from ..model.tree import Tree
from ..states.states import mimic_constants

if TYPE_CHECKING:
    from .step import StepCode
    from .step_result import StepResult

ON_LIMIT = 1e-9  # relative distance from a torque-speed line within which mean forces are on it
REPEATS = 4  # of a step, each with more forces at their limits
AT_LIMIT = np.array([0.0, SATURATED, -SATURATED, ON_LINE, -ON_LINE])  # control, by number of the limit


def at_limit(code: StepCode, q: np.ndarray, v: np.ndarray, result: StepResult) -> np.ndarray:
    """Return whether the forces (..., nv) of a step from (q, v) are at their effort limits or torque-speed lines.

    The speed on the line is that at which the force acts: in explicit integrators of several stages, the mean one.
    """
    robot, rule = code.robot, code.rule
    columns = code.settings.columns[:, robot.kept()[1]]
    s = Settings(float(code.settings.table[0]), *columns)
    mean = robot.difference(q, result.q) / s.dt
    if rule.implicit:
        ahead = v + s.theta * (2 * (mean - v) if code.has_rows else result.v - v)
    else:
        ahead = mean if rule.stages > 1 else v
    stall, slope = code.settings.lines(robot, v if rule.implicit else ahead)
    size, on_line = np.abs(result.force), np.abs(np.abs(result.force + slope * ahead) - stall)
    found: np.ndarray = (size >= (1 - ROUNDING) * s.effort_limit) | ((slope > 0) & (on_line <= ON_LIMIT * stall))
    return found


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


class BoundMeans(NamedTuple):
    """Computation of the mean forces of a batch, which writes `forces`."""

    compute: Callable[[], int]
    forces: MeanForces


class BoundLimits:
    """Calls of a batch whose forces are kept within their limits, in the same arrays.

    means(): compute the mean forces `forces`. find(): write the indices of states with forces beyond their limits to
    rows (count,), and return their number. saturate(): set the controls (count, nv) of forces beyond their limits.
    """

    def __init__(self, means: BoundMeans, control: np.ndarray, rows: np.ndarray) -> None:
        self.means, self.forces = means
        beyond = self.forces.beyond.reshape(-1)
        self.find = bound_call(rows_beyond, beyond, rows)
        self.saturate = bound_call(put_at_limits, beyond, AT_LIMIT, control.reshape(-1))


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
        compute, found = self.bound_to(given, batched)
        compute()
        return MeanForces(*(x.reshape(v.shape) for x in found))

    def bound_to(self, given: Sequence[np.ndarray], batched: BatchedTables | None) -> BoundMeans:
        """Return the computation of the mean forces of many steps from the present numbers of arrays.

        given (count, n): q, v, q_new, v_new, and forces at the start.
        """
        entry, constants, inputs = self.bound.entry, self.constants, [*given]
        if batched is not None:
            entry, constants = batched.taken_by(entry, constants, 7, 5)
            inputs.append(np.ascontiguousarray(batched.numbers))
        found = MeanForces(*np.empty((2, *given[1].shape)))
        return BoundMeans(bound_call(entry, *constants, *(x.reshape(-1) for x in (*inputs, *found))), found)
