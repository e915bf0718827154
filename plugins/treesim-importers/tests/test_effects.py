"""Numbers of effects: torques at rest against statics by hand, and against treesim's own gravity forces."""

import numpy as np
import pytest
from treesim_importers import readings
from treesim_importers.description import describe
from treesim_importers.effects import largest_torque
from treesim_importers.examples import SOUND, TOOL_INERTIAL

import treesim


def reading(text, reader, code):
    return next(found for found in readings(text, [reader]) if found.rule.code == code)


def test_a_phantom_kilogram_half_a_metre_out_pulls_with_its_weight_times_its_arm():
    assert (
        reading(SOUND.replace(TOOL_INERTIAL, ""), "pybullet", "PB10").effect
        == "+1 kg; 4.91 N m at rest in joint 'hinge'"
    )


def test_the_torque_is_the_difference_of_the_gravity_forces():
    """The weight of 1 kg more in the tool, by inverse dynamics at rest of the robots with and without it."""
    heavier = SOUND.replace(TOOL_INERTIAL, TOOL_INERTIAL.replace('"0.5"', '"1.5"'))
    at_rest = [
        treesim.inverse_dynamics(robot, robot.neutral(), np.zeros(1), np.zeros(1))
        for robot in (treesim.load(SOUND), treesim.load(heavier))
    ]
    torque, joint = largest_torque(describe(SOUND), {"tool": 1.0})
    assert joint == "hinge" and torque == pytest.approx(abs(at_rest[1][0] - at_rest[0][0]), rel=1e-12)


def test_a_prismatic_joint_along_gravity_feels_the_whole_weight():
    text = SOUND.replace('type="revolute"', 'type="prismatic"').replace('<axis xyz="0 1 0"/>', '<axis xyz="0 0 2"/>')
    assert largest_torque(describe(text), {"arm": 2.0}) == (pytest.approx(2 * 9.81), "hinge")


def test_weight_on_the_root_is_felt_by_no_joint():
    assert largest_torque(describe(SOUND), {"base": 3.0}) == (0.0, "")


def test_lost_bodies_and_freedom_are_counted():
    arm = SOUND.replace('<mass value="2"/>', '<mass value="0"/>').replace(TOOL_INERTIAL, "")
    assert reading(arm, "gazebo", "GZ09").effect == "nv 1 -> 0; 2 bodies fewer: 'arm', 'tool'"
    assert reading(SOUND, "drake", "DR17").effect == "nv 1 -> 7"
    assert reading(SOUND, "mujoco", "MJ14").effect == "1 body fewer: 'base'; -4 kg"


def test_a_body_without_shapes_has_in_bullet_the_inertia_of_a_small_box():
    """4 kg in a box of 1 mm to each side: m (2 mm)^2 / 6."""
    assert reading(SOUND, "pybullet", "PB11").effect == f"0.04 kg m^2 becomes {4 * 0.002**2 / 6:.3g}"


def test_impossible_moments_are_told():
    text = SOUND.replace('iyy="0.03" iyz="0" izz="0.03"', 'iyy="0.03" iyz="0" izz="0.08"')
    assert reading(text, "drake", "DR16").effect == "moments 0.02, 0.03, 0.08 kg m^2"


def test_torques_follow_quaternions_of_origins():
    turned = SOUND.replace('<origin xyz="0 0 0.2"/>', '<origin xyz="0 0 0.2" rpy="0.3 0 0"/>')
    half = 'quat_xyzw="0.149438132473599 0 0 0.988771077936042"'
    same = turned.replace('rpy="0.3 0 0"', half)
    torques = [largest_torque(describe(text), {"arm": 1.0})[0] for text in (SOUND, turned, same)]
    assert torques[0] > torques[1] + 0.1 and torques[2] == pytest.approx(torques[1], rel=1e-12)
    wrong = turned.replace('rpy="0.3 0 0"', f'rpy="0 0 0" {half}')
    assert largest_torque(describe(wrong), {"arm": 1.0})[0] == pytest.approx(torques[0], rel=1e-12)
