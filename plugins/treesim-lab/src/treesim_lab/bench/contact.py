"""Steps and rollouts of scenes with contact, compared with other engines: time, drift, overlap and residual."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from treesim.compare.adapter import EngineAdapter
from treesim.compare.cases import OURS, ROLLOUT, BenchmarkCase, ContactScene, Stepping
from treesim.compare.engine_model import EngineModel
from treesim.compare.engines import chosen_engines, installed_engines, read_by_engines
from treesim.compare.source import canonical, read, without_losses
from treesim.dynamics.energy import energy
from treesim.kernels.stepping.rules import CONTACT_RULES
from treesim.model.tree import Tree
from treesim.rollouts.rollout import rollout
from treesim.simulation.stepper import Stepper

from .contact_scenes import (
    DT,
    GRAVITY,
    SLOPE,
    STEPS,
    SceneKind,
    SceneOptions,
    bare_robot,
    box_on_incline,
    chosen_scenes,
    targets,
)
from .measure import measured
from .results import Benchmark

STEP = "step"
KP = 1000.0  # N m/rad
NEAR = 1e-3  # distance of the friction of the incline from the threshold
SLIDING = 1.0  # s
SAMPLED = 10  # steps between evaluations of the energy


def time_contact(
    robot: str | Tree = "g1_29dof_rev_1_0",
    kp: float = KP,
    friction: float = 0.8,
    scenes: Sequence[str] | None = None,
    duration: float = 10.0,
    rounds: int = 3,
    count: int = 32,
    steps: int = 20,
    engines: str | EngineAdapter | Sequence[str | EngineAdapter] | None = None,
) -> Benchmark:
    """Time steps of 1 ms with contact, and rollouts on one thread, of treesim and other engines, in turns.

    Scenes are a robot under PD control, standing, moving, pushed, falling, on stairs and on a height field, and stacks
    of boxes without the robot. Scenes that move start from 8 states that differ: such contact problems take a solver
    longer than that of a robot at rest, and SIMD lanes wait for the slowest. Joint limits, effort limits, damping,
    friction and armature are left out.

    Parameters
    ----------
    robot : str or Tree
        Any source that `treesim.load` reads, or a tree, with a floating base and collision shapes.
    kp : float
        Gain [N m/rad, N/m] of every joint with one degree of freedom towards the neutral configuration; kd = kp
        0.05 s.
    friction : float
        Coefficient of friction.
    scenes : sequence of str, optional
        Names of `contact_scenes.SCENES`, all by default.
    duration : float
        Time [s] that scenes at rest are simulated before their steps are timed.
    rounds : int
        Number of turns of each call.
    count, steps : int
        Number of rollouts, which start from the scene's states in turn, and of their steps.
    engines : optional
        As in `time_calls`.

    Returns
    -------
    Benchmark
        Rows by scene and method of stepping: the time of one step, "overlap_m", the largest overlap at the end of a
        step, and "residual", the largest complementarity residual [m/s, rad/s] if the engine reports it. For scenes at
        rest also "drift_m", the largest motion of a coordinate in the second half of the duration. For scenes without
        control also "energy_gain", the largest energy [J] above that at the start. Values that do not apply are None.
        `more` contains "rollouts": times per state and step; and "incline": "stick_error" and "slip_error" [m/s], the
        error of a box's speed after 1 s on an incline of slope 0.5 with friction 0.501 (it sticks) and 0.499 (it
        slides).

    Raises
    ------
    ArgumentError
        For a robot that cannot stand.
    UnknownNameError
        For an unknown scene.

    Examples
    --------
    >>> from treesim_lab import bench
    >>> quick = {"duration": 0.01, "rounds": 1, "count": 2, "steps": 2, "engines": []}
    >>> found = bench.time_contact("simple_humanoid", 3000.0, scenes=["standing"], **quick)
    >>> found
    <Benchmark of 'simple_humanoid': 2 methods of stepping with contact>
    >>> found.more["incline"][0]["stick_error"] < 1e-9
    True
    """
    notes: list[str] = []
    given = read(robot, "floating").robot
    options, kinds = SceneOptions(bare_robot(given), kp, friction), chosen_scenes(scenes)
    adapters = installed_engines(notes) if engines is None else chosen_engines("engines", engines)
    rows: list[dict[str, Any]] = []
    rolled: list[dict[str, Any]] = []
    titles: dict[str, str] = {}
    read_models = lru_cache(maxsize=None)(lambda tree: engine_models(adapters, tree, notes))
    for kind in kinds:
        scene = kind.make(options)
        models = read_models(scene.robot)
        titles |= {each.title: each.version() for each in adapters if any(each.title == m.engine for m in models)}
        ways = _steppings(scene, models)
        qualities = [_quality(scene, kind, way, duration) for way in ways]
        cases = [_step_case(scene, kind, way) for way in ways]
        timed = measured(cases, rounds, {})
        rows += [{"scene": kind.name, **row, **found} for row, found in zip(timed, qualities, strict=True)]
        if kind.rests:
            scene = scene._replace(q0=ways[0].state()[0][None])
        rolled += [{"scene": kind.name, **row} for row in _rollout_rows(scene, models, count, steps, rounds)]
    about = {kind.name: kind.about for kind in kinds}
    more = {
        "rollouts": rolled, "incline": _incline_rows(adapters, notes), "scenes": about, "kp": kp, "friction": friction,
        "dt": DT, "duration": duration,
    }  # fmt: skip
    name, nv, remarks = given.name, given.nv, tuple(dict.fromkeys(notes))
    return Benchmark("contact", name, "floating", nv, tuple(rows), rounds, None, titles, remarks, more)


def engine_models(adapters: Sequence[EngineAdapter], robot: Tree, notes: list[str]) -> list[EngineModel]:
    """Return the models of a robot without losses of the engines that support it; adds notes on the others."""
    bare = without_losses(robot)
    return read_by_engines(adapters, bare, lambda level: canonical(bare), notes)


def _steppings(scene: ContactScene, models: Sequence[EngineModel]) -> list[Stepping]:
    return [*our_steppings(scene), *(each for model in models for each in model.steppings(scene))]


def our_steppings(scene: ContactScene) -> list[Stepping]:
    """Return treesim's methods of stepping a scene: both integrators with contact, with their default substeps."""
    return [our_stepping(scene, rule) for rule in reversed(CONTACT_RULES)]


