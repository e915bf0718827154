"""What programs beside a compiled step are told of its robot."""

import json

import numpy as np
import pytest

import treesim
from tests import coupled, trees
from treesim.export.description import description
from treesim.kernels.stepping.rules import RULES
from treesim.simulation.step_settings import lightest, substeps_of


@pytest.mark.parametrize("robot", [trees.on_floating_base(trees.tree("random_a")), coupled.coupled(1)], ids=["a", "b"])
def test_joints_are_those_with_one_coordinate_of_their_own(robot):
    facts = json.loads(json.dumps(description(robot)))
    free = [body.joint.name for body in robot.bodies if body.joint.nq == 1 and body.joint.mimic is None]
    assert [joint["name"] for joint in facts["joints"]] == free
    for joint in facts["joints"]:
        assert robot.q_index[joint["name"]] == slice(joint["q"], joint["q"] + 1)
        assert robot.v_index[joint["name"]] == slice(joint["v"], joint["v"] + 1)
    assert len(facts["bodies"]) == len(facts["masses"]) == robot.n_bodies + 1
    assert sum(facts["masses"]) == pytest.approx(robot.mass)
    np.testing.assert_array_equal(facts["lightest"], lightest(robot))
    poses = treesim.body_poses(robot, robot.neutral())
    places = poses[:, :3, 3] + np.einsum("bij,bj->bi", poses[:, :3, :3], facts["centres"])
    centre = facts["masses"] @ places / robot.mass
    np.testing.assert_allclose(centre, treesim.center_of_mass(robot, robot.neutral()), atol=1e-12)


def test_limits_are_numbers_or_none():
    facts = description(treesim.load("panda"))
    limits = {joint["name"]: (joint["lower"], joint["upper"], joint["unit"]) for joint in facts["joints"]}
    assert limits["panda_finger_joint1"][2] == "m"
    assert all(lower is None or lower < upper for lower, upper, _ in limits.values())
    assert all(np.isfinite(facts["effort"]))


@pytest.mark.parametrize("dt", [1e-4, 1e-3, 7e-3])
@pytest.mark.parametrize("rule", RULES)
def test_substeps_follow_from_the_longest(rule, dt):
    robot = treesim.load("ur5")
    longest = description(robot)["longest"].get(rule, np.inf)
    assert max(1, np.ceil(dt / longest - 1e-9)) == substeps_of(robot, RULES[rule], dt, None)
