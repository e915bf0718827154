"""Rollouts: many simulations of many steps, in compiled code from the first step to the last."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from ..contact.base import ContactSolver
from ..contact.checks import ContactChecks, begin_checks
from ..contact.named_wrenches import NamedWrenches
from ..dynamics.base import DynamicsBackend
from ..dynamics.physics import Parameters
from ..engine.call.steps import Measured, RolloutSegment, under_controls, under_policy
from ..engine.graph.policies import Policy
from ..engine.threads import use_threads
from ..errors import StoppedWarning, keep_with
from ..kernels.stepping.step_entry import policy_step_entry
from ..model.tree import Tree
from ..plugins import DEFAULT_INTEGRATOR
from ..policies.noise import noise_of
from ..simulation.external_forces import Wrenches
from ..simulation.options import StepOptions
from ..simulation.start_limits import warn_of_start
from ..simulation.world import World, as_world
from ..states.arguments import checked_progress
from ..system.user_warnings import warn
from ..types import BackendName, ContactSolverName, Engine, IntegratorName, Keep
from .arguments import (
    Method,
    RolloutInput,
    Start,
    bodies_in_contact,
    check_clock,
    method_of,
    refuse_non_finite_controls,
    start_of,
)
from .contact import ContactSteps
from .files import read_record
from .joint_limits import under_contact
from .measures import Measure
from .output import Results
from .parameters import Physics, given_fields, own_limits, physics_of_rollouts, world_with_rows
from .reduction import Measuring, checked_measures, measuring_of
from .rollouts import Rollouts as Rollouts
from .rollouts import Run, begun, first_diverged, read_arrays, times
from .save_at import SaveAt
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
    backend: BackendName | DynamicsBackend = "aba",
    integrator: IntegratorName = DEFAULT_INTEGRATOR,
    substeps: int | None = None,
    work: bool = False,
    contact_solver: ContactSolverName | ContactSolver = "pgs",
    model_parameters: Parameters | None = None,
    measure: Mapping[str, Measure] | None = None,
    keep: Keep = "all",
    f_ext: Wrenches | None = None,
    seed: int = 0,
    policy_memory: ArrayLike | None = None,
) -> Rollouts:
    """Simulate B rollouts of a robot in compiled code.

    Up to rounding, a rollout has the same states as a run of `Simulation` with the same arguments. Joint damping,
    position limits, Coulomb friction and PD gains are simulated. Unless `model_parameters` replaces them, the robot's
    gravity and armature are used. If all arrays are float32, results are float32. Results do not depend on the number
    of threads.

    After Ctrl-C, the function returns the finished results within a second and issues a StoppedWarning. The attribute
    `Rollouts.stopped` then contains the reason, and the files of `out` are incomplete. Every other exception, for
    example one raised by `progress`, has an attribute `rollouts` with the finished results.

    Parameters
    ----------
    robot : Tree or World
        The robot, or a world. Worlds with constraints or closed loops support float64 only.
    q0 : array_like, shape (nq,) or (B, nq)
        Initial configurations. The arguments q0, v0, control and policy_parameters are broadcast together.
    v0 : array_like, shape (nv,) or (B, nv)
        Initial velocities.
    control : array_like, shape (steps, nv) or (B, steps, nv), or callable, optional
        Forces on the degrees of freedom [N, N m]. For joints with a gain kp or kd, controls are target positions [rad,
        m] instead; the applied force is then kp (target - q) - kd v, clipped to the effort limits. None means no force.
        A function is a policy, see Notes.
    dt : float
        Step [s].
    steps : int, optional
        Number of steps. By default the length of the array `control`.
    kp : float or array_like, shape (nv,)
        Position gains [N m/rad, N/m].
    kd : float or array_like, shape (nv,)
        Velocity gains [N m s/rad, N s/m].
    every : int
        Number of steps between two recorded states.
    out : (ndarray, ndarray), (ndarray, ndarray, ndarray) or path-like, optional
        Arrays for q, v and, with work=True, the work. The arrays must not overlap the arguments. With a path instead of
        arrays, results may be larger than memory. They are written to the files "<out>_q.npy", "<out>_v.npy" and
        "<out>_work.npy". Readings of sensors are written to "<out>_sensor_0.npy" and so on, in the world's order of
        sensors. Files have temporary names until they are complete. `read_unfinished` reads the files of a killed
        process.
    progress : callable, optional
        Function that is called as progress(done, total), with the numbers of finished and of all rollouts.
    engine : str
        As in `forward_dynamics`. Where SIMD code is supported, it is used for any number of rollouts.
    policy_parameters : array_like, shape (k,) or (B, k), optional
        Parameters p, which a policy and measures take as an argument.
    threads : int, optional
        Number of threads. By default the number that `treesim.use_threads` sets.
    backend : str or DynamicsBackend
        As in `treesim.Stepper`.
    integrator : str
        As in `treesim.Stepper`.
    substeps : int, optional
        As in `treesim.Stepper`.
    work : bool
        Integrate the work of controls, and of damping, friction, joint limits and contacts (`Rollouts.work`). The work
        is then compared with the change of energy (`Rollouts.energy_error`). The bits of states do not depend on this
        option. The page "Integrators" states its cost.
    contact_solver : str or ContactSolver
        As in `treesim.Stepper`.
    model_parameters : mapping, optional
        Model parameters that replace those of the robot. For bodies: mass (B, n_bodies), center_of_mass (B, n_bodies,
        3), and inertia (B, n_bodies, 3, 3) about the centre of mass along the body's axes. For degrees of freedom, (B,
        nv) each: armature, damping, joint_friction, lower, upper, effort_limit, kp, kd, stiffness, rest, and those of
        actuators, such as actuator_delay. For the world: gravity (B, 3) and ground_friction (B,). An array without the
        axis B holds for all rollouts; {name: array} sets values of some bodies or joints.
    measure : mapping of str to Measure, optional
        Measures by name, see `treesim.measures`. A measure reduces the states of a rollout to a
        few numbers. It uses the states after all steps, also those that are not recorded. The attribute
        `Rollouts.measures` contains the results.
    keep : {"all", "last", "none"}
        Recorded states. "all": the state after every `every` steps. "last": the last state of each rollout. "none": no
        states, if only measures are needed.
    f_ext : mapping, array_like, ExternalForce or sequence of ExternalForce, optional
        External forces, in one of three forms. (1) A mapping {link: wrench} of wrenches (6,), (B, 6) or (B, steps, 6):
        force [N], then moment [N m], along the link's axes about the link's origin. With a key (link, "world"), the
        wrench is along the world's axes. (2) An array of wrenches on all bodies, (N, 6) or (B, N, 6). (3)
        `ExternalForce` objects. Effort limits do not apply to external forces. Their work is added to the work of the
        controls. With external forces, slower code steps the states one by one, in double precision.
    seed : int
        Seed of the random numbers of the world's sensors and of delays of actuators, which also depend on the numbers
        of rollout and step.
    policy_memory : array_like, shape (k,) or (B, k), optional
        Memory of a policy at the start; by default its attribute `memory`, if it has one. `Rollouts.policy_memory`
        contains the memory at the end.

    Returns
    -------
    Rollouts
        Recorded states, measures and diagnostics.

    Raises
    ------
    ArgumentError
        If an argument is invalid. If the results do not fit in memory or on the disk; raised before the computation.
    NonFiniteError
        If an argument is not finite.
    UnknownNameError
        If the name of an engine, backend or integrator, or the value of `keep`, is unknown.
    UnsupportedError
        If the world has sensors and arrays are float32. If a joint of several degrees of freedom has gains. If the
        engine is "specialized", but not available. If a policy or measure branches.

    Warns
    -----
    FrictionWarning
        If the robot has Coulomb friction that the integrator does not simulate.
    EffortWarning
        If controls are given, but all effort limits of the robot are 0.
    LimitWarning
        If joints start beyond their position limits.
    ContactWarning
        If contact was not solved in some rollouts. If steps moved bodies deep into other bodies.
    DivergedWarning
        If states are not finite. The warning names the first rollout with such a state.
    EnergyWarning
        With work=True, if energy errors exceed 1 % of the energy range. In each rollout, at most 32 recorded states are
        checked, at least 50 steps apart.
    StoppedWarning
        If Ctrl-C ended the computation.

    Notes
    -----
    A policy is a function policy(t, q, v, p, u) that writes the control into u (nv,). The array u is 0 before the call.
    The other arguments are the time t [s], the state q and v, and p, the rollout's row of `policy_parameters`. The
    function is traced: it is called once or twice with symbolic numbers, and compiled together with the loop over
    steps. A policy may use + - * /, integer powers, and NumPy's sin, cos, tan and their inverses, sqrt, exp, tanh and
    products of arrays. It may also use maximum, minimum, absolute, less, select and atan2 of `treesim.numbers`. A
    policy cannot branch on its arguments, and cannot draw random numbers: give noise as `policy_parameters`. A policy
    may call networks (`treesim.policies.Network`).

    A policy may also have the form policy(t, q, v, p, u, c). The array c (N + 1, 6) then contains the mean contact
    wrenches on the bodies in the step before, by name as in `ContactReport.wrench`: c["foot"]. Row 0 is c["ground"];
    it is the sum over all surfaces of the ground, whose own wrenches SIMD code does not compute. The array u contains
    the control of the step before. At the start, c and u are 0. With such a policy, contact is solved by slower code,
    state by state.

    A policy with memory has the form policy(t, q, v, p, u, c, m). It overwrites the array m (k,), which contains what
    it wrote in the step before. Such a policy runs between the steps, as one that calls a network.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> def policy(t, q, v, p, u):
    ...     u[:] = p[0] * (0.1 * np.sin(t) - q) - p[1] * v
    >>> treesim.rollout(robot, np.zeros((10, 6)), np.zeros(6), policy, steps=20, policy_parameters=[10.0, 1.0])
    <Rollouts: 10 of 20 states, 0.001 ... 0.02 s, float64>
    """
    world = as_world(robot)
    options = StepOptions(
        dt=dt, integrator=integrator, backend=backend, engine=engine, kp=kp, kd=kd, substeps=substeps,
        threads=threads, contact_solver=contact_solver,
    )  # fmt: skip
    save = SaveAt(every=every, keep=keep, work=work, out=out, measure=checked_measures(measure))
    given = RolloutInput(
        q0, v0, control, steps, policy_parameters, model_parameters, f_ext, seed, policy_memory=policy_memory
    )
    return roll_out(world, given, options, save, progress)


def roll_out(
    world: World, given: RolloutInput, options: StepOptions, save: SaveAt,
    progress: Callable[[int, int], None] | None = None,
) -> Rollouts:  # fmt: skip
    """Return the results of `rollout` with its arguments as objects."""
    checked_progress(progress)
    fields = given_fields(world, given.model_parameters, options.integrator)
    world = world_with_rows(world, fields)
    method = method_of(world, options, frozenset(fields), save.work)
    if given.f_ext is not None:
        method = method.under_forces()
    physics = physics_of_rollouts(method, fields)
    counts = () if physics is None else physics.counts
    start = start_of(method, given, counts, bool(save.measure))
    if method.touches:
        warn_of_start(world, start.q, own=own_limits(world.robot, fields))
    measuring = measuring_of(save.measure, method, start)
    every, records = save.records(start.steps)
    count = len(start.q)
    checks = begin_checks(count) if method.touches else None
    reads = records > 0 or (measuring is not None and measuring.reduction.reads)
    sensing = sensor_steps(method, start, fields, every, reads)
    if sensing is not None:
        method = method_for_sensors(method)
    piece = rollout_segment(method, start, every, checks, physics, measuring, sensing)
    shapes = [(count, records, n) for n in method.sizes]
    columns = {} if sensing is None else sensing.columns
    facts = {"dt": options.dt, "every": every, **({"sensors": columns} if columns else {})}
    results = Results(save.out, shapes, start.number, (start.q, start.v, start.u, start.p), facts)
    with use_threads(options.threads):
        own = None if physics is None else physics.of_robots(world.robot, count)
        return _run(Run(method, start, results.sensors, checks, own, measuring), piece, results, progress)


def rollout_segment(
    method: Method, start: Start, every: int, checks: ContactChecks | None, physics: Physics | None,
    measuring: Measuring | None = None, sensing: SensorSteps | None = None,
) -> RolloutSegment | None:  # fmt: skip
    """Return the segment that steps and measures rollouts, reads sensors, and writes the checks of contact.

    None if nothing moves, and nothing is read.
    """
    measured = None if measuring is None else measuring.measured
    if sensing is None:
        piece = steps_of(method, start, every, checks, physics, measured)
        piece = piece.carry if isinstance(piece, ContactSteps) else piece
    elif not method.world.robot.nv:
        piece = sensing.over(stand_still, None, None)
    else:
        piece = _sensed_steps(method, start, every, checks, physics, measured, sensing)
    return piece if piece is None or measuring is None else measuring.over(piece)


def _sensed_steps(
    method: Method, start: Start, every: int, checks: ContactChecks | None, physics: Physics | None,
    measured: Measured | None, sensing: SensorSteps,
) -> RolloutSegment | None:  # fmt: skip
    """Return the segment that steps rollouts and reads sensors, in each step if measures take readings."""
    reads = measured is not None and measured.reduction.reads
    wrenches = sensing.contact or (measured is not None and measured.reduction.contact)
    made = partial(steps_of, method, start, every, checks, physics, None if reads else measured)
    steps = made(wrenches, sensing.controls)
    if steps is None:
        return None
    outer = measured if reads else None
    if not isinstance(steps, ContactSteps):
        return sensing.over(steps, None, outer)
    between = made() if steps.touch is None and every > 1 and outer is None else None
    fast = between if isinstance(between, ContactSteps) and between.touch is not None else None
    return sensing.over(steps.carry, steps, outer, fast)


def steps_of(
    method: Method, start: Start, every: int, checks: ContactChecks | None, physics: Physics | None,
    measured: Measured | None, wrenches: bool = False, controls: bool = False,
) -> RolloutSegment | ContactSteps | None:  # fmt: skip
    """Return the segment that steps rollouts, or the steps whose `carry` it is; with measures its last state is theirs.

    wrenches, controls: whether wrenches on bodies, and controls within their limits are requested.
    """
    robot, number, u = method.world.robot, start.number, start.u
    moves = bool(len(start.q) and start.steps and robot.nv)
    policy = None
    if start.law is not None:
        named = partial(NamedWrenches.of, rows=method.world.touching.wrench_rows)
        memory = None if start.memory is None else start.memory.start.shape[1]
        parameters = start.p.shape[1] + len(noise_of(start.law).widths)
        policy = Policy(start.law, robot.nq, robot.nv, parameters, bodies_in_contact(method), named, memory)
        check_clock(start.steps, number)
        if policy.memory and method.code is None:
            method = method._replace(code=method.code_of(False))
    elif measured is None and start.steps % every:
        refuse_non_finite_controls(u[:, start.steps - start.steps % every :], u)  # these steps are not computed
    if not moves:
        return None
    if method.code is not None:
        return under_contact(method, start, policy, checks, physics, measured, wrenches, controls)
    return unconstrained_steps(method, start, physics, policy, measured)


def unconstrained_steps(
    method: Method, start: Start, physics: Physics | None, policy: Policy | None = None,
    measured: Measured | None = None,
) -> RolloutSegment:  # fmt: skip
    """Return the segment of steps without contact and external forces, under controls or a policy."""
    batched = None  # model parameters in the constants, in the rollouts' number type
    if physics is not None:
        batched = physics.within(method.entry, "reals", "settings", count=len(start.q), number=start.number)
    made = partial(
        under_controls if policy is None else under_policy, constants=method.constants, sizes=method.sizes,
        number=start.number, engine=method.options.engine, held=method.substeps, batched=batched, measured=measured,
    )  # fmt: skip
    if policy is None:
        return made(method.entry, controls=start.u)
    entries = method.entry, policy_step_entry(method.entry)
    return made(entries, policy=policy, parameters=start.p, dt=method.dt)


def read_unfinished(out: str | os.PathLike[str], robot: Tree | None = None) -> Rollouts:
    """Return the results so far of a `rollout(..., out=out)` that was killed or stopped, or still runs.

    q, v and the work are memory-mapped read-only. `diverged_at` is searched in all states.

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
    diverged_at = first_diverged(q, v, counts)
    work_done = next(iter(work), None)
    return Rollouts(
        t, q, v, diverged_at >= 0, counts, "unfinished", work_done, robot, sensors=sensors, diverged_at=diverged_at
    )


def _run(
    run: Run, piece: RolloutSegment | None, results: Results, progress: Callable[[int, int], None] | None
) -> Rollouts:
    """Step all rollouts through all steps, until Ctrl-C."""
    count, records = results.arrays[0].shape[:2]
    t = times(results.facts["dt"], results.facts["every"], records)
    done, finite = Progress(), True
    start = run.start
    try:
        for part in _slices(piece, start, results, run.measuring is not None):
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
        found = run.outcome(*begun(done, results.arrays, t), stopped="interrupted")
        also = f", and {done.records} records of {done.partial} more" if done.partial else ""
        warn(f"Ctrl-C: {done.complete} of {count} rollouts are done{also}{ending}", StoppedWarning)
        return found
    except Exception as error:
        ending = results.leave(done)
        why = f"{type(error).__name__}: {error}"
        found = run.outcome(*begun(done, results.arrays, t), stopped=why)
        keep_with(error, "rollouts", found, f"{done.complete} of {count} rollouts were{ending}")
        raise
    counts = np.full(count, records)
    return run.outcome(t, results.arrays, counts, finite=finite)


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
