"""A robot under a controller: what integrators step."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..contact.base import ContactSolver
from ..contact.report import ContactReport
from ..dynamics.base import DynamicsBackend
from ..dynamics.compiled.bound import Dynamics
from ..engine.call.evaluate import Argument, coerce
from ..errors import ArgumentError, NonFiniteError
from ..kernels.entries.status import FINE
from ..model.tree import Tree
from ..states.arguments import short_repr
from ..types import Engine
from .control import Pure, Zero, as_controller, controller_name, in_world_of, is_own
from .step import StepCode, forward_solver
from .step_settings import StepSettings, check_inertia, substeps_of
from .stepper import warn_of_limits
from .world import World, as_world

REAL = np.dtype(np.float64)


class ControllerError(ArgumentError):
    """A controller returned what is no torque, (nv,) real numbers: the message names what came back."""


class NonFiniteTorqueError(ControllerError, NonFiniteError):
    """A controller returned a torque that is not finite: the message names the joint."""


class GivenTorque(NamedTuple):
    """The torque tau (nv,) that a controller returned at time t [s] in the state q (nq,), v (nv,)."""

    t: float
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray

    def with_own_descriptor(self) -> GivenTorque:
        """Return the same, out of a pickle, with NumPy's own descriptor, which compiled code asks for."""
        return self._replace(tau=self.tau.astype(float))

    def is_at(self, t: float, q: np.ndarray, v: np.ndarray) -> bool:
        """Return whether this is the torque of time t [s] and state q, v."""
        return t == self.t and np.array_equal(q, self.q) and np.array_equal(v, self.v)


class Progress(NamedTuple):
    """Steps taken so far: impulses (R,) of the last one, None at first; work (2,) of the controller, and of all that
    resists [J]; contact: the last step's report; latest: the last torque of a controller that may have a state."""

    impulses: np.ndarray | None
    work: np.ndarray
    contact: ContactReport
    latest: GivenTorque | None = None