def our_stepping(scene: ContactScene, rule: str) -> Stepping:
    """Return treesim's method of stepping a scene by an integrator, with its default substeps."""
    stepper = Stepper(scene.world, scene.dt, integrator=rule, kp=scene.kp, kd=scene.kd)
    u, starts = targets(scene), [stepper.reset(q, v) for q, v in zip(scene.q0, scene.v0, strict=True)]
    now: list[Any] = [starts[0], None]

    def start(k: int = 0) -> None:
        now[0] = starts[k]  # states do not change

    def step() -> None:
        now[:] = stepper.step(now[0], u)

    def residual() -> float:
        return float(max(now[1].contact.residual, now[1].contact.position_residual))

    parts = f", in {stepper.substeps} parts" if stepper.substeps > 1 else ""
    return Stepping(
        OURS, f"Stepper.step, {rule}", start, step, lambda: (now[0].q, now[0].v),
        lambda: float(now[1].contact.penetration),
        f"rigid contacts, exact friction cones; kp and kd implicit; also a report{parts}", residual,
    )  # fmt: skip


def _quality(scene: ContactScene, kind: SceneKind, way: Stepping, duration: float) -> dict[str, float | None]:
    """Return overlap, residual, drift and gain of energy of a scene; None for what does not apply."""
    overlap, residual, gain, drift = 0.0, 0.0, 0.0, None
    for k in range(len(scene.q0)):
        way.start(k)
        begun, steps = _energy(scene, way), round(duration / scene.dt) if kind.rests else STEPS
        for j in range(steps):
            way.step()
            overlap = max(overlap, way.overlap())
            residual = max(residual, way.residual()) if way.residual is not None else 0.0
            if j == steps // 2:
                middle = np.array(way.state()[0])
            if kind.passive and j % SAMPLED == SAMPLED - 1:
                gain = max(gain, _energy(scene, way) - begun)
        if kind.rests:
            drift = float(np.abs(way.state()[0] - middle).max())
    return {
        "overlap_m": overlap,
        "residual": None if way.residual is None else residual,
        "drift_m": drift,
        "energy_gain": gain if kind.passive else None,
    }


