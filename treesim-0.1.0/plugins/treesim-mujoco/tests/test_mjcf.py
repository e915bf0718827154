"""Robot in MuJoCo's own format compared with its URDF: equal as converted by MuJoCo, and every change is found."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from treesim_mujoco.mjcf import MujocoFile

import treesim
from treesim.compare import OtherRobot, compare_robots, find_engine
from treesim.compare.two_robots import FileReader
from treesim.errors import UnsupportedError
from treesim.urdf import to_urdf

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def converted():
    """Return MuJoCo's own conversion of ur5, which merges links on fixed joints."""
    robot = treesim.load("ur5")
    spec = mujoco.MjSpec.from_string(to_urdf(robot, principal=True, shapes=False))
    spec.compile()
    return spec


@pytest.fixture
def compared(converted, tmp_path):
    def compared(change=lambda spec: None, first="ur5", base="fixed"):
        spec = converted.copy()
        change(spec)
        spec.compile()
        path = tmp_path / "robot.xml"
        path.write_text(spec.to_xml())
        return compare_robots(first, f"mujoco:{path}", base=base, states=4)

    return compared


def joint(spec, name):
    return next(joint for joint in spec.joints if joint.name == name)


def body_of(spec, name):
    return joint(spec, name).parent


def kinds(found):
    return {(one.kind, one.owner) for one in found.causes.explanations}


def test_what_mujoco_converted_is_the_robot(compared):
    found = compared()
    assert all(row.passed for row in found.rows if row.quantity not in ("lower", "upper", "effort_limit")), (
        found.summary
    )
    assert not found.only_first and not found.only_second and not found.frames


def test_armature_and_damping_are_findings(compared):
    def change(spec):
        for each in spec.joints:
            each.armature, each.damping = 0.1, [0.5, 0.0, 0.0] if np.ndim(each.damping) else 0.5

    found = compared(change)
    armature, damping = (
        next(one for one in found.causes.explanations if one.kind == kind) for kind in ("armature", "damping")
    )
    assert "0.1 instead of 0" in armature.cause and "0.5 instead of 0" in damping.cause
    assert armature.owner.startswith("6 joints") and armature.effect > 0 and damping.effect > 0


def test_a_mass_and_an_axis_are_led_back_to_the_urdf(compared):
    def change(spec):
        body_of(spec, "elbow_joint").mass *= 1.1
        joint(spec, "wrist_1_joint").axis = -np.array(joint(spec, "wrist_1_joint").axis)

    found = compared(change)
    assert found.causes.complete
    assert {("mass", "link 'forearm_link'"), ("axis_flipped", "joint 'wrist_1_joint'")} <= kinds(found)
    assert all(one.place.startswith("ur5_robot.urdf:") for one in found.causes.explanations)


def test_gravity_and_springs_of_the_file_are_found(compared):
    def change(spec):
        spec.option.gravity = [0, 0, 0]

    assert ("gravity_zero", "the robot") in kinds(compared(change))

    def sprung(spec):
        each = joint(spec, "elbow_joint")
        each.stiffness = [3.0, 0.0, 0.0] if np.ndim(each.stiffness) else 3.0

    assert ("spring", "joint 'elbow_joint'") in kinds(compared(sprung))


def test_a_body_s_frame_may_lie_elsewhere(compared):
    """The last body's frame is moved along its joint's axis; MuJoCo's joint stays in place."""

    def change(spec):
        body = body_of(spec, "wrist_3_joint")
        axis = np.array(joint(spec, "wrist_3_joint").axis)
        body.pos = np.array(body.pos) + 0.1 * axis
        body.ipos = np.array(body.ipos) - 0.1 * axis

    found = compared(change)
    assert list(found.frames) == ["wrist_3_link"] and "pose" not in found.summary


def test_joints_of_the_file_that_the_urdf_has_not_are_held(compared):
    """A ball of 0.2 kg on a hinge of its own then belongs to the last body."""

    def change(spec):
        ball = body_of(spec, "wrist_3_joint").add_body(name="ball", pos=[0, 0, 0.1])
        ball.add_joint(name="ball_joint", axis=[1, 0, 0])
        ball.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.02, 0, 0], mass=0.2)

    found = compared(change)
    assert found.only_second == ("ball_joint",) and found.causes.complete
    (cause,) = (one for one in found.causes.explanations if one.kind == "inertial")
    assert cause.owner == "link 'wrist_3_link'" and "0.3879 instead of 0.1879 kg" in cause.cause


def test_a_floating_base_has_its_free_joint(compared):
    robot = treesim.load("ur5", base="floating")
    found = compared()
    assert found.base == "fixed"
    found = compared(base="floating")
    assert found.only_first == ("root_joint",) and found.base == "fixed"
    assert robot.joint_names[0] == "root_joint"


def test_it_is_what_compare_asks_for(converted, tmp_path):
    path = tmp_path / "robot.xml"
    path.write_text(converted.to_xml())
    engine = find_engine("mujoco")
    assert isinstance(engine, FileReader)
    found: OtherRobot = engine.open_file(str(path))
    assert isinstance(found, MujocoFile) and found.joints["elbow_joint"] == "revolute"


@pytest.mark.parametrize("text", [None, "<mujoco><worldbody><body/></mujoco>"])
def test_what_mujoco_cannot_read_is_said(tmp_path, text):
    path = tmp_path / "robot.xml"
    if text:
        path.write_text(text)
    with pytest.raises(UnsupportedError, match=r"MuJoCo cannot read .*robot\.xml"):
        MujocoFile(str(path))
