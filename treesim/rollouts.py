"""Rollouts: many simulations at once, each for many steps, in compiled code from the first step to the last."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .contact.base import ContactSolver
from .display import Shown, arrays
from .dynamics.base import DynamicsBackend
from .engine.call.evaluate import check_engine
from .engine.call.steps import Piece, under_controls, under_policy
from .engine.graph.policies import Policy
from .engine.threads import checked_threads, use_threads
from .errors import ArgumentError, keep_with
from .kernels.step import policy_step_entry
from .model.given import checked_progress, positive_number, whole_number
from .model.tree import Tree
from .rollout_arguments import Method, Start, check_clock, method_of, refuse_non_finite_controls, start_of
from .rollout_energy import balance, total_energy, warn_of_errors
from .rollout_files import read_record
from .rollout_limits import under_contact
from .rollout_results import Results
from .rollout_slices import Done, Pace, Slice, slices
from .step_settings import speed_hint
from .types import Engine
from .world import World, as_world

CHUNK_BYTES = 1 << 28  # rollouts between two reports of progress: so many bytes of results at most
BLOCK = 256  # rollouts looked through at a time for states that are not finite


class DivergedWarning(UserWarning):
    """Some rollouts reached states that are not finite."""


class StoppedWarning(UserWarning):
    """Ctrl-C ended rollouts early: what was computed is returned."""


@dataclass(frozen=True, repr=False)
class Rollouts(Shown):
    """States of B rollouts at K recorded times: t (K,) [s], q (B, K, nq), v (B, K, nv), float64 or float32.

    diverged (B,): the first recorded time at which a rollout's state is not finite, as an index; -1 if there is none.
    done (B,): how many recorded times of a rollout are computed; K, unless it was stopped. stopped: why rollouts ended
    early, or None. B is then the number of rollouts that were begun, K that of the times which any of them has; what
    the last of them lack is NaN.
    residual (B,): by how much contacts, limits and joint friction miss their laws at most, in any step [m/s, rad/s];
    None where there are none of these. Solvers stop near 1e-9; above 1e-5 a step is not solved.
    work (B, K, 2): that of the controls, and of damping and friction, from the start to each recorded state [J]; None
    if it was not counted. energy_at_start (B,): kinetic and potential energy there [J], None without work. robot: whose
    states these are, None if they were read from files.
    q, v and work are memory-mapped files, or the caller's arrays, when they were asked for.

    Example:
        >>> robot = treesim.load("ur5")
        >>> runs = treesim.rollout(robot, np.zeros((10, 6)), np.zeros(6), np.full((20, 6), 5.0), every=5, work=True)
        >>> runs.q.shape, runs.t
        ((10, 4, 6), array([0.005, 0.01 , 0.015, 0.02 ]))
        >>> bool(abs(runs.energy_error).max() < 1e-4 * runs.work[..., 0].max())
        True
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    diverged: np.ndarray
    done: np.ndarray
    stopped: str | None = None
    work: np.ndarray | None = None
    robot: Tree | None = None
    energy_at_start: np.ndarray | None = None
    residual: np.ndarray | None = None

    @property
    def energy(self) -> np.ndarray:
        """Kinetic and potential energy (B, K) of the recorded states, in double precision [J]; NaN where there is no
        finite state. Raises ArgumentError for rollouts read from files without the robot. Cost O(N) each, when asked
        for."""
        if self.robot is None:
            raise ArgumentError("energies need the robot: give it to read_unfinished")
        return total_energy(self.robot, self.q, self.v, self.done)

    @property
    def energy_error(self) -> np.ndarray:
        """The integrator's error (B, K): the change of energy since the start less the work that was done [J]; NaN
        where there is no finite state. Raises ArgumentError where the work, or the energy at the start, is not known.
        Cost O(N) each, when asked for."""
        if self.work is None:
            raise ArgumentError("the work of these rollouts was not counted: roll out with work=True")
        if self.energy_at_start is None:
            raise ArgumentError("the energy at the start is not kept in files: subtract it, and the work, from energy")
        return self.energy - self.energy_at_start[:, None] - self.work.sum(axis=-1, dtype=float)

    def to_xarray(self) -> Any:
        """Return an xarray.Dataset: q (rollout, time, coordinate), v (rollout, time, dof), work (rollout, time,
        account) if it was counted, and diverged, done, residual and energy_at_start (rollout).

        Coordinates have the joints' names, and units, as in `Trajectory.to_xarray`, where the robot is known. Arrays
        are not copied. Raises ArgumentError, saying how to install it, if xarray is missing.

        Example:
            >>> runs = treesim.rollout(treesim.load("ur5"), np.zeros((10, 6)), np.zeros(6), steps=20)
            >>> float(runs.to_xarray().q.sel(coordinate="elbow_joint").isel(time=0).max()) == runs.q[:, 0, 2].max()
            True
        """
        from .formats.xarray import dataset_of_rollouts

        return dataset_of_rollouts(self)

    def to_arrow(self) -> Any:
        """Return a pyarrow.Table: one row a recorded state of a rollout, columns rollout, t, q.NAME, v.NAME, and work
        if it was counted, with units in the fields' metadata; names are numbers where the robot is not known.

        `pyarrow.parquet.write_table` makes a Parquet file of it. Raises ArgumentError, saying how to install it, if
        pyarrow is missing. Costs a copy.

        Example:
            >>> runs = treesim.rollout(treesim.load("ur5"), np.zeros((10, 6)), np.zeros(6), steps=20)
            >>> runs.to_arrow().num_rows
            200
        """
        from .formats.parquet import table_of_rollouts

        return table_of_rollouts(self)

    def __repr__(self) -> str:
        count, records, _ = self.q.shape
        span = f", {self.t[0]:g} ... {self.t[-1]:g} s" if records else ""
        diverged = int((self.diverged >= 0).sum())
        endings = [f"{diverged} diverged"] * bool(diverged) + [f"stopped: {self.stopped}"] * bool(self.stopped)
        return f"<Rollouts: {count} of {records} states{span}, {self.q.dtype}{''.join(f', {e}' for e in endings)}>"

    def _facts(self) -> list[tuple[str, Any]]:
        diverged = np.flatnonzero(self.diverged >= 0)
        complete = int((self.done == len(self.t)).sum())
        endings = [("complete", complete), ("diverged", diverged.tolist()), ("stopped", self.stopped)]
        known = [name for name in ("work", "residual") if getattr(self, name) is not None]
        return [*arrays(self, "t", "q", "v", *known), *endings]


