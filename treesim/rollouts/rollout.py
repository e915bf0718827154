"""Rollouts: many simulations at once, each for many steps, in compiled code from the first step to the last."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..contact.base import ContactSolver
from ..dynamics.base import DynamicsBackend, check_supported, chosen_backend
from ..dynamics.physics import Parameters
from ..engine.call.evaluate import check_engine
from ..engine.call.steps import Measured, RolloutSegment, under_controls, under_policy
from ..engine.call.varied import Varied
from ..engine.graph.policies import Policy
from ..engine.threads import checked_threads, use_threads
from ..errors import ArgumentError, StoppedWarning, keep_with, unknown_name
from ..kernels.stepping.step import policy_step_entry
from ..model.tree import Tree
from ..simulation.start_limits import warn_of_start
from ..simulation.world import World, as_world
from ..states.arguments import checked_progress, positive_number, whole_number
from ..types import Engine, Keep
from .arguments import Method, Start, check_clock, method_of, refuse_non_finite_controls, start_of
from .energy import BatchedRobots
from .files import read_record
from .joint_limits import under_contact
from .measures import Measure
from .output import Results
from .parameters import Physics, given_fields, own_limits, physics_of_rollouts, world_with_rows
from .reduction import Measuring, measuring_of
from .rollouts import Rollouts as Rollouts
from .rollouts import begun, first_diverged, outcome, times
from .time_slices import Done, Pace, Slice, slices

CHUNK_BYTES = 1 << 28  # rollouts between two reports of progress: so many bytes of results at most


def rollout(
    robot: Tree | World,
    q0: ArrayLike,
    v0: ArrayLike,
    control: ArrayLike | Callable[..., None] | None = None,
    dt: float = 1e-3,
    steps: int | None = None,
    *,
    kp: ArrayLike = 0.0,
    kd: ArrayLike = 0.0,
    every: int = 1,
    out: str | os.PathLike[str] | tuple[np.ndarray, ...] | None = None,
    progress: Callable[[int, int], None] | None = None,
    engine: Engine = "auto",
    parameters: ArrayLike | None = None,
    threads: int | None = None,
    backend: str | DynamicsBackend = "aba",
    integrator: str = "implicit_midpoint",
    substeps: int | None = None,
    work: bool = False,
    contact_solver: str | ContactSolver = "pgs",
    model_parameters: Parameters | None = None,
    measure: Mapping[str, Measure] | None = None,
    keep: Keep = "all",
) -> Rollouts:
    """Return the states that B simulations pass through, after every `every` steps.

    robot: a tree, or a World, which also has a ground, or holds frames and closes loops, these in float64. q0 (B, nq)
    or (nq,), v0 (B, nv) or (nv,): where they start; they broadcast. control: (steps, nv) for all or (B, steps, nv):
    forces of the degrees of freedom [N, N m], or, where kp or kd (one number or (nv,)) is not 0, targets of their
    coordinates [rad, m], tracked by kp (target - q) - kd v within the effort limits; None is no
    force. control may also be a function, policy(t, q, v, p, u), that writes these to u (nv), zero before, from the
    time t [s], the state, and p, its rollout's row of `parameters` (B, k) or (k,). It is traced: called once, on
    symbolic numbers, and compiled with the loop over steps. It may use + - * /, whole powers, NumPy's sin, cos,
    sqrt, exp, tanh, products of arrays, and maximum, minimum, absolute, less, select and atan2 of
    treesim.numbers, but cannot branch on what depends on its arguments. steps: how many, by default those of
    control. dt: step [s]. out: arrays
    (q, v) for the results, apart from the arguments, which saves their allocation; or a file name: q and v are then
    written to "<out>_q.npy" and "<out>_v.npy", the work to "<out>_work.npy", which may be larger than memory. Until
    they are complete they have temporary names, then replace files of these names; `read_unfinished` reads those of a
    killed process.
    progress(done, total) is called with the numbers of rollouts done, and in all.
    Ctrl-C is obeyed within a second: what is done is returned, with the reason in `Rollouts.stopped` and a
    StoppedWarning; files stay unfinished. An exception that `progress` raises, or any other in the middle, has what is
    done as its attribute `rollouts`.
    backend, integrator, substeps, contact_solver: as in `treesim.Stepper`, whose step it is. Joint damping, limits,
    Coulomb friction and gains enter as in `Simulation`, whose states these are, to rounding; gravity and armature are
    the robot's.
    work: whether to count the work of controls, and of damping, friction, joint limits and contacts, inside the steps,
    and to hold the energy of the rollouts against it: `Rollouts.work` and `.energy_error`, and one EnergyWarning, with
    a remedy, for all that are off by more than 1 % of the energy in play, looked at in one record in 50 steps, 32 at
    most. out may then be three arrays. States stay the same to the bit; docs/simulation.md tells what it costs.
    model_parameters: physics that every rollout has of its own, or all of them share: a mapping of mass (B, n_bodies),
    center_of_mass (B, n_bodies, 3), inertia (B, n_bodies, 3, 3) about it in the body's axes, armature, damping,
    friction, lower, upper, effort, kp, kd (B, nv), gravity (B, 3), ground_friction (B,), each with or without B, or, of
    single bodies and joints, {name: array}; see docs/parameters.md.
    measure: what to reduce of states while they are computed, by name: measures that `treesim.measures` makes of
    functions of (t, q, v), (t, q, v, p) or (t, q, v, p, c), c being wrenches of contact; `Rollouts.measures`. keep:
    "all" states, one after every `every` steps, the "last" one of each rollout, or "none", which is for measures alone.
    Measures see all steps, also those that leave no record. See docs/measures.md.
    engine: as in `forward_dynamics`; vector code is used for any number of rollouts where it is supported.
    threads: how many, by default as in `treesim.use_threads`; results do not depend on it.
    Float32 arrays throughout give float32 results.
    Warns with LimitWarning where joints start beyond their position limits, with DivergedWarning, naming the first
    rollout whose state is not finite. Raises ArgumentError, also for results that fit in no memory or on no disk,
    before anything is computed, NonFiniteError, UnknownNameError (engine, keep), UnsupportedError for gains on a joint
    of several degrees of freedom, for the engine "specialized" where it cannot be, and for a policy, or a function of a
    measure, that branches.

    Example:
        >>> robot = treesim.load("ur5")
        >>> def policy(t, q, v, p, u):
        ...     u[:] = p[0] * (0.1 * np.sin(t) - q) - p[1] * v
        >>> treesim.rollout(robot, np.zeros((10, 6)), np.zeros(6), policy, steps=20, parameters=[10.0, 1.0])
        <Rollouts: 10 of 20 states, 0.001 ... 0.02 s, float64>
    """
    world = as_world(robot)
    check_engine(engine)
    checked_progress(progress)
    threads = checked_threads(threads)
    fields = given_fields(world, model_parameters, integrator)
    world = world_with_rows(world, fields)
    method = method_of(
        world, positive_number("dt", dt), integrator, backend, substeps, kp, kd, work, engine, contact_solver,
        bool(fields),
    )  # fmt: skip
    physics = physics_of_rollouts(world, fields, method.rule, method.dt / method.substeps, kp, kd)
    if physics is not None and physics.needs_armature:
        check_supported(chosen_backend(backend), world.robot, 1.0)
    counts = () if physics is None else physics.counts
    start = start_of(method, q0, v0, control, parameters, steps, counts, measures=bool(measure))
    if method.code is not None:
        warn_of_start(world, start.q, 2, own=own_limits(world.robot, fields))
    measuring = measuring_of(measure, method, start)
    every, records = _kept(keep, every, start.steps, measuring is None, (work, out))
    count = len(start.q)
    residual = None if method.code is None else np.zeros(count)
    piece = _piece(method, start, every, engine, residual, physics, measuring)
    shapes = [(count, records, n) for n in method.sizes]
    results = Results(
        out, shapes, start.number, (start.q, start.v, start.u, start.p), {"dt": method.dt, "every": every}
    )
    with use_threads(threads):
        own = None if physics is None else physics.of_robots(world.robot, count)
        return _run(method, piece, start, results, progress, residual, own, measuring)


def _kept(keep: Keep, every: int, steps: int, unmeasured: bool, others: tuple[Any, Any]) -> tuple[int, int]:
    """After how many steps a state is kept, and how many are; others: work and out."""
    if keep not in ("all", "last", "none"):
        raise unknown_name("keep", keep, ("all", "last", "none"))
    every = whole_number("every", every, 1, max(steps, 1))
    if keep == "all":
        return every, steps // every
    if every != 1:
        raise ArgumentError(f"every says which states are kept, but keep is {keep!r}: leave one of them out")
    if keep == "none" and (unmeasured or others[0] or others[1] is not None):
        what = "no measure is given" if unmeasured else "work and out are for states"
        raise ArgumentError(f'keep="none" leaves nothing but measures, and {what}: take keep="last"')
    return max(steps, 1), int(keep == "last" and steps > 0)


def _piece(
    method: Method, start: Start, every: int, engine: str, residual: np.ndarray | None, physics: Physics | None,
    measuring: Measuring | None,
) -> RolloutSegment | None:  # fmt: skip
    """What carries rollouts through steps, measures them, and tells of contact in `residual`; None where nothing
    moves."""
    if measuring is None:
        return _steps(method, start, every, engine, residual, physics, None)
    piece = _steps(method, start, every, engine, residual, physics, measuring.measured)
    return None if piece is None else measuring.over(piece)


def _steps(
    method: Method, start: Start, every: int, engine: str, residual: np.ndarray | None, physics: Physics | None,
    measured: Measured | None,
) -> RolloutSegment | None:  # fmt: skip
    """The same, whose last state is what measures keep, if there are any."""
    robot, number, u = method.world.robot, start.number, start.u
    moves = bool(len(start.q) and start.steps and robot.nv)
    if start.law is None:
        if measured is None and start.steps % every:
            refuse_non_finite_controls(u[:, start.steps - start.steps % every :], u)  # these steps are not taken
        if not moves:
            return None
        if residual is not None:
            return under_contact(method, start, None, engine, residual, physics, measured).carry
        return under_controls(
            method.entry, method.constants, method.sizes, u, number, engine, method.substeps,
            varied_of(method, start, physics), measured,
        )  # fmt: skip
    policy = Policy(start.law, robot.nq, robot.nv, start.p.shape[1])
    check_clock(start.steps, number)
    if not moves:
        return None
    if residual is not None:
        return under_contact(method, start, policy, engine, residual, physics, measured).carry
    entries = method.entry, policy_step_entry(method.entry)
    return under_policy(
        entries, method.constants, method.sizes, policy, start.p, method.dt, number, engine, method.substeps,
        varied_of(method, start, physics), measured,
    )  # fmt: skip


def varied_of(method: Method, start: Start, physics: Physics | None) -> Varied | None:
    """What rollouts have of their own in the constants of free steps, in their numbers."""
    if physics is None:
        return None
    return physics.within(method.entry, "reals", "settings", count=len(start.q), number=start.number)


def read_unfinished(out: str | os.PathLike[str], robot: Tree | None = None) -> Rollouts:
    """Return what a run of `rollout(..., out=out)` has done that was killed or stopped, or is still at work.

    q, v and the work, if it was counted, are mapped from the files, which cannot be written to through them; `diverged`
    is looked for in all of them. robot: the tree whose states they are, for their energy.
    Raises ArgumentError where there are no unfinished files of that name.

    Example:
        >>> treesim.rollouts.read_unfinished("no_such_run")
        Traceback (most recent call last):
            ...
        treesim.errors.ArgumentError: no unfinished rollouts of 'no_such_run': ...
    """
    record, arrays = read_record(out)
    done = Done(*(record[label] for label in Done._fields))
    t = times(record["dt"], record["every"], arrays[0].shape[1])
    t, (q, v, *work), counts = begun(done, arrays, t)
    return Rollouts(t, q, v, first_diverged(q, v, counts), counts, "unfinished", next(iter(work), None), robot)


def _run(
    method: Method,
    piece: RolloutSegment | None,
    start: Start,
    results: Results,
    progress: Callable[[int, int], None] | None,
    residual: np.ndarray | None,
    own: BatchedRobots | None,
    measuring: Measuring | None,
) -> Rollouts:
    """Carry all states through all steps, until Ctrl-C."""
    count, records = results.arrays[0].shape[:2]
    t = times(**results.facts, records=records)
    done, finite = Done(), True
    try:
        for part in _slices(piece, start, results, measuring is not None):
            if not part.finite:
                finite = False
                refuse_non_finite_controls(start.u[part.rows, part.steps], start.u)
            before, done = done, part.done
            results.tell(done)
            if progress is not None and done.complete > before.complete:
                progress(done.complete, count)
        results.finish()
    except KeyboardInterrupt:
        ending = results.leave(done)
        found = outcome(method, start, *begun(done, results.arrays, t), residual, own, measuring, stopped="interrupted")
        _warn_of_stop(found, done, count, ending)
        return found
    except Exception as error:
        ending = results.leave(done)
        why = f"{type(error).__name__}: {error}"
        found = outcome(method, start, *begun(done, results.arrays, t), residual, own, measuring, stopped=why)
        keep_with(error, "rollouts", found, f"{done.complete} of {count} rollouts were{ending}")
        raise
    return outcome(method, start, t, results.arrays, np.full(count, records), residual, own, measuring, finite=finite)


def _slices(piece: RolloutSegment | None, start: Start, results: Results, measured: bool) -> Iterator[Slice]:
    arrays, every = results.arrays, results.facts["every"]
    count, records = arrays[0].shape[:2]
    last = start.steps if measured else records * every
    if piece is None or not last:  # nothing that moves, or nothing to record
        for done in arrays[2:]:
            done[...] = 0
        if count:
            yield Slice(slice(0, count), slice(0, 0), True, Done(count))
        return
    most = max(1, CHUNK_BYTES // (max(1, records) * sum(x.shape[2] for x in arrays) * arrays[0].itemsize))
    none_done = [np.broadcast_to(np.zeros((1, x.shape[2]), x.dtype), (count, x.shape[2])) for x in arrays[2:]]
    states = [start.q, start.v, *none_done]
    yield from slices(piece, states, arrays, every, most, Pace(start.v.shape[1]), last)


def _warn_of_stop(found: Rollouts, done: Done, count: int, ending: str) -> None:
    also = f", and {done.records} records of {done.partial} more" if done.partial else ""
    warnings.warn(f"Ctrl-C: {done.complete} of {count} rollouts are done{also}{ending}", StoppedWarning, stacklevel=4)
