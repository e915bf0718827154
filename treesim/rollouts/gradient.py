"""Gradients of rollouts in their start, controls, and parameters of policies and models."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..contact.base import ContactSolver
from ..differentiation.contact_sweep import ContactSweep
from ..differentiation.linearize import refuse_steps
from ..differentiation.step_sweep import BatchedPlaces, Fixed, Gradients, Steps
from ..dynamics.base import DynamicsBackend
from ..dynamics.physics import Parameters
from ..engine.call.buffer_pool import empty
from ..engine.call.steps import all_finite, held_controls
from ..engine.graph.policies import Policy
from ..engine.threads import use_threads
from ..errors import ArgumentError, NonFiniteError, UnsupportedError, quoted
from ..model.tree import Tree
from ..plugins import DEFAULT_INTEGRATOR
from ..policies.noise import noise_of
from ..simulation.options import StepOptions
from ..simulation.start_limits import warn_of_start
from ..simulation.stepper import Stepper
from ..simulation.world import World, as_world
from ..system.display import arrays, html_table
from ..types import BackendName, ContactSolverName, Engine, IntegratorName
from ..validation.arrays import Argument, Shape, real_numbers, refuse_non_finite
from ..validation.values import known_name
from .arguments import Method, RolloutInput, Start, bodies_in_contact, method_of, start_of
from .checkpoints import Checkpoints, RecordedStates, States, recorded_in_contact
from .commanded_gradient import CommandedReverse, controls_of
from .free_gradient import TABLES, FreeGradient, places_of
from .parameter_gradients import in_fields, refuse_fields
from .parameters import given_fields, own_limits, physics_of_rollouts
from .rollout import roll_out
from .rollouts import Rollouts, times
from .save_at import SaveAt

FEW = 4  # parts of a step whose states are recorded


class RolloutGradient(NamedTuple):
    """Gradients of a weighted sum of the states of B rollouts.

    Parameters
    ----------
    q0 : ndarray, shape (B, nv)
        Gradient in displacements of the initial configuration (`Tree.integrate`).
    v0 : ndarray, shape (B, nv)
        Gradient in the initial velocity.
    control : ndarray, shape (B, steps, nv), or None
        Gradient in the controls; None under a policy.
    policy_parameters : ndarray, shape (B, k), or None
        Gradient in the parameters of a policy; None without.
    model_parameters : dict
        Gradient in each field that was given: (B, ...), or a dict by body or joint if the field was.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> runs, pullback = treesim.rollout_vjp(robot, np.zeros(6), np.zeros(6), np.zeros((10, 6)))
    >>> pullback(np.ones((1, 6)))
    <RolloutGradient: 1 rollout, in q0, v0, control>
    """

    q0: np.ndarray
    v0: np.ndarray
    control: np.ndarray | None
    policy_parameters: np.ndarray | None
    model_parameters: dict[str, Any]

    def __repr__(self) -> str:
        count, given = len(self.q0), [name for name in self._fields[:-1] if getattr(self, name) is not None]
        text = ", ".join([*given, *self.model_parameters])
        return f"<RolloutGradient: {count} rollout{'s' * (count != 1)}, in {text}>"

    def _repr_html_(self) -> str:
        own = [name for name in self._fields[:-1] if getattr(self, name) is not None]
        fields = [
            (name, type(x).__name__ if isinstance(x, dict) else x.shape) for name, x in self.model_parameters.items()
        ]
        return html_table(repr(self), [*arrays(self, *own), *fields])


Pullback = Callable[..., RolloutGradient]


def rollout_vjp(
    robot: Tree | World,
    q0: ArrayLike,
    v0: ArrayLike,
    control: ArrayLike | Callable[..., None] | None = None,
    dt: float = 1e-3,
    steps: int | None = None,
    *,
    kp: ArrayLike = 0.0,
    kd: ArrayLike = 0.0,
    engine: Engine = "auto",
    policy_parameters: ArrayLike | None = None,
    threads: int | None = None,
    backend: BackendName | DynamicsBackend = "aba",
    integrator: IntegratorName = DEFAULT_INTEGRATOR,
    substeps: int | None = None,
    contact_solver: ContactSolverName | ContactSolver = "pgs",
    model_parameters: Parameters | None = None,
    keep: str = "all",
) -> tuple[Rollouts, Pullback]:
    """Simulate B rollouts, and return a function that returns gradients of weighted sums of their states.

    Parameters
    ----------
    robot : Tree or World
        The robot, or a world. Here and below, more stands in `treesim.rollout`.
    q0 : array_like, shape (nq,) or (B, nq)
        Initial configurations.
    v0 : array_like, shape (nv,) or (B, nv)
        Initial velocities.
    control : array_like, shape (steps, nv) or (B, steps, nv), or callable, optional
        Controls, or a policy(t, q, v, p, u).
    dt : float
        Step [s].
    steps : int, optional
        Number of steps. By default the length of the array `control`.
    kp : float or array_like, shape (nv,)
        Position gains [N m/rad, N/m].
    kd : float or array_like, shape (nv,)
        Velocity gains [N m s/rad, N s/m].
    engine : str
        Engine of the rollouts. The pullback uses SIMD code where it is supported.
    policy_parameters : array_like, shape (k,) or (B, k), optional
        Parameters of the policy.
    threads : int, optional
        Number of threads.
    backend : str or DynamicsBackend
        As in `treesim.Stepper`.
    integrator : str
        As in `treesim.Stepper`.
    substeps : int, optional
        As in `treesim.Stepper`.
    contact_solver : str
        "pgs" or "admm".
    model_parameters : mapping, optional
        As in `treesim.rollout`, but for joint_friction, lower and upper.
    keep : {"all", "last"}
        Recorded states. With "all", the gradient uses the recorded states, which become read-only; in steps of up to 4
        substeps, the states between are in memory, too. With "last", states
        are computed again from checkpoints, about one for every sqrt(steps) steps. The memory then grows as
        sqrt(steps), besides the memory of arguments and gradients that have the axis `steps`.

    Returns
    -------
    rollouts : Rollouts
        As `treesim.rollout` returns them.
    pullback : callable
        Function pullback(w_q=None, w_v=None, w_control=None) that returns a `RolloutGradient`: the gradients of
        sum(w_q * dq) + sum(w_v * v) + sum(w_control * u). Here dq are displacements of the recorded configurations
        (`Tree.difference`), v the recorded velocities, and u the controls. The weights w_q and w_v have the shape (B,
        K, nv) for all K recorded states, or (B, nv) for the last one; w_control has the shape (B, steps, nv). None is
        0. The function may be called several times.

    Raises
    ------
    ArgumentError, NonFiniteError, UnknownNameError
        As `treesim.rollout`. NonFiniteError also if a state or a gradient is not finite.
    UnsupportedError
        For what has no derivatives. The message names it: float32, sensors, policies that take contact wrenches or
        memory, limits and joint friction of each rollout, and what `treesim.linearize` does not support.

    Notes
    -----
    Weights of a cost are its derivatives at the recorded states; that in a configuration is one in displacements. The
    gradients are those of the integrator's formulas, exact to rounding.

    In free motion, compiled code runs through all steps backward. A pullback takes as long as 3 to 5 of the rollouts,
    and one more with keep="last". The code is compiled at the first call of the pullback, and cached on disk. It takes
    some seconds for a humanoid and an integrator that calls the forward dynamics four times. If a step takes more than
    150,000 operations, its parts are called one by one, which takes longer for few states.

    Near contacts, at joint limits and with joint friction, a pullback solves all steps again and takes as long as some
    10 to 20 rollouts. Others are differentiated as in free motion, in segments of about sqrt(steps) steps in which
    nothing touches.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> push = np.zeros((50, 6))
    >>> runs, pullback = treesim.rollout_vjp(robot, np.full(6, 0.5), np.zeros(6), push, 1e-2, keep="last")
    >>> gradient = pullback(w_v=[[0, 0, 0, 0, 0, 1.0]])  # of the last joint's velocity at the end
    >>> gradient.control.shape, bool(gradient.control[0, -1, 5] > 0)
    ((1, 50, 6), True)
    """
    options = StepOptions(
        dt=dt, integrator=integrator, backend=backend, engine=engine, kp=kp, kd=kd, substeps=substeps,
        threads=threads, contact_solver=contact_solver,
    )  # fmt: skip
    given = RolloutInput(q0, v0, control, steps, policy_parameters, model_parameters)
    found = _reverse(as_world(robot), given, options, known_name("keep", keep, ("all", "last")) == "all")
    return found.rollouts, found.pullback


def _reverse(world: World, given: RolloutInput, options: StepOptions, everything: bool) -> Any:
    """Return rollouts and their gradients; everything: whether all states are recorded."""
    refuse_steps(world, options.contact_solver)
    fields = given_fields(world, given.model_parameters, options.integrator)
    method = method_of(world, options, frozenset(fields))
    if method.memory is None:
        return _Reverse(world, given, options, everything)
    physics = physics_of_rollouts(method, fields)
    refuse_fields(method, physics)
    start = start_of(method, given, () if physics is None else physics.counts, False)
    policy = _policy_of(method, start)
    return CommandedReverse(_Reverse, method, start, given, options, everything, policy)


class _Reverse:
    """Rollouts and their gradients; everything: whether all states are recorded. one_by_one: steps are segments."""

    def __init__(
        self, world: World, given: RolloutInput, options: StepOptions, everything: bool, one_by_one: bool = False
    ) -> None:
        if world.sensors:
            raise UnsupportedError(f"{quoted(world)}: rollouts with sensors have no gradients")
        fields = given_fields(world, given.model_parameters, options.integrator)
        self._options, self._given = options, given.model_parameters
        self._method = method = method_of(world, options, frozenset(fields))
        self._physics = physics = physics_of_rollouts(method, fields)
        refuse_fields(method, physics)
        start = start_of(method, given, () if physics is None else physics.counts, False)
        if start.number != np.float64:
            raise UnsupportedError("gradients of rollouts are computed in double precision: give float64 arrays")
        q, v, u, p = map(_copied, start[1:5])
        self._start = start = start._replace(q=q, v=v, u=u, p=p)
        self._policy = policy = _policy_of(method, start)
        free = method
        if method.touches:
            alone = World(world.robot, use_limits=False, use_joint_friction=False, use_velocity_limits=False)
            free = method_of(alone, options, frozenset(fields))
        self._free = FreeGradient(free, start, physics, policy)
        root = 1 if one_by_one else math.ceil(math.sqrt(max(1, start.steps)))
        if method.touches:
            warn_of_start(world, start.q, own=own_limits(world.robot, fields))
        with use_threads(options.threads):
            if everything:
                self._states: States = self._recorded(world, given, root)
            else:
                self._states = Checkpoints(method, start, physics, root)
        self.rollouts = self._states.rollouts
        if self.rollouts.stopped:
            raise KeyboardInterrupt
        if self.rollouts.diverged.any():
            first = int(np.argmax(self.rollouts.diverged))
            raise NonFiniteError(f"rollout {first} has states that are not finite: it has no gradients")

    def _recorded(self, world: World, given: RolloutInput, length: int) -> RecordedStates:
        """Return rollouts with all states, and those of the parts of steps, if they are few and have given controls."""
        start, options, parts = self._start, self._options, self._method.substeps
        recorded = partial(RecordedStates, start)
        if self._method.touches:
            return recorded_in_contact(self._method, start, self._physics, length)
        if self._method.code is not None or self._policy is not None or parts > FEW:
            return recorded(roll_out(world, given, options, SaveAt()), length)
        if parts > 1:
            control = None if given.control is None else held_controls(start.u, parts)
            given = given._replace(control=control, steps=parts * start.steps)
            options = replace(options, dt=options.dt / parts, substeps=1)
        found = roll_out(world, given, options, SaveAt())
        if parts == 1:
            return recorded(found, 1 if length == 1 else max(1, start.steps))
        own = slice(parts - 1, None, parts)
        rollouts = replace(
            found, t=times(self._options.dt, 1, start.steps), q=found.q[:, own], v=found.v[:, own],
            done=found.done // parts, diverged_at=found.diverged_at // parts,
        )  # fmt: skip
        return recorded(rollouts, length, found)

    @cached_property
    def _fixed(self) -> Fixed:
        """Numbers that differ between rollouts, and parameters of the policy."""
        numbers = [np.empty((len(self._start.q), 0))]
        if self._physics is not None:
            tables = (self._physics.tables[name] for name in TABLES)
            numbers += [np.broadcast_to(x.values, (len(numbers[0]), x.places.size)) for x in tables]
        return Fixed(np.concatenate(numbers, axis=1), self._start.p)

    @cached_property
    def _places(self) -> BatchedPlaces:
        return BatchedPlaces() if self._physics is None else places_of(self._physics)

    @cached_property
    def _touching(self) -> ContactSweep:
        method, code = self._method, self._method.code
        assert code is not None
        return ContactSweep(Stepper(method.world, **self._options.copied()), self._policy, self._places, code)

    def pullback(
        self, w_q: ArrayLike | None = None, w_v: ArrayLike | None = None, w_control: ArrayLike | None = None,
        before: Callable[[int, np.ndarray, np.ndarray], np.ndarray] | None = None,
    ) -> RolloutGradient:  # fmt: skip
        """Return the gradients of sum(w_q * dq) + sum(w_v * v) + sum(w_control * u), see `rollout_vjp`.

        before: adds to the gradients (B, 2 nv) in the state at the start of a step those through what computes its
        control, from the number of the step, and the gradients in the state and in the control.
        """
        nv, (count, steps, _) = self._method.world.robot.nv, self._start.u.shape
        recorded = count, self.rollouts.q.shape[1], nv
        on_q, on_v = (_weights(label, w, recorded, True) for label, w in (("w_q", w_q), ("w_v", w_v)))
        on_control = _weights("w_control", w_control, (count, steps, nv), False)
        driven, sizes = self._policy is not None, [x.shape[1] for x in self._fixed]
        now = Gradients(*(np.zeros((count, n)) for n in (2 * nv, *sizes, self._free.several * nv)))
        in_control = empty((count, 0 if driven else steps, nv), float)
        with use_threads(self._options.threads):
            for segment in reversed(self._states.segments if nv and count and steps else []):
                weights = [_of_segment(x, segment, steps) for x in (on_q, on_v, on_control)]
                now = self._through(segment, now, weights, in_control[:, segment])
                if before is not None:
                    now = now._replace(state=before(segment.start, now.state, in_control[:, segment.start]))
        if w_control is not None and not driven:
            in_control += on_control
        if not all(all_finite(x) for x in (*now, in_control)):
            raise NonFiniteError("gradients of rollouts are not finite: are weights and rollouts of a sensible size?")
        return RolloutGradient(
            now.state[:, :nv], now.state[:, nv:], None if driven else in_control, now.parameters if driven else None,
            in_fields(self._method, self._physics, self._given, now.numbers),
        )  # fmt: skip

    def _through(
        self, segment: slice, after: Gradients, weights: list[np.ndarray], in_control: np.ndarray
    ) -> Gradients:
        """Return the gradients at the start of a segment of steps; in_control: overwritten, if it has a size."""
        start, states = self._start, self._states.at(segment)
        (q, v), count, n = (x[:, :-1] for x in states), len(start.q), segment.stop - segment.start
        t = np.broadcast_to(self._method.dt * np.arange(segment.start, segment.stop)[:, None], (count, n, 1))
        u = start.u[:, segment] if self._policy is None else controls_of(self._policy, t, q, v, start.p)
        on_q, on_v, on_control = weights
        steps = Steps(q, v, u, on_q, on_v, on_control, t, np.broadcast_to(1.0, (count, n, 1)))
        controls = in_control if in_control.size else empty(u.shape, float)
        if not self._method.touches:
            q, v = self._states.of_parts(segment) or (q, v)
            return self._free.run(after, self._fixed, steps._replace(q=q, v=v), controls)
        free, found = self._free.takes(segment, states), Gradients(*map(np.empty_like, after))
        for rows, sweep in ((free, self._free), (~free, self._touching)):
            if rows.any():
                part = controls[rows]
                given = Gradients(*(x[rows] for x in after)), Fixed(*(x[rows] for x in self._fixed))
                impulses = None if sweep is self._free else self._states.impulses(segment)
                own = sweep.run(
                    *given, Steps(*(x[rows] for x in steps)), part, None if impulses is None else impulses[rows]
                )
                controls[rows] = part
                for x, y in zip(found, own, strict=True):
                    x[rows] = y
        return found


def _policy_of(method: Method, start: Start) -> Policy | None:
    """Return the traced policy, None under given controls; raises UnsupportedError if it takes contact wrenches."""
    if start.law is None:
        return None
    robot = method.world.robot
    memory = None if start.memory is None else start.memory.start.shape[1]
    parameters = start.p.shape[1] + len(noise_of(start.law).widths)
    policy = Policy(start.law, robot.nq, robot.nv, parameters, bodies_in_contact(method), memory=memory)
    if policy.takes_control:
        raise UnsupportedError(
            "policies that take contact wrenches or memory have no gradients: let them take (t, q, v, p, u)"
        )
    return policy


def _weights(label: str, value: ArrayLike | None, shape: Shape, last: bool) -> np.ndarray:
    """Return validated weights (B, K, nv) or, if these may be given for the last state, (B, nv)."""
    if value is None:
        return np.broadcast_to(0.0, shape)
    array, one = real_numbers(label, value), (shape[0], shape[2])
    if array.shape != shape and not (last and array.shape == one):
        wanted = f"{shape}, or {one} for the last state," if last else f"{shape}"
        raise ArgumentError(f"{label} has shape {array.shape}, but {wanted} is needed")
    if array.shape != shape and not shape[1]:
        raise ArgumentError(f"{label} is for the last state, but there are no steps: no state is recorded")
    refuse_non_finite([Argument(label, array, array.shape[1:])], [array])
    return array


def _of_segment(weights: np.ndarray, segment: slice, steps: int) -> np.ndarray:
    """Return the weights (B, n, nv) of a segment, of those of all steps, or of the last state."""
    if weights.ndim == 3 and weights.shape[1] == steps:
        return weights[:, segment]
    last = weights.reshape(len(weights), weights.shape[-1])
    shape = len(weights), segment.stop - segment.start, weights.shape[-1]
    if segment.stop < steps:
        return np.broadcast_to(0.0, shape)
    found = np.zeros(shape)
    found[:, -1] = last
    return found


def _copied(x: np.ndarray) -> np.ndarray:
    """Return a copy, in which entries that are repeated by a stride of 0 are stored once."""
    own = x[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in x.strides)]
    copy = empty(own.shape, x.dtype)
    copy[...] = own
    return np.broadcast_to(copy, x.shape)