def _energy(scene: ContactScene, way: Stepping) -> float:
    """Return kinetic and potential energy of the current state [J]."""
    return float(np.sum(energy(scene.robot, *way.state())))


def _step_case(scene: ContactScene, kind: SceneKind, way: Stepping) -> BenchmarkCase:
    """Return the call of STEPS steps from each initial state, the start included; of a scene at rest of steps on."""

    def runs() -> None:
        for k in range(len(scene.q0)):
            if not kind.rests:
                way.start(k)
            run_steps(way, STEPS)

    return BenchmarkCase(way.engine, way.name, STEP, runs, lambda: None, way.does, states=len(scene.q0) * STEPS)


def run_steps(way: Stepping, steps: int) -> None:
    """Take a number of steps."""
    for _ in range(steps):
        way.step()


def speed_on_incline(friction: float) -> float:
    """Return the speed [m/s] of the box after 1 s: g (sin a - mu cos a) t if it slides, tan a = 0.5."""
    return max(GRAVITY * (SLOPE - friction) / math.hypot(1, SLOPE) * SLIDING, 0.0)


def _incline_rows(adapters: Sequence[EngineAdapter], notes: list[str]) -> list[dict[str, Any]]:
    """Return the errors of a box's speed after 1 s on an incline that it sticks to, and on one that it slides down."""
    found: dict[str, dict[str, Any]] = {}
    for key, mu in (("stick_error", SLOPE + NEAR), ("slip_error", SLOPE - NEAR)):
        scene = box_on_incline(mu)
        for way in _steppings(scene, engine_models(adapters, scene.robot, notes)):
            way.start()
            run_steps(way, round(SLIDING / scene.dt))
            error = abs(float(np.linalg.norm(way.state()[1][:3])) - speed_on_incline(mu))
            found.setdefault(way.name, {"engine": way.engine, "call": way.name})[key] = error
    return list(found.values())


def _rollout_rows(
    scene: ContactScene, models: Sequence[EngineModel], count: int, steps: int, rounds: int
) -> list[dict[str, Any]]:
    """Return times per state and step of rollouts of the scene, on one thread."""
    cases = [_our_rollout(scene, rule, count, steps) for rule in reversed(CONTACT_RULES)]
    for model in models:
        cases += model.contact_rollouts(scene, count, steps, 1)
    return measured(cases, rounds, {}, batched=True)


def _our_rollout(scene: ContactScene, rule: str, count: int, steps: int) -> BenchmarkCase:
    q0, v0 = np.resize(scene.q0, (count, scene.robot.nq)), np.resize(scene.v0, (count, scene.robot.nv))
    u = np.tile(targets(scene), (steps, 1))
    out = np.empty((count, steps, scene.robot.nq)), np.empty((count, steps, scene.robot.nv))
    how: dict[str, Any] = {"kp": scene.kp, "kd": scene.kd, "integrator": rule, "threads": 1, "out": out}
    call = partial(rollout, scene.world, q0, v0, u, scene.dt, **how)
    does = "keeps every state, in arrays that are there"
    return BenchmarkCase(OURS, f"rollout, {rule}", ROLLOUT, call, lambda: call().q[:, -1], does, count * steps)
