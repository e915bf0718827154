"""Compare treesim with one other engine at the same states; report every difference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

import treesim

from ..errors import UnsupportedError, listed, quoted
from ..kernels.stepping.rules import IN_PYTHON, RULES
from ..model.tree import Tree
from ..states.arguments import positive_number, whole_number
from ..system.progress import counted
from .adapter import EngineAdapter
from .diagnosis import CAUSES, summary, worst_entry
from .measures import Scales, errors, worst
from .motions import compare_motions, refinement
from .report import Report, Row
from .results import CANONICAL, RAW, EngineError, Results, StateBatch
from .source import RobotSource, canonical, without_losses
from .treesim_engine import TreesimEngine, random_batch

TOLERANCE = {RAW: 1e-10, CANONICAL: 1e-12}  # the numbers of a file pass through two loaders
FORWARD_TOLERANCE = 1e-11  # or 10 eps cond(M), whichever is larger
STATICS = ("pose", "mass_matrix", "inverse_mass_matrix", "bias", "inverse_dynamics", "forward_dynamics")
MASSLESS = 1e-6  # smallest fraction of the robot's mass that errors are relative to


def compare_source(
    source: RobotSource,
    engine: EngineAdapter,
    seed: int = 0,
    states: int = 100,
    steps: int = 1000,
    dt: float = 1e-3,
    own: TreesimEngine | None = None,
) -> Report:
    """Compare a Tree with another engine's model of the file that describes it.

    own: replaces treesim's engine, for tests and negative controls. Other arguments as for `compare`. Raises
    UnsupportedError if the engine does not support the robot; other failures of the engine are part of the report.
    """
    states, steps, dt = whole_number("states", states, 1), whole_number("steps", steps), positive_number("dt", dt)
    robot = without_losses(source.robot)
    if reason := engine.refuses(robot):
        raise UnsupportedError(f"{engine.name} cannot evaluate {quoted(robot.name)}: {reason}")
    ours = (own or TreesimEngine(engine.integrator)).read(robot)
    unequal = without_trajectory(robot, engine)
    batch = random_batch(robot, states, seed, 0 if unequal else steps, dt)
    refined = refinement(ours, engine, batch)
    batch = batch if refined is None else replace(batch, refinements=refined.runs)
    mine = ours.evaluate(_still(batch))
    found = _evaluated(source, robot, engine, batch, mine)
    rows: list[Row] = []
    skipped: dict[str, dict[str, str]] = {}
    changes: dict[str, tuple[str, ...]] = {"both": ("joint damping, friction and armature set to zero",)}
    if source.robot.stiffness.any():
        changes["both"] += ("springs of joints set to zero",)
    for level, theirs in found.results.items():
        rows += result_rows(level, robot, mine, theirs)
        skipped[level] = (
            _left_out(theirs, batch, unequal) if level == CANONICAL else _left_out(theirs, _still(batch), None)
        )
        if theirs.changes:
            changes[level] = theirs.changes
    left_out = found.missing | _merged(skipped)
    motions = None
    if batch.steps and CANONICAL in found.results:
        motions = compare_motions(engine.title, batch, ours, found.results[CANONICAL], refined)
    if motions is not None:
        rows.append(motions.row)
        left_out |= motions.skipped
    report = Report(
        robot=robot.name, engine=engine.name, base=robot.base,
        sha256=source.sha256, gravity=tuple(robot.gravity.tolist()), seed=seed, dt=dt,
        versions={"treesim": treesim.__version__, engine.name: engine.version()},
        rows=tuple(rows), skipped=left_out, changes=changes, failures=found.failures,
        trajectory=motions and motions.trajectory, conservation=motions.conservation if motions else (),
        convergence=motions and motions.convergence,
    )  # fmt: skip
    known = tuple(dict.fromkeys(fault for theirs in found.results.values() for fault in theirs.known_faults))
    return replace(summarized(report), explanations=() if report.passed else known)


def summarized(report: Report) -> Report:
    """Return the report with the summary of its rows, failures and controls."""
    missed = [control.name for control in report.controls if not control.passed]
    note = f"; not noticed: {', '.join(missed)}" if missed else ""
    return replace(report, summary=_whole_summary(report) + note)


def _unsolvable(mine: Results) -> dict[str, str]:
    """Return the quantities that require the inverse of a numerically singular mass matrix, with the reason."""
    condition = float(np.linalg.cond(mine.values["mass_matrix"]).max())
    if 10 * np.finfo(float).eps * condition < 1:
        return {}
    why = f"the mass matrix is singular but for rounding, cond(M) up to {condition:.1e}: no digit is determined"
    return dict.fromkeys(("inverse_mass_matrix", "forward_dynamics"), why)


@dataclass
class _Evaluated:
    """Results of an engine by level, reasons for levels that were not evaluated, and failures."""

    results: dict[str, Results] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


def _evaluated(source: RobotSource, robot: Tree, engine: EngineAdapter, batch: StateBatch, mine: Results) -> _Evaluated:
    """Evaluate the robot in an engine at both levels; shapes are checked against treesim's results."""
    found, dropped = _Evaluated(), _unsolvable(mine)
    texts = {CANONICAL: canonical(robot)}
    if source.urdf is None:
        found.missing["raw level"] = "the robot was not read from a file"
    elif RAW not in engine.levels:
        found.missing["raw level"] = f"{engine.name} takes the robot's bodies alone"
    else:
        texts = {RAW: source.urdf} | texts
    for level in counted(list(texts), lambda level: f"{engine.name}, {level} level"):
        urdf = texts[level]
        asked = batch if level == CANONICAL else _still(batch)
        try:
            theirs = engine.read(robot, urdf, level).evaluate(asked)
            _check_shapes(theirs, mine, asked, robot)
            kept = {quantity: values for quantity, values in theirs.values.items() if quantity not in dropped}
            found.results[level] = replace(theirs, values=kept, skipped=theirs.skipped | dropped)
        except UnsupportedError as error:
            if level == CANONICAL:
                raise
            found.missing["raw level"] = str(error)
        except EngineError as error:
            found.failures[level] = str(error)
    return found


