"""Rollouts: many simulations of many steps, in compiled code from the first step to the last."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..contact.base import ContactSolver
from ..contact.checks import ContactChecks, begin_checks
from ..dynamics.base import DynamicsBackend, check_supported, chosen_backend
from ..dynamics.physics import Parameters
from ..engine.call.batched import BatchedTables
from ..engine.call.evaluate import check_engine
from ..engine.call.steps import Measured, RolloutSegment, under_controls, under_policy
from ..engine.graph.policies import Policy
from ..engine.threads import checked_threads, use_threads
from ..errors import ArgumentError, StoppedWarning, keep_with, unknown_name
from ..kernels.stepping.step import policy_step_entry
from ..model.tree import Tree
from ..simulation.external_forces import Wrenches
from ..simulation.start_limits import warn_of_start
from ..simulation.world import World, as_world
from ..states.arguments import checked_progress, positive_number, whole_number
from ..types import Engine, Keep
from .arguments import Method, Start, bodies_in_contact, check_clock, method_of, refuse_non_finite_controls, start_of
from .contact import ContactSteps
from .energy import BatchedRobots
from .files import read_record
from .joint_limits import under_contact
from .measures import Measure
from .output import Results
from .parameters import Physics, given_fields, own_limits, physics_of_rollouts, world_with_rows
from .reduction import Measuring, measuring_of
from .rollouts import Rollouts as Rollouts
from .rollouts import begun, first_diverged, outcome, read_arrays, times
from .sensors import SensorSteps, method_for_sensors, sensor_steps, stand_still
from .time_slices import Progress, RolloutSlice, SliceScheduler, slices

CHUNK_BYTES = 1 << 28  # of results between two reports of progress, at most


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
    policy_parameters: ArrayLike | None = None,
    threads: int | None = None,
    backend: str | DynamicsBackend = "aba",
    integrator: str = "implicit_midpoint",
    substeps: int | None = None,
    work: bool = False,
    contact_solver: str | ContactSolver = "pgs",
    model_parameters: Parameters | None = None,
    measure: Mapping[str, Measure] | None = None,
    keep: Keep = "all",
    f_ext: Wrenches | None = None,
) -> Rollouts:
    """Simulate B rollouts of a robot in compiled code.

    The states equal those of `Simulation` up to rounding, with joint damping, limits, Coulomb friction and
    gains. Gravity and armature are the robot's. If all arrays are float32, results are float32. Results do not
    depend on the number of threads.

    After Ctrl-C the results so far are returned within a second, with the reason in `Rollouts.stopped` and a
    StoppedWarning; files stay unfinished. Any other exception, such as one of `progress`, has the results so
    far as its attribute `rollouts`.

    Parameters
    ----------
    robot : Tree or World
        The robot, or a world. A world with constraints or closed loops needs float64.
    q0 : array_like, shape (nq,) or (B, nq)
        Initial configurations. q0, v0, control and policy_parameters are broadcast.
    v0 : array_like, shape (nv,) or (B, nv)
        Initial velocities.
    control : array_like, shape (steps, nv) or (B, steps, nv), or callable, optional
        Forces of the degrees of freedom [N, N m]. Where kp or kd is not 0, targets of coordinates [rad, m]
        instead, tracked by kp (target - q) - kd v within the effort limits. None is no force. A function is a
        policy, see Notes.
    dt : float
        Step [s].
    steps : int, optional
        Number of steps, by default that of control.
    kp : float or array_like, shape (nv,)
        Position gains [N m/rad, N/m].
    kd : float or array_like, shape (nv,)
        Velocity gains [N m s/rad, N s/m].
    every : int
        Number of steps between two recorded states.
    out : (ndarray, ndarray), (ndarray, ndarray, ndarray) or path-like, optional
        Arrays for q, v and, with work=True, the work; they must not overlap the arguments. A path: the results are
        written to "<out>_q.npy", "<out>_v.npy" and "<out>_work.npy", and may be larger than memory; readings of sensors
        to "<out>_sensor_0.npy" and so on, in the world's order. The files have temporary names until they are complete;
        `read_unfinished` reads those of a killed process.
    progress : callable, optional
        Called as progress(done, total) with numbers of rollouts.
    engine : str
        As in `forward_dynamics`. SIMD code is used for any number of rollouts where it is supported.
    policy_parameters : array_like, shape (k,) or (B, k), optional
        Parameters p of a policy and of measures.
    threads : int, optional
        Number of threads, by default as in `treesim.use_threads`.
    backend : str or DynamicsBackend
        As in `treesim.Stepper`.
    integrator : str
        As in `treesim.Stepper`.
    substeps : int, optional
        As in `treesim.Stepper`.
    work : bool
        Whether to integrate the work of controls, and of damping, friction, joint limits and contacts. It is
        then compared with the energy: see `Rollouts.work`, `Rollouts.energy_error`. States do not change by a
        bit; docs/integrators.md states the cost.
    contact_solver : str or ContactSolver
        As in `treesim.Stepper`.
    model_parameters : mapping, optional
        Model parameters, batched or shared: mass (B, n_bodies), center_of_mass (B, n_bodies, 3), inertia (B,
        n_bodies, 3, 3) about it in the body's axes, armature, damping, joint_friction, lower, upper, effort_limit, kp,
        kd (B, nv), gravity (B, 3), ground_friction (B,); each also without B, or as {name: array} for some bodies
        or joints. See docs/parameters.md.
    measure : mapping of str to Measure, optional
        Reductions of the states during the run, see `treesim.measures` and docs/measures.md. They include all
        steps, also those without a record. The results are in `Rollouts.measures`.
    keep : {"all", "last", "none"}
        Recorded states: one after every `every` steps, the last one of each rollout, or none, for measures
        alone.
    f_ext : mapping, array_like, ExternalForce or sequence of ExternalForce, optional
        External forces, to which effort limits do not apply. A mapping {link: wrench} of wrenches (6,), (B, 6) or (B,
        steps, 6): force [N] first, then moment [N m], in the link's axes about its origin, or along the world's axes
        for keys (link, "world"). Or such wrenches on all bodies, (N, 6) or (B, N, 6). Or `ExternalForce` objects, which
        act from their start to their stop. Their work counts as the controls'. They take the slower code that steps one
        by one, in double precision.

    Returns
    -------
    Rollouts
        Recorded states, measures and diagnostics.

    Raises
    ------
    ArgumentError
        For invalid arguments, and for results that do not fit in memory or on the disk, before anything is
        computed.
    NonFiniteError
        For arguments that are not finite.
    UnknownNameError
        For an unknown name of an engine, backend, integrator, or `keep`.
    UnsupportedError
        For sensors in float32, gains on a joint of several degrees of freedom, an engine "specialized" that is not
        available, and a policy or measure that branches.

    Warns
    -----
    FrictionWarning
        If the robot has Coulomb friction that the integrator leaves out.
    EffortWarning
        If there are controls, and all effort limits of the robot are 0.
    LimitWarning
        If joints start beyond their position limits.
    ContactWarning
        If contact was not solved in some rollouts, and if steps move bodies deep into others.
    DivergedWarning
        If states are not finite; names the first such rollout.
    EnergyWarning
        With work=True, if energy errors exceed 1 % of the energy range. Checked in one record in 50 steps, 32
        at most.
    StoppedWarning
        After Ctrl-C.

    Notes
    -----
    A policy is a function policy(t, q, v, p, u) that writes the control into u (nv,), which is 0 before the
    call. Its arguments are the time t [s], the state, and p, the rollout's row of `policy_parameters`. The function is
    traced: it is called once with symbolic numbers and compiled with the loop over steps. It may use + - * /,
    integer powers, NumPy's sin, cos, sqrt, exp, tanh, products of arrays, and maximum, minimum, absolute, less,
    select and atan2 of treesim.numbers. It cannot branch on its arguments.

    In a policy(t, q, v, p, u, c), c (N + 1, 6) are the mean contact wrenches on the bodies in the step before,
    the base first, as in `ContactReport.wrench`, and u is the control of the step before; both are 0 at the start.
    Contact is then solved by slower code, state by state.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> def policy(t, q, v, p, u):
    ...     u[:] = p[0] * (0.1 * np.sin(t) - q) - p[1] * v
    >>> treesim.rollout(robot, np.zeros((10, 6)), np.zeros(6), policy, steps=20, policy_parameters=[10.0, 1.0])
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
    if f_ext is not None:
        method = method.under_forces()
    physics = physics_of_rollouts(world, fields, method.rule, method.dt / method.substeps, kp, kd)
    if physics is not None and physics.needs_armature:
        check_supported(chosen_backend(backend), world.robot, 1.0)
    counts = () if physics is None else physics.counts
    start = start_of(method, q0, v0, control, policy_parameters, steps, counts, bool(measure), f_ext)
    if method.touches:
        warn_of_start(world, start.q, 2, own=own_limits(world.robot, fields))
    measuring = measuring_of(measure, method, start)
    every, records = _kept(keep, every, start.steps, measuring is None, (work, out))
    count = len(start.q)
    checks = begin_checks(count) if method.touches else None
    reads = records > 0 or (measuring is not None and measuring.reduction.reads)
    sensing = sensor_steps(method, start, fields, every, reads)
    if sensing is not None:
        method = method_for_sensors(method)
    piece = _piece(method, start, every, engine, checks, physics, measuring, sensing)
    shapes = [(count, records, n) for n in method.sizes]
    columns = {} if sensing is None else sensing.columns
    facts = {"dt": method.dt, "every": every, "sensors": columns} if columns else {"dt": method.dt, "every": every}
    results = Results(out, shapes, start.number, (start.q, start.v, start.u, start.p), facts)
    with use_threads(threads):
        own = None if physics is None else physics.of_robots(world.robot, count)
        return _run(method, piece, start, results, progress, checks, own, measuring)


