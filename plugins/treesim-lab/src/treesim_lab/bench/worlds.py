"""Steps and rollouts of worlds of many bodies, compared with other engines: solves, times and residuals by scene."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from treesim.compare.adapter import EngineAdapter
from treesim.compare.cases import OURS, ContactScene, Stepping
from treesim.compare.engines import chosen_engines, installed_engines
from treesim.errors import ContactWarning
from treesim.kernels.stepping.rules import CONTACT_RULES
from treesim.rollouts.rollout import rollout
from treesim.simulation.stepper import Stepper

from .contact import engine_models, our_stepping
from .contact_scenes import STATES, targets
from .many_bodies import ManyBodies, chosen_worlds
from .results import Benchmark

ROLLED = 15  # steps of rollouts
STEPPING = ("mujoco",)  # adapters that step scenes with contact


class Steps(NamedTuple):
    """Steps of a scene by an integrator, without the first of each run.

    iterations, contacts, components, residual (runs, steps): numbers of solves, contacts and components, and largest
    complementarity residual [m/s, rad/s]. q, v: states at equal distances, from which rollouts start.
    """

    iterations: np.ndarray
    contacts: np.ndarray
    components: np.ndarray
    residual: np.ndarray
    q: np.ndarray
    v: np.ndarray


def time_worlds(
    scenes: Sequence[str] | None = None,
    rounds: int = 3,
    engines: str | EngineAdapter | Sequence[str | EngineAdapter] | None = None,
) -> Benchmark:
    """Time steps of 1 ms and rollouts of worlds of many bodies, in turns with other engines, on one thread.

    Parameters
    ----------
    scenes : sequence of str, optional
        Names of `many_bodies.MANY_BODIES`, all by default.
    rounds : int
        Number of turns of each run. The time of a step is the shortest of all turns.
    engines : optional
        As in `time_calls`.

    Returns
    -------
    Benchmark
        A row for each scene and integrator: the largest number of "contacts" and "components" in a step; the solver's
        "iterations_mean", "iterations_90" (percentile) and "iterations_max" in a step; "min_s", "mean_s" and
        "longest_s", seconds of a step; "rollout_s" and "steps_s", seconds of a state and step of a rollout of 8 states,
        and of single steps from these states; "residual", the largest complementarity residual [m/s, rad/s]; "others",
        mean seconds of a step by engine, with the engine's default options, and "ratio", "mean_s" over that of the
        fastest. The first step of each run is not counted. Values that do not apply are None.

    Raises
    ------
    UnknownNameError
        For an unknown scene.

    Examples
    --------
    >>> from treesim_lab import bench
    >>> found = bench.time_worlds(["apart-1"], rounds=1, engines=[])
    >>> found
    <Benchmark of 'worlds': 2 rows of scenes and integrators>
    >>> found.rows[0]["contacts"], found.rows[0]["residual"] < 1e-9
    (4, True)
    """
    notes: list[str] = []
    adapters = installed_engines(notes) if engines is None else chosen_engines("engines", engines)
    adapters = [each for each in adapters if each.name in STEPPING]
    kinds, rows = chosen_worlds(scenes), []
    for kind in kinds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ContactWarning)  # the rows contain the residuals
            rows += _rows(kind, adapters, rounds, notes)
    about = {kind.name: kind.about for kind in kinds}
    remarks = tuple(dict.fromkeys(notes))
    versions = {each.title: each.version() for each in adapters if any(each.title in row["others"] for row in rows)}
    return Benchmark("worlds", "worlds", "floating", 0, tuple(rows), rounds, None, versions, remarks, {"scenes": about})


def _rows(kind: ManyBodies, adapters: Sequence[EngineAdapter], rounds: int, notes: list[str]) -> list[dict[str, Any]]:
    """Return the rows of a scene."""
    scene, rules = kind.make(), tuple(reversed(CONTACT_RULES))
    others: dict[str, Stepping] = {}
    for model in engine_models(adapters, scene.robot, notes) if not scene.world.kinematic else ():
        for way in model.steppings(scene)[:1]:  # with the default options
            others[model.engine] = way
    ways = {rule: our_stepping(scene, rule) for rule in rules} | others
    found = {rule: steps_of(scene, rule, kind.steps) for rule in rules}
    times = _times(ways, len(scene.q0), kind.steps, rounds)
    theirs = {name: float(times[name].mean()) for name in others}
    rows = []
    for rule in rules:
        steps, own = found[rule], times[rule]
        single, many = _rollout_times(scene, rule, steps, rounds)
        rows.append({
            "scene": kind.name, "call": rule, "engine": OURS, "contacts": int(steps.contacts.max()),
            "components": int(steps.components.max()), "iterations_mean": float(steps.iterations.mean()),
            "iterations_90": float(np.percentile(steps.iterations, 90)), "iterations_max": int(steps.iterations.max()),
            "min_s": float(own.min()), "mean_s": float(own.mean()), "longest_s": float(own.max()), "rollout_s": many,
            "steps_s": single, "residual": float(steps.residual.max()), "others": theirs,
            "ratio": float(own.mean()) / min(theirs.values()) if theirs else None,
        })  # fmt: skip
    return rows


def steps_of(scene: ContactScene, rule: str, count: int) -> Steps:
    """Return diagnostics of `count` steps from each initial state, after a first one."""
    stepper = Stepper(scene.world, scene.dt, integrator=rule, kp=scene.kp, kd=scene.kd)
    u, numbers, states = targets(scene), np.zeros((4, len(scene.q0), count)), []
    for k, start in enumerate(zip(scene.q0, scene.v0, strict=True)):
        state, _ = stepper.step(stepper.reset(*start), u)
        for j in range(count):
            if j % -(-count // STATES) == 0:
                states.append((state.q, state.v))
            state, report = stepper.step(state, u)
            found = report.contact
            islands = int(found.island_count)
            residual = max(found.residual, found.position_residual)
            numbers[:, k, j] = found.iterations, found.count, islands, residual
    if len(scene.q0) > 1:
        states = list(zip(scene.q0, scene.v0, strict=True))
    q, v = (np.array(x) for x in zip(*states, strict=True))
    iterations, contacts, components, residual = numbers
    return Steps(iterations, contacts, components, residual, q, v)


def _times(ways: dict[str, Stepping], starts: int, steps: int, rounds: int) -> dict[str, np.ndarray]:
    """Return the seconds (starts, steps) of steps by method, without the first from each initial state."""

    def turn() -> None:
        for name, way in ways.items():
            for k in range(starts):
                way.start(k)
                way.step()
                for j in range(steps):
                    began = time.perf_counter()
                    way.step()
                    found[name][k, j] = min(found[name][k, j], time.perf_counter() - began)

    found = {name: np.full((starts, steps), np.inf) for name in ways}
    _without_collection(turn, rounds)
    return found


def _rollout_times(scene: ContactScene, rule: str, steps: Steps, rounds: int) -> tuple[float, float]:
    """Return seconds for a state and step: of single steps, and of rollouts on one thread from the same states."""
    gains: dict[str, Any] = {"kp": scene.kp, "kd": scene.kd, "integrator": rule}
    stepper, u = Stepper(scene.world, scene.dt, **gains), targets(scene)
    best = [np.inf, np.inf]

    def single() -> None:
        for start in zip(steps.q, steps.v, strict=True):
            state = stepper.reset(*start)
            for _ in range(ROLLED):
                state, _ = stepper.step(state, u)

    controls = np.tile(u, (ROLLED, 1))
    many: Callable[[], Any] = partial(
        rollout, scene.world, steps.q, steps.v, controls, scene.dt, threads=1, keep="last", **gains
    )

    def turn() -> None:
        for k, call in enumerate((single, many)):
            began = time.perf_counter()
            call()
            best[k] = min(best[k], time.perf_counter() - began)

    _without_collection(turn, rounds + 1)  # the first compiles
    return best[0] / (ROLLED * len(steps.q)), best[1] / (ROLLED * len(steps.q))


def _without_collection(turn: Callable[[], None], rounds: int) -> None:
    """Call a function several times without garbage collection."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            turn()
    finally:
        if collecting:
            gc.enable()
