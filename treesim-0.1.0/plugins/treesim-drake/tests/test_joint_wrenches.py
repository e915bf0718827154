"""Drake's reaction forces are treesim's wrenches across joints and fixed joints."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="needs the package drake")
from treesim_drake.adapter import DrakeAdapter
from treesim_drake.reading import link_name

import treesim
from treesim.compare.source import read as read_source
from treesim.testing.samples import random_state

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
# not anymal, bolt and hyq, whose inertias Drake would replace; nor romeo, which Drake cannot accelerate; nor icub,
# whose mass matrix has condition number 8e7: its wrenches differ by 3e-9
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
LEGGED = (
    "talos_full_v2",
    "talos_reduced",
    "solo12",
    "solo8",
    "simple_humanoid",
    "go2",
    "a1",
    "laikago",
    "centauro",
    "g1",
)


def wrenches_of_drake(robot, urdf, state):
    """Return {link: wrench} of all links but the world's, force first, in the links' axes."""
    model = DrakeAdapter().read(robot, urdf, "raw")
    plant, layout = model.plant, model.layout
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, layout.configuration_to_engine(state.q))
    plant.SetVelocities(context, layout.velocity_to_engine(state.q, state.v))
    forces = layout.force_to_engine(state.q, state.tau)
    plant.get_applied_generalized_force_input_port().FixValue(context, forces)
    reactions = plant.get_reaction_forces_output_port().Eval(context)  # on the children, in the joints' frames M
    found = {}
    for index, wrench in zip(plant.GetJointIndices(), reactions, strict=True):
        joint = plant.get_joint(index)
        assert joint.frame_on_child().GetFixedPoseInBodyFrame().IsExactlyIdentity()  # M is the link's frame
        found[joint.child_body().name()] = np.concatenate([wrench.translational(), wrench.rotational()])
    return found


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("name", ARMS + LEGGED)
def test_wrenches_are_drakes(name, base):
    source = read_source(name, base)
    robot, state = source.robot, random_state(source.robot, 1)
    expected = wrenches_of_drake(robot, source.urdf, state)
    links = [link for link in (*robot.body_names, *(weld.link for weld in robot.welds)) if link_name(link) in expected]
    assert len(links) == len(expected) and {*robot.body_names} <= {*links}
    assert not {*links} & {*robot.joint_names, *(weld.joint for weld in robot.welds)}  # joints come first
    found = treesim.joint_wrenches(robot, state.q, state.v, state.tau, joints=links)
    truth = np.array([expected[link_name(link)] for link in links])
    errors, sizes = np.abs(found - truth).max(axis=1), np.abs(truth).max(axis=1)
    assert np.all(errors <= 1e-11 * sizes)  # relative to the largest component of each wrench
