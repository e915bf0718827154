"""Robots that stand, are pushed and fall on a plane: large residuals have a warning, and every robot has a row."""

import numpy as np
import pytest
from treesim_lab.bench.contact_runs import SCENES, ContactSettings, contact_runs, holding_gains, scene_controller
from treesim_lab.bench.contact_survey import contact_survey

import treesim
from treesim.contact import unsolved

LINK = """<link name="{name}"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
 <inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>{shape}</link>"""
SHAPE = '<collision><origin xyz="0.2 0 0"/><geometry><{kind}/></geometry></collision>'
BOX, BALL = SHAPE.format(kind='box size="0.4 0.3 0.1"'), SHAPE.format(kind='sphere radius="0.05"')
HINGE = """<joint name="hinge" type="revolute"><parent link="trunk"/><child link="limb"/><origin xyz="0.3 0 0"/>
 <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="100" velocity="9"/></joint>"""
RULES = ("implicit_midpoint", "semi_implicit_euler")


@pytest.fixture
def make(tmp_path):
    """Return a function that writes a trunk, alone or with a limb, with given shapes, and returns the file's path."""

    def written(name, trunk, limb=None):
        links = LINK.format(name="trunk", shape=trunk)
        links += "" if limb is None else LINK.format(name="limb", shape=limb) + HINGE
        path = tmp_path / f"{name}.urdf"
        path.write_text(f'<robot name="{name}">{links}</robot>')
        return str(path)

    return written


def unsolved_without_a_word(rows):
    """Return the runs without a ContactWarning whose residual exceeds its limit or is NaN."""
    found = [(row, max(row.residual, row.position_residual or 0.0)) for row in rows if row.steps and not row.warning]
    return [row for row, residual in found if not residual <= unsolved.UNSOLVED]


@pytest.mark.slow
def test_every_scene_rule_and_base_has_a_row_in_order(make):
    """Robots: a box without joints, one with a limb, and one without shapes, whose row contains the reason."""
    robots = [make("box", BOX), make("limb", BOX, BALL), make("bare", "", "")]
    rows = contact_survey(robots, settings=ContactSettings(duration=0.1))
    assert [(row.robot, row.base, row.scene, row.integrator) for row in rows if row.steps] == [
        *(("box", "floating", scene, rule) for scene in SCENES for rule in RULES),
        *(("limb", "floating", scene, rule) for scene in SCENES for rule in RULES),
        *(("limb", "fixed", "falls", rule) for rule in RULES),
    ]
    assert not unsolved_without_a_word(rows)
    assert all(row.contacts > 0 and row.steps == 100 and row.step_s > 0 and not row.why for row in rows if row.steps)
    assert {row.penetration < 1e-9 for row in rows if row.scene == "stands"} == {True}
    reasons = {(row.robot.rpartition("/")[2], row.base): row.why for row in rows if not row.steps}
    assert reasons.keys() == {("box.urdf", "fixed"), ("bare.urdf", "floating"), ("bare.urdf", "fixed")}
    assert "nothing of it can move" in reasons["box.urdf", "fixed"]
    assert all("nothing to touch the ground with" in reasons["bare.urdf", base] for base in ("floating", "fixed"))


def test_a_robot_that_takes_too_long_is_a_row_and_those_after_it_run(make):
    rows = contact_survey([make("box", BOX)] * 2, ["floating"], ContactSettings(duration=0.01), timeout=1e-3)
    assert [row.why for row in rows] == ["the process did not finish the robot in 0.001 s"] * 2
    (row,) = contact_survey([make("none", BOX) + "x"], ["floating"])
    assert "none.urdfx" in row.why and row.steps == 0


def test_a_file_that_is_refused_is_a_row_without_its_folder(make, tmp_path):
    (row,) = contact_runs(make("split", BOX + '</link><link name="loose">'), "floating", ContactSettings())
    assert row.why.startswith("the file is refused: U2") and str(tmp_path) not in row.why


def test_warnings_are_in_their_rows(make, monkeypatch):
    """Negative control: if no residual is allowed, every run has a warning."""
    settings = ContactSettings(RULES[:1], duration=0.02)
    assert not any(row.warning for row in contact_runs(make("limb", BOX, BALL), "floating", settings))
    monkeypatch.setattr(unsolved, "UNSOLVED", -1.0)
    rows = contact_runs(make("limb", BOX, BALL), "floating", settings)
    assert len(rows) == 3 and all("contact was not solved in" in row.warning for row in rows)


def test_gains_carry_the_weight(make):
    """Gains of ten weights times the height of the centre of mass: the limb sags by less than 0.1 rad."""
    robot = treesim.load(make("limb", BOX, BALL), base="floating")
    q = robot.standing(robot.neutral())
    kp = holding_gains(robot, q)
    assert kp[-1] == pytest.approx(10 * robot.mass * 9.81 * treesim.center_of_mass(robot, q)[2])
    pushed = scene_controller("pushed", robot, q)
    assert pushed.torque(0.35, q, np.zeros(7))[1] == pytest.approx(robot.mass * 9.81 / 2)
    assert not np.any(scene_controller("falls", robot, q).torque(0.35, q, np.zeros(7)))


def test_a_mimic_joint_is_held_by_the_joint_that_it_follows(make, tmp_path):
    """A mimic joint has no coordinates and no gains; a prismatic joint has gains of ten weights over the height."""
    path = tmp_path / "gripper.urdf"
    sliding = HINGE.replace("hinge", "slide").replace("revolute", "prismatic").replace('"limb"', '"finger"')
    mimic = (
        HINGE.replace('"hinge"', '"tied"')
        .replace('"limb"', '"tip"')
        .replace("</joint>", '<mimic joint="hinge"/></joint>')
    )
    links = "".join(LINK.format(name=name, shape=BALL) for name in ("trunk", "limb", "finger", "tip"))
    path.write_text(f'<robot name="gripper">{links}{HINGE}{sliding}{mimic}</robot>')
    robot = treesim.load(path, base="floating")
    q = robot.standing(robot.neutral())
    kp, length = holding_gains(robot, q), treesim.center_of_mass(robot, q)[2]
    assert kp.shape == (8,)
    assert kp[robot.v_index["slide"]] == pytest.approx(10 * robot.mass * 9.81 / length)
    (row,) = [
        r for r in contact_runs(str(path), "floating", ContactSettings(RULES[:1], duration=0.02)) if r.scene == "stands"
    ]
    assert row.steps == 20 and row.residual <= unsolved.UNSOLVED


@pytest.mark.slow
def test_no_residual_of_installed_robots_is_large_without_a_warning():
    robots = ["icub_reduced", "icub", "g1_29dof_rev_1_0", "talos", "anymal", "simple_humanoid", "ur5", "r2d2"]
    rows = contact_survey(robots, ["floating"])
    assert len(rows) == 6 * len(robots) and all(row.steps == 1000 for row in rows)
    assert not unsolved_without_a_word(rows)
