"""System that integrators step: a robot with its controller."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..actuators.table import check_commanded
from ..contact.report import ContactReport, mean_of
from ..dynamics.compiled.bound import Dynamics
from ..dynamics.springs import spring_forces
from ..dynamics.tables import constants_of, on_mimicked
from ..errors import ArgumentError, NonFiniteError, UnsupportedError, quoted
from ..kernels.algebra.tables import tree_tables
from ..kernels.stepping.rules import RULES
from ..kernels.stepping.step import actuate, settings_of
from ..model.named_axes import VELOCITIES, velocity_argument
from ..model.tree import Tree
from ..plugins import DEFAULT_INTEGRATOR
from ..states.arguments import short_repr
from ..validation.arrays import coerce, first_names
from ..validation.labels import in_order
from .actuator_memory import ActuatorMemory, StepCommands, actuator_memory, commands_of
from .control import StatelessController, Zero
from .external_forces import ExternalForces, ExternalJointForces, Wrenches, given_forces, wrench_table
from .options import StepOptions
from .readings import NO_READINGS, Readings
from .robot_warnings import warn_of_limits
from .sensor_draws import step_number
from .sensor_errors import errors_of
from .sensors import Steps, reads_welds, step_readings, steps_of
from .step import StepCode, forward_solver
from .step_result import points_again, substeps
from .step_settings import StepSettings, substeps_of
from .world import World, as_world
from .wrapped_controllers import (
    as_controller,
    controller_name,
    in_world_of,
    innermost,
    is_own,
    sees_contact,
    unlimited_torque,
)

REAL = np.dtype(np.float64)


class ControllerError(ArgumentError):
    """Raised if a controller does not return (nv,) real numbers; the message contains what it returned.

    Examples
    --------
    >>> treesim.Simulation(treesim.load("ur5"), controller=lambda t, q, v: [0.0]).run(0.01)
    Traceback (most recent call last):
        ...
    treesim.simulation.controlled.ControllerError: the controller '<lambda>' returned shape (1,), but ...
    """


class NonFiniteTorqueError(ControllerError, NonFiniteError):
    """Error of a controller that returned a torque which is not finite; the message names the joint."""


class GivenTorque(NamedTuple):
    """Torque tau (nv,) that a controller returned at time t [s] and state q (nq,), v (nv,)."""

    t: float
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray


class Progress(NamedTuple):
    """State of a `ControlledRobot` after its steps so far.

    impulses (R,): those of the last step, None before the first. work (2,): work of the controller and of all
    passive forces [J]. contact: the last step's report. latest: the last torque of a controller that may have a
    state. actuators (na,): memory of the world's actuators, None before the first step.
    """

    impulses: np.ndarray | None
    work: np.ndarray
    contact: ContactReport
    latest: GivenTorque | None = None
    actuators: np.ndarray | None = None


class ControlledRobot:
    """System that integrators step: forward dynamics with the controller's torque, damping, friction, springs."""

    def __init__(
        self,
        robot: Tree | World,
        options: StepOptions,
        controller: Any = None,
        external_forces: ExternalForces = (),
        contact_points: bool = False,
        seed: int = 0,
    ) -> None:
        self.options, self.world = options, as_world(robot)
        self.impulses: np.ndarray | None = None  # of contact in the step before; no step writes into this array
        self.actuators: np.ndarray | None = None  # their memory, likewise
        self.robot = robot = self.world.robot
        self.contact = ContactReport.empty(robot, self.world.touching, ())
        self.records_points = contact_points
        self._reads_welds = reads_welds(robot, self.world.sensors)
        self.seed, self.errors = seed, errors_of(self.world.sensors, robot, options.dt)
        self.external_forces = given_forces(robot, external_forces)
        if not callable(self.external_forces):  # each of them, at whatever time it acts
            for force in self.external_forces:
                self._table([force], force.start)
        self.table: np.ndarray | None = None  # of the external forces in the current step
        self.on_welds: np.ndarray | None = None  # the part of it on welded links, if a sensor reads it
        self._joint_forces: ExternalJointForces | None = None  # for integrators in Python
        self.last: tuple[Any, ...] | None = None  # of compiled steps: t and dt [s], and q, v at both ends
        self.controller = in_world_of(as_controller(robot, controller), self.world.alone, robot)
        self.applied: np.ndarray | None = None  # mean torque of the current step, or that at its start
        self.failure: Exception | None = None  # what the controller itself raised
        self.latest: GivenTorque | None = None  # of a controller that may have a state
        self.repeated: GivenTorque | None = None  # the next torque, if it is that of this state
        self._law = unlimited_torque(self.controller)
        check_commanded(innermost(self.controller), self.world.actuator_table)
        self._own, self._sees_contact = is_own(self.controller), sees_contact(self.controller)
        self._shape, actuators = (robot.nv,), self.world.actuator_table
        if controller is not None and not isinstance(controller, Zero):
            warn_of_limits(robot)
        self._bound = Dynamics(robot, backend=options.backend, engine=options.engine, gravity=options.gravity)
        self.work = np.zeros(2)  # of the controller, and of all passive forces, so far [J]
        self._steps: dict[tuple[str, float, bool], tuple[StepCode, int, ActuatorMemory | None]] = {}
        self._zero = np.zeros(robot.nv)
        self._passive = bool(robot.damping.any() or robot.joint_friction.any() or robot.stiffness.any())
        self.stiffness = self._gains_of("stiffness")
        self.damping = self._gains_of("damping")
        has_gains = bool(self.stiffness.any() or self.damping.any())
        self._stateless = self.controller if isinstance(self.controller, StatelessController) else None
        if actuators is not None:
            if self._stateless is not None:
                raise UnsupportedError(f"{quoted(self.world)} has actuators: they take no controls of live pages")
            actuators.with_gains(self.stiffness, self.damping)
        self._follows = has_gains or self._stateless is not None  # whether the torque changes within a step
        # controls of actuators are no forces, and steps limit those of implicit gains at their end
        beyond = (self.stiffness != 0) | (self.damping != 0) if self._stateless is None else np.zeros(robot.nv, bool)
        beyond = beyond if actuators is None else beyond | (actuators.driven > 0)
        self._limit = np.where(beyond, np.inf, robot.effort_limit) if beyond.any() else robot.effort_limit
        self._in_parts = self._follows or contact_points or bool(self.world.kinematic)

    def _gains_of(self, label: str) -> np.ndarray:
        value = getattr(self.controller, label, self._zero)
        given = velocity_argument(self.robot, f"the controller's {label}", value)
        gains = coerce(given._replace(shape=()))
        if gains.shape not in ((), self._shape) or not np.isfinite(gains).all():
            raise ArgumentError(
                f"the controller's {label} must be {self.robot.nv} finite numbers (nv), got {short_repr(gains)}"
            )
        return gains

    def _gain_now(self, label: str) -> np.ndarray:
        """Return a copy of a stateless controller's gains after its latest torque."""
        gains = getattr(self._stateless, label)
        return gains.copy() if type(gains) is np.ndarray else self._gains_of(label).copy()

    def torque(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the controller's torque (nv,), clipped to the effort limits of joints without gains and actuators.

        Raises ControllerError if the controller did not return (nv,) real numbers, NonFiniteTorqueError naming the
        joint if one is not finite, and whatever the controller raises.
        """
        tau = self._given(t, q, v) if self._own else self._given_once(t, q, v)
        if self.applied is None and self.world.actuator_table is None:
            self.applied = self._clipped(tau)
        return tau

    def _clipped(self, tau: np.ndarray) -> np.ndarray:
        """Return a torque (nv,) within the effort limits."""
        limit = self.robot.effort_limit
        return tau if self._limit is limit else np.maximum(np.minimum(tau, limit), -limit)

    def force(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the force (nv,) at a state: the controller's torque, or that of actuators which it controls."""
        tau, robot, actuators = self.torque(t, q, v), self.robot, self.world.actuator_table
        if actuators is None:
            return self._clipped(tau)
        for code, _, memory in self._steps.values():  # those of the steps so far are the same for any external forces
            settings = code.settings
            if memory is not None:
                tau = memory.command(0, self._memory_at(memory, q), q, v, tau)[1]
            break
        else:
            rule, gains = RULES[DEFAULT_INTEGRATOR], (self.stiffness, self.damping)
            settings = StepSettings.of(robot, rule, self.options.dt, *gains, driven=False, actuators=actuators)
        tree, force = tree_tables(*constants_of(robot.spanning)), np.zeros(robot.spanning.nv)
        motion = robot.expand(q), robot.expand_velocity(v), on_mimicked(robot, tau)
        actuate(tree, settings_of(tree, settings.table), *motion, force)
        return force[robot.kept()[1]]

    def _given_once(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the torque of a controller that may have a state, called once per time and state.

        The controller is not called again for the first state of a run that continues another one.
        """
        known, self.repeated = self.repeated, None
        if known is None or not (t == known.t and np.array_equal(q, known.q) and np.array_equal(v, known.v)):
            known = GivenTorque(t, q, v, self._given(t, np.array(q), np.array(v)))
        self.latest = known
        return known.tau

    def _given(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the controller's torque (nv,), checked and clipped to the limits that steps do not keep."""
        try:
            given = self._law(t, q, v, *([self.contact] if self._sees_contact else []))
        except Exception as error:
            self.failure = error
            raise
        if type(given) is np.ndarray and given.dtype is REAL and given.shape == self._shape:
            tau = given.copy()
        else:
            tau = self._converted(given)
        if not all(np.isfinite(tau).tolist()):  # faster than the array's method for a few numbers
            raise self._non_finite(tau)
        return np.maximum(np.minimum(tau, self._limit), -self._limit)

    def _converted(self, given: Any) -> np.ndarray:
        """Convert a controller's result to float64; raises ControllerError if it is not (nv,) real numbers."""
        nv, name = self.robot.nv, controller_name(self.controller)
        try:
            given = in_order("its result", given, VELOCITIES, self.robot)
        except ArgumentError as error:
            raise ControllerError(f"the controller {name!r}: {error}") from None
        masked = np.ma.is_masked(given)
        try:
            what = np.asarray(given)
        except ValueError:  # lists of unequal lengths
            what = np.empty(0, object)
        if masked or what.dtype.kind not in "fiu":
            came = "an array with masked entries" if masked else short_repr(given)
            raise ControllerError(
                f"the controller {quoted(name)} returned {came}, but {nv} real numbers (nv) are needed"
            )
        if what.shape != self._shape:
            free = f", {nv - self.world.alone.nv} of them of free bodies" if self.world.bodies else ""
            free += first_names(velocity_argument(self.robot, "tau", given), what.shape)
            raise ControllerError(
                f"the controller {quoted(name)} returned shape {what.shape}, but ({nv},) is needed{free}"
            )
        return what.astype(float)

    def _non_finite(self, tau: np.ndarray) -> NonFiniteTorqueError:
        k = int(np.flatnonzero(~np.isfinite(tau))[0])
        return NonFiniteTorqueError(f"the controller's torque on joint {self.robot.dof_name(k)!r} is {tau[k]}")

    def acceleration(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return qdd (nv,), with damping at the velocity v and springs of joints at q."""
        tau = self._clipped(self.torque(t, q, v))
        if self._passive:
            tau = tau - self.robot.damping * v + spring_forces(self.robot, q)
        self.table = table = self._wrenches(t, q, v)
        if table is not None:
            if self._joint_forces is None:
                self._joint_forces = ExternalJointForces(self.robot)
            tau = tau + self._joint_forces(q, v, table)
        return self._bound.forward_dynamics(q, v, tau)

    def compiled_step(
        self, rule: str, t: float, q: np.ndarray, v: np.ndarray, dt: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return (q, v) at t + dt by a compiled integrator, in substeps.

        rule: name of the integrator in `treesim.kernels.stepping.rules`. Damping, friction and the controller's
        gains are implicit. Controllers without a state are evaluated at every substep, others once. Raises what the
        dynamics raise, NonFiniteError.
        """
        self.table = table = self._wrenches(t, q, v)
        key = rule, dt, table is not None
        code, count, memory = self._steps.get(key) or self._step_code(*key)
        if self._stateless is not None:
            self._stateless.begin(code.settings, code.rule)
        tau = self.torque(t, q, v)
        given = tau if table is None else np.concatenate([tau, table])
        start: Any = code, q, v, self.impulses, count
        before: Any = None if memory is None else self._memory_at(memory, q)
        blocks, commands = None, None
        in_parts = self._in_parts or (memory is not None and memory.has_feedback)
        if not in_parts:
            if memory is not None:
                commands = StepCommands(memory, before, given)
                given = commands.of_all(q, v)
            blocks = code.sequence(count, memory is not None).run(q, v, given, self.impulses)
        if blocks is None:
            commands = None if memory is None else StepCommands(memory, before, tau)
            end = self._step_in_parts(start, (tau, table), t, dt, commands)
        else:
            out, sequence = blocks.out, blocks.sequence
            for part in sequence.works:
                self.work += out[part]
            self.applied = mean_of([*map(out.__getitem__, sequence.forces)])
            if sequence.contact is not None:
                self.impulses = out[sequence.contact]
                again = partial(points_again, *start, given if memory is None else commands_of(given, count, table))
                self.contact = ContactReport(self.world.touching, blocks, again)
            end = out[sequence.q], out[sequence.v]
        self.actuators = None if commands is None else commands.memory
        self.last = t, dt, q, v, *end
        return end

    def _memory_at(self, memory: ActuatorMemory, q: np.ndarray) -> np.ndarray:
        """Return the memory (na,) of the actuators before a step from q."""
        return memory.begin(q, self.seed) if self.actuators is None else self.actuators

    def _step_in_parts(
        self, start: Any, given: tuple[np.ndarray, np.ndarray | None], t: float, dt: float,
        commands: StepCommands | None,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """Take the substeps of a step one by one; return (q, v) at the end.

        start: code, q, v, impulses, and number of substeps. given: the torque at the start, and the table of external
        forces. commands: of actuators with memory, under this torque.
        """
        (code, q, v, impulses, count), (tau, table), stateless = start, given, self._stateless
        used: list[Any] = []  # the control of each substep, with the gains of a stateless controller

        def put(held: np.ndarray) -> np.ndarray:
            gains = None if stateless is None else (self._gain_now("stiffness"), self._gain_now("damping"))
            used.append((held if table is None else np.concatenate([held, table]), gains))
            return code.under(*used[-1])

        def control(k: int, q_now: np.ndarray, v_now: np.ndarray) -> np.ndarray:
            held = self._held(tau, (q, v), (q_now, v_now), t + k * dt / count) if k and self._follows else tau
            if commands is not None:
                commands.control = held
                held = commands(k, q_now, v_now)
            return put(held)

        def limited(force: np.ndarray) -> np.ndarray | None:
            held = None if stateless is None else stateless.limited(force)
            if held is not None:
                used.pop()
            return None if held is None else put(held)

        def failed(*state: np.ndarray) -> None:
            raise code.explain(*state)

        def repeated(k: int, *_: np.ndarray) -> np.ndarray:
            return code.under(*used[k])

        points: list[np.ndarray] | None = [] if self.records_points and code.stage is not None else None
        motion = code.motion(t, dt, count)
        _, results = substeps(
            code, q, v, impulses, count, control, failed, points=points, motion=motion, again=limited, commands=commands
        )
        for part in results:
            self.work += part.work
        self.applied, end = mean_of([part.force for part in results]), results[-1]
        if code.stage is not None:
            found = partial(points_again, *start, repeated, motion=motion) if points is None else partial(list, points)
            self.impulses, self.contact = end.warm_start, ContactReport(self.world.touching, results, found)
        if motion is not None:
            self.work[0] += motion.work((q, v), results, self.options.gravity)
        return end.q, end.v

    def readings(self) -> Readings:
        """Return the readings (n,) of the world's sensors in the last step; none before the first."""
        last = self.last
        if last is None:
            return NO_READINGS
        t, dt, *moved = last

        def step() -> Steps:
            applied = self._zero if self.applied is None else self.applied
            wrenches = self.contact.wrench_array, self.table, self.on_welds
            return steps_of(self.robot, self.options.gravity, dt, (*moved, applied), *wrenches)

        return step_readings(self.world.sensors, self.robot, step, (), self.errors, self.seed, step_number(t, dt))

    def _held(self, tau: np.ndarray, start: Any, now: Any, t: float) -> np.ndarray:
        """Return the torque (nv,) at the start of a later substep of a step that began with the torque `tau`.

        A controller without a state is evaluated again. For any other, its stiffness and damping extrapolate tau
        where it is not saturated. start, now: (q, v) of the step and of the substep; t: time of the substep [s].
        """
        if self._own:
            return self.torque(t, *now)
        followed = self.stiffness * self.robot.difference(start[0], now[0]) + self.damping * (now[1] - start[1])
        return tau - np.where(np.abs(tau) < self.robot.effort_limit, followed, 0.0)

    def _wrenches(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray | None:
        """Return the table (21 N,) of the external forces in a step that begins at t [s]; None if none acts.

        Raises what a function of external forces raises, and ArgumentError if it returns none.
        """
        forces, self.on_welds = self.external_forces, None
        if not callable(forces):
            acting = forces and [force for force in forces if force.acts(t)]
            return self._table(acting, t) if acting else None
        try:
            found = forces(t, q.copy(), v.copy())
        except Exception as error:
            self.failure = error
            raise
        return None if found is None else self._table(found, t)

    def _table(self, forces: Wrenches, t: float) -> np.ndarray:
        """Return the table (21 N,) of wrenches at t [s]; raises what `wrench_table` raises."""
        table = wrench_table(self.robot, forces, t)
        self.world.kinematic_bodies.refuse_forces("external_forces", table)
        if self._reads_welds:
            self.on_welds = wrench_table(self.robot, forces, t, welds=True).ravel()
        return table.ravel()

    def _step_code(self, rule: str, dt: float, with_forces: bool) -> tuple[StepCode, int, ActuatorMemory | None]:
        """Make the code of substeps of an integrator; return it, their number, and the memory of actuators in them.

        with_forces: with external forces.
        """
        options, compiled = replace(self.options, integrator=rule), RULES[rule]
        substeps = substeps_of(self.robot, compiled, dt, options.substeps)
        settings = StepSettings.of(
            self.robot, compiled, dt / substeps, self.stiffness, self.damping, driven=False,
            actuators=self.world.actuator_table,
        )  # fmt: skip
        if self._stateless is not None:  # gains change, so they cannot be constants of the code
            settings, options = settings._replace(table=settings.table.copy()), replace(options, engine="generic")
        solver = forward_solver(self.robot, options.backend)
        memory = actuator_memory(self.world, compiled, dt, substeps, settings)
        made = StepCode(self.world, solver, settings, options, with_forces=with_forces), substeps, memory
        self._steps = {key: code for key, code in self._steps.items() if key[:2] == (rule, dt)}
        self._steps[rule, dt, with_forces] = made
        return made

    def forget(self) -> None:
        """Reset the warm start: forget impulses, contact report and torque of the step before."""
        self.impulses, self.contact = None, ContactReport.empty(self.robot, self.world.touching, ())
        self.latest = self.repeated = self.last = self.actuators = None

    def go_on(self, impulses: np.ndarray | None, actuators: np.ndarray | None = None) -> None:
        """Load the warm start of a continued run.

        impulses (R,): those of the step before, None for none. actuators (na,): their memory, None if nothing was
        commanded. The controller's last torque is used again if the first step is at the same time and state.
        """
        latest = self.latest
        self.forget()
        self.impulses, self.actuators, self.repeated = impulses, actuators, latest

    @property
    def progress(self) -> Progress:
        """Copies of impulses, work, contact report and latest torque of the steps so far."""
        impulses = None if self.impulses is None else self.impulses.copy()
        actuators = None if self.actuators is None else self.actuators.copy()
        return Progress(impulses, self.work.copy(), self.contact, self.latest, actuators)

    @progress.setter
    def progress(self, progress: Progress) -> None:
        self.impulses = None if progress.impulses is None else progress.impulses.copy()
        self.work, self.contact, self.actuators = progress.work.copy(), progress.contact, progress.actuators
        self.latest = progress.latest and progress.latest._replace(tau=progress.latest.tau.astype(float))
