"""Steps of a robot standing on a plane, compared with other engines: time, drift and penetration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from treesim.compare.cases import OURS, ROLLOUT, BenchmarkCase, StandingScene, Stepping
from treesim.compare.engines import EngineAdapter, EngineModel, chosen_engines, installed_engines, read_by_engines
from treesim.compare.source import canonical, read, without_losses
from treesim.contact.contact_solve import SHARE
from treesim.contact.ground import Ground
from treesim.engine.threads import thread_count
from treesim.model.inertia import Inertia, Placement
from treesim.model.joints import Joint
from treesim.model.shapes import CollisionShape
from treesim.model.tree import Body, Tree
from treesim.rollouts.rollout import rollout
from treesim.simulation.stepper import Stepper
from treesim.simulation.world import World
from treesim.states.standing import standing
from treesim.states.support import lowest_point

from .measure import measured
from .results import Benchmark

STEP = "step"
DT = 1e-3  # s
# N m/rad, s: kd = 0.05 s kp; at twice this kp a humanoid chatters under engines that take stiffness explicitly
KP, DAMPING_TIME = 1000.0, 0.05
SLOPE, NEAR = 0.5, 1e-3  # of the incline, which is the friction at which a box begins to slide; how near it is tried
SLIDING, GRAVITY = 1.0, 9.81  # s, m/s^2
ROLLOUT_ROUNDS = 5  # at most
# standard deviations of initial joint speeds [rad/s, m/s]; numbers of initial velocities, and of steps from each
SPEEDS, STATES, STEPS = (0.05, 0.3, 1.0), 16, 30


def time_contact(
    robot: str | Tree = "g1_29dof_rev_1_0",
    kp: float = KP,
    friction: float = 0.8,
    duration: float = 10.0,
    rounds: int = 50,
    count: int = 64,
    steps: int = 40,
    engines: str | EngineAdapter | Sequence[str | EngineAdapter] | None = None,
) -> Benchmark:
    """Time steps of 1 ms of a robot standing on a plane under PD control, of treesim and other engines, in turns.

    Steps from initial states that differ are timed too: such contact problems take a solver longer than that of a
    robot at rest, and SIMD lanes wait for the slowest. Joint limits, effort limits, damping, friction and armature are
    left out. Rows have the time of one step,
    and: drift_m, the base's motion in the second half of the duration; penetration_m, the largest overlap at
    its end; stick_error and slip_error [m/s], the error of a box's speed after 1 s on an incline of slope 0.5
    with friction 0.501 (it sticks) and 0.499 (it slides).

    Parameters
    ----------
    robot : str or Tree
        Any source that `treesim.load` reads, or a tree, with a floating base and collision shapes.
    kp : float
        Gain [N m/rad, N/m] of every joint with one degree of freedom towards the neutral configuration; kd = kp
        0.05 s.
    friction : float
        Coefficient of friction.
    duration : float
        Time [s] that the robot stands before the steps are timed.
    rounds : int
        Number of turns of each call.
    count, steps : int
        Number of robots and of steps of the rollouts.
    engines : optional
        As in `time_calls`.

    Returns
    -------
    Benchmark
        Rows by method of stepping. `more` contains "rollouts": times per state and step on one thread and on
        all; and "moving": times of one step within 30 from 16 random joint velocities, by their standard deviation
        "speed" [rad/s, m/s]. Rollouts have such rows too, and 0 for those that all stand.

    Raises
    ------
    ArgumentError
        For a robot that cannot stand.

    Examples
    --------
    >>> from treesim_lab import bench
    >>> found = bench.time_contact("simple_humanoid", 3000.0, duration=0.01, rounds=1, count=2, steps=2, engines=[])
    >>> found
    <Benchmark of 'simple_humanoid': 2 methods of stepping on a plane>
    >>> found.rows[0]["stick_error"] < 1e-9
    True
    """
    notes: list[str] = []
    given = read(robot, "floating").robot
    scene = standing_scene(given, kp, friction)
    adapters = installed_engines(notes) if engines is None else chosen_engines("engines", engines)
    models = _models(adapters, given, notes)
    stood = [*our_steppings(scene), *(each for model in models for each in model.steppings(scene))]
    quality = {each.name: _how_it_stands(scene, each, duration) for each in stood}
    for key, mu in (("stick_error", SLOPE + NEAR), ("slip_error", SLOPE - NEAR)):
        for name, error in _sliding_errors(adapters, mu, notes).items():
            quality[name][key] = error
    cases = [BenchmarkCase(s.engine, s.name, STEP, s.step, lambda: None, s.does) for s in stood]
    rows = [{**row, **quality[row["call"]]} for row in measured(cases, rounds, {})]
    title = {each.title: each.version() for each in adapters if any(model.engine == each.title for model in models)}
    settled = scene._replace(q0=np.array(stood[0].state()[0]))
    few = min(rounds, ROLLOUT_ROUNDS)
    moving = [moving_scene(scene, speed) for speed in SPEEDS]
    rolled = [
        {**row, "speed": speed}
        for speed, start in zip((0.0, *SPEEDS), (settled, *moving), strict=True)
        for row in _rollout_rows(start, models, count, steps, few)
    ]
    stepped = [
        {**row, "speed": speed}
        for speed, start in zip(SPEEDS, moving, strict=True)
        for row in _moving_rows(start, models, few)
    ]
    more = {"rollouts": rolled, "moving": stepped, "kp": kp, "friction": friction, "dt": DT, "duration": duration}
    name, nv = scene.robot.name, scene.robot.nv
    return Benchmark(
        "contact", name, "floating", nv, tuple(rows), rounds, None, title, tuple(dict.fromkeys(notes)), more
    )


def standing_scene(robot: Tree, kp: float = KP, friction: float = 0.8) -> StandingScene:
    """Return a robot placed on the plane z = 0 in its neutral configuration, with PD gains towards it.

    Limits, damping, friction and armature are removed. Raises ArgumentError for a robot that cannot stand.
    """
    bare = _without_limits(robot)
    gains = np.zeros(bare.nv)
    for body in bare.bodies:
        if body.joint.nv == 1:
            gains[bare.v_index[body.joint.name]] = kp
    q0 = standing(bare, bare.neutral())
    normal, rest = np.array([0.0, 0.0, 1.0]), np.zeros((1, bare.nv))
    return StandingScene(bare, q0, q0, gains, DAMPING_TIME * gains, normal, friction, DT, rest)


def moving_scene(scene: StandingScene, speed: float) -> StandingScene:
    """Return a scene with random initial velocities of the joints that have gains; speed: standard deviation."""
    random = np.random.default_rng(0).normal(size=(STATES, scene.robot.nv))
    return scene._replace(v0=speed * random * (scene.kp > 0))


def _moving_rows(scene: StandingScene, models: Sequence[EngineModel], rounds: int) -> list[dict[str, Any]]:
    """Return the time of one step, the start included, within STEPS steps from each of the initial velocities."""
    cases = []
    for way in [*our_steppings(scene), *(each for model in models for each in model.steppings(scene))]:

        def runs(way: Stepping = way) -> None:
            for k in range(len(scene.v0)):
                way.start(k)
                _run(way, STEPS)

        count = len(scene.v0) * STEPS
        cases.append(BenchmarkCase(way.engine, way.name, STEP, runs, lambda: None, way.does, states=count))
    return measured(cases, rounds, {})


def _without_limits(robot: Tree) -> Tree:
    """Return the robot with its shapes, without joint limits, effort limits, damping, friction and armature."""
    free: dict[str, Any] = {
        "lower": -np.inf,
        "upper": np.inf,
        "effort_limit": np.inf,
        "damping": 0.0,
        "joint_friction": 0.0,
        "armature": 0.0,
    }
    bodies = [replace(body, joint=replace(body.joint, **free)) for body in robot.bodies]
    return Tree(robot.name, bodies, gravity=robot.gravity.tolist(), shapes=robot.shapes)


def our_steppings(scene: StandingScene) -> list[Stepping]:
    """Return treesim's methods of stepping a scene: both integrators with contact, with their default substeps."""
    return [_our_stepping(scene, rule) for rule in reversed(SHARE)]


