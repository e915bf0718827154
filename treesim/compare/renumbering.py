"""The same robot in other regular numberings, which must not change the physics of any engine or method."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

import treesim

from .. import plugins
from ..errors import TreesimError, UnsupportedError
from ..model.links import is_depth_first
from ..model.tree import Tree
from .adapter import EngineAdapter
from .checks import result_rows, solved_tolerance, state_row, summarized
from .diagnosis import OWN
from .layouts import Reordered, reordered
from .measures import Scales, errors, worst
from .report import Report, Row
from .results import CANONICAL, NUMBERED, EngineError, Results, StateBatch
from .source import RobotSource, canonical, without_losses
from .treesim_engine import TreesimEngine, random_batch

RENUMBERED = "renumbered"  # level of the rows of engines' readers, which may number bodies anew
NUMBERINGS, STATES, ATTEMPTS = 3, 5, 100
ENDS = 4  # bodies without children
FACTOR = 100.0  # of the usual tolerance: another order of elimination is another rounding


class Renumbering(NamedTuple):
    """Robot in another numbering, and the map of its states."""

    robot: Tree
    layout: Reordered

    def states(self, batch: StateBatch) -> StateBatch:
        """Return the same states in the other numbering, without motions."""
        to = self.layout
        q, q0 = to.configuration_to_engine(batch.q), to.configuration_to_engine(batch.q0)
        v, a, tau, v0 = (x[..., to.v_order] for x in (batch.v, batch.a, batch.tau, batch.v0))
        return StateBatch(q=q, v=v, a=a, tau=tau, q0=q0, v0=v0)


def renumbered(robot: Tree, rng: np.random.Generator) -> Renumbering:
    """Return the robot in a random regular numbering that is not depth-first.

    Raises UnsupportedError if every regular numbering of the robot is depth-first.
    """
    for _ in range(ATTEMPTS):
        order = _random_order(robot.parent.tolist(), rng)
        places = {0: 0} | {old: new for new, old in enumerate(order, start=1)}
        bodies = [replace(robot.bodies[i - 1], parent=places[robot.bodies[i - 1].parent]) for i in order]
        other = Tree(robot.name, bodies, gravity=robot.gravity.tolist())
        if not is_depth_first(other.parent.tolist()):
            return Renumbering(other, reordered(robot, other.joint_names))
    raise UnsupportedError("all regular numberings of the robot are depth-first: it has no branches")


def with_renumberings(report: Report, source: RobotSource, engine: EngineAdapter, own: OwnRows) -> Report:
    """Return the report with rows of the robot in other numberings; own: the rows of treesim's methods."""
    rows, skipped, failures = list(own.rows), dict(own.skipped), {}
    robot = without_losses(source.robot)
    rng = np.random.default_rng(report.seed)
    found: list[Row] = []
    try:
        for _ in range(NUMBERINGS):
            found += _engine_rows(engine, robot, renumbered(robot, rng), report.seed)
    except UnsupportedError as error:
        skipped[RENUMBERED] = str(error)
    except EngineError as error:
        failures[RENUMBERED] = str(error)
    rows += worst_rows(found)
    return summarized(
        replace(
            report, rows=(*report.rows, *rows), skipped=report.skipped | skipped, failures=report.failures | failures
        )
    )


class OwnRows(NamedTuple):
    """Rows of treesim's functions and methods in other numberings, and the reasons for what is left out."""

    rows: list[Row]
    skipped: dict[str, str]


def own_rows(source: RobotSource, seed: int) -> OwnRows:
    """Return the rows of treesim's functions, and of all methods of forward dynamics and of operational space."""
    robot, rng = without_losses(source.robot), np.random.default_rng(seed)
    batch = random_batch(robot, STATES, seed, 0, 1e-3)
    found = OwnRows([], {})
    try:
        for _ in range(NUMBERINGS):
            other = renumbered(robot, rng)
            found.rows.extend([*_function_rows(robot, other, batch), *_method_rows(robot, other, batch, found.skipped)])
    except UnsupportedError as error:
        return OwnRows([], {RENUMBERED: str(error)})
    return OwnRows(worst_rows(found.rows), found.skipped)


