"""Scenes in another engine: rows, reasons for what is left out, and negative controls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..errors import TreesimError, UnsupportedError
from ..model.joints import Joint
from .adapter import EngineAdapter, SimulatingAdapter
from .checks import summarized
from .diagnosis import NEVER_COMPARED
from .report import Control, Report, Row
from .results import EngineError
from .scene_checks import OwnRun, scene_rows, unsettled
from .scene_kinds import SCENES, with_joints
from .scenes import Scene, SceneRun
from .source import RobotSource

Alteration = Callable[[Scene], Scene]
WRONG, HEAVIER = 1.1, 1.01  # factors of deliberate errors, the latter of the weight
CHANGES = (
    "without joint friction, effort and velocity limits and loops; limits, damping, armature and shapes act in their "
    "own scenes only; damping and armature are 2/s and 0.5 of the joints' inertias; on the plane all bodies have "
    "additional inertia, for explicit PD"
)


def with_scenes(
    report: Report, source: RobotSource, engine: EngineAdapter, names: Sequence[str], seed: int, controls: bool
) -> Report:
    """Return the report with the rows of scenes, and with their negative controls."""
    rows: list[Row] = []
    found: list[Control] = []
    skipped, failures = dict(NEVER_COMPARED), {}
    for name in names:
        try:
            runs = _runs(source, engine, name, seed)
        except UnsupportedError as error:
            skipped[name] = str(error)
        except EngineError as error:
            failures[f"scene {name}"] = str(error)
        else:
            right = scene_rows(*runs)
            rows += right
            found += scene_controls(runs, right) if controls else []
    return summarized(
        replace(
            report, rows=(*report.rows, *rows), skipped=report.skipped | skipped, failures=report.failures | failures,
            changes=report.changes | {"scenes": (CHANGES,)}, controls=(*report.controls, *found),
        )
    )  # fmt: skip


class _Runs(NamedTuple):
    """A scene, treesim's motion and the engine's."""

    scene: Scene
    own: OwnRun
    theirs: SceneRun


def _runs(source: RobotSource, engine: EngineAdapter, name: str, seed: int) -> _Runs:
    """Return the motions of a scene.

    Raises UnsupportedError with the reason if it is not compared, EngineError if the engine or treesim fails.
    """
    if not isinstance(engine, SimulatingAdapter):
        raise UnsupportedError(f"the adapter to {engine.title} simulates no scenes")
    scene = SCENES[name](source, seed)
    theirs = engine.simulate(scene)
    try:
        own = OwnRun.of(scene, theirs.integrator)
    except TreesimError as error:
        raise EngineError(f"treesim: {error}") from error
    if reason := unsettled(scene, own.run):
        raise UnsupportedError(reason)
    return _Runs(scene, own, theirs)


def scene_controls(runs: _Runs, right: Sequence[Row]) -> list[Control]:
    """Return a control for each number of the scene that is made wrong in treesim."""
    known = {row.quantity for row in right if not row.passed}
    found = []
    for name, alter in ALTERED[runs.scene.name].items():
        scene = alter(runs.scene)
        wrong = scene_rows(scene, OwnRun.of(scene, runs.theirs.integrator), runs.theirs)
        new = [row.quantity for row in wrong if not row.passed and row.quantity not in known]
        found.append(Control(name, True, bool(new), new[0] if new else "not noticed"))
    return found


def _with(change: Callable[[Joint], dict[str, Any]], scene: Scene) -> Scene:
    """Return the scene with its joints changed."""
    return scene._replace(robot=with_joints(scene.robot, change))


def _joints(label: str) -> Alteration:
    return partial(_with, lambda joint: {label: WRONG * np.asarray(getattr(joint, label))})


def _law(label: str) -> Alteration:
    return lambda scene: scene._replace(law=scene.law._replace(**{label: WRONG * getattr(scene.law, label)}))


def _limit(scene: Scene) -> Scene:
    """Return the scene with the limit's distance 10 % larger."""
    k = int(np.flatnonzero(scene.law.constant)[0])
    name = scene.robot.dof_joint(k)
    where = scene.robot.q_index[name]
    upper = scene.q0[where] + WRONG * (scene.robot.upper[where] - scene.q0[where])
    return _with(lambda joint: {"upper": upper} if joint.name == name else {}, scene)


def _multiplier(joint: Joint) -> dict[str, Any]:
    mimic = joint.mimic
    return {} if mimic is None else {"mimic": replace(mimic, multiplier=WRONG * mimic.multiplier)}


def _friction(scene: Scene) -> Scene:
    assert scene.friction is not None
    return scene._replace(friction=WRONG * scene.friction)


def _gravity(x: float, y: float, z: float) -> Alteration:
    factors = np.array([x, y, z])
    return lambda scene: scene._replace(
        robot=with_joints(scene.robot, lambda joint: {}, factors * scene.robot.gravity, shapes=True)
    )


ALTERED: dict[str, dict[str, Alteration]] = {
    "torques": {"torques +10 %": _law("amplitude")},
    "pd": {"PD gains +10 %": _law("kp")},
    "damping": {"joint damping +10 %": _joints("damping")},
    "armature": {"armature +10 %": _joints("armature")},
    "limit": {"distance of the limit +10 %": _limit},
    "mimic": {"multiplier of mimic joints +10 %": partial(_with, _multiplier)},
    "standing": {"weight +1 %": _gravity(HEAVIER, HEAVIER, HEAVIER)},
    "push_held": {"lateral push +10 %": _gravity(1, WRONG, 1)},
    "push_sliding": {"friction of the plane +10 %": _friction},
}