def _world(scene: StandingScene) -> World:
    return World(scene.robot, ground=Ground(normal=scene.normal, friction=scene.friction))


def _targets(scene: StandingScene) -> np.ndarray:
    """Return the targets (nv,) of the PD controller."""
    found = np.zeros(scene.robot.nv)
    for body in scene.robot.bodies:
        k = scene.robot.v_index[body.joint.name]
        if scene.kp[k].any():
            found[k] = scene.posture[scene.robot.q_index[body.joint.name]]
    return found


def _our_stepping(scene: StandingScene, rule: str) -> Stepping:
    stepper = Stepper(_world(scene), scene.dt, integrator=rule, kp=scene.kp, kd=scene.kd)
    now, u = [stepper.reset(scene.q0)], _targets(scene)

    def start(k: int = 0) -> None:
        now[0] = stepper.reset(scene.q0, scene.v0[k])

    def step() -> None:
        now[0] = stepper.step(now[0], u)[0]

    parts = f", in {stepper.substeps} parts" if stepper.substeps > 1 else ""
    does = f"rigid contacts, exact friction cones; kp and kd implicit; also a report{parts}"
    return Stepping(OURS, f"Stepper.step, {rule}", start, step, lambda: (now[0].q, now[0].v), does)


def _how_it_stands(scene: StandingScene, way: Stepping, duration: float) -> dict[str, Any]:
    """Return the drift of the base in the second half of the duration, and the penetration at its end [m]."""
    places = []
    way.start()
    for _ in range(2):
        _run(way, round(duration / 2 / scene.dt))
        places.append(np.array(way.state()[0][:3]))
    gap = lowest_point(scene.robot, way.state()[0], normal=scene.normal).gap
    return {"drift_m": float(np.linalg.norm(places[1] - places[0])), "penetration_m": max(-gap, 0.0)}


