"""Simulation: a robot, a backend, a controller and an integrator make a trajectory."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from . import plugins
from .bound import Dynamics
from .control import Controller, Zero
from .dynamics.base import CompiledBackend, check_supported
from .dynamics.functions import energy
from .dynamics.tables import constants_of
from .engine.bound_entry import BoundEntry
from .engine.evaluate import Argument, coerce, specialised_first
from .errors import ArgumentError, NonFiniteError, SingularInertiaError
from .kernels.status import FINE
from .model.quaternions import unit_quaternions
from .model.tree import Tree
from .trajectory import Trajectory

STICKING_SPEED = 1e-3  # rad/s, m/s: below this a joint with Coulomb friction counts as sticking, and creeps
Progress = Callable[[int, int], None]


class FrictionWarning(UserWarning):
    """Joint friction in the robot's description is not simulated by the chosen integrator."""


class ControllerError(NonFiniteError):
    """A controller returned a torque that is not finite: the message names the joint."""


class ControlledRobot:
    """The system that integrators step: forward dynamics with the controller's torque, damping and friction."""

    def __init__(
        self, robot: Tree, backend: str, controller: Controller, gravity: np.ndarray | None, engine: str
    ) -> None:
        self.robot = robot
        self.controller = controller
        self.applied: np.ndarray | None = None  # torque at the start of the current step
        self._bound = Dynamics(robot, backend, engine=engine, gravity=gravity)
        self._dynamics = plugins.get("dynamics", backend)
        self._gravity = gravity
        self._with_armature = self._armature_entry(engine)
        self._zero = np.zeros(robot.nv)
        self._passive = bool(robot.damping.any() or robot.friction.any())
        self._stiffness = np.asarray(getattr(controller, "stiffness", self._zero), dtype=float)
        self._gain = np.asarray(getattr(controller, "damping", self._zero), dtype=float)
        self._implicit = self._passive or bool(self._stiffness.any() or self._gain.any())

    def torque(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the controller's torque (nv,); raises ControllerError naming the joint if it is not finite."""
        tau = np.array(self.controller.torque(t, q, v), dtype=float)  # a copy: the controller may keep its own
        if tau.shape != (self.robot.nv,):
            raise ArgumentError(f"the controller returned shape {tau.shape}, but ({self.robot.nv},) is needed")
        if not np.isfinite(tau).all():
            k = int(np.flatnonzero(~np.isfinite(tau))[0])
            raise ControllerError(f"the controller's torque on joint {self.robot.dof_name(k)!r} is {tau[k]}")
        if self.applied is None:
            self.applied = tau
        return tau

    def acceleration(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return qdd (nv,) with damping at the velocity v."""
        tau = self.torque(t, q, v)
        if self._passive:
            tau = tau - self.robot.damping * v
        return self._bound.forward_dynamics(q, v, tau)

    def implicit_acceleration(self, t: float, q: np.ndarray, v: np.ndarray, dt: float) -> np.ndarray:
        """Return qdd (nv,) with damping d, friction f and gains kp, kd at the end of the step:

        (M + dt (d + f / |v| + kd) + dt^2 kp) qdd = tau - C - (d + f / |v|) v - dt kp v,
        Coulomb friction as a damping of f / max(|v|, STICKING_SPEED). Gains of saturated joints are left out.
        """
        tau = self.torque(t, q, v)
        if not self._implicit:
            return self._bound.forward_dynamics(q, v, tau)
        robot = self.robot
        damping = robot.damping + robot.friction / np.maximum(np.abs(v), STICKING_SPEED)
        within = np.abs(tau) < robot.effort_limit
        stiffness = self._stiffness * within
        # a negative coefficient, which drives a joint, is taken explicitly: it must not take inertia away
        added = dt * (np.maximum(damping, 0.0) + self._gain * within) + dt * dt * stiffness
        tau = tau - damping * v - dt * stiffness * v
        armature, qdd = robot.armature + added, np.empty(robot.nv)
        if self._with_armature is not None and self._with_armature.call(q, v, tau, armature, qdd) == FINE:
            return qdd
        return self._dynamics.forward_dynamics(robot, q, v, tau, None, self._gravity, armature)

    def _armature_entry(self, engine: str) -> BoundEntry | None:
        """The backend's entry for rotor inertias that change with the state, if it has one."""
        entry = type(self._dynamics).armature_entry if isinstance(self._dynamics, CompiledBackend) else None
        if entry is None:
            return None
        robot, n = self.robot, (self.robot.nv,)
        return BoundEntry(entry, constants_of(robot, self._gravity), ((robot.nq,), n, n, n), (n,), engine=engine)


class Simulation:
    """A fixed-step simulation of one robot.

    backend, integrator: names of `available("dynamics")` and `available("integrators")`. dt: step [s].
    controller: an object with `torque(t, q, v)` (see treesim.control), or None for no torque.
    gravity: (3,) [m/s^2], the robot's by default. engine: of the dynamics, as in `treesim.Dynamics`. Position,
    velocity and effort limits of passive joints are not enforced. Raises ArgumentError, UnknownNameError,
    UnsupportedError; warns with FrictionWarning when the robot has Coulomb friction that the integrator leaves out.
    """

    def __init__(
        self,
        robot: Tree,
        backend: str = "aba",
        integrator: str = "semi_implicit_euler",
        dt: float = 1e-3,
        controller: Controller | None = None,
        gravity: Any = None,
        engine: str = "auto",
    ) -> None:
        if not (np.isfinite(dt) and dt > 0):
            raise ArgumentError(f"dt must be a positive number of seconds, got {dt}")
        self.robot, self.dt = robot, float(dt)
        self.backend, self.integrator = backend, integrator
        self.gravity = None if gravity is None else coerce(Argument("gravity", gravity, (3,)))
        self._method = plugins.get("integrators", integrator)
        check_supported(plugins.get("dynamics", backend), robot)
        self.system = ControlledRobot(robot, backend, controller or Zero(robot), self.gravity, engine)
        if robot.friction.any() and not self._method.friction:
            rough = [robot.dof_name(int(k)) for k in np.flatnonzero(robot.friction)]
            names = ", ".join(rough[:3]) + (f", ... ({len(rough)} in all)" if len(rough) > 3 else "")
            warnings.warn(
                f"integrator {integrator!r} leaves out the Coulomb friction of joints {names}; "
                f"'semi_implicit_euler' simulates it",
                FrictionWarning,
                stacklevel=2,
            )

    def step(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (q, v) at t + dt from the state (nq,), (nv,) at time t [s]; raises what the dynamics raise."""
        self.system.applied = None
        q, v = self._method.step(self.system, t, q, v, self.dt)
        return q, v

    def run(self, duration: float, q0: Any = None, v0: Any = None, progress: Progress | None = None) -> Trajectory:
        """Return the trajectory over `duration` [s], from q0 (nq,), the neutral configuration by default, and v0 (nv,),
        at rest by default.

        progress(done, total) is called about a hundred times. Ctrl-C or a state that is no longer finite ends the run
        early; the trajectory up to there is returned, with the reason in `Trajectory.stopped`.
        Raises ArgumentError for a state or duration that does not fit, before anything is computed.
        """
        if not (np.isfinite(duration) and duration >= 0):
            raise ArgumentError(f"duration must be a number of seconds >= 0, got {duration}")
        steps = round(duration / self.dt)
        q, v = self._initial("q0", q0, self.robot.neutral()), self._initial("v0", v0, np.zeros(self.robot.nv))
        recording = _Recording(self.robot, steps + 1)
        every = max(1, steps // 100)
        stopped, start = None, time.perf_counter()
        try:
            for k in range(steps):
                q_next, v_next = self.step(k * self.dt, q, v)
                recording.add(k * self.dt, q, v, self.system.applied)
                q, v = q_next, v_next
                if progress is not None and (k + 1) % every == 0:
                    progress(k + 1, steps)
            self.system.applied = None
            _require_finite(q, v)
            recording.add(steps * self.dt, q, v, self.system.torque(steps * self.dt, q, v))
        except KeyboardInterrupt:
            stopped = "interrupted"
        except (NonFiniteError, SingularInertiaError) as error:
            stopped = self._diagnosis(recording, error)
        metadata = {
            "dt": self.dt,
            "backend": self.backend,
            "integrator": self.integrator,
            "duration": duration,
            "gravity": [float(g) for g in (self.robot.gravity if self.gravity is None else self.gravity)],
            "wall_seconds": time.perf_counter() - start,
            "stopped": stopped,
        }
        return recording.trajectory(self.gravity, metadata)

    def _initial(self, label: str, value: Any, default: np.ndarray) -> np.ndarray:
        if value is None:
            return default
        array = coerce(Argument(label, value, default.shape))
        if array.shape != default.shape:
            raise ArgumentError(f"{label} must be one state of shape {default.shape}, got {array.shape}")
        if not np.isfinite(array).all():
            raise ArgumentError(f"{label}[{int(np.flatnonzero(~np.isfinite(array))[0])}] is not a finite number")
        return unit_quaternions(self.robot, label, array) if label == "q0" else array.copy()

    def _diagnosis(self, recording: _Recording, error: Exception) -> str:
        t = recording.count * self.dt
        if isinstance(error, SingularInertiaError):
            return f"at t = {t:.6g} s: {error}"
        joint = recording.fastest_joint()
        if isinstance(error, ControllerError):
            return (
                f"at t = {t:.6g} s: {error}; before that joint {joint!r} moves fastest: look at the controller, "
                f"or take a smaller step than dt = {self.dt:g} s"
            )
        return (
            f"the state is no longer finite at t = {t:.6g} s; joint {joint!r} moves fastest: "
            f"take a smaller step than dt = {self.dt:g} s or integrator 'rk4', add damping, or lower the gains"
        )


def _require_finite(q: np.ndarray, v: np.ndarray) -> None:
    if not (np.isfinite(q).all() and np.isfinite(v).all()):
        raise NonFiniteError("the state is not finite")


class _Recording:
    """States as they come, in arrays laid out beforehand."""

    def __init__(self, robot: Tree, capacity: int) -> None:
        self.robot, self.count = robot, 0
        self.t = np.empty(capacity)
        self.q = np.empty((capacity, robot.nq))
        self.v = np.empty((capacity, robot.nv))
        self.tau = np.empty((capacity, robot.nv))

    def add(self, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray | None) -> None:
        k = self.count
        self.t[k], self.q[k], self.v[k] = t, q, v
        self.tau[k] = 0.0 if tau is None else tau
        self.count = k + 1

    def fastest_joint(self) -> str:
        if not self.count or not self.robot.nv:
            return "(none)"
        return self.robot.dof_name(int(np.argmax(np.abs(self.v[self.count - 1]))))

    def trajectory(self, gravity: np.ndarray | None, metadata: dict[str, Any]) -> Trajectory:
        n = self.count
        q, v = self.q[:n], self.v[:n]
        try:
            total = sum(specialised_first(energy, self.robot, q, v, gravity))
        except NonFiniteError:  # the last states before an overflow are finite, their squares need not be
            total = np.full(n, np.inf)
            for k in range(n):
                try:
                    total[k] = sum(specialised_first(energy, self.robot, q[k], v[k], gravity))
                except NonFiniteError:
                    break
        return Trajectory.of(self.robot, self.t[:n], q, v, self.tau[:n], total, metadata)
