"""`compare`: treesim and another engine on the same robot and states, with a report of every difference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np

import treesim

from .. import plugins
from ..errors import PluginError, UnsupportedError, installed_by
from ..model.given import positive_number, whole_number
from ..types import Base
from .base import CANONICAL, RAW, Answers, Question, Referee, is_floating
from .diagnosis import culprit, verdict
from .measures import TWIN_OFFSET, Scales, distance, errors, horizon, worst
from .own import Own, ask, without_losses
from .report import Report, Row
from .source import Described, canonical, read

TOLERANCE = {RAW: 1e-10, CANONICAL: 1e-12}  # the numbers of a file pass through two loaders
FORWARD_TOLERANCE = 1e-11  # or 10 eps cond(M), whichever is larger
TRAJECTORY_TOLERANCE = 1e-10  # or 100 times the twin's divergence, whichever is larger
MASSLESS = 1e-6  # a body below this share of the robot's mass is judged against that share


def compare(
    robot_source: object,
    against: str | Referee = "pybullet",
    base: Base = "floating",
    seed: int = 0,
    states: int = 100,
    steps: int = 1000,
    dt: float = 1e-3,
) -> Report:
    """Compare treesim with another engine on one robot.

    robot_source: whatever `treesim.load` takes, or a Tree; a Tree has no file, so only the canonical level is compared.
    against: an engine adapter, or its name in `available("referees")`. base: "fixed" or "floating", for anything but a
    Tree. states: random states. steps, dt [s]: length and step of the trajectory, by the other engine's stepping rule.
    Returns the Report. Raises UnsupportedError when the engine cannot evaluate the robot, RefereeError when it fails.

    Example:
        >>> from treesim.compare import compare
        >>> compare("ur5", against="pybullet", base="fixed", states=5, steps=10)
        <Report: 'ur5' beside 'pybullet', 19 rows, passed>
    """
    referee = _referee(against)  # before the robot is read: a typo should not have to wait
    return compare_described(read(robot_source, base), referee, seed, states, steps, dt)


def compare_described(
    described: Described,
    referee: Referee,
    seed: int = 0,
    states: int = 100,
    steps: int = 1000,
    dt: float = 1e-3,
    own: Own | None = None,
) -> Report:
    """Compare a Tree with what another engine makes of the file that describes it.

    own: what stands for treesim, which tests replace. Otherwise as `compare`.
    """
    states, steps, dt = whole_number("states", states, 1), whole_number("steps", steps), positive_number("dt", dt)
    robot = without_losses(described.robot)
    if reason := referee.refuses(robot):
        raise UnsupportedError(f"{referee.name} cannot judge {robot.name!r}: {reason}")
    own = own or Own(referee.integrator)
    if referee.integrator is None:
        steps = 0
    questions = [ask(robot, CANONICAL, canonical(robot), states, seed, steps, dt)]
    if described.urdf is not None:
        questions.insert(0, ask(robot, RAW, described.urdf, states, seed, 0, dt))
    rows: list[Row] = []
    skipped: dict[str, dict[str, str]] = {}
    changes: dict[str, tuple[str, ...]] = {"both": ("joint damping, friction and armature set to zero",)}
    for question in questions:
        theirs = referee.answer(question)
        rows += _rows(question, own, theirs)
        skipped[question.tier] = dict(theirs.skipped)
        changes[question.tier] = theirs.changes
    return Report(
        robot=robot.name, referee=referee.name, base="floating" if is_floating(robot) else "fixed",
        sha256=described.sha256, gravity=tuple(robot.gravity.tolist()), seed=seed, dt=dt,
        versions={"treesim": treesim.__version__, referee.name: referee.version()},
        rows=tuple(rows), skipped=_merged(skipped), changes=changes, verdict=verdict(rows, referee.name),
    )  # fmt: skip


def _referee(against: str | Referee) -> Referee:
    if not isinstance(against, str):
        return against
    known = plugins.available("referees")
    if against not in known:
        raise PluginError(
            f"no referee called {against!r} is installed; known are: {', '.join(known) or 'none'}; "
            f"PyBullet is one: {installed_by('./plugins/treesim-pybullet')}"
        )
    return cast(Referee, plugins.get("referees", against))


def _merged(skipped: dict[str, dict[str, str]]) -> dict[str, str]:
    """What was left out of every tier, then what was left out of one, so named."""
    if RAW not in skipped:
        return {"raw tier": "the robot was not read from a file"} | skipped[CANONICAL]
    everywhere = dict(skipped[RAW].items() & skipped[CANONICAL].items())
    for tier, entries in skipped.items():
        everywhere |= {f"{what} ({tier} tier)": why for what, why in entries.items() if what not in everywhere}
    return dict(sorted(everywhere.items()))


def _rows(question: Question, own: Own, theirs: Answers) -> Iterator[Row]:
    ours = own.answer(question)
    yield from _model_rows(question, ours, theirs)
    yield from _state_rows(question, ours, theirs)
    if "trajectory_q" in theirs.values:
        yield _trajectory_row(question, own, ours, theirs)


def _model_rows(question: Question, ours: Answers, theirs: Answers) -> Iterator[Row]:
    robot, scales = question.robot, Scales.of(question.robot)
    floors = {"mass": MASSLESS * scales.mass, "com": scales.length, "inertia": MASSLESS * scales.inertia}
    for quantity, floor in floors.items():
        a, b = ours.values[quantity], theirs.values[quantity]
        if quantity == "com":  # the centre of nothing is anywhere
            a, b = (x * (theirs.values["mass"] > 0)[:, None] for x in (a, b))
        found = errors(a, b, floor)
        tolerance = TOLERANCE[question.tier]
        first = int(np.argmax(~(found <= tolerance))) if not (found <= tolerance).all() else worst(found)
        yield _row(question, quantity, found, tolerance, f"body {robot.body_names[first]!r}")


def _state_rows(question: Question, ours: Answers, theirs: Answers) -> Iterator[Row]:
    scales = Scales.of(question.robot)
    condition = float(np.linalg.cond(ours.values["mass_matrix"]).max())
    usual = TOLERANCE[question.tier]
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
        yield _row(question, quantity, found, tolerance, culprit(question.robot, quantity, a[k] - b[k], allowed), note)


def _trajectory_row(question: Question, own: Own, ours: Answers, theirs: Answers) -> Row:
    robot = question.robot
    q, v = ours.values["trajectory_q"], ours.values["trajectory_v"]
    apart = distance(robot, q, v, theirs.values["trajectory_q"], theirs.values["trajectory_v"])
    twin_q, twin_v = own.trajectory(question, question.q0, question.v0 * (1 + TWIN_OFFSET))
    twin = distance(robot, twin_q, twin_v, q, v)
    valid = horizon(twin)
    apart, allowed = apart[:valid], np.maximum(TRAJECTORY_TOLERANCE, 100 * twin[:valid])
    k = worst(apart / allowed)
    note = f"same stepping rule; valid for {valid - 1} of {question.steps} steps, twin apart by {twin[valid - 1]:.1e}"
    return Row(
        "trajectory", question.tier, valid - 1, float(apart[k]), float(np.median(apart)), float(allowed[k]),
        bool(apart[k] <= allowed[k]) and valid > 1, f"step {k}", note,
    )  # fmt: skip


def _row(question: Question, quantity: str, found: np.ndarray, tolerance: float, where: str, note: str = "") -> Row:
    largest = float(found[worst(found)])
    return Row(
        quantity, question.tier, len(found), largest, float(np.median(found)), tolerance,
        bool(largest <= tolerance), where, note,
    )  # fmt: skip