def _kept(keep: Keep, every: int, steps: int, unmeasured: bool, others: tuple[Any, Any]) -> tuple[int, int]:
    """Return the number of steps between two records, and the number of records; others: arguments work and out."""
    if keep not in ("all", "last", "none"):
        raise unknown_name("keep", keep, ("all", "last", "none"))
    every = whole_number("every", every, 1, max(steps, 1))
    if keep == "all":
        return every, steps // every
    if every != 1:
        raise ArgumentError(f"every selects the recorded states, but keep is {keep!r}: leave one of them out")
    if keep == "none" and (unmeasured or others[0] or others[1] is not None):
        what = "no measure is given" if unmeasured else "work and out are for states"
        raise ArgumentError(f'keep="none" leaves nothing but measures, and {what}: take keep="last"')
    return max(steps, 1), int(keep == "last" and steps > 0)


def _piece(
    method: Method, start: Start, every: int, engine: str, checks: ContactChecks | None, physics: Physics | None,
    measuring: Measuring | None, sensing: SensorSteps | None,
) -> RolloutSegment | None:  # fmt: skip
    """Return the segment that steps and measures rollouts, reads sensors, and writes the checks of contact.

    None if nothing moves, and nothing is read.
    """
    measured = None if measuring is None else measuring.measured
    if sensing is None:
        piece = _steps(method, start, every, engine, checks, physics, measured)
        piece = piece.carry if isinstance(piece, ContactSteps) else piece
    elif not method.world.robot.nv:
        piece = sensing.over(stand_still, None, None)
    else:
        piece = _sensed_steps(method, start, every, engine, checks, physics, measured, sensing)
    return piece if piece is None or measuring is None else measuring.over(piece)


