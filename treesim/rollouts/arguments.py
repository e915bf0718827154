"""Argument validation of rollouts, and conversion to the kernels' arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..actuators.table import check_commanded
from ..dynamics.physics import Parameters
from ..engine.call.steps import all_finite
from ..errors import ArgumentError, TreesimError, UnsupportedError, quoted
from ..kernels.stepping.rules import Rule
from ..kernels.stepping.step_entry import step_entry
from ..model.named_axes import coordinate_argument, velocity_argument
from ..model.quaternions import unit_quaternions
from ..model.tree import Tree
from ..simulation.actuator_memory import ActuatorMemory, actuator_memory
from ..simulation.options import StepOptions
from ..simulation.robot_warnings import warn_of_friction, warn_of_limits
from ..simulation.sensor_draws import LARGEST_SEED
from ..simulation.step import StepCode, check_diagonal, check_rows, compiled_rule, forward_kernel, touches
from ..simulation.step_settings import StepSettings, check_inertia, gains_of, substeps_of
from ..simulation.world import World, started
from ..states.arguments import whole_number
from ..states.states import mimic_constants
from ..validation.arrays import Argument, check_copy, coerce, precision, refuse_non_finite
from ..validation.values import checked_flag
from .actuator_parameters import OF_ACTUATORS
from .external_forces import RolloutForces

COUNTED_IN_SINGLE = 1 << 24  # steps: counted by a policy's clock; float32 represents no larger consecutive integers

GAINS = {"kp", "kd", "effort_limit", *OF_ACTUATORS}  # model parameters with which gains may saturate


class Method(NamedTuple):
    """Settings of the steps of rollouts.

    work: whether the work is integrated. rule: integrator of one substep.
    """

    world: World
    options: StepOptions
    substeps: int
    entry: Any
    constants: tuple[Any, ...]
    work: bool
    rule: Rule
    dynamics: Any  # the entry of forward dynamics
    code: StepCode | None  # of steps with contact or external forces; SIMD code takes their unconstrained part
    code_of: Callable[[bool], StepCode]  # returns the code of steps without or with external forces
    memory: ActuatorMemory | None = None  # of the world's actuators

    @property
    def dt(self) -> float:
        """Length of a step [s]."""
        return self.options.dt

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the arrays passed from step to step: q, v, and the work if it is integrated."""
        robot = self.world.robot
        return (robot.nq, robot.nv, 2) if self.work else (robot.nq, robot.nv)

    @property
    def touches(self) -> bool:
        """Whether steps solve contact, joint limits or joint friction."""
        return self.code is not None and self.code.stage is not None

    def under_forces(self) -> Method:
        """Return the settings of the same steps under external forces."""
        return self._replace(code=self.code_of(True))


def bodies_in_contact(method: Method) -> int:
    """Return the number of bodies, including the base, that contact wrenches are of; 0 if nothing can touch."""
    world = method.world
    return world.robot.n_bodies + 1 if method.touches and not world.touching.only_limits else 0


def method_of(world: World, options: StepOptions, fields: frozenset[str], work: bool = False) -> Method:
    """Return the settings of the steps; warns the caller of `rollout` of friction that the integrator leaves out.

    fields: names of batched model parameters, which may change the inertia. Without any, raises SingularInertiaError
    for a joint that moves no inertia, in a world without constrained rows. work: whether the work is integrated.
    """
    if isinstance(options.kp, np.ndarray) or isinstance(options.kd, np.ndarray):
        kp, kd = (_hashable(gain, world.robot.nv) for gain in (options.kp, options.kd))
        options = replace(options, kp=kp, kd=kd)
    given = world, options, fields, checked_flag("work", work)
    try:
        method = _remembered(*given)
    except TreesimError:
        raise
    except Exception:  # of lists of gains, or objects that cannot be hashed
        method = _method(*given)
    warn_of_friction(world.robot, options.integrator)
    return method


def _hashable(gain: ArrayLike, nv: int) -> ArrayLike:
    """Return an array of gains (nv,) as a tuple, for the cache of methods; any other value unchanged."""
    row = isinstance(gain, np.ndarray) and gain.shape == (nv,) and gain.dtype == np.float64
    return tuple(gain.tolist()) if row else gain  # type: ignore[union-attr]


