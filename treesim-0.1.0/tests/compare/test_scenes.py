"""Scenes: the same motion passes, numbers that are 10 % wrong are found, and what is not compared has a reason."""

from __future__ import annotations

import numpy as np
import pytest

import treesim
from tests.compare.test_checks import URDF, Mirror
from treesim.compare import Isolated, Scene, SimulatingAdapter, compare
from treesim.compare.scene_comparison import ALTERED
from treesim.compare.scene_kinds import SCENES
from treesim.compare.source import RobotSource
from treesim.compare.treesim_engine import TreesimEngine
from treesim.compare.treesim_scenes import simulate
from treesim.errors import ArgumentError, UnknownNameError

pytestmark = pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")
ON_PLANE = {"standing", "push_held", "push_sliding"}
FINGERS = """<robot name="fingers"><link name="base"/>
  <link name="one"><inertial><origin xyz="0 0.1 0.2"/><mass value="2"/>
    <inertia ixx="0.03" ixy="0" ixz="0" iyy="0.04" iyz="0" izz="0.02"/></inertial></link>
  <link name="two"><inertial><origin xyz="0 0 0.2"/><mass value="1"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.01"/></inertial></link>
  <joint name="first" type="revolute"><parent link="base"/><child link="one"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="0.8" effort="100" velocity="10"/></joint>
  <joint name="second" type="revolute"><parent link="base"/><child link="two"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="100" velocity="10"/><mimic joint="first" multiplier="0.5"/></joint>
</robot>"""


class Twin(TreesimEngine):
    """treesim itself as the other engine."""

    name = title = "twin"

    def __init__(self):
        super().__init__("semi_implicit_euler")

    def simulate(self, scene: Scene):
        return simulate(scene, "semi_implicit_euler")


def stool(half: float = 0.15) -> treesim.Tree:
    """Return a floating box with a mass above it on a joint; half: half its width [m]."""
    inertia = treesim.Inertia(2.0, (0, 0, 0), 0.02 * np.eye(3))
    shape = treesim.CollisionShape(1, treesim.Placement(), "box", size=(2 * half, 2 * half, 0.1), link="foot")
    up = treesim.Placement(translation=(0, 0.02, 0.2))
    bodies = [
        treesim.Body("foot", 0, treesim.Joint("root_joint", "floating"), inertia),
        treesim.Body("top", 1, treesim.Joint("hip", "revolute", placement=up, axis=(1, 0, 0)), inertia),
    ]
    return treesim.Tree("stool", bodies, shapes=[shape])


def ask(robot, engine, scenes, **options):
    return compare(robot, engine, **{"base": "fixed", "states": 2, "steps": 0, "scenes": scenes} | options)


@pytest.mark.parametrize(
    ("robot", "scenes"), [(FINGERS, [name for name in SCENES if name not in ON_PLANE]), (stool(), sorted(ON_PLANE))]
)
def test_the_same_motion_passes_and_every_error_is_noticed(robot, scenes):
    report = ask(robot, Twin(), scenes, controls=True)
    rows = {row.quantity: row for row in report.rows if row.level == "scene"}
    assert report.passed, report.summary
    assert {name for name in scenes if any(quantity.startswith(name) for quantity in rows)} == set(scenes)
    balances = [name for name in rows if name.endswith("_force")]
    assert all(row.largest == 0.0 for name, row in rows.items() if name not in balances)
    errors = {name for scene in scenes for name in ALTERED.get(scene, {})}
    assert errors <= {control.name for control in report.controls if control.noticed}


def test_what_is_not_compared_has_reasons():
    report = ask(URDF, Twin(), "all")
    reasons = {name: report.skipped[name] for name in ("limit", "mimic", "standing")}
    assert reasons == {
        "limit": "no joint has an upper limit",
        "mimic": "the robot has no mimic joints",
        "standing": "the base is fixed",
    }
    assert report.passed and "joint friction" in report.skipped and "joint friction" not in report.summary


def test_a_robot_that_falls_over_is_left_out():
    report = ask(stool(half=0.002), Twin(), "standing")
    assert report.skipped["standing"] == "in its neutral posture the robot falls over"


def test_an_adapter_without_scenes():
    assert not isinstance(Mirror(), SimulatingAdapter)
    assert ask(URDF, Mirror(), "pd").skipped["pd"] == "the adapter to mirror simulates no scenes"


def test_scenes_in_another_process():
    with Isolated(Twin()) as engine:
        assert ask(URDF, engine, ["pd"]).row("pd", "scene").largest == 0.0


def test_a_motion_that_is_not_finite_fails():
    class Broken(Twin):
        def simulate(self, scene):
            run = super().simulate(scene)
            run.q[-1] = np.nan
            return run

    report = ask(URDF, Broken(), "pd")
    assert not report.passed and "first on pd (scene level) at step 500: is not a number" in report.summary


@pytest.mark.parametrize(
    ("scenes", "error", "message"),
    [("walk", UnknownNameError, "unknown scene 'walk'.*torques"), (3, ArgumentError, "scenes must be a sequence")],
)
def test_scenes_must_be_known(scenes, error, message):
    with pytest.raises(error, match=message):
        ask(URDF, Twin(), scenes)


def test_the_law_is_that_of_the_docstring():
    scene = SCENES["pd"](RobotSource(treesim.load(FINGERS, mimic="free")), 0)
    law = scene.law._replace(constant=np.array([1.0, 2.0]), amplitude=np.array([3.0, 0.0]), frequency=0.25)
    q, v = scene.q0, np.array([0.5, -0.5])
    expected = [1 + 3, 2] + law.kp * (law.posture - q) - law.kd * v
    np.testing.assert_allclose(law.torque(scene.robot, 1.0, q, v), expected)
