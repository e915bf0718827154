"""Report of a step: its forces, work, status and contact."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..contact.report import ContactReport, mean_of
from ..contact.unsolved import REMEDY, all_solved, is_solved, misses
from ..dynamics.energy import energy
from ..errors import ConvergenceError
from ..kernels.contact.layout import STATE_INFO
from ..kernels.entries.status import FINE, NOT_FINITE
from ..system.display import ReprMixin, arrays
from .effort_limits import at_limit
from .readings import Readings
from .sensor_draws import step_number
from .sensors import Steps, step_readings, steps_of
from .state import State
from .step_result import StepResult
from .step_sequence import results_in

if TYPE_CHECKING:
    from .stepper import Stepper


class Report(ReprMixin):
    """Results of a step of a `Stepper`, except for the new state.

    Each attribute is computed when it is read.

    Attributes
    ----------
    force : ndarray, shape (..., nv)
        Applied forces of the last substep, clipped to the effort limits [N, N m].
    saturated : ndarray of int, shape (..., nv)
        Number of substeps in which the force of each degree of freedom is at a limit.
    control_work : ndarray, shape (...)
        Work of the controls [J].
    passive_work : ndarray, shape (...)
        Work of damping, friction, joint limits and contacts [J].
    status : ndarray of int, shape (...)
        0 for success, 1 if an iteration did not converge, 2 if a number is not finite.
    impulses : ndarray, shape (..., m)
        Impulses of the world's constrained rows [N s, N m s].
    residual : ndarray, shape (..., m)
        Gaps of the constrained rows at the end of the step [m, rad]; for rows that constrain velocities only, the
        remaining velocities [m/s, rad/s].
    contact : ContactReport
        Results of contacts, joint limits and joint friction.
    sensors : mapping of str to ndarray, shape (..., n)
        Readings of the world's sensors by name.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> stepper = treesim.Stepper(robot)
    >>> state, report = stepper.step(stepper.reset())
    >>> report, report.energy.shape
    (<Report: all stepped>, ())
    """

    def __init__(
        self,
        stepper: Stepper,
        before: State,
        control: np.ndarray,
        after: State,
        substeps: Sequence[StepResult] | None,
        worst: int,
    ) -> None:
        self._stepper, self._before, self._control, self._after = stepper, before, control, after
        self._given, self._worst = substeps, worst
        self._on_welds: np.ndarray | None = None  # table (..., W, 21) of external forces on welded links, if read

    @cached_property
    def _substeps(self) -> Sequence[StepResult]:
        return results_in(self._after) if self._given is None else self._given

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_given": self._substeps}  # a pickled state has no block

    @property
    def force(self) -> np.ndarray:
        """Forces (..., nv) of the controls, their means in the step: those that did `control_work` [N, N m].

        Those of gains stay within the effort limits, too. Where a few attempts at a step find no such forces, they are
        beyond their limits, but are those that acted.
        """
        return mean_of([each.force for each in self._substeps])

    @cached_property
    def saturated(self) -> np.ndarray:
        """Number of substeps (..., nv) in which each force is at its effort limit or on its torque-speed line."""
        stepper, before = self._stepper, self._before
        q, v, count = before.q, before.v, np.zeros(before.v.shape, int)
        for each in self._substeps:
            count += at_limit(stepper.code, q, v, each)
            q, v = each.q, each.v
        return count

    @cached_property
    def _work(self) -> np.ndarray:
        work = summed([each.work for each in self._substeps])
        stepper, before = self._stepper, self._before
        motion = stepper.code.motion(before.t, stepper.dt, len(self._substeps))
        if motion is not None:
            moving = motion.work((before.q, before.v), self._substeps, stepper.gravity)
            work = work + np.stack([moving, np.zeros_like(moving)], axis=-1)
        return work

    @property
    def control_work(self) -> np.ndarray:
        """Work of the controls in the step [J], shape (...)."""
        return self._work[..., 0]

    @property
    def passive_work(self) -> np.ndarray:
        """Work of damping, friction, joint limits and contacts during the step [J], shape (...)."""
        return self._work[..., 1]

    @cached_property
    def status(self) -> np.ndarray:
        """Status (...): 0 for success, 1 if an iteration did not converge, 2 if a number is not finite.

        If states are not finite, these have the status 2, and all others 0. If all states are finite, every state has
        the worst status of the batch.
        """
        after = self._after
        failed = np.zeros(after.q.shape[:-1], np.int8)
        if self._worst != FINE:
            finite = np.isfinite(after.q).all(-1) & np.isfinite(after.v).all(-1)
            failed[...] = np.where(finite, FINE, NOT_FINITE) if not finite.all() else self._worst
        return failed

    @property
    def impulses(self) -> np.ndarray:
        """Impulses (..., m) of the world's constrained rows [N s, N m s]."""
        return self._after.impulses

    @property
    def residual(self) -> np.ndarray:
        """Gaps (..., m) of constrained rows after the step [m, rad]; velocities [m/s, rad/s] for rows without gaps."""
        left = self._substeps[-1].constraint_residual
        return self._after.impulses if left is None else left

    @cached_property
    def contact(self) -> ContactReport:
        """Results of contacts, joint limits and joint friction in the step."""
        touching, robot = self._stepper.world.touching, self._stepper.robot
        if self._substeps[-1].solver_info is None:
            return ContactReport.empty(robot, touching, self._after.q.shape[:-1])
        points = None if self._after.q.ndim > 1 else self._contact_points
        return ContactReport(touching, self._substeps, points, self._pair_wrenches)

    def _contact_points(self) -> list[np.ndarray]:
        """Return the contact points of each substep of one state."""
        return self._stepper._contact_points(self._before, self._control)

    def _pair_wrenches(self) -> list[np.ndarray]:
        """Return the wrenches of pairs in each substep, which only the steps of small worlds compute."""
        code = self._stepper.code
        if code.stage is None or code.stage.reports_pairs:
            return [each.pairs for each in self._substeps]
        return self._stepper._pair_wrenches(self._before, self._control)

    @property
    def sensors(self) -> Readings:
        """Readings of the world's sensors in the step, a mapping {sensor: array (..., n)}."""
        stepper, before, after = self._stepper, self._before, self._after
        robot, batch = stepper.robot, after.q.shape[:-1]

        def step() -> Steps:
            moved = before.q, before.v, after.q, after.v, self.force
            external = self._control[..., robot.nv :] if np.shape(self._control)[-1] > robot.nv else None
            wrenches = self.contact.wrench_array, external, self._on_welds
            return steps_of(robot, stepper.gravity, stepper.dt, moved, *wrenches)

        number = step_number(before.t, stepper.dt)
        return step_readings(stepper.world.sensors, robot, step, batch, stepper.errors, before.seed, number)

    @property
    def ok(self) -> bool:
        """True if the step succeeded for all states, and contact was solved for all states."""
        solved = self._substeps[-1].solver_info is None or all_solved(self._substeps)
        return self._worst == FINE and solved

    @property
    def energy(self) -> np.ndarray:
        """Kinetic plus potential energy at the end of the step [J], shape (...). NaN for failed states.

        The energy is computed at the first access. Cost: O(N).
        """
        total, good = np.full(self.status.shape, np.nan), self.status == FINE
        kinetic, potential = energy(
            self._stepper.robot, self._after.q[good], self._after.v[good], gravity=self._stepper.gravity
        )
        total[good] = kinetic + potential
        return total

    def check(self) -> None:
        """Raise the error of the first state whose step failed, if any step failed.

        Raises
        ------
        NonFiniteError
            If the step of a state failed. The dynamics may raise other errors instead.
        ConvergenceError
            If all states were stepped, but contact was not solved in one of them.
        """
        if self.ok:
            return
        if not self.status.any():
            k = int(np.flatnonzero(~is_solved(self.contact.solver_info))[0])
            where = f"state {k}: " if self.status.ndim else ""
            missed = ", ".join(misses(self.contact.solver_info.reshape(-1, STATE_INFO)[k : k + 1]))
            raise ConvergenceError(f"{where}contact was not solved: {missed}: {REMEDY}")
        k = int(np.flatnonzero(self.status)[0])
        state = (np.atleast_2d(x)[k] for x in (self._before.q, self._before.v, self._control))
        error = self._stepper._explain(*state)
        raise type(error)(f"state {k}: {error}") if self.status.ndim else error

    def __repr__(self) -> str:
        failed = int(np.count_nonzero(self.status))
        return f"<Report: {'all stepped' if not failed else f'{failed} not stepped'}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [*arrays(self, "force", "control_work", "passive_work", "status", "impulses", "residual")]


def summed(every: Sequence[np.ndarray]) -> np.ndarray:
    """Return the sum of the parts' results: that of a single part itself."""
    return every[0] if len(every) == 1 else np.asarray(sum(every))
