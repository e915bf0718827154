"""Single-step interface to a robot, used by simulations, rollouts, players and environments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..contact import deep_overlaps
from ..contact.base import ContactSolver
from ..contact.report import ContactReport
from ..contact.stored_impulses import current_impulses
from ..contact.unsolved import all_solved, warn_of_step
from ..dynamics.base import DynamicsBackend
from ..engine.threads import use_threads
from ..errors import ArgumentError
from ..kernels.entries.status import FINE
from ..model.tree import Tree
from ..plugins import DEFAULT_INTEGRATOR
from ..system.display import ReprMixin, vector
from ..types import BackendName, ContactSolverName, Engine, IntegratorName
from ..validation.values import checked_part, finite_seconds, whole_number
from .actuator_memory import StepCommands, actuator_memory
from .external_forces import Wrenches, wrench_table
from .options import StepOptions
from .report import Report, summed
from .robot_warnings import unwarned, warn_of_friction
from .sensor_draws import LARGEST_SEED
from .sensor_errors import errors_of
from .sensors import reads_welds
from .start_limits import warn_of_start
from .state import NO_MEMORY, State, new_state, state_in
from .step import StepCode, check_rows, compiled_rule, forward_solver
from .step_arguments import checked_control, checked_states
from .step_result import points_again, substeps
from .step_sequence import StepSequence
from .step_settings import StepSettings, check_inertia, gains_of, substeps_of
from .world import World, as_world, started


class Stepper(ReprMixin):
    """Time stepper of one robot; its method `step(state, control)` returns the state after dt and a report.

    Damping and friction of the joints are taken from the robot. Several threads may use the same stepper. Pickling
    stores the arguments of the stepper.

    Parameters
    ----------
    robot : Tree or World
        The robot, or a world with constraints, closed loops and ground. Only the integrator "implicit_midpoint"
        supports constraints and closed loops.
    dt : float
        Step [s].
    integrator : str
        Name of a compiled integrator, see `available("integrators")`.
    backend : str or DynamicsBackend
        Name of a backend, see `available("dynamics")`, or a backend.
    engine : str
        Engine of the dynamics, as in `treesim.Dynamics`.
    kp : float or array_like, shape (nv,)
        Position gains [N m/rad, N/m]. With gains, controls are target positions, and the applied forces are kp (control
        - q) - kd v. Without gains, controls are the applied forces [N, N m]. The applied forces are clipped to the
        effort limits.
    kd : float or array_like, shape (nv,)
        Velocity gains [N m s/rad, N s/m].
    gravity : array_like, shape (3,), optional
        Gravity [m/s^2]. Default: the robot's gravity.
    substeps : int, optional
        Number of equal parts of a step. By default as many as the integrator needs for its accuracy. For
        "implicit_midpoint", a part is at most 0.5 ms, or shorter if joints have little effective inertia.
    threads : int, optional
        Number of threads for batches.
    contact_solver : str or ContactSolver
        Name of a contact solver, see `available("contact_solvers")`, or a contact solver.

    Raises
    ------
    ArgumentError
        If an argument is invalid.
    UnknownNameError
        If the name of an integrator, backend or contact solver is unknown.
    UnsupportedError
        If the integrator is not compiled, the backend does not support a joint, or a joint of several degrees of
        freedom has gains.

    Warns
    -----
    FrictionWarning
        If the robot has Coulomb friction that the integrator does not simulate.
    LightJointWarning
        If a joint has so little effective inertia that it needs more substeps than the automatic choice.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> stepper = treesim.Stepper(robot, dt=1e-3)
    >>> state = stepper.reset()
    >>> state, report = stepper.step(state, np.zeros(6))
    >>> state, report.ok
    (<State: t = 0.001 s, one state>, True)
    """

    def __init__(
        self,
        robot: Tree | World,
        dt: float = 1e-3,
        *,
        integrator: IntegratorName = DEFAULT_INTEGRATOR,
        backend: BackendName | DynamicsBackend = "aba",
        engine: Engine = "auto",
        kp: ArrayLike = 0.0,
        kd: ArrayLike = 0.0,
        gravity: ArrayLike | None = None,
        substeps: int | None = None,
        threads: int | None = None,
        contact_solver: ContactSolverName | ContactSolver = "pgs",
    ) -> None:
        self.world = as_world(robot)
        self.robot = robot = self.world.robot
        options = StepOptions(
            dt=dt, integrator=integrator, backend=backend, engine=engine, kp=kp, kd=kd, gravity=gravity,
            substeps=substeps, threads=threads, contact_solver=contact_solver,
        )  # fmt: skip
        self.dt, self.gravity, self.threads = options.dt, options.gravity, options.threads
        self.integrator, self.backend, self.engine = integrator, backend, engine
        self.contact_solver = contact_solver
        check_rows(self.world, integrator)
        self.rule = compiled_rule(integrator)
        self.substeps = substeps_of(robot, self.rule, self.dt, substeps)
        h = self.dt / self.substeps
        actuators = self.world.actuator_table
        self.settings = StepSettings.of(robot, self.rule, h, kp, kd, actuators=actuators)
        self._constrained = self.world.m > 0
        if not self._constrained:
            check_inertia(robot, self.rule, h, *gains_of(robot, kp, kd), actuators=actuators)
        self.options, self._again = options, partial(type(self), self.world, **options.copied())
        self._solver = forward_solver(robot, backend)
        self._still = np.zeros(robot.nv)  # the control of a step without
        self._warned: set[str] = set() if self.world.touching.counts.slots else {"depth"}  # what a warning has said
        self._reads_welds = reads_welds(self.robot, self.world.sensors)
        self.errors = errors_of(self.world.sensors, robot, self.dt)
        self.memory = actuator_memory(self.world, self.rule, self.dt, self.substeps, self.settings)
        warn_of_friction(robot, integrator)
        self._codes: dict[tuple[bool, bool], StepCode] = {}  # by the arguments of `_code`
        self.code = self._code(False)
        # parts of a step of one state as one call, by `with_forces`
        self._sequences: list[StepSequence | None] = [None, None]

    def __repr__(self) -> str:
        parts = f" in {self.substeps} parts" if self.substeps > 1 else ""
        rows = f", {self.world.m} rows" if self.world.m else ""
        name = self.backend if isinstance(self.backend, str) else self.backend.name
        return f"<Stepper of {self.robot.name!r}{rows}: {self.integrator}, {name}, dt {self.dt:g} s{parts}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        gravity = self.robot.gravity if self.gravity is None else self.gravity
        return [("robot", self.robot), ("gravity [m/s^2]", vector(gravity)), ("engine", self.engine)]

    def __reduce__(self) -> tuple[Any, ...]:
        return unwarned, (self._again,), {"_warned": self._warned.copy()}

    def reset(self, q0: ArrayLike | None = None, v0: ArrayLike | None = None, t: float = 0.0, seed: int = 0) -> State:
        """Return an initial state, or a batch of initial states, for `step`.

        Gaps of constraints below 1e-6 (m or rad) are closed. The first step removes velocities that violate
        constraints.

        Parameters
        ----------
        q0 : array_like, shape (nq,) or (B, nq), optional
            Configurations, which are broadcast with v0. By default the neutral one; in a world with loops or
            constraints, one near it that closes them.
        v0 : array_like, shape (nv,) or (B, nv), optional
            Velocities. 0 by default.
        t : float
            Time [s].
        seed : int
            Seed of the random numbers of the world's sensors, and of delays of actuators.

        Returns
        -------
        State
            The state, with impulses 0. Nothing has been commanded to actuators before.

        Raises
        ------
        ArgumentError
            If a shape does not fit, a gap exceeds 1e-6, or a link is inside the ground.
        NonFiniteError
            If a number is not finite.

        Warns
        -----
        LimitWarning
            If joints are beyond their position limits; at most once for a stepper.
        """
        robot, t = self.robot, finite_seconds("t", t)
        given = self.world.close(robot.neutral()) if q0 is None else q0, np.zeros(robot.nv) if v0 is None else v0
        q, v = checked_states(robot, ("q0", "v0"), *given, self.world.m + self._kept)
        batch = q.shape[:-1]
        q, v = self.world.kinematic_bodies.begin(t, self.dt, q, v)
        impulses, contact = np.zeros((*batch, self.world.m)), np.zeros((*batch, self._kept))
        q = started(self.world, q)
        if self.code.stage is not None and "start" not in self._warned and warn_of_start(self.world, q, self.gravity):
            self._warned.add("start")
        state = State(t, q, v, impulses, contact, whole_number("seed", seed, 0, LARGEST_SEED))
        return state if self.memory is None else replace(state, actuators=self.memory.begin(q, state.seed))

    @property
    def _kept(self) -> int:
        """Number of contact impulses in a state."""
        return self.world.touching.warm_start_size if self.code.stage is not None else 0

    def step(
        self, state: State, control: ArrayLike | None = None, f_ext: Wrenches | None = None
    ) -> tuple[State, Report]:
        """Advance a state or batch by dt; return the new state and a report of the step.

        A failed step raises nothing: the state becomes NaN or infinite, and `report.status` marks the state. The cost
        is O(N) with most backends, plus 1.5 us.

        Parameters
        ----------
        state : State
            State or batch at the start of the step.
        control : array_like, shape (nv,) or (B, nv), optional
            Control, constant over the step: forces [N, N m], or target positions if the stepper has gains. None means
            0.
        f_ext : mapping, array_like, ExternalForce or sequence of ExternalForce, optional
            External forces, constant over the step, in one of three forms. (1) A mapping {link: wrench} of wrenches
            (6,) or (B, 6): force [N], then moment [N m], along the link's axes about the link's origin. With a key
            (link, "world"), the wrench is along the world's axes. (2) An array of wrenches on all bodies, (N, 6) or (B,
            N, 6), as in `forward_dynamics`. (3) `ExternalForce` objects. Effort limits do not apply to external forces.
            `Report.control_work` includes the work of external forces.

        Returns
        -------
        state : State
            State at the end of the step.
        report : Report
            Forces, work, status and contact.

        Raises
        ------
        ArgumentError
            If a shape does not fit.
        NonFiniteError
            If a control or external force is not finite.
        UnknownNameError
            If the robot has no link of this name.

        Warns
        -----
        ContactWarning
            If contact was not solved; in worlds without soft surfaces also if a body ends deep in another one. Each
            warning is issued at most once for a stepper.
        """
        if type(state) is not State:
            checked_part("state", state, State)
        if f_ext is None:
            return self._step(state, self._still if control is None else control, False)
        after, report = self._step(state, self._with_wrenches(state, control, f_ext), True)
        if self._reads_welds:
            report._on_welds = wrench_table(self.robot, f_ext, state.t, state.q.shape[:-1], welds=True)
        return after, report

    def _step(self, state: State, u: Any, with_forces: bool) -> tuple[State, Report]:
        """Take a step; with_forces: whether the controls u end with a table of external forces."""
        if self.world.kinematic or (self.memory is not None and self.memory.has_feedback):
            return self._step_by_parts(state, u, with_forces)
        sequence = self._sequences[with_forces]
        if sequence is None:
            if state.q.ndim > 1:  # a batch needs no code of one state
                return self._step_by_parts(state, u, with_forces)
            code, own_controls = self._code(with_forces), self.memory is not None
            sequence = self._sequences[with_forces] = code.sequence(self.substeps, own_controls)
        given, memory = u, NO_MEMORY
        if self.memory is not None:
            if state.q.ndim > 1:
                return self._step_by_parts(state, u, with_forces)
            commands = self._commands(state, u if with_forces else checked_control(self.robot, state.v, u))
            u, memory = commands.of_all(state.q, state.v), commands.memory
        out, values = sequence.new(sequence.size), state.__dict__
        own: Any = values.get("_sequence")
        if own is sequence:
            status = sequence.go_on(values["_block"], u, out)
        else:
            status = sequence.call(state.q, state.v, u, state.contact, out)
        results, impulses = None, state.impulses
        if status != FINE or self._constrained:
            results = sequence.results_of(status, out, state.q, state.v, u, state.contact)
            if results is None:
                self._sequences[with_forces] = None  # memory may grow
                return self._step_by_parts(state, given, with_forces)
            if not results.solved:
                self._warn(results)
            if self._constrained:
                impulses = summed([each.constraint_impulses for each in results])
            sequence, out = results.sequence, results.out
        after = state_in(out, sequence, state.t + self.dt, impulses, state)
        if memory.size:
            after.__dict__["actuators"] = memory
        if self.errors is not None or memory.size:
            after.__dict__["seed"] = state.seed
        return after, Report(self, state, given, after, results, FINE)

    def _step_by_parts(self, state: State, given: Any, with_forces: bool) -> tuple[State, Report]:
        """Take the parts of a step one by one, of a batch or where `StepSequence.run` cannot step."""
        u, code = given if with_forces else checked_control(self.robot, state.v, given), self._code(with_forces)
        take, commands = self._parts(code, state, u)
        with nullcontext() if self.threads is None else use_threads(self.threads):
            worst, results = take(substeps, at_once=u is not given)
        end, impulses, contact = results[-1], state.impulses, state.contact
        if self._constrained:
            impulses = summed([each.constraint_impulses for each in results])
        if self.code.stage is not None:
            contact = end.warm_start
            self._warn(results)
        memory = NO_MEMORY if commands is None else commands.memory
        after = new_state(state.t + self.dt, end.q, end.v, impulses, contact, memory)
        if self.errors is not None or memory.size:
            after.__dict__["seed"] = state.seed
        return after, Report(self, state, u, after, results, worst)

    def _parts(self, code: StepCode, state: State, u: np.ndarray) -> tuple[Callable[..., Any], StepCommands | None]:
        """Return a function that calls `substeps` or `points_again` on a step under controls u, and its commands.

        The controls may end with a table of external forces.
        """
        before = current_impulses(state.contact, self.world.touching) if self.code.stage is not None else None
        commands = None if self.memory is None else self._commands(state, u)
        control = u if commands is None else commands
        start = code, state.q, state.v, state.contact if before is None else before, self.substeps, control
        how = {"motion": code.motion(state.t, self.dt, self.substeps), "commands": commands}
        return lambda function, **more: function(*start, **how, **more), commands

    def _commands(self, state: State, u: np.ndarray) -> StepCommands:
        """Return the commands of the substeps of a step under the controls u, which may end with external forces."""
        assert self.memory is not None
        memory, wanted = state.actuators, (*state.q.shape[:-1], self.memory.size)
        if memory.shape != wanted:
            raise ArgumentError(
                f"state: its memory of actuators has shape {memory.shape}, but {wanted} is needed: begin with reset"
            )
        return StepCommands(self.memory, memory, u)

    def _code(self, with_forces: bool, pairs: bool = False) -> StepCode:
        """Return the code of steps without or with external forces, and wrenches of pairs where there are many."""
        code = self._codes.get((with_forces, pairs))
        if code is None:
            how = {"with_forces": with_forces, "pairs": pairs}
            code = StepCode(self.world, self._solver, self.settings, self.options, **how)
            self._codes[with_forces, pairs] = code
        return code

    def _with_wrenches(self, state: State, control: ArrayLike | None, f_ext: Wrenches) -> np.ndarray:
        """Return controls (..., nv + 21 N) that end with the table of external forces."""
        u, batch = checked_control(self.robot, state.v, control), state.q.shape[:-1]
        table = wrench_table(self.robot, f_ext, state.t, batch)
        self.world.kinematic_bodies.refuse_forces("f_ext", table)
        return np.concatenate([u, table.reshape(*batch, -1)], axis=-1)

    def _contact_points(self, state: State, control: Any) -> list[np.ndarray]:
        """Take a step of one state again, and return the contact points of each substep; control: as `_explain`."""
        u, with_forces = self._control_again(state, control)
        take, _ = self._parts(self._code(with_forces), state, u)
        found: list[np.ndarray] = take(points_again)
        return found

    def _pair_wrenches(self, state: State, control: Any) -> list[np.ndarray]:
        """Take a step again; return the wrenches (..., P, 12) of pairs in each substep. control: as `_explain`."""
        u, with_forces = self._control_again(state, control)
        take, _ = self._parts(self._code(with_forces, pairs=True), state, u)
        _, results = take(substeps)
        return [each.pairs for each in results]

    def _control_again(self, state: State, control: Any) -> tuple[np.ndarray, bool]:
        """Return the controls for a second computation of a step, and whether they include external forces."""
        with_forces = np.shape(control)[-1] > self.robot.nv
        return (control if with_forces else checked_control(self.robot, state.v, control)), with_forces

    def _explain(self, q: np.ndarray, v: np.ndarray, control: np.ndarray) -> Exception:
        """Return the error of a state whose step failed; control: with the table of external forces, if there are."""
        return self._code(control.size > self.robot.nv).explain(q, v, control)

    def _warn(self, results: Sequence[Any]) -> None:
        """Warn once of a step whose contact problem was not solved, and once of one with a deep overlap."""
        if "unsolved" not in self._warned and not all_solved(results):
            self._warned.add("unsolved")
            report = ContactReport(self.world.touching, results)
            warn_of_step(report.solver_info, report.wrench_array, self.robot.body_names, report.worst_islands)
        if "depth" not in self._warned:
            report, names = ContactReport(self.world.touching, results), self.robot.body_names
            if deep_overlaps.warn_of_step(report, names, self.dt):
                self._warned.add("depth")
