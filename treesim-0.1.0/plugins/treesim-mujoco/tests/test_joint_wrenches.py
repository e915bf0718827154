"""MuJoCo's `cfrc_int` are treesim's wrenches across joints and fixed joints."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from treesim_mujoco.layout import MujocoLayout
from treesim_mujoco.reading import free_of_constraints, stripped

import treesim
from treesim.compare.source import read as read_source
from treesim.testing.samples import random_state

ARMS = (
    "ur5",
    "ur10",
    "panda",
    "kinova",
    "baxter",
    "double_pendulum",
    "talos_arm",
    "tiago_pro",
    "alexander",
    "talos_box",
)
LEGGED = ("talos_full_v2", "talos_reduced", "solo12", "solo8", "simple_humanoid", "go2", "a1", "bolt", "centauro", "g1")
ROBOTS = [(name, "fixed") for name in ARMS] + [(name, "floating") for name in LEGGED]


def wrenches_of_mujoco(robot, urdf, state):
    """Return {link: wrench} of all links that are no root on a fixed base, force first, in the links' axes."""
    text, _ = stripped(urdf, floating=False)
    spec = mujoco.MjSpec.from_string(text.replace('fusestatic="true"', 'fusestatic="false"'))
    if robot.base == "floating":
        spec.body(robot.body_names[0]).add_freejoint()
    model = spec.compile()
    model.opt.gravity[:] = robot.gravity
    free_of_constraints(model)
    data, layout = mujoco.MjData(model), MujocoLayout(robot, model)
    data.qpos[:], data.qvel[:] = layout.configuration_to_engine(state.q), layout.velocity_to_engine(state.q, state.v)
    data.qfrc_applied[:] = layout.force_to_engine(state.q, state.tau)
    mujoco.mj_forward(model, data)
    mujoco.mj_rnePostConstraint(model, data)
    found = {}
    for b in range(1, model.nbody):
        moment, force = np.split(data.cfrc_int[b], 2)  # about the centre of mass of the whole robot
        moment = moment + np.cross(data.subtree_com[model.body_rootid[b]] - data.xpos[b], force)
        R = data.xmat[b].reshape(3, 3)
        found[model.body(b).name] = np.concatenate([R.T @ force, R.T @ moment])
    return found


@pytest.mark.parametrize(("name", "base"), ROBOTS)
def test_wrenches_are_mujocos(name, base):
    urdf = read_source(name, base).urdf
    robot = treesim.load(urdf, base=base, mimic="free")
    state = random_state(robot, 1)
    expected = wrenches_of_mujoco(robot, urdf, state)
    names = [link for link in (*robot.body_names, *(weld.link for weld in robot.welds)) if link in expected]
    assert len(names) >= robot.n_bodies
    assert not {*names} & {*robot.joint_names, *(weld.joint for weld in robot.welds)}  # joints come first
    found = treesim.joint_wrenches(robot, state.q, state.v, state.tau, joints=names)
    truth = np.array([expected[link] for link in names])
    assert np.abs(found - truth).max() < 1e-11 * np.abs(truth).max()