def _sensed_steps(
    method: Method, start: Start, every: int, engine: str, checks: ContactChecks | None, physics: Physics | None,
    measured: Measured | None, sensing: SensorSteps,
) -> RolloutSegment | None:  # fmt: skip
    """Return the segment that steps rollouts and reads sensors, in each step if measures take readings."""
    reads = measured is not None and measured.reduction.reads
    wrenches = sensing.contact or (measured is not None and measured.reduction.contact)
    made = partial(_steps, method, start, every, engine, checks, physics, None if reads else measured)
    steps = made(wrenches, sensing.controls)
    if steps is None:
        return None
    outer = measured if reads else None
    if not isinstance(steps, ContactSteps):
        return sensing.over(steps, None, outer)
    between = made() if steps.touch is None and every > 1 and outer is None else None
    fast = between if isinstance(between, ContactSteps) and between.touch is not None else None
    return sensing.over(steps.carry, steps, outer, fast)


def _steps(
    method: Method, start: Start, every: int, engine: str, checks: ContactChecks | None, physics: Physics | None,
    measured: Measured | None, wrenches: bool = False, controls: bool = False,
) -> RolloutSegment | ContactSteps | None:  # fmt: skip
    """Return the segment that steps rollouts, or the steps whose `carry` it is; with measures its last state is theirs.

    wrenches, controls: whether wrenches on bodies, and controls within their limits are requested.
    """
    robot, number, u = method.world.robot, start.number, start.u
    moves = bool(len(start.q) and start.steps and robot.nv)
    policy = None
    if start.law is not None:
        policy = Policy(start.law, robot.nq, robot.nv, start.p.shape[1], bodies_in_contact(method))
        check_clock(start.steps, number)
    elif measured is None and start.steps % every:
        refuse_non_finite_controls(u[:, start.steps - start.steps % every :], u)  # these steps are not computed
    if not moves:
        return None
    if method.code is not None:
        return under_contact(method, start, policy, engine, checks, physics, measured, wrenches, controls)
    how = number, engine, method.substeps, batched_of(method, start, physics), measured
    if policy is None:
        return under_controls(method.entry, method.constants, method.sizes, u, *how)
    entries = method.entry, policy_step_entry(method.entry)
    return under_policy(entries, method.constants, method.sizes, policy, start.p, method.dt, *how)


