"""Rollouts: many simulations at once, each for many steps, in compiled code from the first step to the last."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .engine.arguments import Argument, check_out, coerce, precision, refuse_non_finite
from .engine.evaluate import check_engine
from .engine.policies import Policy
from .engine.result_memory import empty
from .engine.steps import run_policy, run_steps
from .errors import ArgumentError, TreesimError, UnsupportedError
from .kernels.rollout import policy_step_states, step_states
from .model.quaternions import unit_quaternions
from .model.tree import Tree

CHUNK_BYTES = 1 << 28  # rollouts between two reports of progress: so many bytes of results
BLOCK = 256  # rollouts looked through at a time for states that are not finite
LARGE = 1e30  # stands for an effort limit that is none: infinity must not enter compiled arithmetic


class DivergedWarning(UserWarning):
    """Some rollouts reached states that are not finite."""


@dataclass(frozen=True)
class Rollouts:
    """States of B rollouts at K recorded times: t (K,) [s], q (B, K, nq), v (B, K, nv), float64 or float32.

    diverged (B,): the first recorded time at which a rollout's state is not finite, as an index; -1 if there is none.
    q and v are memory-mapped files, or the caller's arrays, when they were asked for.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    diverged: np.ndarray


def rollout(
    robot: Tree,
    q0: Any,
    v0: Any,
    controls: Any = None,
    dt: float = 1e-3,
    steps: int | None = None,
    kp: Any = 0.0,
    kd: Any = 0.0,
    every: int = 1,
    out: str | Path | tuple[np.ndarray, np.ndarray] | None = None,
    progress: Callable[[int, int], None] | None = None,
    engine: str = "auto",
    parameters: Any = None,
) -> Rollouts:
    """Return the states that B simulations by semi-implicit Euler pass through, after every `every` steps.

    q0 (B, nq) or (nq,), v0 (B, nv) or (nv,): where they start; they broadcast. controls: (steps, nv) for all or
    (B, steps, nv): forces of the degrees of freedom [N, N m], or, where kp or kd (one number or (nv,)) is not 0,
    targets of their coordinates [rad, m], reached for by kp (target - q) - kd v within the effort limits; None is no
    force. controls may also be a function, policy(t, q, v, p, u), that writes these to u (nv), zero before, from the
    time t [s], the state, and p, its rollout's row of `parameters` (B, k) or (k,). It is not called at every step, but
    once, on symbols, and becomes part of the compiled code: it computes with + - * /, whole powers, NumPy's sin, cos,
    sqrt, exp, tanh, products of arrays, and maximum, minimum, absolute, less of treesim.kernels.numbers, but cannot
    branch on what depends on its arguments. steps: how many, by default those of controls. dt: step [s]. out: arrays
    (q, v) for the results, apart from the arguments, which saves the time that fresh memory takes; or a file name: q
    and v are then written to "<out>_q.npy" and "<out>_v.npy", which may be larger than memory.
    progress(done, total) is told of rollouts done.
    Joint damping, Coulomb friction and gains enter as in `Simulation`, whose states these are, to rounding; gravity and
    armature are the robot's. Forward dynamics by the articulated-body algorithm, O(N) a step.
    engine: as in `forward_dynamics`; lanes are used for any number of rollouts where they can be.
    Float32 arrays throughout give float32 results. Results do not depend on the number of threads.
    Warns with DivergedWarning, naming the first rollout whose state is not finite. Raises ArgumentError,
    NonFiniteError, UnknownNameError (engine), UnsupportedError for gains on a joint of several degrees of freedom, for
    the engine "specialized" where it cannot be, and for a policy that branches.
    """
    check_engine(engine)
    settings = _settings(robot, dt, kp, kd)
    law = controls if callable(controls) else None
    if law is not None:
        controls = None
    elif parameters is not None:
        raise ArgumentError("parameters are those of a policy: give a function as controls, or no parameters")
    number = precision(*(x for x in (q0, v0, controls, parameters) if x is not None))
    q, v, u, p = _arrays(robot, q0, v0, controls, parameters, steps, number)
    count, steps = len(q), u.shape[1]
    policy = None if law is None else Policy(law, robot.nq, robot.nv, p.shape[1])
    if not (isinstance(every, int) and 1 <= every <= max(steps, 1)):
        raise ArgumentError(f"every must be a number of steps between 1 and {steps}, got {every}")
    records = steps // every
    shapes = (count, records, robot.nq), (count, records, robot.nv)
    results = [_result(out, k, shape, number, (q, v, u, p)) for k, shape in enumerate(shapes)]
    constants = (robot.ints, robot.reals, settings)
    size = max(1, CHUNK_BYTES // (max(1, records) * (robot.nq + robot.nv) * np.dtype(number).itemsize))
    finite = True
    for first in range(0, count, size):
        part = slice(first, min(first + size, count))
        written = [result[part] for result in results]
        given = q[part], v[part]
        if policy is None:
            finite &= run_steps(step_states, constants, given, u[part], written, every, engine)
        else:
            entries = step_states, policy_step_states
            finite &= run_policy(*entries, constants, given, policy, p[part], dt, written, steps, every, engine)
        if progress is not None:
            progress(part.stop, count)
    if not finite:
        refuse_non_finite([Argument("controls", controls, (robot.nv,))], [u if np.ndim(controls) == 3 else u[0]])
    t = dt * every * np.arange(1, records + 1)
    q, v = results
    return Rollouts(t, q, v, np.full(count, -1) if finite else _diverged(robot, q, v, t))


def _settings(robot: Tree, dt: float, kp: Any, kd: Any) -> np.ndarray:
    """The kernel's table of constants."""
    if not (np.isfinite(dt) and dt > 0):
        raise ArgumentError(f"dt must be a positive number of seconds, got {dt}")
    gains = [_gain(robot, label, value) for label, value in (("kp", kp), ("kd", kd))]
    effort = np.minimum(robot.effort_limit, LARGE)
    settings = np.concatenate([[float(dt)], *gains, robot.damping, robot.friction, effort])
    settings.setflags(write=False)
    return settings


def _gain(robot: Tree, label: str, value: Any) -> np.ndarray:
    gain = np.asarray(value, dtype=float)
    if gain.shape not in ((), (robot.nv,)) or not (np.isfinite(gain).all() and (gain >= 0).all()):
        raise ArgumentError(f"{label} must be one number or {robot.nv} of them (nv), finite and not negative")
    simple = np.concatenate([np.full(body.joint.nv, body.joint.nv == 1) for body in robot.bodies] or [np.empty(0)])
    if gain.ndim and (gain * (1 - simple)).any():
        name = robot.dof_name(int(np.flatnonzero(gain * (1 - simple))[0]))
        raise UnsupportedError(f"{label}: joint {name!r} has several degrees of freedom: it takes forces, not targets")
    return gain * simple


def _arrays(
    robot: Tree, q0: Any, v0: Any, controls: Any, parameters: Any, steps: int | None, number: type[np.floating]
) -> list[np.ndarray]:
    """q0 (B, nq), v0 (B, nv), controls (B, steps, nv), parameters (B, k); what all rollouts share is not repeated."""
    if controls is None:
        if steps is None:
            raise ArgumentError("give controls, or the number of steps")
        if not (isinstance(steps, int) and steps >= 0):
            raise ArgumentError(f"steps must be a whole number, not negative, got {steps}")
        controls = np.broadcast_to(np.zeros(robot.nv, number), (steps, robot.nv))
    given = [
        Argument("q0", q0, (robot.nq,)),
        Argument("v0", v0, (robot.nv,)),
        Argument("controls", controls, (robot.nv,)),
        Argument("parameters", np.empty(0, number) if parameters is None else parameters, np.shape(parameters)[-1:]),
    ]
    q, v, u, p = (coerce(argument, number) for argument in given)
    if q.ndim > 2 or v.ndim > 2 or u.ndim not in (2, 3):
        raise ArgumentError(
            f"q0, v0 and controls have shapes {q.shape}, {v.shape}, {u.shape}, but (B, nq), (B, nv) and (B, steps, nv) "
            "or parts of them are needed"
        )
    if p.ndim not in (1, 2):
        raise ArgumentError(f"parameters have shape {p.shape}, but (k,) or (B, k) is needed")
    if steps is not None and u.shape[-2] != steps:
        raise ArgumentError(f"controls hold {u.shape[-2]} steps, but steps is {steps}")
    refuse_non_finite((given[0], given[1], given[3]), (q, v, p))  # controls are looked at as they are used
    q = unit_quaternions(robot, "q0", q)
    axes = ((q, 1), (v, 1), (u, 2), (p, 1))  # of one rollout
    sizes = {x.shape[0] for x, own in axes if x.ndim > own and x.shape[0] != 1}
    if len(sizes) > 1:
        raise ArgumentError(f"q0, v0, controls and parameters are for different numbers of rollouts: {sorted(sizes)}")
    count = sizes.pop() if sizes else 1
    return [np.broadcast_to(x, (count, *x.shape[x.ndim - own :])) for x, own in axes]


def _result(
    out: Any, k: int, shape: tuple[int, ...], number: type[np.floating], arguments: Sequence[np.ndarray]
) -> np.ndarray:
    """Where q (k = 0) or v (k = 1) goes: fresh memory, a file, or the caller's array."""
    if out is None:
        return empty(shape, number)
    if not isinstance(out, str | Path):
        if not (isinstance(out, tuple | list) and len(out) == 2):
            raise ArgumentError(f"out must be a file name or two arrays (q, v), got {type(out).__name__}")
        given = check_out(out[k], shape, number)
        others = [*arguments, *out[:k]]
        if not given.flags.aligned or any(np.may_share_memory(given, x) for x in others):
            raise ArgumentError(f"out[{k}] must be aligned in memory, and share none with another argument")
        return given
    path = Path(f"{out}_{'qv'[k]}.npy")
    try:
        return np.lib.format.open_memmap(path, mode="w+", dtype=number, shape=shape)
    except OSError as error:
        raise TreesimError(f"cannot write {path}: {error.strerror or error}") from None


def _diverged(robot: Tree, q: np.ndarray, v: np.ndarray, t: np.ndarray) -> np.ndarray:
    """First recorded time of each rollout that is not finite, -1 for none; warns of them."""
    first = np.full(len(q), -1)
    for start in range(0, len(q), BLOCK):  # memory for a few, not for all
        part = slice(start, start + BLOCK)
        bad = ~(np.isfinite(q[part]).all(axis=-1) & np.isfinite(v[part]).all(axis=-1))
        first[part] = np.where(bad.any(axis=1), np.argmax(bad, axis=1), -1)
    wrong = np.flatnonzero(first >= 0)
    if len(wrong):
        b = int(wrong[0])
        k = int(first[b])
        before = np.abs(v[b, k - 1]) if k else np.zeros(robot.nv)
        joint = robot.dof_name(int(np.argmax(before))) if robot.nv else "(none)"
        warnings.warn(
            f"{len(wrong)} of {len(q)} rollouts are no longer finite at the end; the first is number {b}, from "
            f"t = {t[k]:.6g} s on, where joint {joint!r} moves fastest: take a smaller dt, or smaller gains and forces",
            DivergedWarning,
            stacklevel=3,
        )
    return first