def _run(way: Stepping, steps: int) -> None:
    for _ in range(steps):
        way.step()


def box_on_incline(friction: float) -> StandingScene:
    """Return a box of 10 kg on a plane of slope 0.5, aligned with it: it sticks if friction is at least 0.5."""
    half = math.atan(SLOPE) / 2
    inertia = Inertia(10.0, (0, 0, 0), np.diag([10 * 0.2**2 / 6] * 3))
    shape = CollisionShape(1, Placement(), "box", size=(0.2, 0.2, 0.2), link="box")
    box = Tree("box", [Body("box", 0, Joint("free", "floating"), inertia)], gravity=[0, 0, -GRAVITY], shapes=[shape])
    normal = np.array([math.sin(2 * half), 0.0, math.cos(2 * half)])
    q0 = standing(box, np.array([0, 0, 0, 0, math.sin(half), 0, math.cos(half)]), Ground(normal=normal))
    return StandingScene(box, q0, q0, np.zeros(6), np.zeros(6), normal, friction, DT, np.zeros((1, 6)))


def speed_on_incline(friction: float) -> float:
    """Return the speed [m/s] of the box after 1 s: g (sin a - mu cos a) t if it slides, tan a = 0.5."""
    return max(GRAVITY * (SLOPE - friction) / math.hypot(1, SLOPE) * SLIDING, 0.0)


def _sliding_errors(adapters: Sequence[EngineAdapter], friction: float, notes: list[str]) -> dict[str, float]:
    """Return the error of the box's speed after 1 s, by method of stepping."""
    scene = box_on_incline(friction)
    models = _models(adapters, scene.robot, notes)
    found = {}
    for way in [*our_steppings(scene), *(each for model in models for each in model.steppings(scene))]:
        way.start()
        _run(way, round(SLIDING / scene.dt))
        found[way.name] = abs(float(np.linalg.norm(way.state()[1][:3])) - speed_on_incline(friction))
    return found


def _models(adapters: Sequence[EngineAdapter], robot: Tree, notes: list[str]) -> list[EngineModel]:
    bare = without_losses(robot)
    return read_by_engines(adapters, bare, lambda level: canonical(bare), notes)


def _rollout_rows(
    scene: StandingScene, models: Sequence[EngineModel], count: int, steps: int, rounds: int
) -> list[dict[str, Any]]:
    """Return times per state and step of rollouts of the scene, on one thread and on all."""
    rows = []
    for threads in sorted({1, thread_count()}):
        cases = [_our_rollout(scene, rule, count, steps, threads) for rule in reversed(SHARE)]
        for model in models:
            cases += model.standing_rollouts(scene, count, steps, threads)
        rows += [{**row, "threads": threads} for row in measured(cases, rounds, {}, batched=True)]
    return rows


def _our_rollout(scene: StandingScene, rule: str, count: int, steps: int, threads: int) -> BenchmarkCase:
    q0, v0 = np.tile(scene.q0, (count, 1)), np.resize(scene.v0, (count, scene.robot.nv))
    u = np.tile(_targets(scene), (steps, 1))
    out = np.empty((count, steps, scene.robot.nq)), np.empty((count, steps, scene.robot.nv))
    how: dict[str, Any] = {"kp": scene.kp, "kd": scene.kd, "integrator": rule, "threads": threads, "out": out}
    call = partial(rollout, _world(scene), q0, v0, u, scene.dt, **how)
    does = "keeps every state, in arrays that are there"
    return BenchmarkCase(OURS, f"rollout, {rule}", ROLLOUT, call, lambda: call().q[:, -1], does, count * steps)
