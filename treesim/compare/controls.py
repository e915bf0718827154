"""Negative controls: deliberate errors in treesim or in the engine, which a comparison must detect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from ..dynamics.operational.frames import frame_jacobian
from ..errors import UnsupportedError
from ..model.tree import Tree
from .adapter import ControlledAdapter, EngineAdapter
from .checks import compare_source, summarized
from .measures import entry_sizes
from .report import Control, Report
from .results import CANONICAL, RAW, EngineError, Results, StateBatch
from .source import RobotSource, canonical, with_inertias, without_losses
from .treesim_engine import TreesimEngine, TreesimModel, random_batch

HEAVIER = 1.001  # times the mass of the heaviest body
STATES = 5
VISIBLE = 1e-8  # of a quantity's largest number; smaller changes need not be detected

Change = Callable[[Tree], Tree]


def controlled(report: Report, source: RobotSource, engine: EngineAdapter, seed: int) -> Report:
    """Return a report with negative controls added; each is a comparison without motions."""
    found = [_own(report, source, engine, seed, name, own) for name, own in own_controls(engine.integrator).items()]
    wrong = engine.controls() if isinstance(engine, ControlledAdapter) else {}
    found += [_theirs(report, source, engine, seed, name, adapter) for name, adapter in wrong.items()]
    return summarized(replace(report, controls=tuple(found)))


def own_controls(integrator: str | None) -> dict[str, TreesimEngine]:
    """Return variants of treesim's engine with one deliberate error each, by the description of the error."""
    return {
        "mass of one body +0.1 %": AlteredEngine(integrator, heavier),
        "sign of a product of inertia flipped": AlteredEngine(integrator, flipped),
        "gyroscopic term left out": NonGyroscopicEngine(integrator),
    }


def heavier(robot: Tree) -> Tree:
    """Return the robot with the mass of its heaviest body increased by 0.1 %."""
    i = int(np.argmax([body.inertia.mass for body in robot.bodies]))
    inertia = robot.bodies[i].inertia
    return with_inertias({i + 1: replace(inertia, mass=HEAVIER * inertia.mass)}, robot)


def flipped(robot: Tree) -> Tree:
    """Return the robot with the sign of its largest product of inertia flipped.

    The body is mirrored, so its moments of inertia do not change. A second product of inertia changes sign with the
    first.
    """
    products = [np.abs(np.triu(body.inertia.rotational, 1)) for body in robot.bodies]
    i, row, _ = np.unravel_index(np.argmax(products), (robot.n_bodies, 3, 3))
    mirror = np.ones(3)
    mirror[row] = -1.0
    inertia = robot.bodies[i].inertia
    mirrored = replace(inertia, rotational=inertia.rotational * np.outer(mirror, mirror))
    return with_inertias({int(i) + 1: mirrored}, robot)


class AlteredEngine(TreesimEngine):
    """treesim's engine with a change applied to every robot that it reads."""

    def __init__(self, integrator: str | None, change: Change) -> None:
        super().__init__(integrator)
        self.change = change

    def read(self, robot: Tree, urdf: str = "", level: str = CANONICAL) -> TreesimModel:
        """Return the model of the changed robot."""
        return TreesimModel(self.change(robot), self.integrator)


class NonGyroscopicModel(TreesimModel):
    """treesim's model without the gyroscopic term w x I w of Euler's equations."""

    def evaluate(self, states: StateBatch) -> Results:
        """Return the results without the gyroscopic term."""
        results = super().evaluate(states)
        missing = np.array([gyroscopic(self.robot, q, v) for q, v in zip(states.q, states.v, strict=True)])
        values = dict(results.values)
        values["bias"] = values["bias"] - missing
        values["inverse_dynamics"] = values["inverse_dynamics"] - missing
        gained = np.linalg.solve(values["mass_matrix"], missing[..., None])[..., 0]
        values["forward_dynamics"] = values["forward_dynamics"] + gained
        return replace(results, values=values)


class NonGyroscopicEngine(TreesimEngine):
    """treesim's engine without the gyroscopic term."""

    def read(self, robot: Tree, urdf: str = "", level: str = CANONICAL) -> TreesimModel:
        """Return the robot's model without the gyroscopic term."""
        return NonGyroscopicModel(robot, self.integrator)


def gyroscopic(robot: Tree, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the generalised force (nv,) of w x I w of all bodies, I about their centres of mass."""
    total = np.zeros(robot.nv)
    for body in robot.bodies:
        J = frame_jacobian(robot, q, body.name, reference="local")[3:]
        w = J @ v
        total += J.T @ np.cross(w, body.inertia.rotational @ w)
    return total


def _own(
    report: Report, source: RobotSource, engine: EngineAdapter, seed: int, name: str, own: TreesimEngine
) -> Control:
    wrong = compare_source(source, engine, seed, STATES, 0, own=own)
    if new := _news(wrong, report):
        return Control(name, True, True, new)
    robot, batch = _batch(source, seed)
    right, altered = (each.read(robot).evaluate(batch) for each in (TreesimEngine(None), own))
    return _unnoticed(name, visible(right.values, altered.values))


def _theirs(
    report: Report, source: RobotSource, engine: EngineAdapter, seed: int, name: str, altered: EngineAdapter
) -> Control:
    try:
        wrong = compare_source(source, altered, seed, STATES, 0)
    except UnsupportedError as error:
        return Control(name, True, True, str(error))
    if new := _news(wrong, report):
        return Control(name, True, True, new)
    robot, batch = _batch(source, seed)
    texts = {CANONICAL: canonical(robot)} | ({RAW: source.urdf} if source.urdf else {})
    for level, urdf in texts.items():
        try:
            right, other = (each.read(robot, urdf, level).evaluate(batch) for each in (engine, altered))
        except (UnsupportedError, EngineError):
            continue
        if visible(right.values, other.values):
            return _unnoticed(name, True)
    return _unnoticed(name, False)


def _batch(source: RobotSource, seed: int) -> tuple[Tree, StateBatch]:
    robot = without_losses(source.robot)
    return robot, random_batch(robot, STATES, seed, 0, 1e-3)


def _news(wrong: Report, right: Report) -> str:
    """Return the first failure of the altered comparison that the unaltered one lacks; empty if there is none."""
    known = {(row.quantity, row.level) for row in right.rows if not row.passed}
    rows = [row for row in wrong.rows if not row.passed and (row.quantity, row.level) not in known]
    failures = [why for level, why in wrong.failures.items() if level not in right.failures]
    details = [f"{row.quantity.replace('_', ' ')} ({row.level} level) at {row.where}" for row in rows]
    return next(iter(details + failures), "")


def _unnoticed(name: str, applies: bool) -> Control:
    return Control(name, applies, False, "not noticed" if applies else "changes no number of this robot")


def visible(right: Mapping[str, np.ndarray], altered: Mapping[str, np.ndarray]) -> bool:
    """Return whether two sets of results differ by more than rounding, relative to each quantity's largest number."""
    for quantity in right.keys() & altered.keys():
        a, b = right[quantity], altered[quantity]
        if a.size and not (entry_sizes(a - b) <= VISIBLE * max(np.abs(a).max(), np.finfo(float).tiny)).all():
            return True
    return right.keys() != altered.keys()
