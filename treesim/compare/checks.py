"""`compare`: treesim and another engine on the same robot and states, with a report of every difference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import treesim

from ..errors import UnsupportedError
from ..model.given import positive_number, whole_number
from ..model.tree import Tree
from ..types import Base
from .diagnosis import CAUSES, summary, worst_entry
from .engines import CANONICAL, RAW, EngineAdapter, EngineModel, Results, StateBatch, find_engine
from .measures import PERTURBATION, Scales, distance, errors, valid_steps, worst
from .report import Report, Row
from .source import RobotSource, canonical, is_floating, read, without_losses
from .treesim_engine import TreesimEngine, TreesimModel, random_batch

TOLERANCE = {RAW: 1e-10, CANONICAL: 1e-12}  # the numbers of a file pass through two loaders
FORWARD_TOLERANCE = 1e-11  # or 10 eps cond(M), whichever is larger
TRAJECTORY_TOLERANCE = 1e-10  # or 100 times the perturbed run's divergence, whichever is larger
MASSLESS = 1e-6  # a body below this share of the robot's mass is judged against that share


def compare(
    robot_source: object,
    against: str | EngineAdapter = "pybullet",
    base: Base = "floating",
    seed: int = 0,
    states: int = 100,
    steps: int = 1000,
    dt: float = 1e-3,
) -> Report:
    """Compare treesim with another engine on one robot.

    robot_source: whatever `treesim.load` takes, or a Tree; a Tree has no file, so only the canonical level is compared.
    against: an engine adapter, or its name in `available("engines")`. base: "fixed" or "floating", for anything but a
    Tree. states: random states. steps, dt [s]: length and step of the trajectory, by the other engine's stepping rule.
    Returns the Report. Raises UnsupportedError when the engine cannot evaluate the robot, EngineError when it fails.

    Example:
        >>> from treesim.compare import compare
        >>> compare("ur5", against="pybullet", base="fixed", states=5, steps=10)
        <Report: 'ur5' beside 'pybullet', 19 rows, passed>
    """
    engine = find_engine(against) if isinstance(against, str) else against  # before the robot is read: it may be a typo
    return compare_source(read(robot_source, base), engine, seed, states, steps, dt)


def compare_source(
    source: RobotSource,
    engine: EngineAdapter,
    seed: int = 0,
    states: int = 100,
    steps: int = 1000,
    dt: float = 1e-3,
    own: TreesimEngine | None = None,
) -> Report:
    """Compare a Tree with what another engine makes of the file that describes it.

    own: what stands for treesim, which tests replace. Otherwise as `compare`.
    """
    states, steps, dt = whole_number("states", states, 1), whole_number("steps", steps), positive_number("dt", dt)
    robot = without_losses(source.robot)
    if reason := engine.refuses(robot):
        raise UnsupportedError(f"{engine.name} cannot judge {robot.name!r}: {reason}")
    ours = (own or TreesimEngine(engine.integrator)).read(robot)
    batch = random_batch(robot, states, seed, 0 if engine.integrator is None else steps, dt)
    models, missing = _models(source, robot, engine)
    rows: list[Row] = []
    skipped: dict[str, dict[str, str]] = {}
    changes: dict[str, tuple[str, ...]] = {"both": ("joint damping, friction and armature set to zero",)}
    for level, model in models.items():
        asked = batch if level == CANONICAL else replace(batch, steps=0)
        theirs = model.evaluate(asked)
        rows += _rows(level, asked, ours, theirs)
        skipped[level] = _left_out(theirs, asked, engine) if level == CANONICAL else _left_out(theirs, asked)
        if theirs.changes:
            changes[level] = theirs.changes
    left_out = missing | _merged(skipped)
    return Report(
        robot=robot.name, engine=engine.name, base="floating" if is_floating(robot) else "fixed",
        sha256=source.sha256, gravity=tuple(robot.gravity.tolist()), seed=seed, dt=dt,
        versions={"treesim": treesim.__version__, engine.name: engine.version()},
        rows=tuple(rows), skipped=left_out, changes=changes, summary=summary(rows, engine.name, left_out),
    )  # fmt: skip


def _left_out(theirs: Results, asked: StateBatch, engine: EngineAdapter | None = None) -> dict[str, str]:
    """What is not compared, and why: as the adapter says, or because it returns none; of a trajectory, which `engine`
    may give, also because none was asked for."""
    found = dict(theirs.skipped)
    for quantity in CAUSES:
        parts = ("trajectory_q", "trajectory_v") if quantity == "trajectory" else (quantity,)
        if quantity in found or all(part in theirs.values for part in parts):
            continue
        if quantity != "trajectory" or asked.steps:
            found[quantity] = "the adapter returns none"
        elif engine is not None:
            rule = f"no integrator of treesim's has the stepping rule of {engine.name}"
            found[quantity] = rule if engine.integrator is None else "no steps were asked for"
    return found


def _models(source: RobotSource, robot: Tree, engine: EngineAdapter) -> tuple[dict[str, EngineModel], dict[str, str]]:
    """The robot in the engine at each level, and why it is not there at a level."""
    models: dict[str, EngineModel] = {}
    missing = {}
    if source.urdf is None:
        missing["raw level"] = "the robot was not read from a file"
    elif RAW not in engine.levels:
        missing["raw level"] = f"{engine.name} takes the robot's bodies alone"
    else:
        try:
            models[RAW] = engine.read(robot, source.urdf, RAW)
        except UnsupportedError as error:
            missing["raw level"] = str(error)
    models[CANONICAL] = engine.read(robot, canonical(robot), CANONICAL)
    return models, missing


def _merged(skipped: dict[str, dict[str, str]]) -> dict[str, str]:
    """What was left out of every level, then what was left out of one, so named."""
    if RAW not in skipped:
        return skipped[CANONICAL]
    everywhere = dict(skipped[RAW].items() & skipped[CANONICAL].items())
    for level, entries in skipped.items():
        everywhere |= {f"{what} ({level} level)": why for what, why in entries.items() if what not in everywhere}
    return dict(sorted(everywhere.items()))


def _rows(level: str, states: StateBatch, own: TreesimModel, theirs: Results) -> Iterator[Row]:
    ours = own.evaluate(states)
    yield from model_rows(level, own.robot, ours, theirs)
    yield from state_rows(level, own.robot, ours, theirs)
    if "trajectory_q" in theirs.values and "trajectory_v" in theirs.values:
        yield _trajectory_row(level, states, own, ours, theirs)


def model_rows(level: str, robot: Tree, ours: Results, theirs: Results) -> Iterator[Row]:
    """Yield a row for mass, centre and inertia of the bodies."""
    scales = Scales.of(robot)
    floors = {"mass": MASSLESS * scales.mass, "com": scales.length, "inertia": MASSLESS * scales.inertia}
    for quantity, floor in floors.items():
        if quantity not in theirs.values:
            continue
        a, b = ours.values[quantity], theirs.values[quantity]
        if quantity == "com" and "mass" in theirs.values:  # the centre of nothing is anywhere
            a, b = (x * (theirs.values["mass"] > 0)[:, None] for x in (a, b))
        found = errors(a, b, floor)
        tolerance = TOLERANCE[level]
        first = int(np.argmax(~(found <= tolerance))) if not (found <= tolerance).all() else worst(found)
        yield _row(level, quantity, found, tolerance, f"body {robot.body_names[first]!r}")


def state_rows(level: str, robot: Tree, ours: Results, theirs: Results) -> Iterator[Row]:
    """Yield a row for every quantity of the states that the other engine returned."""
    scales = Scales.of(robot)
    condition = float(np.linalg.cond(ours.values["mass_matrix"]).max())
    usual = TOLERANCE[level]
    solved = max(FORWARD_TOLERANCE, usual, 10 * np.finfo(float).eps * condition)
    of_condition = f"cond(M) up to {condition:.1e}"
    for quantity, scale, tolerance, note in (
        ("pose", scales.length, usual, ""),
        ("mass_matrix", scales.inertia, usual, ""),
        ("inverse_mass_matrix", 0.0, solved, of_condition),
        ("bias", scales.force, usual, ""),
        ("inverse_dynamics", scales.force, usual, ""),
        ("forward_dynamics", scales.acceleration, solved, of_condition),
    ):
        if quantity not in theirs.values:
            continue
        b = theirs.values[quantity]
        a = ours.values[quantity][: len(b)]
        found = errors(a, b, scale)
        k = worst(found)
        allowed = tolerance * max(scale, np.abs(b[k]).max())
        yield _row(level, quantity, found, tolerance, worst_entry(robot, quantity, a[k] - b[k], allowed), note)


def _trajectory_row(level: str, states: StateBatch, own: TreesimModel, ours: Results, theirs: Results) -> Row:
    robot = own.robot
    q, v = ours.values["trajectory_q"], ours.values["trajectory_v"]
    apart = distance(robot, q, v, theirs.values["trajectory_q"], theirs.values["trajectory_v"])
    perturbed = own.trajectory(states.q0, states.v0 * (1 + PERTURBATION), states.steps, states.dt)
    divergence = distance(robot, *perturbed, q, v)
    valid = valid_steps(divergence)
    apart, allowed = apart[:valid], np.maximum(TRAJECTORY_TOLERANCE, 100 * divergence[:valid])
    k = worst(apart / allowed)
    note = (
        f"same stepping rule; valid for {valid - 1} of {states.steps} steps, "
        f"perturbed run apart by {divergence[valid - 1]:.1e}"
    )
    return Row(
        "trajectory", level, valid - 1, float(apart[k]), float(np.median(apart)), float(allowed[k]),
        bool(apart[k] <= allowed[k]) and valid > 1, f"step {k}", note,
    )  # fmt: skip


def _row(level: str, quantity: str, found: np.ndarray, tolerance: float, where: str, note: str = "") -> Row:
    largest = float(found[worst(found)])
    return Row(
        quantity, level, len(found), largest, float(np.median(found)), tolerance,
        bool(largest <= tolerance), where, note,
    )  # fmt: skip
