"""Timed calls on batches: time per state, or step of a rollout, compared with other engines on as many threads."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import Any

import numpy as np

import treesim
from treesim.compare.cases import (
    DOUBLE,
    FORWARD,
    INVERSE,
    MASS,
    OURS,
    ROLLOUT,
    SAMPLE,
    SINGLE,
    BenchmarkCase,
    Call,
    Motion,
    States,
)
from treesim.compare.engine_model import EngineModel
from treesim.engine.frontend.fastcall import STATES
from treesim.engine.threads import over_threads, thread_count
from treesim.kernels.entries.status import FINE
from treesim.model.tree import Tree

from .engine_choice import engine_of_batch
from .functions import FUNCTIONS, packed
from .measure import measured
from .single import exact_references

FILL = "memset"  # computes nothing
STEPS, DT, SLOW = 20, 1e-4, 0.1  # of each rollout; [s]; of velocities and accelerations of order one
ROLLOUTS = 1024  # at most
TURN, PAUSE = 20e-3, 40e-3  # [s]: longer than OpenMP's threads spin after a call
DISTURBED = 20  # smallest number of rounds that measure the effect of the pause
KINDS: dict[str, type[np.floating]] = {DOUBLE: np.float64, SINGLE: np.float32}
EULER = "semi_implicit_euler"  # integrator of the other engines
INTO = "one robot bound beforehand; checks its arguments and the results, in an array of the caller's"
NEW = "checks its arguments and the results, which are a new array"


def batch_rows(
    tree: Tree, models: Sequence[EngineModel], states: States, rounds: int, notes: list[str]
) -> list[dict[str, Any]]:
    """Return a row for each call on many states (see `measured`), with all engines on the same number of threads.

    treesim runs in double and single precision. Errors are those of the first few states against the
    high-precision reference. Rollouts, and single precision at all states, are compared with treesim's double
    precision.
    """
    motion = motion_of(tree, states)
    threads = thread_count()
    cases = [*_ours(tree, states), *_our_rollouts(tree, motion)]
    for model in models:
        cases += [*model.batches(states, threads), *model.rollouts(motion, threads)]
    order = [FORWARD, INVERSE, MASS, ROLLOUT]
    cases.sort(key=lambda each: order.index(each.quantity))
    return measured(cases, rounds, _references(tree, states, notes), batched=True, turn=TURN, pause=PAUSE)


def motion_of(tree: Tree, states: States, steps: int = STEPS) -> Motion:
    """Return slow rollouts under constant joint forces of small initial accelerations; no force on a floating base."""
    count = min(len(states.q), ROLLOUTS)
    q, v, a = states.q[:count], SLOW * states.v[:count], SLOW * states.a[:count]
    tau = treesim.inverse_dynamics(tree, q, v, a)
    if tree.bodies[0].joint.type == "floating":
        tau[:, :6] = 0.0
    controls = np.ascontiguousarray(np.broadcast_to(tau[:, None], (count, steps, tree.nv)))
    return Motion(q, v, controls, DT)


def _references(tree: Tree, states: States, notes: list[str]) -> dict[str, np.ndarray]:
    few = [exact_references(tree, States(*state), notes) for state in zip(*(x[:SAMPLE] for x in states), strict=True)]
    notes[:] = dict.fromkeys(notes)
    return {quantity: np.array([each[quantity] for each in few]) for quantity in few[0]}


def _ours(tree: Tree, states: States) -> list[BenchmarkCase]:
    """Return the cases of treesim's functions, and of a robot's compiled functions that write to existing arrays."""
    count = len(states.q)
    found: list[BenchmarkCase] = []
    for kind, number in KINDS.items():
        given, bound = States(*(x.astype(number) for x in states)), treesim.Dynamics(tree, dtype=number)
        for function in FUNCTIONS[:3]:
            name, arguments, shape = function.name, function.arguments(given), function.shape(tree)
            served = engine_of_batch(tree, count, number, function)
            plain = partial(getattr(treesim, name), tree, *arguments)
            into = partial(getattr(bound, name), *arguments, out=np.empty((count, *shape), number))
            for label, call, does in ((name, plain, NEW), (f"Dynamics.{name}, out=", into, INTO)):
                found.append(_case(label, function.quantity, call, does, count, kind, found, served))
        found += [*_packed(tree, bound, given.q, kind, found), _fill(np.empty((count, *shape), number), kind)]
    return found


def _fill(M: np.ndarray, kind: str) -> BenchmarkCase:
    """Return the case that only writes memory for full mass matrices: a lower bound for every engine."""

    def part(first: int, last: int) -> int:
        ctypes.memset(M.ctypes.data + first * M[0].nbytes, 0, (last - first) * M[0].nbytes)
        return FINE

    fill = partial(over_threads, part, len(M), 1)
    does = "no matrix, but as many zeros, on as many threads: what memory takes for full ones"
    return BenchmarkCase(OURS, FILL, MASS, fill, lambda: None, does, len(M), kind)


def _packed(tree: Tree, bound: Any, q: np.ndarray, kind: str, others: Sequence[BenchmarkCase]) -> list[BenchmarkCase]:
    """Return the cases of the packed mass matrix; a few of double precision are unpacked for their error."""
    number, count = KINDS[kind], len(q)
    served = engine_of_batch(tree, count, number, packed(tree))
    plain = partial(treesim.mass_matrix, tree, q, packed=True)
    into = partial(bound.packed_mass_matrix, q, out=np.empty((count, tree.nnz), number))

    def case(name: str, call: Call, does: str) -> BenchmarkCase:
        solver_info = f"what can differ from zero of the lower triangle; {does}"
        found = _case(name, MASS, call, solver_info, count, kind, others, served)
        if kind == SINGLE:
            return found
        return found._replace(result=lambda: treesim.unpack_mass_matrix(tree, call()[:SAMPLE]))

    return [
        case("mass_matrix, packed", plain, NEW),
        case("Dynamics.packed_mass_matrix, out=", into, INTO),
    ]


def _case(
    name: str,
    quantity: str,
    call: Call,
    does: str,
    states: int,
    kind: str,
    others: Sequence[BenchmarkCase],
    served: str,
) -> BenchmarkCase:
    """Return a case of treesim; the reference of single precision is the same call in double precision."""
    double = next((each.call for each in others if (each.name, each.numbers) == (name, DOUBLE)), None)
    truth = double if kind == SINGLE else None
    return BenchmarkCase(OURS, name, quantity, call, call, does, states, kind, truth, served)


def _our_rollouts(tree: Tree, motion: Motion) -> list[BenchmarkCase]:
    """Return the cases of rollouts that store every state, in new or existing arrays, or only the last."""
    free = treesim.World(tree, use_limits=False)  # as in the other engines
    count, steps = motion.controls.shape[:2]
    found: list[BenchmarkCase] = []
    for kind, number in KINDS.items():
        served = engine_of_batch(tree, STATES, number)  # for rollouts of any number
        q, v, u = (x.astype(number) for x in motion[:3])
        kept = np.empty((count, steps, tree.nq), number), np.empty((count, steps, tree.nv), number)
        for name, every, out, what in (
            ("rollout", 1, None, "every step, in new arrays"),
            ("rollout, out=", 1, kept, "every step, in arrays of the caller's"),
            ("rollout, last state", steps, None, "the last step, in new arrays"),
        ):
            run = _rollout(free, q, v, u, dt=motion.dt, every=every, out=out, integrator=EULER)
            does = f"semi-implicit Euler; q and v of {what}"
            found.append(_case(name, ROLLOUT, run, does, count * steps, kind, found, served))
    return found


def _rollout(*arguments: Any, **settings: Any) -> Call:
    return lambda: treesim.rollout(*arguments, **settings).q[:, -1]


def after_another(tree: Tree, models: Sequence[EngineModel], states: States, rounds: int) -> dict[str, float]:
    """Return medians of seconds per state of treesim's forward dynamics, by what ran before.

    Cases: after calls of itself; right after another engine's batch on OpenMP's threads; and after that batch,
    a pause and an untimed call, as in `interleaved`. Empty without such an engine.
    """
    theirs = [
        each for model in models for each in model.batches(states, thread_count()) if each.states == len(states.q)
    ]
    if not theirs:
        return {}
    ours = partial(treesim.forward_dynamics, tree, states.q, states.v, states.tau)
    ours()

    def paused() -> None:
        theirs[0].call()
        time.sleep(PAUSE)
        ours()

    befores: dict[str, Call] = {"after itself": ours, "right after a batch": theirs[0].call, "after a pause": paused}
    times: dict[str, list[float]] = {label: [] for label in befores}
    for _ in range(max(rounds, DISTURBED)):
        for label, before in befores.items():
            time.sleep(PAUSE)
            before()
            began = time.perf_counter()
            ours()
            times[label].append((time.perf_counter() - began) / len(states.q))
    return {label: median(found) for label, found in times.items()}