def rollout(
    robot: Tree | World,
    q0: ArrayLike,
    v0: ArrayLike,
    controls: ArrayLike | Callable[..., None] | None = None,
    dt: float = 1e-3,
    steps: int | None = None,
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
) -> Rollouts:
    """Return the states that B simulations pass through, after every `every` steps.

    robot: a tree, or a World, which also has a ground, or holds frames and closes loops, these in float64. q0 (B, nq)
    or (nq,), v0 (B, nv) or (nv,): where they start; they broadcast. controls: (steps, nv) for all or (B, steps, nv):
    forces of the degrees of freedom [N, N m], or, where kp or kd (one number or (nv,)) is not 0, targets of their
    coordinates [rad, m], tracked by kp (target - q) - kd v within the effort limits; None is no
    force. controls may also be a function, policy(t, q, v, p, u), that writes these to u (nv), zero before, from the
    time t [s], the state, and p, its rollout's row of `parameters` (B, k) or (k,). It is traced: called once, on
    symbolic numbers, and compiled with the loop over steps. It may use + - * /, whole powers, NumPy's sin, cos,
    sqrt, exp, tanh, products of arrays, and maximum, minimum, absolute, less, select and atan2 of
    treesim.kernels.numbers, but cannot branch on what depends on its arguments. steps: how many, by default those of
    controls. dt: step [s]. out: arrays
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
    work: whether to count the work of controls, and of damping and friction, inside the steps, and to hold the energy
    of the rollouts against it: `Rollouts.work` and `.energy_error`, and one EnergyWarning, with a remedy, for all that
    are off by more than 1 % of the energy in play, looked at in one record in 50 steps, 32 at most. out may then be
    three arrays. States stay the same to the bit; docs/simulation.md tells what it costs.
    engine: as in `forward_dynamics`; vector code is used for any number of rollouts where it is supported.
    threads: how many, by default as in `treesim.use_threads`; results do not depend on it.
    Float32 arrays throughout give float32 results.
    Warns with DivergedWarning, naming the first rollout whose state is not finite. Raises ArgumentError, also for
    results that fit in no memory or on no disk, before anything is computed, NonFiniteError, UnknownNameError (engine),
    UnsupportedError for gains on a joint of several degrees of freedom, for the engine "specialized" where it cannot
    be, and for a policy that branches.

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
    method = method_of(
        world, positive_number("dt", dt), integrator, backend, substeps, kp, kd, work, engine, contact_solver
    )
    start = start_of(method, q0, v0, controls, parameters, steps)
    every = whole_number("every", every, 1, max(start.steps, 1))
    count, records = len(start.q), start.steps // every
    residual = None if method.code is None else np.zeros(count)
    piece = _piece(method, start, every, engine, residual)
    shapes = [(count, records, n) for n in method.sizes]
    results = Results(
        out, shapes, start.number, (start.q, start.v, start.u, start.p), {"dt": method.dt, "every": every}
    )
    with use_threads(threads):
        return _run(method, piece, start, results, progress, residual)


def _piece(method: Method, start: Start, every: int, engine: str, residual: np.ndarray | None) -> Piece | None:
    """What carries rollouts through steps, and tells of contact in `residual`; None where nothing moves."""
    robot, number, u = method.world.robot, start.number, start.u
    moves = bool(len(start.q) and start.steps and robot.nv)
    if start.law is None:
        refuse_non_finite_controls(u[:, start.steps - start.steps % every :], u)  # the last steps leave no record
        if not moves:
            return None
        if residual is not None:
            return under_contact(method, start, None, engine, residual).carry
        return under_controls(method.entry, method.constants, method.sizes, u, number, engine, method.substeps)
    policy = Policy(start.law, robot.nq, robot.nv, start.p.shape[1])
    check_clock(start.steps, number)
    if not moves:
        return None
    if residual is not None:
        return under_contact(method, start, policy, engine, residual).carry
    entries = method.entry, policy_step_entry(method.entry)
    return under_policy(
        entries, method.constants, method.sizes, policy, start.p, method.dt, number, engine, method.substeps
    )


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
    t = _times(record["dt"], record["every"], arrays[0].shape[1])
    t, (q, v, *work), counts = _begun(done, arrays, t)
    return Rollouts(t, q, v, _diverged(q, v, counts), counts, "unfinished", next(iter(work), None), robot)


def _run(
    method: Method,
    piece: Piece | None,
    start: Start,
    results: Results,
    progress: Callable[[int, int], None] | None,
    residual: np.ndarray | None,
) -> Rollouts:
    """Carry all states through all steps, until Ctrl-C."""
    count, records = results.arrays[0].shape[:2]
    t = _times(**results.facts, records=records)
    done, finite = Done(), True
    try:
        for part in _slices(piece, start, results):
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
        outcome = _outcome(method, start, *_begun(done, results.arrays, t), residual, stopped="interrupted")
        _warn_of_stop(outcome, done, count, ending)
        return outcome
    except Exception as error:
        ending = results.leave(done)
        why = f"{type(error).__name__}: {error}"
        outcome = _outcome(method, start, *_begun(done, results.arrays, t), residual, stopped=why)
        keep_with(error, "rollouts", outcome, f"{done.complete} of {count} rollouts were{ending}")
        raise
    return _outcome(method, start, t, results.arrays, np.full(count, records), residual, finite=finite)


def _slices(piece: Piece | None, start: Start, results: Results) -> Iterator[Slice]:
    arrays = results.arrays
    count, records = arrays[0].shape[:2]
    if piece is None or not records:  # nothing that moves, or nothing to record
        for done in arrays[2:]:
            done[...] = 0
        if count:
            yield Slice(slice(0, count), slice(0, 0), True, Done(count))
        return
    most = max(1, CHUNK_BYTES // (records * sum(x.shape[2] for x in arrays) * arrays[0].itemsize))
    none_done = [np.broadcast_to(np.zeros((1, x.shape[2]), x.dtype), (count, x.shape[2])) for x in arrays[2:]]
    states = [start.q, start.v, *none_done]
    yield from slices(piece, states, arrays, results.facts["every"], most, Pace(start.v.shape[1]))


def _times(dt: float, every: int, records: int) -> np.ndarray:
    return dt * every * np.arange(1, records + 1)


def _begun(done: Done, arrays: Sequence[np.ndarray], t: np.ndarray) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """t, q, v, the work, if it is counted, and how many records there are, of the rollouts that were begun."""
    records = len(t)
    if not done.records:
        done = Done(done.complete)
    if not done.complete and done.partial:
        records = done.records
    end = done.complete + done.partial
    begun = [x[:end, :records] for x in arrays]
    for x in begun:
        if done.partial and done.records < records and x.flags.writeable:
            x[done.complete :, done.records :] = np.nan
    counts = np.full(end, records)
    counts[done.complete :] = min(done.records, records)
    return t[:records], begun, counts


def _outcome(
    method: Method,
    start: Start,
    t: np.ndarray,
    arrays: Sequence[np.ndarray],
    done: np.ndarray,
    residual: np.ndarray | None,
    stopped: str | None = None,
    finite: bool = False,
) -> Rollouts:
    """The rollouts; looks for states that are not finite, unless there are none, and warns of them, and of energies
    that the work does not account for."""
    robot, (q, v, *work) = method.world.robot, arrays
    diverged = np.full(len(q), -1) if finite else _diverged(q, v, done)
    if (diverged >= 0).any():
        _warn_of_divergence(robot, diverged, t, v)
    residual = None if residual is None else residual[: len(q)]
    if not work:
        return Rollouts(t, q, v, diverged, done, stopped, robot=robot, residual=residual)
    found = balance(robot, (start.q[: len(q)], start.v[: len(q)]), q, v, work[0], start.steps)
    finite_ones = (diverged < 0) & (done == len(t))
    warn_of_errors(robot, found, finite_ones, t, method.dt, method.integrator, stacklevel=5)
    return Rollouts(t, q, v, diverged, done, stopped, work[0], robot, found.start, residual)


def _warn_of_stop(outcome: Rollouts, done: Done, count: int, ending: str) -> None:
    also = f", and {done.records} records of {done.partial} more" if done.partial else ""
    warnings.warn(f"Ctrl-C: {done.complete} of {count} rollouts are done{also}{ending}", StoppedWarning, stacklevel=4)


def _diverged(q: np.ndarray, v: np.ndarray, done: np.ndarray) -> np.ndarray:
    """First recorded time of each rollout that is not finite, of those that are done, -1 for none."""
    first = np.full(len(q), -1)
    for start in range(0, len(q), BLOCK):  # memory for a few, not for all
        part = slice(start, start + BLOCK)
        bad = ~(np.isfinite(q[part]).all(axis=-1) & np.isfinite(v[part]).all(axis=-1))
        bad &= np.arange(q.shape[1]) < done[part, None]
        first[part] = np.where(bad.any(axis=1), np.argmax(bad, axis=1), -1)
    return first


def _warn_of_divergence(robot: Tree, first: np.ndarray, t: np.ndarray, v: np.ndarray) -> None:
    wrong = np.flatnonzero(first >= 0)
    b = int(wrong[0])
    k = int(first[b])
    before = np.abs(v[b, k - 1]) if k else np.zeros(robot.nv)
    joint = robot.dof_name(int(np.argmax(before)))
    warnings.warn(
        f"{len(wrong)} of {len(v)} rollouts are no longer finite at the end; the first is number {b}, from "
        f"t = {t[k]:.6g} s on, where joint {joint!r} moves fastest: take a smaller dt, or smaller gains and forces"
        f"{speed_hint(robot)}",
        DivergedWarning,
        stacklevel=5,
    )