def _check_shapes(theirs: Results, mine: Results, asked: StateBatch, robot: Tree) -> None:
    """Raise EngineError if results have other shapes than expected; fewer states are allowed."""
    motions = {"trajectory": asked.steps + 1, "ends": len(asked.refinements)}
    due = {quantity: values.shape for quantity, values in mine.values.items()}
    due |= {f"{name}_q": (many, robot.nq) for name, many in motions.items()}
    due |= {f"{name}_v": (many, robot.nv) for name, many in motions.items()}
    for quantity in due.keys() & theirs.values.keys():
        shape, wanted = np.shape(theirs.values[quantity]), due[quantity]
        fewer = quantity in STATICS and len(shape) > 0 and 0 < shape[0] < wanted[0]
        if shape != wanted and not (fewer and shape[1:] == wanted[1:]):
            raise EngineError(f"it gives {quantity.replace('_', ' ')} of shape {shape} where {wanted} is due")


def _still(batch: StateBatch) -> StateBatch:
    """Return the same states without motions."""
    return replace(batch, steps=0, refinements=())


def _whole_summary(report: Report) -> str:
    """Return the summary, preceded by the engine's failures and followed by a failed convergence check."""
    failed = "".join(f"{report.engine} failed: {why}; " for why in report.failures.values())
    agreed = (
        summary(report.rows, report.engine, report.skipped) if report.rows or not failed else "nothing was compared"
    )
    found = report.convergence
    if found is None or found.passed:
        return failed + agreed
    return (
        f"{failed}{agreed}; its motion does not converge with the order of its integrator: order {found.slope:.2f}, "
        f"{found.extrapolated_slope:.2f} extrapolated, where {found.order} and {found.order + 1} are due"
    )


def without_trajectory(robot: Tree, engine: EngineAdapter) -> str:
    """Return why no integrator of treesim equals that of an engine on a robot; an empty text if one does."""
    if engine.integrator is None:
        return f"treesim has no integrator equal to that of {engine.name}"
    free = [
        body.name
        for i, body in enumerate(robot.bodies, start=1)
        if body.joint.type == "floating" and robot.parent[i - 1] == 0 and not robot.topology.children(i)
    ]
    if free and RULES.get(engine.integrator, IN_PYTHON).gyroscopic:
        return f"{engine.integrator} evaluates the gyroscopic term of free bodies implicitly: {listed(free)}"
    return ""