def batched_of(method: Method, start: Start, physics: Physics | None) -> BatchedTables | None:
    """Return the batched model parameters in the constants of unconstrained steps, in the rollouts' number type."""
    if physics is None:
        return None
    return physics.within(method.entry, "reals", "settings", count=len(start.q), number=start.number)


def read_unfinished(out: str | os.PathLike[str], robot: Tree | None = None) -> Rollouts:
    """Return the results so far of a `rollout(..., out=out)` that was killed or stopped, or still runs.

    q, v and the work are memory-mapped read-only. `diverged` is searched in all states.

    Parameters
    ----------
    out : path-like
        As in `rollout`.
    robot : Tree, optional
        The robot, for the energy of the states.

    Returns
    -------
    Rollouts
        The results so far.

    Raises
    ------
    ArgumentError
        If there are no unfinished files of that name.

    Examples
    --------
    >>> treesim.rollouts.read_unfinished("no_such_run")
    Traceback (most recent call last):
        ...
    treesim.errors.ArgumentError: no unfinished rollouts of 'no_such_run': ...
    """
    record, arrays = read_record(out)
    done = Progress(*(record[label] for label in Progress._fields))
    t = times(record["dt"], record["every"], arrays[0].shape[1])
    t, arrays, counts = begun(done, arrays, t)
    (q, v, *work), sensors = read_arrays(arrays, record.get("sensors", {}))
    diverged = first_diverged(q, v, counts)
    work_done = next(iter(work), None)
    return Rollouts(t, q, v, diverged, counts, "unfinished", work_done, robot, sensors=sensors)


def _run(
    method: Method,
    piece: RolloutSegment | None,
    start: Start,
    results: Results,
    progress: Callable[[int, int], None] | None,
    checks: ContactChecks | None,
    own: BatchedRobots | None,
    measuring: Measuring | None,
) -> Rollouts:
    """Step all rollouts through all steps, until Ctrl-C."""
    count, records = results.arrays[0].shape[:2]
    t = times(results.facts["dt"], results.facts["every"], records)
    done, finite = Progress(), True
    outcome_of = partial(outcome, method, start, sensors=results.sensors, checks=checks, own=own, measuring=measuring)
    try:
        for part in _slices(piece, start, results, measuring is not None):
            if not part.finite:
                finite = False
                refuse_non_finite_controls(start.u[part.rows, part.steps], start.u)
            before, done = done, part.done
            results.save_progress(done)
            if progress is not None and done.complete > before.complete:
                progress(done.complete, count)
        results.finish()
    except KeyboardInterrupt:
        ending = results.leave(done)
        found = outcome(
            method,
            start,
            *begun(done, results.arrays, t),
            results.sensors,
            checks,
            own,
            measuring,
            stopped="interrupted",
        )
        _warn_of_stop(found, done, count, ending)
        return found
    except Exception as error:
        ending = results.leave(done)
        why = f"{type(error).__name__}: {error}"
        found = outcome_of(*begun(done, results.arrays, t), stopped=why)
        keep_with(error, "rollouts", found, f"{done.complete} of {count} rollouts were{ending}")
        raise
    counts = np.full(count, records)
    return outcome_of(t, results.arrays, counts, finite=finite)


def _slices(piece: RolloutSegment | None, start: Start, results: Results, measured: bool) -> Iterator[RolloutSlice]:
    arrays, every = results.arrays, results.facts["every"]
    count, records = arrays[0].shape[:2]
    last = start.steps if measured else records * every
    begun = [0.0] * (len(arrays) - 2 - len(results.sensors)) + [np.nan] * len(results.sensors)  # no work, no readings
    if piece is None or not last:  # nothing that moves, or nothing to record
        for x, value in zip(arrays[2:], begun, strict=True):
            x[...] = value
        if count:
            yield RolloutSlice(slice(0, count), slice(0, 0), True, Progress(count))
        return
    most = max(1, CHUNK_BYTES // (max(1, records) * max(1, sum(x.shape[2] for x in arrays)) * arrays[0].itemsize))
    none_done = [
        np.broadcast_to(np.full((1, x.shape[2]), value, x.dtype), (count, x.shape[2]))
        for x, value in zip(arrays[2:], begun, strict=True)
    ]
    states = [start.q, start.v, *none_done]
    yield from slices(piece, states, arrays, every, most, SliceScheduler(start.v.shape[1]), last)


def _warn_of_stop(found: Rollouts, done: Progress, count: int, ending: str) -> None:
    also = f", and {done.records} records of {done.partial} more" if done.partial else ""
    warnings.warn(f"Ctrl-C: {done.complete} of {count} rollouts are done{also}{ending}", StoppedWarning, stacklevel=4)
