"""Rollouts: many simulations at once, each for many steps, in compiled code from the first step to the last."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .display import Shown, arrays
from .dynamics.base import DynamicsBackend
from .engine.call.arguments import Shape, check_out, precision
from .engine.call.buffer_pool import empty
from .engine.call.evaluate import check_engine
from .engine.call.steps import Piece, under_controls, under_policy
from .engine.graph.policies import Policy
from .engine.threads import checked_threads, use_threads
from .errors import ArgumentError, UnsupportedError, keep_with
from .kernels.step import carried_step_entry, policy_step_entry
from .kernels.world_step import carried_world_step_entry
from .memory import check_memory
from .model.given import checked_progress, positive_number, told, whole_number
from .model.states import tied_constants
from .model.tree import Tree
from .rollout_arguments import check_clock, refuse_non_finite_controls, state_arrays
from .rollout_files import ResultFiles, read_record
from .rollout_slices import Done, Pace, Slice, slices
from .step_code import check_diagonal, check_rows, compiled_rule, forward_kernel
from .step_settings import StepSettings, substeps_of
from .stepper import warn_of_friction, warn_of_limits
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
    q and v are memory-mapped files, or the caller's arrays, when they were asked for.

    Example:
        >>> robot = treesim.load("ur5")
        >>> runs = treesim.rollout(robot, np.zeros((10, 6)), np.zeros(6), steps=20, every=5)
        >>> runs.q.shape, runs.t
        ((10, 4, 6), array([0.005, 0.01 , 0.015, 0.02 ]))
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    diverged: np.ndarray
    done: np.ndarray
    stopped: str | None = None

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
        return [*arrays(self, "t", "q", "v"), *endings]


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
    out: str | os.PathLike[str] | tuple[np.ndarray, np.ndarray] | None = None,
    progress: Callable[[int, int], None] | None = None,
    engine: Engine = "auto",
    parameters: ArrayLike | None = None,
    threads: int | None = None,
    backend: str | DynamicsBackend = "aba",
    integrator: str = "implicit_midpoint",
    substeps: int | None = None,
) -> Rollouts:
    """Return the states that B simulations pass through, after every `every` steps.

    robot: a tree, or a World, which also holds frames and closes loops, in float64. q0 (B, nq) or (nq,), v0 (B, nv) or
    (nv,): where they start; they broadcast. controls: (steps, nv) for all or (B, steps, nv): forces of the degrees of
    freedom [N, N m], or, where kp or kd (one number or (nv,)) is not 0, targets of their coordinates [rad, m], tracked
    by kp (target - q) - kd v within the effort limits; None is no
    force. controls may also be a function, policy(t, q, v, p, u), that writes these to u (nv), zero before, from the
    time t [s], the state, and p, its rollout's row of `parameters` (B, k) or (k,). It is traced: called once, on
    symbolic numbers, and compiled with the loop over steps. It may use + - * /, whole powers, NumPy's sin, cos,
    sqrt, exp, tanh, products of arrays, and maximum, minimum, absolute, less, select and atan2 of
    treesim.kernels.numbers, but cannot branch on what depends on its arguments. steps: how many, by default those of
    controls. dt: step [s]. out: arrays
    (q, v) for the results, apart from the arguments, which saves their allocation; or a file name: q and v are then
    written to "<out>_q.npy" and "<out>_v.npy", which may be larger than memory. Until they are complete they
    have temporary names, then replace files of these names; `read_unfinished` reads those of a killed process.
    progress(done, total) is called with the numbers of rollouts done, and in all.
    Ctrl-C is obeyed within a second: what is done is returned, with the reason in `Rollouts.stopped` and a
    StoppedWarning; files stay unfinished. An exception that `progress` raises, or any other in the middle, has what is
    done as its attribute `rollouts`.
    backend, integrator, substeps: as in `treesim.Stepper`, whose step it is. Joint damping, Coulomb friction
    and gains enter as in `Simulation`, whose states these are, to rounding; gravity and armature are the robot's.
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
    robot = world.robot
    check_engine(engine)
    checked_progress(progress)
    threads = checked_threads(threads)
    dt = positive_number("dt", dt)
    check_rows(world, integrator)
    rule, dynamics = compiled_rule(integrator), forward_kernel(robot, backend)
    warn_of_friction(robot, integrator, stacklevel=3)
    substeps = substeps_of(robot, rule, dt, substeps)
    made = StepSettings.of(robot, rule, dt / substeps, kp, kd)
    check_diagonal(dynamics, robot, made)
    settings = made.table
    law = controls if callable(controls) else None
    if law is not None:
        controls = None
    elif parameters is not None:
        raise ArgumentError("parameters are those of a policy: give a function as controls, or no parameters")
    if controls is not None or law is not None:
        warn_of_limits(robot, stacklevel=3)
    number = precision(*(x for x in (q0, v0, controls, parameters) if x is not None))
    if world.m and number == np.float32:
        raise UnsupportedError(f"gaps of {world!r} are not closed in float32: give float64 arrays")
    q, v, u, p = state_arrays(robot, q0, v0, controls, parameters, steps, number)
    q = world.start(q)
    count, steps = len(q), u.shape[1]
    every = whole_number("every", every, 1, max(steps, 1))
    shapes = [(count, steps // every, n) for n in (robot.nq, robot.nv)]
    constants = (*tied_constants(robot, dynamics.constants(robot)), *world.held, settings)
    sizes = robot.nq, robot.nv
    step = (carried_world_step_entry if world.m else carried_step_entry)(rule, dynamics.entry_for(robot))
    piece = None
    if law is not None:
        policy = Policy(law, robot.nq, robot.nv, p.shape[1])
        check_clock(steps, number)
        if count and steps and robot.nv:
            entries = step, policy_step_entry(step)
            piece = under_policy(entries, constants, sizes, policy, p, dt, number, engine, substeps)
    else:
        refuse_non_finite_controls(u[:, steps - steps % every :], u)  # the last steps leave no record
        if count and steps and robot.nv:
            piece = under_controls(step, constants, sizes, u, number, engine, substeps)
    results = _Results(out, shapes, number, (q, v, u, p), {"dt": dt, "every": every})
    with use_threads(threads):
        return _run(robot, piece, (q, v), u, results, progress)


def read_unfinished(out: str | os.PathLike[str]) -> Rollouts:
    """Return what a run of `rollout(..., out=out)` has done that was killed or stopped, or is still at work.

    q and v are mapped from the files, which cannot be written to through them; `diverged` is looked for in all of them.
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
    t, q, v, counts = _begun(done, arrays, t)
    return Rollouts(t, q, v, _diverged(q, v, counts), counts, "unfinished")


class _Results:
    """Where q and v of all rollouts go: fresh memory, the caller's arrays, or files."""

    def __init__(
        self, out: Any, shapes: Sequence[Shape], number: Any, arguments: Sequence[np.ndarray], facts: dict[str, Any]
    ) -> None:
        self.facts = facts
        self.files: ResultFiles | None = None
        if out is None:
            self.arrays = _fresh(shapes, number)
        elif isinstance(out, str | os.PathLike):
            self.files = ResultFiles(out, shapes, number, facts)
            self.arrays = self.files.arrays
        elif isinstance(out, tuple | list) and len(out) == 2:
            self.arrays = _given(out, shapes, number, arguments)
        else:
            raise ArgumentError(f"out must be a file name or two arrays (q, v), got {told(out)}")

    def tell(self, done: Done) -> None:
        """So much is done, and in its place."""
        if self.files is not None:
            self.files.tell(done)

    def finish(self) -> None:
        """All is done."""
        if self.files is not None:
            self.arrays = self.files.finish()

    def leave(self, done: Done) -> str:
        """No more will be done: return where what is done is found, where that is in files."""
        if self.files is None:
            return ""
        if done == Done():
            self.files.remove()
            return ""
        return f"; {self.files.leave()}"


def _fresh(shapes: Sequence[Shape], number: Any) -> list[np.ndarray]:
    needed = sum(math.prod(shape) for shape in shapes) * np.dtype(number).itemsize
    count, records, _ = shapes[0]
    check_memory(
        needed + 8 * (count + records),
        f"{count} rollouts of {records} recorded steps",
        "record fewer with every=, or name files with out=",
    )
    return [empty(shape, number) for shape in shapes]


def _given(
    out: Sequence[Any], shapes: Sequence[Shape], number: Any, arguments: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """The caller's arrays, which nothing else may lie in."""
    arrays = [check_out(x, shape, number) for x, shape in zip(out, shapes, strict=True)]
    for k, x in enumerate(arrays):
        others = [*arguments, *arrays[:k]]
        if not x.flags.aligned or any(np.may_share_memory(x, other) for other in others):
            raise ArgumentError(f"out[{k}] must be aligned in memory, and share none with another argument")
    return arrays


def _run(
    robot: Tree,
    piece: Piece | None,
    states: tuple[np.ndarray, np.ndarray],
    controls: np.ndarray,
    results: _Results,
    progress: Callable[[int, int], None] | None,
) -> Rollouts:
    """Carry all states through all steps, until Ctrl-C."""
    count, records, _ = results.arrays[0].shape
    t = _times(**results.facts, records=records)
    done, finite = Done(), True
    try:
        for part in _slices(piece, states, results, robot.nv):
            if not part.finite:
                finite = False
                refuse_non_finite_controls(controls[part.rows, part.steps], controls)
            before, done = done, part.done
            results.tell(done)
            if progress is not None and done.complete > before.complete:
                progress(done.complete, count)
        results.finish()
    except KeyboardInterrupt:
        ending = results.leave(done)
        outcome = _outcome(robot, *_begun(done, results.arrays, t), stopped="interrupted")
        _warn_of_stop(outcome, done, count, ending)
        return outcome
    except Exception as error:
        ending = results.leave(done)
        outcome = _outcome(robot, *_begun(done, results.arrays, t), stopped=f"{type(error).__name__}: {error}")
        keep_with(error, "rollouts", outcome, f"{done.complete} of {count} rollouts were{ending}")
        raise
    counts = np.full(count, records)
    q, v = results.arrays
    if finite:
        return Rollouts(t, q, v, np.full(count, -1), counts)
    return _outcome(robot, t, q, v, counts)


def _slices(piece: Piece | None, states: Sequence[np.ndarray], results: _Results, nv: int) -> Iterator[Slice]:
    q, v = results.arrays
    count, records, _ = q.shape
    if piece is None or not records:  # nothing that moves, or nothing to record
        if count:
            yield Slice(slice(0, count), slice(0, 0), True, Done(count))
        return
    most = max(1, CHUNK_BYTES // (records * (q.shape[2] + v.shape[2]) * q.itemsize))
    yield from slices(piece, states, results.arrays, results.facts["every"], most, Pace(nv))


def _times(dt: float, every: int, records: int) -> np.ndarray:
    return dt * every * np.arange(1, records + 1)


def _begun(
    done: Done, arrays: Sequence[np.ndarray], t: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """t, q, v and how many records there are, of the rollouts that were begun."""
    records = len(t)
    if not done.records:
        done = Done(done.complete)
    if not done.complete and done.partial:
        records = done.records
    end = done.complete + done.partial
    q, v = (x[:end, :records] for x in arrays)
    for x in (q, v):
        if done.partial and done.records < records and x.flags.writeable:
            x[done.complete :, done.records :] = np.nan
    counts = np.full(end, records)
    counts[done.complete :] = min(done.records, records)
    return t[:records], q, v, counts


def _outcome(
    robot: Tree, t: np.ndarray, q: np.ndarray, v: np.ndarray, done: np.ndarray, stopped: str | None = None
) -> Rollouts:
    """Looks for states that are not finite, and warns of them."""
    diverged = _diverged(q, v, done)
    if (diverged >= 0).any():
        _warn_of_divergence(robot, diverged, t, v)
    return Rollouts(t, q, v, diverged, done, stopped)


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
        f"t = {t[k]:.6g} s on, where joint {joint!r} moves fastest: take a smaller dt, or smaller gains and forces",
        DivergedWarning,
        stacklevel=5,
    )