def worst_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the row with the largest error of each quantity and level; NaN is the largest."""
    kinds: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        kinds.setdefault((row.quantity, row.level), []).append(row)
    return [each[worst(np.array([row.largest / row.tolerance for row in each]))] for each in kinds.values()]


def _random_order(parents: Sequence[int], rng: np.random.Generator) -> list[int]:
    """Return the bodies in a random order, parents before children."""
    order: list[int] = []
    ready = {i for i, p in enumerate(parents, start=1) if p == 0}
    while ready:
        chosen = int(rng.choice(sorted(ready)))
        order.append(chosen)
        ready.remove(chosen)
        ready |= {i for i, p in enumerate(parents, start=1) if p == chosen}
    return order


def _engine_rows(engine: EngineAdapter, robot: Tree, other: Renumbering, seed: int) -> Iterator[Row]:
    """Yield the rows of an engine that reads the renumbered robot, and of its routines in this very numbering."""
    states = other.states(random_batch(robot, STATES, seed, 0, 1e-3))
    mine = TreesimEngine(None).read(other.robot).evaluate(states)
    text = canonical(other.robot)
    for level, label in ((CANONICAL, RENUMBERED), (NUMBERED, NUMBERED)):
        if level in engine.levels:
            theirs = engine.read(other.robot, text, level).evaluate(states)
            for row in result_rows(CANONICAL, other.robot, mine, theirs):
                fault = "" if row.passed else theirs.faulty.get(row.quantity, "")
                yield replace(row, level=label, known_fault=fault)


def _function_rows(robot: Tree, other: Renumbering, batch: StateBatch) -> Iterator[Row]:
    """Yield the rows of treesim's functions on the renumbered robot, against those on the robot."""
    truth = TreesimEngine(None).read(robot).evaluate(batch)
    found = _put_back(robot, other, TreesimEngine(None).read(other.robot).evaluate(other.states(batch)))
    for row in result_rows(CANONICAL, robot, truth, found):
        yield _own_row(row, row.quantity)


def _method_rows(robot: Tree, other: Renumbering, batch: StateBatch, skipped: dict[str, str]) -> Iterator[Row]:
    """Yield the rows of all methods; reasons for those that do not support the robot are added to `skipped`."""
    condition = float(np.linalg.cond(treesim.mass_matrix(robot, batch.q)).max())
    tolerance, scale = solved_tolerance(CANONICAL, condition), Scales.of(robot).acceleration
    theirs, ends = other.states(batch), _ends(robot)
    for name in plugins.available("dynamics"):
        label = f"{OWN}{name}"
        try:
            own = treesim.forward_dynamics(robot, batch.q, batch.v, batch.tau, backend=name)
            qdd = treesim.forward_dynamics(other.robot, theirs.q, theirs.v, theirs.tau, backend=name)
        except TreesimError as error:
            skipped[label] = str(error)
            continue
        back = other.layout.velocity_from_engine(batch.q, qdd)
        row = state_row(CANONICAL, robot, "forward_dynamics", own, back, scale, tolerance)
        yield _own_row(row, name)
    for name in plugins.available("operational"):
        label = f"{OWN}operational {name}"
        try:
            here = treesim.inverse_operational_inertia(robot, batch.q, ends, method=name)
            there = treesim.inverse_operational_inertia(other.robot, theirs.q, ends, method=name)
        except TreesimError as error:
            skipped[label] = str(error)
            continue
        found = errors(here, there, 0.0)
        largest = float(found[worst(found)])
        row = Row("", RENUMBERED, len(found), largest, float(np.median(found)), tolerance, largest <= tolerance,
                  f"frames {', '.join(ends)}")  # fmt: skip
        yield _own_row(row, f"operational {name}")


def _own_row(row: Row, name: str) -> Row:
    """Return the row of a method of treesim; its tolerance allows for another order of elimination."""
    tolerance = FACTOR * float(row.tolerance)
    return replace(
        row, quantity=f"{OWN}{name}", level=RENUMBERED, tolerance=tolerance, passed=bool(row.largest <= tolerance)
    )  # fmt: skip


def _ends(robot: Tree) -> list[str]:
    """Return the names of the first bodies without children, at which operational inertias are compared."""
    inner = set(robot.parent.tolist())
    return [name for i, name in enumerate(robot.body_names, start=1) if i not in inner][:ENDS]


def _put_back(robot: Tree, other: Renumbering, results: Results) -> Results:
    """Return results of the renumbered robot in the robot's own numbering."""
    layout, names = other.layout, list(other.robot.body_names)
    order = [names.index(name) for name in robot.body_names]
    values = dict(results.values)
    for quantity in ("mass", "com", "inertia"):
        values[quantity] = values[quantity][order]
    values["pose"] = values["pose"][:, order]
    for quantity in ("bias", "inverse_dynamics", "forward_dynamics"):
        values[quantity] = values[quantity][:, np.argsort(layout.v_order)]
    for quantity in ("mass_matrix", "inverse_mass_matrix"):
        back = np.argsort(layout.v_order)
        values[quantity] = values[quantity][:, back[:, None], back]
    return replace(results, values=values)
