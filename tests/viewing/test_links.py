"""What is told of a link: its own numbers, those of its joint, and its place in the file."""

import json
from pathlib import Path

import pytest

import treesim
from treesim import Body, Inertia, Joint, Mimic, Tree
from treesim.viewing.links import link_facts


@pytest.fixture(scope="module")
def robot():
    return treesim.load("g1_29dof_rev_1_0", base="floating")


def test_every_body_is_told_with_its_mass_and_the_links_fixed_to_it(robot):
    facts = link_facts(robot)
    assert [body["name"] for body in facts] == ["base", *robot.body_names]
    assert sum(body["mass"] for body in facts) == pytest.approx(robot.mass, rel=1e-12)
    links = [link for body in facts for link in body["links"]]
    assert sorted([*links, *robot.body_names]) == sorted(robot.frame_names)
    assert json.loads(json.dumps(facts)) == facts


def test_joints_have_their_places_and_limits(robot):
    for body, facts in zip(robot.bodies, link_facts(robot)[1:], strict=True):
        joint = facts["joint"]
        q, v = robot.q_index[body.joint.name], robot.v_index[body.joint.name]
        assert joint["q"] == [q.start, q.stop] and joint["v"] == [v.start, v.stop]
        if body.joint.type == "revolute":
            limits = robot.lower[q.start], robot.upper[q.start], robot.effort_limit[v.start]
            assert (joint["lower"], joint["upper"], joint["effort"], joint["unit"]) == (*limits, "rad")
            assert joint["acceleration"] is joint["deceleration"] is joint["jerk"] is None
    assert link_facts(robot)[1]["joint"]["axis"] is None, "a floating joint has none"


def test_lines_are_those_of_the_file(robot):
    lines = Path(robot.notes[0].file).read_text().splitlines()
    for facts in link_facts(robot)[1:]:
        assert f'<link name="{facts["name"]}"' in lines[facts["line"] - 1]


def test_findings_are_told_on_the_link_that_they_concern(robot):
    found = {facts["name"]: facts["findings"] for facts in link_facts(robot) if facts["findings"]}
    assert list(found) == ["left_wrist_yaw_link", "right_wrist_yaw_link"], "which carry what the joints fix to them"
    for name, (text,) in found.items():
        assert name.split("_")[0] + "_hand_palm_joint" in text and "U212" in text


def test_a_joint_that_follows_has_no_coordinate_of_its_own():
    inertia = Inertia(1.0, rotational=[[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    joints = Joint("lead", "prismatic"), Joint("follow", "prismatic", mimic=Mimic("lead"))
    robot = Tree("pair", [Body(joint.name, 0, joint, inertia) for joint in joints])
    lead, follow = (facts["joint"] for facts in link_facts(robot)[1:])
    assert lead["forceUnit"] == "N" and lead["lower"] is None and lead["follows"] is None
    assert follow["follows"] == "lead" and "q" not in follow
