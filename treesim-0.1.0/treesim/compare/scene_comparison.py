"""Scenes in another engine: rows, reasons for what is left out, and negative controls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..errors import TreesimError, UnsupportedError
from ..model.tree import Tree
from .adapter import EngineAdapter, SimulatingAdapter
from .checks import summarized
from .diagnosis import NEVER_COMPARED
from .report import Control, Report, Row
from .results import EngineError
from .scene_checks import OwnRun, scene_rows, unsettled
from .scene_kinds import SCENES, with_joints
from .scenes import Scene, SceneRun
from .source import RobotSource

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


def _scaled(robot: Tree, label: str) -> Tree:
    return with_joints(robot, lambda joint: {label: WRONG * np.asarray(getattr(joint, label))})


def _gains(scene: Scene) -> Scene:
    return scene._replace(law=scene.law._replace(kp=WRONG * scene.law.kp))


def _torque(scene: Scene) -> Scene:
    return scene._replace(law=scene.law._replace(amplitude=WRONG * scene.law.amplitude))


def _limit(scene: Scene) -> Scene:
    """Return the scene with the limit's distance 10 % larger."""
    k = int(np.flatnonzero(scene.law.constant)[0])
    name = scene.robot.dof_joint(k)
    where = scene.robot.q_index[name]
    upper = scene.q0[where] + WRONG * (scene.robot.upper[where] - scene.q0[where])
    return scene._replace(robot=with_joints(scene.robot, lambda joint: {"upper": upper} if joint.name == name else {}))


def _multiplier(scene: Scene) -> Scene:
    return scene._replace(
        robot=with_joints(
            scene.robot,
            lambda joint: (
                {}
                if joint.mimic is None
                else {"mimic": replace(joint.mimic, multiplier=WRONG * joint.mimic.multiplier)}
            ),
        )
    )


def _friction(scene: Scene) -> Scene:
    assert scene.friction is not None
    return scene._replace(friction=WRONG * scene.friction)


def _weight(scene: Scene) -> Scene:
    return scene._replace(robot=_with_gravity(scene.robot, HEAVIER * scene.robot.gravity))


def _lateral(scene: Scene) -> Scene:
    return scene._replace(robot=_with_gravity(scene.robot, scene.robot.gravity * np.array([1, WRONG, 1])))


def _with_gravity(robot: Tree, gravity: np.ndarray) -> Tree:
    return with_joints(robot, lambda joint: {}, gravity, shapes=True)


ALTERED: dict[str, dict[str, Callable[[Scene], Scene]]] = {
    "torques": {"torques +10 %": _torque},
    "pd": {"PD gains +10 %": _gains},
    "damping": {"joint damping +10 %": lambda scene: scene._replace(robot=_scaled(scene.robot, "damping"))},
    "armature": {"armature +10 %": lambda scene: scene._replace(robot=_scaled(scene.robot, "armature"))},
    "limit": {"distance of the limit +10 %": _limit},
    "mimic": {"multiplier of mimic joints +10 %": _multiplier},
    "standing": {"weight +1 %": _weight},
    "push_held": {"lateral push +10 %": _lateral},
    "push_sliding": {"friction of the plane +10 %": _friction},
}
