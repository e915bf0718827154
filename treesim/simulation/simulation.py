"""Fixed-step simulation of a robot under a controller."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import plugins
from ..contact import deep_overlaps
from ..contact.base import ContactSolver
from ..contact.description import described
from ..contact.unsolved import warn_of_run
from ..dynamics.base import DynamicsBackend, check_supported, chosen_backend
from ..errors import ArgumentError, DivergedWarning, TreesimError, keep_with
from ..kernels.stepping.rules import IN_PYTHON, Rule
from ..model.named_axes import coordinate_argument, velocity_argument
from ..model.tree import Tree
from ..states.arguments import checked_progress
from ..system.display import ReprMixin, vector
from ..system.user_warnings import warn
from ..types import BackendName, ContactSolverName, Engine, IntegratorName
from ..validation.arrays import Argument, coerce
from ..validation.values import checked_flag, finite_seconds, whole_number
from .actuator_memory import actuator_memory
from .continuation import Pair, RunStart, initial_array, run_start
from .control import Controller
from .controlled import REAL, ControlledRobot
from .durations import check_room, step_count
from .energy_balance import checked_energy
from .external_forces import ExternalForces, described_forces
from .integrators import CompiledRule
from .options import StepOptions
from .pickling import Carried
from .provenance import SETTINGS, DeferredProvenance
from .recording import Recording
from .robot_warnings import warn_of_friction
from .run_loop import Progress, diagnosis, record_run
from .sensor_draws import LARGEST_SEED, step_number
from .start_limits import warn_of_start
from .state import State
from .step import check_rows, touches
from .step_settings import StepSettings, check_inertia, substeps_of
from .trajectory import Trajectory
from .world import World, as_world, started
from .wrapped_controllers import controller_name


class Simulation(ReprMixin):
    """Fixed-step simulation of one robot.

    Pickling stores the arguments of the simulation, and the controller in its current state.

    Parameters
    ----------
    robot : Tree or World
        The robot, or a world with constraints, closed loops and ground. A Tree is simulated with the position limits
        and the Coulomb friction of its joints. Velocity limits act only in a World with use_velocity_limits=True.
    dt : float
        Step [s].
    integrator : str
        Name of an integrator, see `available("integrators")`.
    backend : str or DynamicsBackend
        Name of a backend, see `available("dynamics")`, or a backend.
    controller : Controller, callable or None
        An object with the method `torque(t, q, v)` (see `treesim.control.Controller`), or a function of (t, q, v); each
        returns the torque (nv,) [N m, N]. None means no torque. The method or function may take a fourth argument, the
        `ContactReport` of the step before.
    gravity : array_like, shape (3,), optional
        Gravity [m/s^2]. Default: the robot's gravity.
    engine : str
        Engine of the dynamics, as in `treesim.Dynamics`.
    substeps : int, optional
        Number of equal parts of a step, as in `treesim.Stepper`.
    contact_solver : str or ContactSolver
        Name of a contact solver, see `available("contact_solvers")`, or a contact solver.
    external_forces : ExternalForce, sequence of ExternalForce or callable
        External forces on links; or a function of (t, q, v) that is called at the start of every step, and returns
        forces in the form of the argument `f_ext` of `Stepper.step`, or None. The energy balance counts the work of
        these forces as work of the controller.
    contact_points : bool
        Record the contact points of each step, for `Trajectory.contacts`. Contact is then solved twice in each step.
    seed : int
        Seed of the random numbers of the world's sensors, which also depend on t / dt: a run is rollout 0.

    Raises
    ------
    ArgumentError
        If an argument is invalid.
    UnknownNameError
        If the name of an integrator, backend, contact solver or link is unknown.
    UnsupportedError
        If the backend or integrator does not support the robot or world.

    Warns
    -----
    FrictionWarning
        If the robot has Coulomb friction that the integrator does not simulate.
    EffortWarning
        If a controller is given, but all effort limits of the robot are 0.
    LightJointWarning
        If a joint has so little effective inertia that it needs more substeps than the automatic choice.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> hold = treesim.PD(robot, robot.neutral(), kp=100, kd=10)
    >>> treesim.Simulation(robot, dt=1e-3, controller=hold).run(0.05, q0=robot.neutral())
    <Trajectory of 'ur5': 51 states, 0 ... 0.05 s>
    """

    def __init__(
        self,
        robot: Tree | World,
        dt: float = 1e-3,
        *,
        integrator: IntegratorName = plugins.DEFAULT_INTEGRATOR,
        backend: BackendName | DynamicsBackend = "aba",
        controller: Controller | Callable[..., ArrayLike] | None = None,
        gravity: ArrayLike | None = None,
        engine: Engine = "auto",
        substeps: int | None = None,
        contact_solver: ContactSolverName | ContactSolver = "pgs",
        external_forces: ExternalForces = (),
        contact_points: bool = False,
        seed: int = 0,
    ) -> None:
        options = StepOptions(
            dt=dt, integrator=integrator, backend=backend, engine=engine, gravity=gravity, substeps=substeps,
            contact_solver=contact_solver,
        )  # fmt: skip
        self._set_up(as_world(robot), options, controller, external_forces, contact_points, seed)
        warn_of_friction(self.robot, self.integrator)

    def _set_up(
        self,
        world: World,
        options: StepOptions,
        controller: Any,
        external_forces: ExternalForces,
        contact_points: bool,
        seed: int = 0,
    ) -> None:
        self.world, self.robot, self.options = world, world.robot, options
        self.dt, self.gravity, self.engine = options.dt, options.gravity, options.engine
        self.backend, self.integrator = options.backend, options.integrator
        self.substeps, self.contact_solver = options.substeps, options.contact_solver
        robot, integrator, substeps = self.robot, self.integrator, self.substeps
        check_rows(self.world, integrator)
        self._method = plugins.get("integrators", integrator)
        rule = getattr(self._method, "rule", IN_PYTHON)
        if rule is IN_PYTHON and substeps is not None:
            raise ArgumentError(f"integrator {integrator!r} is Python's and takes whole steps: leave substeps out")
        h = self.dt / substeps_of(robot, rule, self.dt, substeps)
        self._solver = chosen_backend(self.backend)
        check_supported(self._solver, robot)
        self.touches = touches(self.world, rule)
        self.contact_points, self.seed = (
            checked_flag("contact_points", contact_points),
            whole_number("seed", seed, 0, LARGEST_SEED),
        )
        self.system = ControlledRobot(self.world, options, controller, external_forces, self.contact_points, self.seed)
        self._memory_size = self._size_of_memory(rule, h)
        if not self.world.m:
            gains = self.system.stiffness, self.system.damping
            check_inertia(robot, rule, h, *gains, actuators=world.actuator_table)
        self._shapes = (robot.nq,), (robot.nv,)

    def __repr__(self) -> str:
        how = f"{self._solver.name}, {self.integrator}, dt {self.dt:g} s"
        return f"<Simulation of {self.robot.name!r}: {how}, controller {controller_name(self.system.controller)}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        gravity = self.robot.gravity if self.gravity is None else self.gravity
        controller = ("controller", self.system.controller)
        return [("robot", self.robot), controller, ("gravity [m/s^2]", vector(gravity)), ("engine", self.engine)]

    def __getstate__(self) -> dict[str, Any]:
        names = "world", "options", "external_forces", "contact_points", "seed"
        given = {name: getattr(self, name) for name in names}
        return {**given, "controller": Carried(self.system.controller), "progress": self.system.progress}

    def __setstate__(self, state: dict[str, Any]) -> None:
        given = {**state, "controller": state["controller"].controller}
        progress = given.pop("progress")
        self._set_up(**given)
        self.system.progress = progress

    @property
    def external_forces(self) -> ExternalForces:
        """External forces on links, as passed to the simulation."""
        return self.system.external_forces

    def step(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Simulate one step from a state at time t, and return the state at t + dt.

        Parameters
        ----------
        t : float
            Time [s].
        q : ndarray, shape (nq,)
            Configuration.
        v : ndarray, shape (nv,)
            Velocity.

        Returns
        -------
        q, v : ndarray, shape (nq,) and (nv,)
            State at t + dt.

        Raises
        ------
        ArgumentError
            If a shape does not fit, or t is not a finite number.
        TreesimError
            Every error that the dynamics or the controller raise.
        """
        shapes = self._shapes
        if not (type(q) is type(v) is np.ndarray and q.dtype is v.dtype is REAL and (q.shape, v.shape) == shapes):
            q, v = (self._one(*given) for given in ((coordinate_argument, "q", q), (velocity_argument, "v", v)))
        if type(t) is not float or not math.isfinite(t):
            t = finite_seconds("t", t)
        self.system.applied = None
        q, v = self._method.step(self.system, t, q, v, self.dt)
        return q, v

    def _size_of_memory(self, rule: Rule, h: float) -> int:
        """Return the size of the memory of the world's actuators in substeps of h [s]; raises for unsuitable ones."""
        actuators = self.world.actuator_table
        if actuators is None:
            return 0
        settings = StepSettings.of(self.robot, rule, h, driven=False, actuators=actuators)
        memory = actuator_memory(self.world, rule, self.dt, round(self.dt / h), settings)
        return 0 if memory is None else memory.size

    def _one(self, made: Callable[..., Argument], label: str, value: Any) -> np.ndarray:
        """Return the q or v of one state as float64."""
        argument = made(self.robot, label, value)
        found = coerce(argument)
        if found.ndim > 1:
            raise ArgumentError(f"{label} must be one state of shape {argument.shape}, got {found.shape}")
        return found.astype(float)

    def initial_state(self, q0: ArrayLike | None = None, v0: ArrayLike | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Check and return an initial state of the simulation, and reset the warm start of the contact solver.

        Parameters
        ----------
        q0 : array_like, shape (nq,), optional
            Configuration. By default the neutral one; in a world with loops or constraints, one near it that closes
            them.
        v0 : array_like, shape (nv,), optional
            Velocity. 0 by default.

        Returns
        -------
        q, v : ndarray, shape (nq,) and (nv,)
            Initial state, in which gaps of constraints below 1e-6 are closed.

        Raises
        ------
        ArgumentError
            If the state does not fit the robot, leaves larger gaps of constraints open, or places a link inside the
            ground.

        Warns
        -----
        LimitWarning
            If joints are beyond their position limits.
        """
        return self._start(q0, v0)

    def _start(self, q0: ArrayLike | None, v0: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the initial state, see `initial_state`."""
        self.system.forget()
        neutral = self.robot.neutral()
        q = initial_array(self.robot, "q0", q0, self.world.close(neutral) if q0 is None else neutral)
        v = initial_array(self.robot, "v0", v0, np.zeros(self.robot.nv))
        q, v = self.world.kinematic_bodies.begin(0.0, self.dt, q, v)
        q = started(self.world, q)
        if self.touches:
            warn_of_start(self.world, q, self.gravity)
        return q, v

    def run(
        self,
        duration: float,
        q0: ArrayLike | None = None,
        v0: ArrayLike | None = None,
        progress: Progress | None = None,
    ) -> Trajectory:
        """Simulate for a duration, and return the trajectory.

        Ctrl-C, a state that is not finite, or a failure of the dynamics ends the run early. The method then returns the
        finished part of the trajectory. `Trajectory.stopped` contains the reason for the early end. If the run ends
        before the torque at the last state is computed, the trajectory contains 0 for this torque.

        Parameters
        ----------
        duration : float
            Time to simulate [s]. It must be a whole number of steps, to a relative deviation of 1e-5.
        q0 : array_like, shape (nq,), optional
            Initial configuration. By default the neutral one; in a world with loops or constraints, one near it that
            closes them.
        v0 : array_like, shape (nv,), optional
            Initial velocity. 0 by default.
        progress : callable, optional
            Called as progress(done, total) about a hundred times, with numbers of steps.

        Returns
        -------
        Trajectory
            States from the first to the last.

        Raises
        ------
        ArgumentError
            If the state or the duration is invalid, or the trajectory does not fit in memory; raised before the first
            step.
        ControllerError
            If the controller returns anything other than (nv,) real numbers.
        Exception
            Other exceptions that the controller, a plugin or `progress` raises. Their attribute `trajectory` is the
            trajectory up to the exception.

        Warns
        -----
        ContactWarning
            If contact was not solved in some steps; at most once for a run.
        DivergedWarning
            If a state that is not finite or a failure of the dynamics ends the run. If the energy error is so large
            that the motion cannot be trusted.
        EnergyWarning
            If the energy error exceeds 1 % of the energy range.
        LimitWarning
            If joints start beyond their position limits; at most once for a run.
        """
        step_count(duration, self.dt)
        checked_progress(progress)
        return self._run(duration, RunStart(*self._start(q0, v0)), progress)

    def run_from(
        self,
        duration: float,
        start: Trajectory | State | RunStart | Pair,
        progress: Progress | None = None,
    ) -> Trajectory:
        """Continue a trajectory from its last state for a duration, and return the new part as a trajectory.

        Time and work continue from the values of `start`, and the contact solver starts from the last impulses of
        `start`. A run in parts is therefore equal to one uninterrupted run, bit for bit. The first state of the new
        trajectory is the last state of `start`.

        Parameters
        ----------
        duration : float
            Time to simulate [s], a whole number of steps.
        start : Trajectory, State or (q, v)
            A trajectory of the same robot, in memory or loaded from a file; a state of a `Stepper`; or a pair q (nq,),
            v (nv,), which starts at t = 0 without impulses of contact. The values are used unchanged: quaternions are
            not normalized, and gaps are not closed.
        progress : callable, optional
            As in `run`.

        Returns
        -------
        Trajectory
            States from the first to the last, as of `run`.

        Raises
        ------
        ArgumentError
            If the trajectory or state does not fit the robot. Other errors are those of `run`.

        Warns
        -----
        ContinuationWarning
            If the world has contact, and `start` has no impulses or those of another world. Files that older versions
            of treesim wrote contain no impulses.
        LimitWarning
            If `start` is a pair (q, v), and joints are beyond their position limits.

        Notes
        -----
        The controller continues in its current state. If the controller was last called for the last state of `start`,
        that call is not repeated. The file of a trajectory does not contain the state of the controller. To continue a
        run with a controller that has a state, use the simulation that made `start`, or a copy or pickle of that
        simulation.

        Examples
        --------
        >>> simulation = treesim.Simulation(treesim.load("ur5"))
        >>> first = simulation.run(0.01)
        >>> rest = simulation.run_from(0.01, first)
        >>> rest
        <Trajectory of 'ur5': 11 states, 0.01 ... 0.02 s>
        >>> np.array_equal(rest.q[-1], simulation.run(0.02).q[-1])
        True
        """
        checked_progress(progress)
        begin = run_start(start, self.world, self.touches, self.system.errors, self._memory_size)
        if self.touches and type(start) is tuple:  # other starts continue a run
            warn_of_start(self.world, begin.q, self.gravity)
        self.system.go_on(begin.impulses, begin.actuators)
        return self._run(duration, begin, progress)

    def _run(self, duration: float, begin: RunStart, progress: Progress | None) -> Trajectory:
        steps = step_count(duration, self.dt)
        check_room(self.robot, steps)
        provenance = self._provenance(duration, begin)
        touching, points = self.world.touching if self.touches else None, self.contact_points and self.touches
        recording = Recording(self.robot, steps + 1, touching, points)
        start = time.perf_counter()

        def trajectory(stopped: str | None) -> Trajectory:
            metadata = self._metadata(duration, time.perf_counter() - start, stopped)
            made = recording.trajectory(self.gravity, metadata, isinstance(self._method, CompiledRule))
            warn_of_run(made.contact, made.t, made.metadata["energy_range"])
            deep_overlaps.warn_of_run(self.world.touching, made.contact, made.t, self.dt)
            provenance.end, provenance.end_actuators = self._impulses(), self.system.actuators
            gravity = self.robot.gravity if self.gravity is None else self.gravity
            readings = recording.readings(self.world.sensors, gravity, partial(self._with_errors, provenance, begin))
            return replace(made, provenance=provenance, sensors=readings)

        try:
            record_run(self, recording, steps, begin, progress)
        except KeyboardInterrupt:
            return trajectory("interrupted")
        except Exception as error:
            if self._ends_the_run(error):
                stopped = trajectory(diagnosis(self, recording, error))
                warn(f"the run has stopped: {stopped.stopped}", DivergedWarning)
                return stopped
            kept = trajectory(f"{type(error).__name__}: {error}")
            keep_with(error, "trajectory", kept, f"{len(kept)} states, up to t = {kept.t[-1]:.6g} s, were")
            raise
        return checked_energy(trajectory(None), self.robot, self.world.touching.is_soft)

    def _with_errors(
        self, provenance: DeferredProvenance, begin: RunStart, exact: list[np.ndarray]
    ) -> list[np.ndarray]:
        """Return the readings of a run with the errors of sensors, whose memory after the run is stored."""
        errors = self.system.errors
        if errors is None:
            return exact
        found, memory = errors.of_run(exact, self.seed, step_number(begin.t, self.dt), begin.readings)
        if errors.size and len(exact[0]):
            provenance.end_readings = memory
        return found

    def _impulses(self) -> np.ndarray | None:
        """Return the contact impulses (R,) for the next step's warm start; None without contact."""
        if not self.touches:
            return None
        known = self.system.impulses
        return np.zeros(self.world.touching.warm_start_size) if known is None else known

    def _ends_the_run(self, error: Exception) -> bool:
        """Return whether an error is a numerical failure of the dynamics, and not an exception of the controller."""
        own = error is not self.system.failure
        return own and isinstance(error, TreesimError) and isinstance(error, ArithmeticError)

    def _provenance(self, duration: float, begin: RunStart) -> DeferredProvenance:
        settings = {name: getattr(self, name) for name in SETTINGS} | {"duration": float(duration)}
        return DeferredProvenance(self.world, self.system.controller, settings, begin)

    def _metadata(self, duration: float, seconds: float, stopped: str | None) -> dict[str, Any]:
        ground = [described(surface) for surface in self.world.ground]
        forces = described_forces(self.external_forces)
        return {
            "dt": self.dt,
            "backend": self._solver.name,
            "integrator": self.integrator,
            "duration": float(duration),
            "gravity": [float(g) for g in (self.robot.gravity if self.gravity is None else self.gravity)],
            **({"ground": ground} if ground else {}),
            **({"external_forces": forces} if forces else {}),
            "wall_seconds": seconds,
            "stopped": stopped,
        }
