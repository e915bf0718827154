"""Energy drift of integrators in passive motion, duration until failure, and cost of a step."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from treesim import plugins
from treesim.compare.adapter import EngineAdapter
from treesim.compare.engine_model import EngineModel
from treesim.compare.engines import read_by_engines
from treesim.dynamics.base import singular_inertia
from treesim.dynamics.energy import momentum
from treesim.dynamics.operational.motion import center_of_mass
from treesim.engine.call.evaluate import specialized_first
from treesim.errors import ArgumentError, DivergedWarning, EnergyWarning, FrictionWarning, TreesimError, named
from treesim.kernels.stepping.rules import IN_PYTHON
from treesim.model.tree import Tree
from treesim.rollouts.rollout import rollout
from treesim.simulation.durations import step_count
from treesim.simulation.energy_balance import energies
from treesim.simulation.integrators import CompiledRule
from treesim.simulation.simulation import Simulation
from treesim.simulation.step_settings import substeps_of
from treesim.simulation.world import World
from treesim.states.arguments import checked_robot, positive_number
from treesim.system.progress import counted
from treesim.types import Base
from treesim.urdf import load
from treesim.urdf.resolve import is_robot_name

from .robots import bench_robot

RECORDS = 200  # largest number of states of a run at which its energy is computed
STARTS = 4  # from rest at neutral, and from random states
OURS = "treesim"


class Stability(NamedTuple):
    """Energy drift of one integrator on one robot, over several runs.

    gained, lost: largest gain and loss of energy, relative to the energy range of their run; with damping, in
    addition to its work. energy_range: largest of any run [J]. finite_until: time up to which all runs
    were finite [s], None if they were to the end. step_s: seconds for a step of one state, in one thread.
    """

    robot: str
    base: str
    engine: str
    integrator: str
    dt: float
    substeps: int
    gained: float | None = None
    lost: float | None = None
    energy_range: float | None = None
    finite_until: float | None = None
    step_s: float = math.nan


class Motion(NamedTuple):
    """States of some runs.

    t: (K,) [s]. q: (B, K, nq). v: (B, K, nv). work: of damping up to each state (B, K) [J]. step_s: run time
    [s] per step of one state.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    work: np.ndarray
    step_s: float


