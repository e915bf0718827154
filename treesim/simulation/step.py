"""Code of one time step for an integrator and a backend: compiled, or the same source in the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from operator import itemgetter
from typing import Any, NamedTuple, Self, TypeGuard

import numpy as np

from .. import plugins
from ..contact.bodies import engine_of_one_state
from ..contact.contact_solve import ContactSolve
from ..contact.convex_pairs import nothing_found
from ..dynamics.auto import Auto
from ..dynamics.base import CompiledBackend, DynamicsBackend, check_supported, chosen_backend, is_one_kernel
from ..dynamics.forward_dynamics import held_backend
from ..dynamics.tables import constants_of
from ..engine.call.batched import BatchedTables
from ..engine.call.bound_entry import BoundEntry
from ..errors import NonFiniteError, UnsupportedError, quoted
from ..kernels.contact.contact_points import POINT
from ..kernels.contact.layout import INFO
from ..kernels.contact.placed_step import KINEMATICS
from ..kernels.contact.step_records import StepInput
from ..kernels.entries.entry import unfused
from ..kernels.entries.status import FINE, NOT_FINITE
from ..kernels.stepping.rules import CONTACT_RULES, IN_PYTHON, RULES, Rule
from ..kernels.stepping.step_entry import step_entry
from ..model.tree import Tree
from ..states.states import mimic_constants, run_bound
from ..types import BackendName
from ..validation.arrays import Shape
from .effort_limits import REPEATS, EffortLimits
from .external_forces import ExternalJointForces
from .integrators import CompiledRule
from .kinematic import EndVelocities, StepMotion, Times
from .options import StepOptions
from .step_result import StepResult, shapes_of_result
from .step_sequence import PartCode, StepSequence
from .step_settings import StepSettings
from .world import World


class StepCall(NamedTuple):
    """Arguments of a step of one state or a batch, except its control.

    free: function that takes the unconstrained step. warm_start (..., R): contact impulses of the step before; None for
    zeros. result: overwritten. batched: model parameters for the contact solve. kinematics: of the contact solve, if
    `free` computes them. points: room for the contact points of one state, if they are requested. velocities: of
    kinematic bodies, if they differ from v. gains: settings of each state. solve: adds contact to a batch as
    `ContactSolve.run`; None for that function.
    """

    free: Callable[..., int]
    q: np.ndarray
    v: np.ndarray
    warm_start: np.ndarray | None
    result: StepResult
    batched: BatchedTables | None = None
    kinematics: np.ndarray | None = None
    points: np.ndarray | None = None
    velocities: EndVelocities | None = None
    gains: BatchedTables | None = None
    solve: Callable[..., int] | None = None


class StepParameters(NamedTuple):
    """Model parameters of each state, in the constants of unconstrained steps, contact solves and effort limits."""

    free: BatchedTables | None
    contact: BatchedTables | None
    gains: BatchedTables | None

    def of(self, states: Any) -> Self:
        """Return those of some states."""
        return type(self)(*(None if x is None else x.of(states) for x in self))


class PythonDynamics:
    """Forward dynamics in Python in the form of an entry that steps call; forward: as the kernel of an entry."""

    def __init__(self, forward: Callable[..., int], mimic: bool) -> None:
        self.one = self.kernel = forward
        self.mimic, self.__name__ = mimic, "in_python"

    @staticmethod
    def memory(tree: Any) -> None:
        """Return no memory."""


class StepCode:
    """Code of one step for single states and batches.

    It is compiled if the backend is one kernel; otherwise the interpreter runs the same source. with_forces: steps
    have external forces; then controls (..., nv + 21 N) end with their table (`external_forces.wrench_table`).
    own_gains: whether gains may be those of each state. pairs, corrects: as of `ContactSolve`.
    """

    def __init__(
        self,
        world: World,
        solver: DynamicsBackend | CompiledBackend,
        settings: StepSettings,
        options: StepOptions,
        *,
        work: bool = True,
        with_forces: bool = False,
        own_gains: bool = False,
        pairs: bool = True,
        corrects: bool = True,
    ) -> None:
        self.world, self.solver, self.settings = world, solver, settings
        self.robot = robot = world.kinematic_bodies.stepped
        self.rule = rule = compiled_rule(options.integrator)
        self.gravity, engine = options.gravity, options.engine
        check_diagonal(solver, robot, settings)
        self.constants: tuple[Any, ...] = ()
        h = float(settings.table[0])
        self.forces = ExternalJointForces(robot, rule.lead * h, engine) if with_forces else None
        self._inputs = 4 if with_forces else 3  # arrays of a step before its results
        self._results = ("force", "work", *(("impulses", "residual") if world.m else ()))  # besides the state
        self.bound: BoundEntry | None = None  # of a batch
        self._single: BoundEntry | None = None  # of one state
        if _has_kernel(solver) and is_one_kernel(solver, robot) and robot.nv:
            forward, constants = solver.entry_for(robot), solver.constants(robot, self.gravity)
            entry = step_entry(rule, forward, bool(world.m), with_forces, self._results)
            self.constants = (*mimic_constants(robot, constants), *world.held, settings.table)
            n = (robot.nv,)
            inputs = (robot.nq,), n, n, *([n] if with_forces else [])
            results: tuple[Shape, ...] = ((robot.nq,), n, n, (2,), *((world.m,) for _ in self._results[2:]))
            alone = engine_of_one_state(robot, engine)
            if alone != engine or world.touching.several:  # bits of loops and batches, and of any number of bodies
                entry = unfused(entry)
            self.bound = self._single = BoundEntry(entry, self.constants, inputs, results, engine=engine)
            if alone != engine:
                self._single = BoundEntry(entry, self.constants, inputs, results, engine=alone)
        elif engine == "specialized" and robot.nv:
            raise UnsupportedError(f"backend {solver.name!r} is no kernel of treesim's: it has no specialized code")
        self.stage: ContactSolve | None = None
        if touches(world, rule):
            self.stage = ContactSolve(
                robot, world.touching, rule, settings.table, self.gravity, options.contact_solver, work=work,
                tolerance=world.contact_tolerance, engine=engine, with_forces=with_forces, pairs=pairs,
                corrects=corrects,
            )  # fmt: skip
        self.has_rows = bool(world.m) and self.stage is None  # steps have constraint impulses but no contact solve
        self.effort: EffortLimits | None = None  # of steps with implicit gains
        if (own_gains or settings.has_gains) and rule.implicit and self.bound is not None:
            actuators = world.actuator_table is not None
            self.effort = EffortLimits(robot, settings.table, self.gravity, self.has_rows, actuators)
        self._kinematics: Shape | None = None  # of the contact solve, if one state's unconstrained step computes them
        certain = self.stage is not None and self.stage.quick is None and self.stage.kinematics is not None
        shares = certain and rule.theta == 1  # both are at the start, else they share little
        if self.bound is not None and self.stage is not None and shares and not (world.m or world.kinematic):
            self._kinematics = self.stage.between[-1]
            self.bound = BoundEntry(unfused(entry), self.constants, inputs, results, engine=engine)
            entry = step_entry(rule, forward, results=("force", "work", "extra"), extra=KINEMATICS)
            results = (*results, self._kinematics)
            self._single = BoundEntry(unfused(entry), self.constants, inputs, results, engine=alone)
        self._sequences: dict[tuple[int, bool], StepSequence] = {}
        self._outside = bool(world.convex.pairs)
        kept = world.touching.warm_start_size if self.stage is not None else 0
        self._cold = np.zeros(kept)  # warm start of one state without impulses
        self._shapes = shapes_of_result(robot.nq, robot.nv, world.m, None if self.stage is None else self.stage.shapes)

    def new_result(self, batch: tuple[int, ...] = ()) -> StepResult:
        """Allocate the results of a step of one state or a batch."""
        shapes = self._shapes if not batch else [None if shape is None else batch + shape for shape in self._shapes]
        return StepResult(*[None if shape is None else np.empty(shape) for shape in shapes])

    def motion(self, t: Times, dt: float, count: int) -> StepMotion | None:
        """Return the motion of the kinematic bodies in `count` equal parts of a step from t to t + dt [s], if any."""
        bodies = self.world.kinematic_bodies
        return StepMotion(bodies, t, dt, count, self.rule.theta < 1) if bodies else None

    def under(self, control: np.ndarray, gains: tuple[np.ndarray, np.ndarray] | None) -> np.ndarray:
        """Set the gains (kp, kd) of a stateless controller, if any, and return the control of a substep."""
        if gains is not None:
            self.settings.put_gains(self.robot, *gains)
        return control

    def contact_points(self, *start: Any, velocities: EndVelocities | None = None) -> np.ndarray:
        """Take a step of one state again, and return its `kernels.contact.contact_points` (n, 17); as `run`."""
        if self.stage is None:
            return np.empty((0, POINT))
        (q, v, control, warm_start), result, points = start, self.new_result(), self.stage.new_points()
        self.run(q, v, control, warm_start, result, points, velocities)
        return points[: int(result.solver_info[INFO.contacts])]

    def run(
        self,
        q: np.ndarray,
        v: np.ndarray,
        control: np.ndarray,
        warm_start: np.ndarray | None,
        result: StepResult,
        points: np.ndarray | None = None,
        velocities: EndVelocities | None = None,
    ) -> int:
        """Step one state or a batch; return the worst status.

        warm_start (..., R): contact impulses of the step before; None for zeros. result: overwritten. points: room for
        the contact points of one state, if they are requested. velocities: of kinematic bodies, if they differ from v.
        """
        return self.step_with(self.call_of(q, v, warm_start, result, points, velocities), control)

    def call_of(
        self, q: np.ndarray, v: np.ndarray, warm_start: Any, result: StepResult, points: Any, ends: Any
    ) -> StepCall:
        """Return the arguments of a step as those of `run`."""
        kinematics = None if self._kinematics is None or q.ndim > 1 else np.empty(self._kinematics)
        return StepCall(self._free, q, v, warm_start, result, None, kinematics, points, ends)

    def sequence(self, count: int, own_controls: bool = False) -> StepSequence:
        """Return the `count` equal parts of a step of one state as one call; own_controls: as of `StepSequence`.

        Its compilation begins in the background with what takes longest. There is another one when memory has grown.
        """
        sequence = self._sequences.get((count, own_controls))
        if sequence is None or sequence.bound is not (self.stage and self.stage.bound):
            free = None if self._outside else self._single
            if free is not None and self.stage is not None:
                self.stage.begin()
            with_kinematics = self._kinematics is not None
            code = PartCode(free, self.stage, self._shapes, self.forces, self.effort, with_kinematics)
            sequence = self._sequences[count, own_controls] = StepSequence(code, count, own_controls)
        return sequence

    def step_with(self, step: StepCall, control: np.ndarray) -> int:
        """Take an unconstrained step, then solve contact, with mean forces within the effort limits.

        States that are not finite keep the unconstrained step. If the world has joint limits only, so do states
        that reach no limit. Returns the worst status.
        """
        return self.settle(step, control)[0]

    def settle(self, step: StepCall, control: np.ndarray) -> tuple[int, np.ndarray]:
        """Take a step as `step_with`; return the status, and the control that respects the effort limits."""
        status = self._step_with(step, control)
        if self.effort is None:
            return status, control
        for attempt in range(REPEATS + 1):
            forces = self.effort.of(step.q, step.v, step.result, step.gains)
            changed = forces.saturated(control) if attempt < REPEATS else None
            if changed is None:
                break
            control = changed
            status = self._step_with(step, control)
        step.result.force[...] = forces.mean
        return status, control

    def _step_with(self, step: StepCall, control: np.ndarray) -> int:
        """Take a step as `step_with`, whose result.force is that at the start."""
        free, q, v, warm_start, result, batched, kinematics, points, velocities, _, solve = step
        rows, external, given = result.constraint_rows(), None, [q, v, control]
        if self.forces is not None:
            nv = self.robot.nv
            external = self.forces(q, v, control[..., nv:])
            given = [q, v, np.ascontiguousarray(control[..., :nv]), external]
        if self.stage is None:
            status = free(*given, result.q, result.v, result.force, result.work, *rows)
            if velocities is not None:
                velocities.put(None, result.v)
            return status
        q_free, v_free, work_free = np.empty(q.shape), np.empty(v.shape), np.empty(result.work.shape)
        more = rows if kinematics is None else (kinematics,)
        status = free(*given, q_free, v_free, result.force, work_free, *more)
        if velocities is not None:
            v = v.copy()
            velocities.put(v, v_free)
        if warm_start is None:
            warm_start = np.zeros((*q.shape[:-1], self._cold.size)) if q.ndim > 1 else self._cold
        near = self._near(status, q, q_free, v_free, batched)
        found = self.world.convex.found(q, q_free, near) if self._outside else nothing_found(q)
        touched = StepInput(q, v, q_free, v_free, result.force, external, work_free, warm_start, found)
        output = result.contact_output()._replace(points=points)
        if near is None or near.all():
            return max(status, (solve or self.stage.run)(touched, output, batched, kinematics))
        output.q[...], output.v[...], output.work[...] = q_free, v_free, work_free
        for x in (output.warm_start, output.wrench, output.pairs, output.solver_info):
            x[...] = 0.0
        if near.any():
            part = output.mapped(itemgetter(near))
            self.stage.run(touched.mapped(itemgetter(near)), part, None if batched is None else batched.of(near))
            for x, own in zip(output[:-1], part[:-1], strict=True):
                x[near] = own
        return status

    def _near(
        self, status: int, q: np.ndarray, q_free: np.ndarray, v_free: np.ndarray, batched: BatchedTables | None
    ) -> Any:
        """Return the mask (...) of states whose contact has to be solved; None for all."""
        assert self.stage is not None
        near = self.stage.near(q, q_free, batched)
        if status == FINE:
            return near
        finite = np.isfinite(q_free).all(axis=-1) & np.isfinite(v_free).all(axis=-1)
        return finite if near is None else finite & near

    def _free(self, *arrays: np.ndarray) -> int:
        """Take the unconstrained step of one state or a batch."""
        one, n = arrays[0].ndim == 1, self._inputs
        bound = self._single if one else self.bound
        if bound is None:
            states = [arrays] if one else zip(*arrays, strict=True)
            return max((self._tried(*state) for state in states), default=FINE)
        if one and self.stage is not None:
            self.stage.begin()
        return run_bound(bound, arrays[:n], arrays[n:])

    def explain(self, q: np.ndarray, v: np.ndarray, control: np.ndarray) -> Exception:
        """Return the error of a state whose step failed: that of the dynamics, else NonFiniteError."""
        robot = self.robot
        m = self.world.m
        rows = (np.empty(m), np.empty(m)) if m else ()
        results = np.empty(robot.nq), np.empty(robot.nv), np.empty(robot.nv), np.empty(2), *rows
        external = [] if self.forces is None else [self.forces(q, v, control[robot.nv :])]
        try:
            with np.errstate(all="ignore"):
                self._interpreted(q, v, control[: robot.nv], *external, *results)
        except ArithmeticError as error:
            return error
        except ValueError:  # raised by the sine of infinity in the interpreter
            pass
        return NonFiniteError("the state at the end of the step is not finite")

    def _tried(self, *arrays: Any) -> int:
        """Step in the interpreter; an arithmetic error sets the results to NaN and returns NOT_FINITE."""
        try:
            with np.errstate(all="ignore"):
                return self._interpreted(*arrays)
        except (ArithmeticError, ValueError):
            for result in arrays[self._inputs :]:
                result[:] = np.nan
            return NOT_FINITE

    def _interpreted(self, *arrays: np.ndarray) -> int:
        """Step by the kernel's source in the interpreter, with the backend's forward dynamics in Python.

        arrays: q, v, control and, with external forces, their joint forces; then the results q, v, force, work, and
        those of constrained rows.
        """
        q_new, v_new, _, work = arrays[self._inputs : self._inputs + 4]
        if not self.robot.nv:
            work[:] = 0.0
            return FINE
        status = self._in_python(*arrays)
        return status if np.isfinite(q_new).all() and np.isfinite(v_new).all() else NOT_FINITE

    @cached_property
    def _in_python(self) -> Callable[..., int]:
        """The step of one state in the interpreter."""
        constants = mimic_constants(self.robot, constants_of(self.robot, self.gravity))
        dynamics = PythonDynamics(self._forward, self.robot.mimic_map is not None)
        made = step_entry.__wrapped__  # type: ignore[attr-defined]  # not cached: it is of this object
        entry = made(self.rule, dynamics, bool(self.world.m), self.forces is not None, self._results)
        return partial(entry, *constants, *self.world.held, self.settings.table)

    def _forward(
        self, moved: Any, q: np.ndarray, v: np.ndarray, tau: np.ndarray, f_ext: Any, qdd: np.ndarray, memory: Any
    ) -> int:
        """Compute the backend's accelerations as a kernel does."""
        self._refuse_infinite(moved.armature)
        qdd[:] = self._accelerations(q, v, tau, moved.armature)
        return FINE

    def _accelerations(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, armature: np.ndarray) -> np.ndarray:
        """Return the backend's accelerations in coordinates of the spanning tree."""
        robot, mimic_map = self.robot, self.robot.mimic_map
        if mimic_map is None:
            return self.solver.forward_dynamics(robot, q, v, tau, None, self.gravity, armature)
        state = q[mimic_map.independent_q], v[mimic_map.independent_v], tau[mimic_map.independent_v]
        solver = held_backend(self.solver, robot)
        qdd = solver.forward_dynamics(
            robot, *state, None, self.gravity, np.maximum(mimic_map.gathered(armature, 2), 0.0)
        )
        return robot.expand_velocity(qdd)

    def _refuse_infinite(self, diagonal: np.ndarray) -> None:
        if not np.isfinite(diagonal).all():
            joint = self.robot.spanning.dof_name(int(np.flatnonzero(~np.isfinite(diagonal))[0]))
            raise NonFiniteError(f"dt times the damping or gain of joint {quoted(joint)} is no finite number")


