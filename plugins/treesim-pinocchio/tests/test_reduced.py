"""`Tree.reduced` compared with Pinocchio's `buildReducedModel`, of models of both readers."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from treesim_pinocchio.layout import PinocchioLayout

import treesim
from treesim.urdf import installed_robots

pytestmark = pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")
PATHS = {entry.name: str(entry.path) for entry in installed_robots()}
LOCKED = {
    "ur5": ("elbow_joint", "wrist_3_joint"),
    "go2": ("FL_hip_joint", "RR_calf_joint", "RL_thigh_joint"),
    "panda": ("panda_joint2", "panda_finger_joint1"),
    "talos_reduced": ("torso_1_joint", "arm_left_4_joint", "leg_right_6_joint", "head_2_joint"),
    "g1_29dof_with_hand_rev_1_0": ("waist_yaw_joint", "left_hand_index_0_joint", "right_hand_thumb_1_joint"),
}


@pytest.mark.parametrize("reader", ["Pinocchio's", "treesim's"])
@pytest.mark.parametrize("name", LOCKED)
def test_mass_bias_and_frames_are_pinocchios(name, reader):
    floating = "root_joint" if name.startswith(("go", "talos", "g1")) else ""
    whole = treesim.load(name, base="floating" if floating else "fixed", mimic="free")
    base = (pin.JointModelFreeFlyer(),) if floating else ()
    model = treesim.to_pinocchio(whole) if reader == "treesim's" else pin.buildModelFromUrdf(PATHS[name], *base)
    p = whole.random(0)
    positions = {joint: p[whole.q_index[joint]] for joint in LOCKED[name]}
    robot = whole.reduced(positions)
    held, _ = treesim.convert_state(whole, p, np.zeros(whole.nv), to="pinocchio", model=model)
    theirs = pin.buildReducedModel(model, [model.getJointId(joint) for joint in positions], held)
    layout, data = PinocchioLayout(robot, theirs), theirs.createData()
    q, v = robot.random(1), np.random.default_rng(0).normal(size=robot.nv)
    x, xd = layout.configuration_to_engine(q), v[layout.v_order]
    M = pin.crba(theirs, data, x)
    M = np.triu(M) + np.triu(M, 1).T - np.diag(theirs.armature)
    ours = treesim.mass_matrix(robot, q) - np.diag(robot.armature)
    compared = [(ours[np.ix_(layout.v_order, layout.v_order)], M)]
    compared += [(treesim.bias_forces(robot, q, v)[layout.v_order], pin.nonLinearEffects(theirs, data, x, xd).copy())]
    pin.framesForwardKinematics(theirs, data, x)
    for frame in theirs.frames:
        if frame.name in robot.frames and frame.type != pin.JOINT:
            pose = data.oMf[theirs.getFrameId(frame.name, frame.type)].homogeneous
            compared.append((treesim.frame_pose(robot, q, frame.name), pose))
    assert len(compared) > robot.n_bodies
    for found, expected in compared:
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * max(1.0, np.abs(expected).max()))