class ControlledRobot:
    """The system that integrators step: forward dynamics with the controller's torque, damping and friction."""

    def __init__(
        self,
        robot: Tree | World,
        backend: str | DynamicsBackend,
        controller: Any,
        gravity: np.ndarray | None,
        engine: Engine,
        substeps: int | None = None,
        contact_solver: str | ContactSolver = "pgs",
    ) -> None:
        self.contact_solver, self.world = contact_solver, as_world(robot)
        self.impulses: np.ndarray | None = None  # of contact in the step before; no step writes into this array
        self.robot = robot = self.world.robot
        self.contact = ContactReport.empty(robot, self.world.touching, ())
        self.controller = in_world_of(as_controller(robot, controller), self.world.alone, robot)
        self.applied: np.ndarray | None = None  # torque at the start of the current step
        self.failure: Exception | None = None  # what the controller itself raised
        self.latest: GivenTorque | None = None  # of a controller that may have a state
        self.repeated: GivenTorque | None = None  # the next torque, if it is that of this state
        self._own = is_own(self.controller)
        self._shape, self._limit = (robot.nv,), robot.effort_limit
        if controller is not None and not isinstance(controller, Zero):
            warn_of_limits(robot, stacklevel=5)
        self._bound = Dynamics(robot, backend=backend, engine=engine, gravity=gravity)
        self.backend, self.substeps, self._gravity, self._engine = backend, substeps, gravity, engine
        self.work = np.zeros(2)  # of the controller, and of all that resists, so far [J]
        self._step: tuple[tuple[str, float], tuple[StepCode, int]] | None = None
        self._zero = np.zeros(robot.nv)
        self._passive = bool(robot.damping.any() or robot.friction.any())
        self._stiffness = self._gains_of("stiffness")
        self._gain = self._gains_of("damping")
        has_gains = bool(self._stiffness.any() or self._gain.any())
        self._pure = self.controller if isinstance(self.controller, Pure) else None
        self._follows = has_gains or self._pure is not None  # whether the torque changes within a step

    def _gains_of(self, label: str) -> np.ndarray:
        gains = coerce(Argument(f"the controller's {label}", getattr(self.controller, label, self._zero), ()))
        if gains.shape not in ((), self._shape) or not np.isfinite(gains).all():
            raise ArgumentError(
                f"the controller's {label} must be {self.robot.nv} finite numbers (nv), got {short_repr(gains)}"
            )
        return gains

    def torque(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the controller's torque (nv,), within the effort limits.

        Raises ControllerError if that is not (nv,) real numbers, NonFiniteTorqueError naming the joint if one is not
        finite, and what the controller raises.
        """
        tau = self._given(t, q, v) if self._own else self._given_once(t, q, v)
        if self.applied is None:
            self.applied = tau
        return tau

    def _given_once(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The torque of a controller that may have a state, which is not called again for the state at which a run goes
        on from another one's end."""
        known, self.repeated = self.repeated, None
        if known is None or not known.is_at(t, q, v):
            known = GivenTorque(t, q, v, self._given(t, np.array(q), np.array(v)))
        self.latest = known
        return known.tau

    def _given(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The controller's torque (nv,), checked, within the effort limits."""
        try:
            given = self.controller.torque(t, q, v)
        except Exception as error:
            self.failure = error
            raise
        if type(given) is np.ndarray and given.dtype is REAL and given.shape == self._shape:
            tau = given.copy()
        else:
            tau = self._converted(given)
        if not all(np.isfinite(tau).tolist()):  # of a few numbers, quicker than their array's own
            raise self._non_finite(tau)
        limited: np.ndarray = np.maximum(np.minimum(tau, self._limit), -self._limit)
        return limited

    def _converted(self, given: Any) -> np.ndarray:
        """What a controller returned as numbers, if it is any."""
        nv, name = self.robot.nv, controller_name(self.controller)
        masked = np.ma.is_masked(given)
        try:
            what = np.asarray(given)
        except ValueError:  # lists of unequal lengths
            what = np.empty(0, object)
        if masked or what.dtype.kind not in "fiu":
            came = "an array with masked entries" if masked else short_repr(given)
            raise ControllerError(f"the controller {name!r} returned {came}, but {nv} real numbers (nv) are needed")
        if what.shape != self._shape:
            free = f", {nv - self.world.alone.nv} of them of free bodies" if self.world.bodies else ""
            raise ControllerError(f"the controller {name!r} returned shape {what.shape}, but ({nv},) is needed{free}")
        return what.astype(float)

    def _non_finite(self, tau: np.ndarray) -> NonFiniteTorqueError:
        k = int(np.flatnonzero(~np.isfinite(tau))[0])
        return NonFiniteTorqueError(f"the controller's torque on joint {self.robot.dof_name(k)!r} is {tau[k]}")

    def acceleration(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return qdd (nv,) with damping at the velocity v."""
        tau = self.torque(t, q, v)
        if self._passive:
            tau = tau - self.robot.damping * v
        return self._bound.forward_dynamics(q, v, tau)

    def compiled_step(
        self, rule: str, t: float, q: np.ndarray, v: np.ndarray, dt: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return (q, v) at t + dt by a rule of `treesim.kernels.stepping.step`, the torque at time t held through the
        step.

        Damping, friction and the controller's gains are implicit. Raises what the dynamics raise, NonFiniteError.
        """
        tau = self.torque(t, q, v)
        if self._step is None or self._step[0] != (rule, dt):
            self._step = (rule, dt), self._step_code(rule, dt)
        code, substeps = self._step[1]
        now, forces = (q, v), []
        parts = []
        for i in range(substeps):
            held = self._held(tau, (q, v), now, t + i * dt / substeps) if i and self._follows else tau
            q_new, v_new, force, work = np.empty(len(q)), np.empty(self._shape), np.empty(self._shape), np.empty(2)
            rows = code.row_results()
            if self.impulses is not None:
                rows[-5][:] = self.impulses
            if self._pure is not None:
                code.settings.put_gains(self.robot, self._pure.stiffness, self._pure.damping)
            results = q_new, v_new, force, work, *rows
            if code.call(*now, held, *results) != FINE:
                self._explained_call(code, *now, held, *results)
            now = q_new, v_new
            self.work += work
            forces.append(force)
            if code.stage is not None:
                self.impulses = rows[-4]
                parts.append(rows[-3:])
        if parts:
            self.contact = ContactReport.of(self.world.touching, parts)
        self.applied = forces[0]
        return now

    def _held(self, tau: np.ndarray, start: Any, now: Any, t: float) -> np.ndarray:
        """The torque within a step that began with tau: that of springs and dampers, which follow the motion.

        Another's controller is asked once a step; its gains tell how its torque goes on, where it is not saturated.
        """
        if self._own:
            return self.torque(t, *now)
        followed = self._stiffness * self.robot.difference(start[0], now[0]) + self._gain * (now[1] - start[1])
        return tau - np.where(np.abs(tau) < self.robot.effort_limit, followed, 0.0)

    def _step_code(self, rule: str, dt: float) -> tuple[StepCode, int]:
        substeps = substeps_of(self.robot, rule, dt, self.substeps)
        settings = StepSettings.of(self.robot, rule, dt / substeps, self._stiffness, self._gain, driven=False)
        solver, engine = forward_solver(self.robot, self.backend), self._engine
        if self._pure is not None:
            settings, engine = settings.copy(), "generic"  # gains change: they must be no constants of the code
        code = StepCode(self.world, rule, solver, self._gravity, settings, engine, self.contact_solver)
        return code, substeps

    def check_inertia(self, rule: str | None, dt: float) -> None:
        """Raise SingularInertiaError for a joint without inertia, which no row of the world holds; rule: None for an
        integrator of Python's own."""
        if not self.world.m:
            h = dt if rule is None else dt / substeps_of(self.robot, rule, dt, self.substeps)
            check_inertia(self.robot, rule, h, self._stiffness, self._gain)

    def forget(self) -> None:
        """Begin anew: neither impulse nor torque is known of a step before."""
        self.impulses, self.contact = None, ContactReport.empty(self.robot, self.world.touching, ())
        self.latest = self.repeated = None

    def go_on(self, impulses: np.ndarray | None) -> None:
        """Begin with the impulses (R,) of a step before, None for none, and with the torque that the controller has
        returned last, if the first step asks for the same."""
        latest = self.latest
        self.forget()
        self.impulses, self.repeated = impulses, latest

    @property
    def progress(self) -> Progress:
        """Copies of what the steps so far have left for the next one."""
        impulses = None if self.impulses is None else self.impulses.copy()
        return Progress(impulses, self.work.copy(), self.contact, self.latest)

    @progress.setter
    def progress(self, progress: Progress) -> None:
        self.impulses = None if progress.impulses is None else progress.impulses.copy()
        self.work, self.contact = progress.work.copy(), progress.contact
        self.latest = None if progress.latest is None else progress.latest.with_own_descriptor()

    def _explained_call(self, code: StepCode, q: np.ndarray, v: np.ndarray, *others: np.ndarray) -> None:
        """The same call for states of any layout; raises what the dynamics raise where it fails."""
        if code.run(q, v, *others) != FINE:
            raise code.explain(q, v, others[0])