def touches(world: World, rule: Rule) -> bool:
    """Return whether steps of an integrator solve contact, joint limits or joint friction.

    Integrators without a contact solve leave out limits and friction. Raises UnsupportedError for them if the
    world has a ground.
    """
    if rule.contact:
        return world.touching.active
    if world.ground:
        known = " or ".join(map(repr, CONTACT_RULES))
        raise UnsupportedError(f"integrator {rule.name!r} does not simulate contact: take {known}")
    return False


def check_diagonal(solver: DynamicsBackend | CompiledBackend, robot: Tree, settings: StepSettings) -> None:
    """Raise UnsupportedError if a step adds gains, damping or springs to H's diagonal and a backend has no armature."""
    if not solver.capabilities.armature and robot.armature.any():
        raise UnsupportedError(f"backend {solver.name!r} supports neither armature nor kinematic bodies; 'aba' does")
    if not solver.capabilities.armature and (
        settings.has_gains or settings.table[1 : 1 + 3 * robot.spanning.nv].any() or robot.stiffness.any()
    ):
        raise UnsupportedError(
            f"backend {solver.name!r} does not support armature, as which steps take damping, gains and springs of "
            f"{quoted(robot.name)}; backend 'aba' supports it"
        )


def compiled_rule(integrator: str) -> Rule:
    """Return the compiled integrator of a name; raises UnknownNameError, or UnsupportedError if it has none."""
    method = plugins.get("integrators", integrator)
    if isinstance(method, CompiledRule):
        return method.rule
    names = ", ".join(repr(name) for name in sorted(RULES))
    raise UnsupportedError(f"integrator {integrator!r} is not compiled: take one of {names}, or treesim.Simulation")