def stability(
    robot: Tree,
    integrators: Sequence[str] = ("implicit_midpoint", "semi_implicit_euler"),
    dts: Sequence[float] = (1e-3, 2e-3, 5e-3),
    duration: float = 60.0,
    models: Sequence[EngineModel] = (),
    seed: int = 0,
    base: str = "fixed",
    substeps: int | None = None,
) -> list[Stability]:
    """Return the energy drift of each integrator and dt [s] over `duration` [s] of passive motion.

    Runs start from rest, and from three random states with velocities of 1 rad/s, m/s. models: other engines'
    models, which are simulated too. substeps: as in `treesim.Stepper`.

    Raises UnknownNameError (integrator), ArgumentError, SingularInertiaError if the mass matrix is singular.
    Takes seconds to minutes; compiled integrators run as rollouts.
    """
    checked_robot(robot)
    positive_number("duration", duration)
    rng = np.random.default_rng(seed)
    q0 = np.array([robot.neutral(), *(robot.random(rng) for _ in range(STARTS - 1))])
    v0 = np.array([np.zeros(robot.nv), *(rng.normal(size=robot.nv) for _ in range(STARTS - 1))])
    singular = singular_inertia(robot, q0, robot.armature + min(dts, default=0.0) * robot.damping)
    if singular is not None:
        raise singular
    rows = []
    for dt in dts:
        steps = step_count(duration, dt)
        every = max(1, steps // RECORDS)
        for name in integrators:
            motion = _ours(robot, name, q0, v0, dt, steps, every, substeps)
            rule = getattr(plugins.get("integrators", name), "rule", IN_PYTHON)
            parts = 1 if rule is IN_PYTHON else substeps_of(robot, rule, dt, substeps)
            rows.append(_judged(Stability(robot.name, base, OURS, name, dt, parts), robot, motion, q0, v0))
        for model in models:
            for name in model.integrators:
                motion = _theirs(model, name, q0, v0, dt, steps, every)
                rows.append(_judged(Stability(robot.name, base, model.engine, name, dt, 1), robot, motion, q0, v0))
    return rows


def _ours(
    robot: Tree, name: str, q0: np.ndarray, v0: np.ndarray, dt: float, steps: int, every: int, substeps: int | None
) -> Motion:
    method = plugins.get("integrators", name)
    if isinstance(method, CompiledRule):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DivergedWarning)
            warnings.simplefilter("ignore", FrictionWarning)
            warnings.simplefilter("ignore", EnergyWarning)
            runs = rollout(
                passive(robot), q0, v0, None, dt, steps // every * every, every=every, integrator=name,
                substeps=substeps, work=bool(robot.damping.any()),
            )  # fmt: skip
        work = np.zeros(runs.q.shape[:2]) if runs.work is None else runs.work.sum(axis=-1)
        return Motion(runs.t, runs.q, runs.v, work, _step_seconds(robot, name, q0[1], v0[1], dt, substeps))
    shape = len(q0), steps // every
    runs_q, runs_v, work = (np.full((*shape, *n), np.nan) for n in ((robot.nq,), (robot.nv,), ()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FrictionWarning)
        warnings.simplefilter("ignore", EnergyWarning)
        for b, (q, v) in enumerate(zip(q0, v0, strict=True)):
            found = Simulation(passive(robot), integrator=name, dt=dt).run(steps * dt, q, v)
            kept = slice(every, None, every)
            some = slice(len(found.q[kept]))
            runs_q[b, some], runs_v[b, some], work[b, some] = found.q[kept], found.v[kept], found.work[kept].sum(axis=1)
    t = dt * every * np.arange(1, steps // every + 1)
    return Motion(t, runs_q, runs_v, work, _step_seconds(robot, name, q0[1], v0[1], dt, substeps))


def passive(robot: Tree) -> World:
    """Return a robot's world without joint limits and friction, for energy-drift tests."""
    return World(robot, use_limits=False, use_joint_friction=False)


def _step_seconds(robot: Tree, name: str, q: np.ndarray, v: np.ndarray, dt: float, substeps: int | None) -> float:
    """Return the shortest of five times of a hundred steps of one simulation, per step."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FrictionWarning)
        simulation = Simulation(passive(robot), integrator=name, dt=dt, substeps=substeps)
    simulation.step(0.0, q, v)

    def hundred() -> float:
        began = time.perf_counter()
        for _ in range(100):
            simulation.step(0.0, q, v)
        return (time.perf_counter() - began) / 100

    return min(hundred() for _ in range(5))


def _theirs(model: EngineModel, name: str, q0: np.ndarray, v0: np.ndarray, dt: float, steps: int, every: int) -> Motion:
    runs = [model.free_motion(q, v, dt, steps, every, name) for q, v in zip(q0, v0, strict=True)]
    q, v = (np.array([run[k] for run in runs]) for k in (0, 1))
    t = dt * every * np.arange(1, steps // every + 1)
    return Motion(t, q, v, np.zeros(q.shape[:2]), min(run[2] for run in runs) / steps)


def _judged(row: Stability, robot: Tree, motion: Motion, q0: np.ndarray, v0: np.ndarray) -> Stability:
    """Return the row with the worst drift of all runs; a run whose states or energies are not finite has ended."""
    gained, lost, energy_range, until = 0.0, 0.0, 0.0, math.inf
    for b in range(len(motion.q)):
        finite = np.isfinite(motion.q[b]).all(axis=1) & np.isfinite(motion.v[b]).all(axis=1)
        if not finite.all():
            until = min(until, float(motion.t[int(np.argmin(finite))]))
            continue
        q, v = np.vstack([q0[b], motion.q[b]]), np.vstack([v0[b], motion.v[b]])
        found = energies(robot, q, v, None)
        if not np.isfinite(found.energy_range):
            until = min(until, float(motion.t[max(0, int(np.argmax(~np.isfinite(found.kinetic))) - 1)]))
            continue
        total = _without_fall(robot, q, v, found.kinetic + found.potential)
        change = total - total[0] - np.concatenate([[0.0], motion.work[b]])
        gained = max(gained, float(change.max()) / found.energy_range)
        lost = max(lost, float(-change.min()) / found.energy_range)
        energy_range = max(energy_range, found.energy_range)
    row = row._replace(step_s=motion.step_s)
    if math.isfinite(until):
        return row._replace(finite_until=until)
    return row._replace(gained=gained, lost=lost, energy_range=energy_range)


def _without_fall(robot: Tree, q: np.ndarray, v: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Return the energy (K,) of a freely falling robot less that of its centre of mass, which is conserved."""
    if [body.joint.type for body in robot.bodies if body.parent == 0] != ["floating"]:
        return total
    carried = specialized_first(momentum, robot, q, v)[..., :3]
    height = center_of_mass(robot, q) @ robot.gravity
    return total - (carried * carried).sum(axis=-1) / (2 * robot.mass) + robot.mass * height


def of_robots(
    names: Sequence[str],
    bases: Sequence[Base] = ("fixed", "floating"),
    engine: EngineAdapter | None = None,
    **options: Any,
) -> tuple[list[Stability], list[str]]:
    """Return the energy drifts of several robots, and the reasons why some have none.

    engine: another engine, with which robots are compared without damping, friction and armature. options: of
    `stability`.
    """
    rows: list[Stability] = []
    notes: list[str] = []
    remarks: list[str] = []  # on robots that are simulated
    for name in counted(names, named):
        for base in bases:
            try:
                robot, models = _taken(name, base, engine, remarks)
                if robot.nv:
                    found = stability(robot, models=models, base=base, **options)
                    rows += [row._replace(robot=name) for row in found] if is_robot_name(name) else found
            except TreesimError as error:
                notes.append(f"{name}, {base} base: {error}")
    if not rows and not notes:
        raise ArgumentError("no robot that moves was named")
    return rows, notes + remarks


def _taken(name: str, base: Base, engine: EngineAdapter | None, notes: list[str]) -> tuple[Tree, list[EngineModel]]:
    """Return a robot, and the other engine's model of it if the engine supports it."""
    if engine is None:
        return load(name, base=base), []
    robot = bench_robot(name, base, None, notes)
    return robot.tree, read_by_engines([engine], robot.tree, robot.text, notes)