def _left_out(theirs: Results, asked: StateBatch, unequal: str | None) -> dict[str, str]:
    """Return the quantities that are not compared, with the reasons.

    A quantity is left out because the adapter skips it, or returns no values. A trajectory is also left out if
    none was requested, or if no integrator equals that of the engine; `unequal` is the reason. None: a level
    without trajectories.
    """
    found = dict(theirs.skipped)
    for quantity in CAUSES:
        parts = ("trajectory_q", "trajectory_v") if quantity == "trajectory" else (quantity,)
        if quantity in found or all(part in theirs.values for part in parts):
            continue
        if quantity != "trajectory" or asked.steps:
            found[quantity] = "the adapter returns none"
        elif unequal is not None:
            found[quantity] = unequal or "no steps were requested"
    return found


def _merged(skipped: dict[str, dict[str, str]]) -> dict[str, str]:
    """Merge the skipped quantities of both levels; those skipped at one level only are labelled with it."""
    if len(skipped) < 2:
        return next(iter(skipped.values()), {})
    everywhere = dict(skipped[RAW].items() & skipped[CANONICAL].items())
    for level, entries in skipped.items():
        everywhere |= {f"{what} ({level} level)": why for what, why in entries.items() if what not in everywhere}
    return dict(sorted(everywhere.items()))


def model_rows(level: str, robot: Tree, ours: Results, theirs: Results) -> Iterator[Row]:
    """Yield the rows for mass, centre of mass and inertia of the bodies."""
    scales = Scales.of(robot)
    floors = {"mass": MASSLESS * scales.mass, "com": scales.length, "inertia": MASSLESS * scales.inertia}
    for quantity, floor in floors.items():
        if quantity not in theirs.values:
            continue
        a, b = ours.values[quantity], theirs.values[quantity]
        if quantity == "com" and "mass" in theirs.values:  # the centre of mass of a massless body is undefined
            a, b = (x * (theirs.values["mass"] > 0)[:, None] for x in (a, b))
        found = errors(a, b, floor)
        tolerance = TOLERANCE[level]
        first = int(np.argmax(~(found <= tolerance))) if not (found <= tolerance).all() else worst(found)
        yield _row(level, quantity, found, tolerance, f"body {robot.body_names[first]!r}")


def result_rows(level: str, robot: Tree, ours: Results, theirs: Results) -> Iterator[Row]:
    """Yield a row for every quantity that the other engine returned, those of the bodies first."""
    yield from model_rows(level, robot, ours, theirs)
    scales = Scales.of(robot)
    condition = float(np.linalg.cond(ours.values["mass_matrix"]).max())
    usual, solved = TOLERANCE[level], solved_tolerance(level, condition)
    of_condition = f"cond(M) up to {condition:.1e}"
    for quantity, scale, tolerance, note in (
        ("pose", scales.length, usual, ""),
        ("mass_matrix", scales.inertia, usual, ""),
        ("inverse_mass_matrix", 0.0, solved, of_condition),
        ("bias", scales.force, usual, ""),
        ("inverse_dynamics", scales.force, usual, ""),
        ("forward_dynamics", scales.acceleration, solved, of_condition),
    ):
        if quantity in theirs.values:
            a, b = ours.values[quantity], theirs.values[quantity]
            yield state_row(level, robot, quantity, a[: len(b)], b, scale, tolerance, note)


def solved_tolerance(level: str, condition: float) -> float:
    """Return the tolerance of solutions of linear systems whose matrix has this condition number."""
    return max(FORWARD_TOLERANCE, TOLERANCE[level], 10 * float(np.finfo(float).eps) * condition)


def state_row(
    level: str,
    robot: Tree,
    quantity: str,
    ours: np.ndarray,
    theirs: np.ndarray,
    scale: float,
    tolerance: float,
    note: str = "",
) -> Row:
    """Return the row of one quantity (K, ...) at K states; it names the entry with the largest error.

    Errors are relative to the largest entry of the quantity, or to `scale` if that is larger.
    """
    found = errors(ours, theirs, scale)
    k = worst(found)
    allowed = tolerance * max(scale, np.abs(theirs[k]).max())
    return _row(level, quantity, found, tolerance, worst_entry(robot, quantity, ours[k] - theirs[k], allowed), note)


def _row(level: str, quantity: str, found: np.ndarray, tolerance: float, where: str, note: str = "") -> Row:
    largest = float(found[worst(found)])
    return Row(
        quantity, level, len(found), largest, float(np.median(found)), tolerance,
        bool(largest <= tolerance), where, note,
    )  # fmt: skip