def _method(world: World, options: StepOptions, fields: frozenset[str], work: bool) -> Method:
    """Return the settings of the steps; raises as `method_of`."""
    check_rows(world, options.integrator)
    robot, rule = world.robot, compiled_rule(options.integrator)
    dynamics = forward_kernel(robot, options.backend)
    substeps = substeps_of(robot, rule, options.dt, options.substeps)
    touching, h = touches(world, rule), options.dt / substeps
    actuators, own_gains = world.actuator_table, not fields.isdisjoint(GAINS)
    settings = StepSettings.of(robot, rule, h, options.kp, options.kd, actuators=actuators)
    check_diagonal(dynamics, robot, settings)
    if not world.m and not fields:
        check_inertia(robot, rule, h, *gains_of(robot, options.kp, options.kd), actuators=actuators)
    constants = (*mimic_constants(robot, dynamics.constants(robot)), *world.held, settings.table)

    @cache
    def code_of(with_forces: bool) -> StepCode:
        return StepCode(
            world, dynamics, settings, options, work=work, with_forces=with_forces, own_gains=own_gains, pairs=False
        )

    memory = actuator_memory(world, rule, options.dt, substeps, settings)
    by_steps = touching or world.kinematic or memory is not None or settings.may_saturate(rule, own_gains)
    forward, code = dynamics.entry_for(robot), code_of(False) if by_steps else None
    entry = step_entry(rule, forward, bool(world.m), results=(), carried=("work",) if work else ())
    return Method(world, options, substeps, entry, constants, work, rule, forward, code, code_of, memory)


_remembered = lru_cache(maxsize=16)(_method)  # short rollouts are called repeatedly


class RolloutInput(NamedTuple):
    """Arguments of `rollout` that determine the motion and readings, besides the world and the options of steps.

    rollouts (B,): numbers of the rollouts, 0, 1, ... by default, which random numbers of sensors depend on.
    policy_memory: at the start.
    """

    q0: ArrayLike
    v0: ArrayLike
    control: ArrayLike | Callable[..., None] | None
    steps: int | None
    policy_parameters: ArrayLike | None = None
    model_parameters: Parameters | None = None
    f_ext: Any = None
    seed: int = 0
    rollouts: np.ndarray | None = None
    policy_memory: ArrayLike | None = None


class PolicyMemory(NamedTuple):
    """Memory (B, k) of the policy of B rollouts, at the start and after the steps so far, which overwrite `end`."""

    start: np.ndarray
    end: np.ndarray


class Start(NamedTuple):
    """Initial states and controls of B rollouts.

    number: type of all numbers. q (B, nq), v (B, nv). u: controls (B, steps, nv), 0 under a policy. p:
    parameters (B, k). law: the policy, None for controls. forces: external forces. seed, rollouts: as `RolloutInput`.
    memory: of the policy, None without.
    """

    number: Any
    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    p: np.ndarray
    law: Callable[..., None] | None
    forces: RolloutForces | None = None
    seed: int = 0
    rollouts: np.ndarray | None = None
    memory: PolicyMemory | None = None

    @property
    def steps(self) -> int:
        """Number of steps of each rollout."""
        return self.u.shape[1]


def start_of(method: Method, given: RolloutInput, counts: Iterable[int], measures: bool) -> Start:
    """Return the initial states and controls; warns the caller of `rollout` of a robot whose effort limits are all 0.

    counts: numbers of rollouts in model_parameters. measures: whether there are measures, which may take
    parameters.
    """
    world = method.world
    q0, v0, control, steps, parameters, _, f_ext, seed, rollouts, memory = given
    law = control if callable(control) else None
    if law is not None:
        check_commanded(law, world.actuator_table)
        control, memory = None, getattr(law, "memory", None) if memory is None else memory
    elif memory is not None:
        raise ArgumentError("policy_memory is that of a policy: give a function as control, or no policy_memory")
    elif parameters is not None and not measures:
        raise ArgumentError(
            "parameters are those of a policy, or of measures: give a function as control, or no parameters"
        )
    if control is not None or law is not None:
        warn_of_limits(world.robot)
    number = precision(*[x for x in (q0, v0, control, parameters) if x is not None])
    if world.m and number == np.float32:
        raise UnsupportedError(f"gaps of {quoted(world)} are not closed in float32: give float64 arrays")
    if world.sensors and number == np.float32:
        raise UnsupportedError(
            f"sensors, as {quoted(world.sensors[0])}, are read in double precision: give float64 arrays"
        )
    forces = None if f_ext is None else RolloutForces(world, f_ext, method.dt)
    counts = {*counts, *(forces.counts if forces else ())}
    kept = None if memory is None else _of_policy("policy_memory", memory, np.float64)
    counts |= {len(kept)} - {1} if kept is not None and kept.ndim > 1 else set()
    q, v, u, p = state_arrays(world.robot, q0, v0, control, parameters, steps, number, counts)
    if forces:
        forces.check_steps(u.shape[1])
    if world.kinematic:
        q, v = world.kinematic_bodies.begin(0.0, method.dt, q, v)
    seed = whole_number("seed", seed, 0, LARGEST_SEED)
    begun = None if kept is None else _repeated(kept, len(q), 1)
    held = None if begun is None else PolicyMemory(begun, begun.copy())
    return Start(number, started(world, q), v, u, p, law, forces, seed, rollouts, held)