def check_rows(world: World, integrator: str) -> None:
    """Raise UnsupportedError if an integrator does not support a world's constrained rows.

    Raises UnknownNameError for an unknown integrator.
    """
    method = plugins.get("integrators", integrator)
    rule = getattr(method, "rule", IN_PYTHON)
    if world.actuators and rule is IN_PYTHON:
        raise UnsupportedError(
            f"integrator {integrator!r} does not simulate the actuators of {quoted(world)}: take {', '.join(RULES)}"
        )
    if world.kinematic and not rule.contact:
        names = ", ".join(map(repr, CONTACT_RULES))
        raise UnsupportedError(
            f"integrator {integrator!r} does not move kinematic bodies of {quoted(world)}: take {names}"
        )
    if world.m and rule.step_with_rows is None:
        names = ", ".join(repr(name) for name, known in RULES.items() if known.step_with_rows)
        raise UnsupportedError(
            f"integrator {integrator!r} does not support the constraints of {quoted(world)}: take {names}"
        )


def forward_solver(robot: Tree, backend: BackendName | DynamicsBackend) -> Any:
    """Return the backend of a name, or the given one; for "auto", the one that it selects for the robot.

    Raises UnsupportedError for a joint type that the backend does not support.
    """
    solver = chosen_backend(backend)
    solver = solver.taken(robot) if isinstance(solver, Auto) else solver
    check_supported(solver, robot)
    return solver


def _has_kernel(solver: DynamicsBackend | CompiledBackend) -> TypeGuard[CompiledBackend]:
    """Return whether a backend is one kernel, which a compiled step can call."""
    return isinstance(solver, CompiledBackend) and getattr(type(solver).entry, "one", None) is not None


def forward_kernel(robot: Tree, backend: BackendName | DynamicsBackend) -> CompiledBackend:
    """Return a backend that is one kernel; raises UnsupportedError, naming it, for others."""
    solver = forward_solver(robot, backend)
    if _has_kernel(solver) and (robot.mimic_map is None or solver.serves_mimic_joints):
        return solver
    raise UnsupportedError(f"backend {solver.name!r} is no kernel of treesim's: rollouts need one, such as 'aba'")
