"""Stepper of many states by the same number of steps a call, for vector environments."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..contact import deep_overlaps
from ..contact.base import ContactSolver
from ..contact.checks import begin_checks
from ..contact.named_wrenches import NamedWrenches
from ..contact.unsolved import UNSOLVED, warn_of_states
from ..dynamics.base import DynamicsBackend
from ..dynamics.physics import Parameters
from ..engine.call.steps import Arrays, RolloutSegment
from ..engine.threads import use_threads
from ..errors import ArgumentError
from ..model.named_axes import coordinate_argument, velocity_argument
from ..model.quaternions import unit_quaternions
from ..model.tree import Tree
from ..plugins import DEFAULT_INTEGRATOR
from ..simulation.external_forces import Wrenches
from ..simulation.options import StepOptions
from ..simulation.readings import NO_READINGS, Readings
from ..simulation.robot_warnings import unwarned
from ..simulation.sensor_draws import LARGEST_SEED
from ..simulation.start_limits import warn_of_start
from ..simulation.world import World, as_world, started
from ..states.arguments import short_repr, whole_number
from ..system.display import ReprMixin, arrays
from ..system.memory import check_memory
from ..types import BackendName, ContactSolverName, Engine, IntegratorName
from ..validation.arrays import check_copy, coerce, refuse_non_finite
from ..validation.values import checked_flag, checked_parts
from .arguments import Method, Start, method_of
from .contact import ContactSteps
from .external_forces import RolloutForces
from .joint_limits import under_contact
from .new_parameters import new_parameters
from .parameters import given_fields, own_limits, physics_of_rollouts, world_with_rows
from .rollout import unconstrained_steps
from .sensors import LastStep, method_for_sensors


class Stored(NamedTuple):
    """What the next steps of a `BatchStepper` depend on.

    impulses: of contact; actuators: their memory. wrench: of contact in the last step. last: of `LastStep`. keys: of
    random numbers. physics: arrays of model parameters of each state.
    """

    q: np.ndarray
    v: np.ndarray
    finite: np.ndarray
    residual: np.ndarray | None
    impulses: np.ndarray | None
    actuators: np.ndarray | None
    wrench: np.ndarray | None
    last: Any
    warned: set[str]
    has_stepped: bool
    taken: int
    age: np.ndarray
    keys: np.ndarray
    physics: Any


class BatchStepper(ReprMixin):
    """Stepper of B states of one robot; each call of `step` advances all states by a fixed number of steps.

    With the same initial states and controls, the states are equal to those of `treesim.rollout`, bit for bit. The
    states do not depend on how the steps are divided into calls. A copy or pickle continues from the same states with
    the same bits, and shares no array with the original. A new stepper is at time 0, and its states are at rest in the
    neutral configuration.

    Parameters
    ----------
    robot : Tree or World
        The robot, or a world.
    count : int
        Number of states B.
    dt : float
        Step [s].
    steps : int
        Number of steps of each call of `step`.
    kp : float or array_like, shape (nv,)
        Position gains [N m/rad, N/m]. For joints with a gain kp or kd, controls are target positions; for others they
        are forces [N, N m].
    kd : float or array_like, shape (nv,)
        Velocity gains [N m s/rad, N s/m].
    integrator : str
        As in `treesim.rollout`.
    backend : str or DynamicsBackend
        As in `treesim.rollout`.
    substeps : int, optional
        As in `treesim.rollout`.
    contact_solver : str or ContactSolver
        As in `treesim.rollout`.
    engine : str
        As in `treesim.rollout`.
    threads : int, optional
        As in `treesim.rollout`.
    model_parameters : mapping, optional
        As in `treesim.rollout`, for B states.
    contact_wrenches : bool
        Compute the attribute `contact_wrench`.
    seed : int
        Seed of the random numbers of the world's sensors, and of delays of actuators. State i is rollout i; each `put`
        of a state that was stepped begins a new episode, with other numbers.

    Attributes
    ----------
    t : float
        Simulated time of all calls of `step` together [s]; `put` does not change this time.
    contact_wrench : ndarray, shape (B, N + 1, 6), or None
        Mean contact wrenches on all bodies in the last step, indexed by names as `ContactReport.wrench`:
        `contact_wrench["foot"]` is (B, 6). "ground" means all surfaces together; one of several has no row. 0 after
        `put`. None without contact_wrenches=True.
    sensors : mapping of str to ndarray, shape (B, n)
        Readings of the world's sensors in the last step, by name; NaN before the first step and after `put`.
    finite : ndarray of bool, shape (B,)
        True for states that are finite.
    residual : ndarray, shape (B,)
        Largest complementarity residual of contacts, joint limits and joint friction since the last `put` [m/s, rad/s].
        None for worlds without contacts, joint limits and joint friction.

    Raises
    ------
    ArgumentError, UnknownNameError, UnsupportedError
        As for `treesim.rollout`. ArgumentError also if two threads use the stepper at the same time.

    Warns
    -----
    LimitWarning
        If joints start beyond their position limits; at most once for a stepper.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> stepper = treesim.BatchStepper(robot, 100, dt=1e-3, steps=10, kp=50.0, kd=5.0)
    >>> stepper.put(slice(0, 50), robot.random(0), np.zeros(6))
    >>> stepper.step(np.full((100, 6), 0.1))
    >>> stepper.q.shape, bool(stepper.finite.all())
    ((100, 6), True)
    """

    def __init__(
        self,
        robot: Tree | World,
        count: int,
        dt: float = 1e-3,
        *,
        steps: int = 1,
        kp: ArrayLike = 0.0,
        kd: ArrayLike = 0.0,
        integrator: IntegratorName = DEFAULT_INTEGRATOR,
        backend: BackendName | DynamicsBackend = "aba",
        substeps: int | None = None,
        contact_solver: ContactSolverName | ContactSolver = "pgs",
        engine: Engine = "auto",
        threads: int | None = None,
        model_parameters: Parameters | None = None,
        contact_wrenches: bool = False,
        seed: int = 0,
    ) -> None:
        world = as_world(robot)
        fields = given_fields(world, model_parameters, integrator)
        self.world = world = world_with_rows(world, fields)
        self.robot = world.robot
        self.count, self.steps = whole_number("count", count, 1), whole_number("steps", steps, 1)
        options = StepOptions(
            dt=dt, integrator=integrator, backend=backend, engine=engine, kp=kp, kd=kd, substeps=substeps,
            threads=threads, contact_solver=contact_solver,
        )  # fmt: skip
        self.dt, self.threads = options.dt, options.threads
        method = method_for_sensors(method_of(world, options, frozenset(fields)))
        physics = physics_of_rollouts(method, fields)
        if physics is not None and physics.counts - {self.count}:
            raise ArgumentError(f"model_parameters is for {sorted(physics.counts)} states, but there are {self.count}")
        given = {"steps": steps, "contact_wrenches": contact_wrenches, **options.copied("gravity")}
        given["seed"] = self.seed = whole_number("seed", seed, 0, LARGEST_SEED)
        self._again = partial(type(self), world, count, model_parameters=copy.deepcopy(model_parameters), **given)
        nq, nv = self.robot.nq, self.robot.nv
        needed = self.count * (2 * nq + 3 * nv) * np.dtype(float).itemsize
        check_memory(needed, f"count={self.count:,} states of the stepper", "give a smaller count")
        self._q, self._v = np.tile(world.close(self.robot.neutral()), (self.count, 1)), np.zeros((self.count, nv))
        self._q, self._v = self.world.kinematic_bodies.begin(0.0, self.dt, self._q, self._v)
        self._next = np.empty((self.count, 1, nq)), np.empty((self.count, 1, nv))
        self._control = np.zeros((self.count, nv))
        self._checks = begin_checks(self.count) if method.touches else None
        self.residual = None if self._checks is None else self._checks.residual
        self._warned: set[str] = set()  # what a warning has said
        self._limits = own_limits(self.robot, fields)
        self._has_stepped = False
        self.finite = np.ones(self.count, bool)
        requested = checked_flag("contact_wrenches", contact_wrenches)
        self._contact_wrench = self._first_wrench(method) if requested else None
        self._taken = 0  # steps
        self._age = np.zeros(self.count, np.int64)  # steps of each state since it was put
        self._used = threading.Lock()
        self._method, self._physics = method, None if physics is None else physics.of_each(self.count)
        self._keys = np.zeros((3, self.count), np.uint64)  # seed, rollout and number of each state's episode
        self._keys[0], self._keys[1] = self.seed, np.arange(self.count)
        self._last = LastStep(method, self._start(None), fields, self.steps, self._keys) if world.sensors else None
        # segments, and their steps with contact, by whether there are external forces
        self._pieces: dict[bool, tuple[RolloutSegment, ContactSteps | None]] = {}
        self._kept = self._piece(None)[1] if nv else None  # the steps that took the last one, if these are step by step
        if self._kept is not None and method.memory is not None:
            self._kept.begin(self._q)

    def _first_wrench(self, method: Method) -> np.ndarray:
        """Return `contact_wrench` before the first step; raises ArgumentError if nothing can touch."""
        if not method.touches or self.world.touching.only_limits:
            raise ArgumentError("contact_wrenches is True, but nothing in this world can touch: give World a ground")
        return np.zeros((self.count, self.robot.n_bodies + 1, 6))

    @property
    def t(self) -> float:
        """Simulated time of all calls of `step` together [s]; `put` does not change this time."""
        return self.dt * self._taken

    @property
    def times(self) -> np.ndarray:
        """Time [s] (B,) of each state since it was put, or since the start; kinematic bodies move by this time."""
        return self.dt * self._age

    def _piece(self, forces: RolloutForces | None) -> tuple[RolloutSegment, ContactSteps | None]:
        """Return the segment that steps the states under `_control`, and the steps with contact whose `carry` it is.

        They are made when they are needed. The steps also return wrenches on bodies and applied controls if requested.
        """
        with_forces, last = forces is not None, self._last
        if with_forces not in self._pieces:
            method = self._method.under_forces() if with_forces else self._method
            start, physics = self._start(forces), self._physics
            if method.code is None:
                self._pieces[with_forces] = unconstrained_steps(method, start, physics), None
            else:
                wrenches = self._contact_wrench is not None or (last is not None and last.contact)
                controls = last is not None and last.controls
                made = under_contact(method, start, None, self._checks, physics, wrenches=wrenches, controls=controls)
                self._pieces[with_forces] = made.carry, made
        piece, steps = self._pieces[with_forces]
        if steps is not None:
            steps.forces = forces
        return piece, steps

    def _start(self, forces: RolloutForces | None) -> Start:
        held = np.broadcast_to(self._control[:, None], (self.count, 2 * self.steps, self.robot.nv))
        return Start(float, self._q, self._v, held, np.empty((self.count, 0)), None, forces, self.seed)

    def _forces(self, f_ext: Wrenches) -> RolloutForces:
        forces = RolloutForces(self.world, f_ext, self.dt, first=self.steps, elapsed=self._taken)
        forces.check_steps(self.steps)
        if forces.counts - {self.count}:
            raise ArgumentError(f"f_ext is for {min(forces.counts)} states, but there are {self.count}")
        return forces

    def __reduce__(self) -> tuple[Any, ...]:
        with self._alone("copying"):
            kept, last = self._kept, self._last
            stored = Stored(
                self._q, self._v, self.finite, self.residual, None if kept is None else kept.impulses(),
                None if kept is None else kept.actuators, self._contact_wrench, None if last is None else last.stored(),
                self._warned, self._has_stepped, self._taken, self._age, self._keys,
                None if self._physics is None else [*self._physics.arrays],
            )  # fmt: skip
            return unwarned, (self._again,), copy.deepcopy(stored)

    def __setstate__(self, stored: Stored) -> None:
        self._q[...], self._v[...], self.finite[...] = stored.q, stored.v, stored.finite
        self._contact_wrench, self._warned, self._has_stepped = stored.wrench, stored.warned, stored.has_stepped
        self._taken, self._age, self._keys[...] = stored.taken, stored.age, stored.keys
        if self.residual is not None:
            self.residual[...] = stored.residual
        if stored.impulses is not None and self._kept is not None:
            self._kept.restore(stored.impulses, stored.actuators)
        if self._last is not None:
            self._last.restore(stored.last)
        if self._physics is not None:
            self._physics.put(slice(None), stored.physics)

    def __repr__(self) -> str:
        return f"<BatchStepper of {self.robot.name!r}: {self.count} states, {self.steps} steps of {self.dt:g} s a call>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [*arrays(self, "q", "v", "finite")]

    @property
    def q(self) -> np.ndarray:
        """Current configurations (B, nq) of the stepper's states, read-only.

        The next call of `step` leaves this array unchanged; the call after that overwrites it.
        """
        return _read_only(self._q)

    @property
    def v(self) -> np.ndarray:
        """Current velocities (B, nv) of the stepper's states, read-only.

        The next call of `step` leaves this array unchanged; the call after that overwrites it.
        """
        return _read_only(self._v)

    @property
    def contact_wrench(self) -> NamedWrenches | None:
        """Mean contact wrenches (B, N + 1, 6) in the last step, indexed by names; None if they are not requested."""
        found = self._contact_wrench
        return None if found is None else NamedWrenches.of(found, self.world.touching.wrench_rows)

    @property
    def sensors(self) -> Readings:
        """Readings of the world's sensors in the last step, a mapping {sensor: array (B, n)}."""
        return NO_READINGS if self._last is None else self._last.readings()

    def put(
        self, rows: slice | ArrayLike, q: ArrayLike, v: ArrayLike,
        episode: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None, *, model_parameters: Parameters | None = None,
    ) -> None:  # fmt: skip
        """Set some of the stepper's B states, their time to 0, and reset the warm start of their contact solver.

        Parameters
        ----------
        rows : slice or array_like
            Indices of the states to set: a slice, an array of indices, or a mask.
        q : array_like, shape (..., nq)
            Configurations. Gaps of constraints below 1e-6 (m or rad) are closed.
        v : array_like, shape (..., nv)
            Velocities.
        episode : (array_like, array_like, array_like), optional
            Seed, number of the rollout and number of the episode of each state, below 2^64, 2^64 and 2^31: the key of
            random numbers of sensors and actuators. By default those of the stepper and of the state, and the next
            episode, unless the state was put before and not stepped.
        model_parameters : mapping, optional
            Model parameters of these states from now on: some fields of the stepper, with arrays for these states. The
            states keep their other parameters. Gravity and position limits cannot be replaced, nor inertial fields in a
            world with sensors.

        Raises
        ------
        ArgumentError
            If a shape does not fit, a gap exceeds 1e-6, a link is deep inside the ground, or model parameters are not
            those of the stepper.
        UnsupportedError
            For model parameters that cannot be replaced.
        NonFiniteError
            If a number is not finite.
        """
        given = coordinate_argument(self.robot, "q", q), velocity_argument(self.robot, "v", v)
        q, v = (coerce(argument) for argument in given)
        rows = self._rows(rows)
        count = len(self.finite[rows])
        key = None if episode is None else _checked_key(episode, count)
        wanted = (count, self.robot.nq), (count, self.robot.nv)
        try:
            for x, shape in zip((q, v), wanted, strict=True):
                np.broadcast_to(x, shape)
        except ValueError:
            raise ArgumentError(f"q and v have shapes {q.shape} and {v.shape}, for {count} states") from None
        refuse_non_finite(given, (q, v))
        q = np.broadcast_to(unit_quaternions(self.robot, "q", q), wanted[0])
        v = np.broadcast_to(v, wanted[1])
        if not count:
            return
        new = None
        if model_parameters is not None:
            new = new_parameters(self._method, self._physics, rows, model_parameters)
        q, v = self.world.kinematic_bodies.begin(0.0, self.dt, q, v)
        q = started(self.world, np.ascontiguousarray(q))
        with self._alone("put"):
            if self._has_stepped:  # else the first step checks all starts at once
                self._warn_of_start(rows, q)
            self._q[rows], self._v[rows] = q, v
            self.finite[rows] = True
            if new is not None and self._physics is not None:
                self._physics.put(rows, new)
            if key is None:
                self._keys[2, rows] += (self._age[rows] > 0).astype(np.uint64)
            else:
                self._keys[0, rows], self._keys[1, rows], self._keys[2, rows] = key
            if self._kept is not None:
                self._kept.restart(rows, self._begun_actuators(rows, q))
            if self._contact_wrench is not None:
                self._contact_wrench[rows] = 0.0
            if self._last is not None:
                self._last.forget(rows)
            self._age[rows] = 0

    def _begun_actuators(self, rows: Any, q: np.ndarray) -> np.ndarray | None:
        """Return the memory of the actuators of states that begin at q (count, nq); None if they have none."""
        if self._method.memory is None:
            return None
        seed, rollout, episode = self._keys[:, rows]
        return self._method.memory.begin(q, seed, rollout, episode.astype(np.int64))

    def _rows(self, rows: Any) -> slice | np.ndarray:
        """Return rows of the states: a slice, or an array of indices or a mask; raises ArgumentError for others."""
        given = None
        with suppress(Exception):  # whatever a user's class raises
            if isinstance(rows, slice):
                rows.indices(self.count)
                return rows
            given = np.atleast_1d(np.asarray(rows, object if isinstance(rows, str) else None))
            given = given if given.size else np.zeros(given.shape, int)
        if given is None or not self._are_rows(given):
            raise ArgumentError(
                f"rows must be a slice, indices below {self.count}, or a mask of {self.count} flags, "
                f"got {short_repr(rows)}"
            )
        return given

    def _are_rows(self, given: np.ndarray) -> bool:
        """Return whether an array consists of indices of the states, or is a mask."""
        if given.dtype == bool:
            return given.shape == (self.count,)
        if given.ndim > 1 or given.dtype.kind not in "iu":
            return False
        check_copy("rows", given.shape)
        return not (abs(given + 0.5) > self.count).any()

    def step(self, control: ArrayLike | None = None, f_ext: Wrenches | None = None) -> None:
        """Advance all states by the stepper's number of steps under a constant control.

        After the call, the attribute `finite` marks the states that are finite. Cost: 20 us, plus the cost of the
        steps.

        Parameters
        ----------
        control : array_like, shape (nv,) or (B, nv), optional
            Forces [N, N m], or target positions for joints with gains. None means 0.
        f_ext : mapping, array_like, ExternalForce or sequence of ExternalForce, optional
            External forces in the forms of `treesim.rollout`. Start and stop of `ExternalForce` objects refer to the
            time `t` of this stepper. Calls with external forces may differ from other calls by rounding.

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
            If contact was not solved, or a step moved a body deep into another one. Each of these warnings is issued at
            most once for a stepper.
        """
        given = 0.0 if control is None else self._given(control)
        with self._alone("step"):
            forces = None if f_ext is None else self._forces(f_ext)
            self._control[...] = given
            if not self._has_stepped:
                self._has_stepped = True
                self._warn_of_start(slice(None), self._q)
            if self.robot.nv:
                self._carry(forces)
            self._taken += self.steps
            self._age += self.steps
        if self.residual is not None and "unsolved" not in self._warned and self.residual.max(initial=0.0) > UNSOLVED:
            self._warned.add("unsolved")
            warn_of_states(self.residual, "states")
        if self._checks is not None and "depth" not in self._warned:
            names, dt = self.robot.body_names, self.dt
            if deep_overlaps.warn_of_states(self.world.touching, self._checks, names, dt, "states"):
                self._warned.add("depth")

    def _warn_of_start(self, rows: Any, q: np.ndarray) -> None:
        """Warn once of joints beyond their limits in the states q of some rows."""
        if self._checks is None or "start" in self._warned:
            return
        own = self._limits
        if own is not None:
            lower, upper = (x[rows] if x.ndim > 1 and len(x) > 1 else x for x in own)
            own = lower, upper
        if warn_of_start(self.world, q, None, own):
            self._warned.add("start")

    def _carry(self, forces: RolloutForces | None) -> None:
        piece, steps_by = self._piece(forces)
        with use_threads(self.threads):
            self._continue_by(steps_by)
            finite = self._advance(piece, steps_by, forces)
        if self._contact_wrench is not None and steps_by is not None:
            self._contact_wrench = steps_by.mean_wrench
        before = self._q[:, None], self._v[:, None]
        self._q, self._v = (x[:, 0] for x in self._next)
        self._next = before
        if finite:
            self.finite[...] = True
        else:
            self.finite[...] = np.isfinite(self._q).all(axis=1) & np.isfinite(self._v).all(axis=1)

    def _advance(self, piece: RolloutSegment, steps_by: ContactSteps | None, forces: RolloutForces | None) -> bool:
        """Step from `_q` and `_v` to `_next`, and read sensors; return whether all states are finite."""
        rows, first, last = slice(0, self.count), self.steps, 2 * self.steps - 1
        states: Arrays = (self._q, self._v)
        finite, sensing = True, self._last  # not steps from 0 on, which would reset the warm start
        if sensing is None:
            return piece(rows, slice(first, last + 1), states, self._next, self.steps).finite
        sensing.ages, sensing.forces = self._age.copy(), forces
        if sensing.remembers:
            return sensing.run(piece, steps_by, slice(first, last + 1), states, self._next)
        if last > first:  # sensors read the last step
            unread = [np.empty_like(x) for x in self._next]
            states, finite = piece(rows, slice(first, last), states, unread, last - first)
        begun = [np.array(x) for x in states]
        _, fine = piece(rows, slice(last, last + 1), states, self._next, 1)
        sensing.store(begun, [x[:, 0] for x in self._next], steps_by, last)
        return finite and fine

    def _continue_by(self, steps_by: ContactSteps | None) -> None:
        """Continue by steps of contact at the current time, from the impulses of those before."""
        if steps_by is None:
            return
        if self._kept is not None and self._kept is not steps_by:
            steps_by.take_over(self._kept)
        self._kept = steps_by
        age = self._age - self.steps
        steps_by.elapsed = age if (age != age[0]).any() else int(age[0])

    @contextmanager
    def _alone(self, what: str) -> Iterator[None]:
        """Lock the states; raises ArgumentError if another thread uses them."""
        if not self._used.acquire(blocking=False):
            raise ArgumentError(f"{what}: another thread uses this batch stepper now: make one for each thread")
        try:
            yield
        finally:
            self._used.release()

    def _given(self, control: ArrayLike) -> np.ndarray:
        argument = velocity_argument(self.robot, "control", control)
        given = coerce(argument)
        if given.shape not in (self._control.shape, self._control.shape[1:]):
            raise ArgumentError(
                f"control has shape {given.shape}, but {self._control.shape} or {self._control.shape[1:]} is needed"
            )
        refuse_non_finite([argument], [given])
        return given


def _checked_key(episode: Any, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return seeds, rollouts and episodes of `count` states; raises ArgumentError for other than whole numbers."""
    parts = checked_parts("episode", episode, object)
    if len(parts) != 3:
        raise ArgumentError(f"episode must be three: seed, rollout and number, got {short_repr(episode)}")
    bounds = {"seed": LARGEST_SEED, "rollout": LARGEST_SEED, "number": (1 << 31) - 1}
    for (name, most), part in zip(bounds.items(), parts, strict=True):
        found = np.asarray(part)
        whole = found.dtype.kind in "iu" and not (found < 0).any() and not (found > most).any()
        if not whole or found.shape not in ((), (count,)):
            raise ArgumentError(
                f"episode: {name} must be a whole number up to {most}, or {count} of them, got {short_repr(part)}"
            )
    seed, rollout, number = (np.asarray(part).astype(np.uint64) for part in parts)
    return seed, rollout, number


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view