def state_arrays(
    robot: Tree,
    q0: ArrayLike,
    v0: ArrayLike,
    control: Any,
    parameters: ArrayLike | None,
    steps: Any,
    number: type[np.floating],
    counts: Iterable[int] = (),
) -> list[np.ndarray]:
    """Return q0 (B, nq), v0 (B, nv), controls (B, steps, nv), parameters (B, k); shared values are broadcast.

    number: type of the arrays. counts: numbers of rollouts in model_parameters and external forces.
    """
    if steps is not None:
        steps = whole_number("steps", steps)
    if control is None:
        if steps is None:
            raise ArgumentError("give control, or the number of steps")
        control = np.broadcast_to(np.zeros(robot.nv, number), (steps, robot.nv))
    given = [
        coordinate_argument(robot, "q0", q0),
        velocity_argument(robot, "v0", v0),
        velocity_argument(robot, "control", control),
    ]
    q, v, u = (coerce(argument, number) for argument in given)
    if q.ndim > 2 or v.ndim > 2 or u.ndim not in (2, 3):
        raise ArgumentError(
            f"q0, v0 and control have shapes {q.shape}, {v.shape}, {u.shape}, but (B, nq), (B, nv) and (B, steps, nv) "
            "or parts of them are needed"
        )
    if steps is not None and u.shape[-2] != steps:
        raise ArgumentError(f"control holds {u.shape[-2]} steps, but steps is {steps}")
    check_copy("q0", q.shape)
    check_copy("v0", v.shape)
    refuse_non_finite(given[:2], (q, v))  # controls are checked when used
    axes = [(unit_quaternions(robot, "q0", q), 1), (v, 1), (u, 2)]  # of one rollout
    if parameters is not None:
        axes.append((_of_policy("policy_parameters", parameters, number), 1))
    sizes = {x.shape[0] for x, own in axes if x.ndim > own and x.shape[0] != 1}.union(counts)
    if len(sizes) > 1:
        also = ", model_parameters, f_ext" if counts else ""
        raise ArgumentError(
            f"q0, v0, control{also} and parameters are for different numbers of rollouts: {sorted(sizes)}"
        )
    count = sizes.pop() if sizes else 1
    arrays = [_repeated(x, count, own) for x, own in axes]
    return arrays if parameters is not None else [*arrays, np.empty((count, 0), number)]


def _of_policy(label: str, value: ArrayLike, number: type[np.floating]) -> np.ndarray:
    """Return a policy's parameters or memory (k,) or (B, k), checked to be finite."""
    argument = Argument(label, value, ())
    p = coerce(argument, number)
    if p.ndim not in (1, 2):
        raise ArgumentError(f"{label} has shape {p.shape}, but (k,) or (B, k) is needed")
    refuse_non_finite((argument,), (p,))
    return p


def _repeated(x: np.ndarray, count: int, own: int) -> np.ndarray:
    """Broadcast x, whose last `own` axes are one rollout's, to `count` rollouts."""
    return x if x.ndim > own and len(x) == count else np.broadcast_to(x, (count, *x.shape[x.ndim - own :]))


def refuse_non_finite_controls(part: np.ndarray, controls: np.ndarray) -> None:
    """Raise NonFiniteError, naming the first place in all controls (B, steps, nv), if a part of them is not finite."""
    if not all_finite(part):
        shared = controls.strides[0] == 0
        refuse_non_finite([Argument("control", controls, controls.shape[-1:])], [controls[0] if shared else controls])


def check_clock(steps: int, number: Any) -> None:
    """Raise ArgumentError if a policy's clock cannot count that many steps in its number type."""
    if number == np.float32 and steps > COUNTED_IN_SINGLE:
        raise ArgumentError(
            f"steps must be at most {COUNTED_IN_SINGLE} under a policy in float32, got {steps}: give float64 arrays"
        )
