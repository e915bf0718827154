"""PyBullet agrees with treesim on real robots, and each deliberate fault makes the report fail."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import numpy as np
import pytest
from treesim_pybullet.referee import PybulletReferee, _failure

import treesim
from treesim.compare import Referee, RefereeError, compare
from treesim.compare.checks import compare_described
from treesim.compare.own import Own
from treesim.compare.source import Described, read
from treesim.model.generators import random_tree

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

ROBOTS = [
    ("simple_humanoid", "floating"), ("talos_full_v2", "floating"), ("humanoid", "floating"), ("ur5", "floating"),
    ("ur5", "fixed"), ("panda", "fixed"), ("kuka_iiwa", "fixed"), ("anymal_c", "floating"),
    ("allegro_right_hand", "fixed"),
]  # fmt: skip
FEW = {"states": 5, "steps": 0}


@pytest.mark.parametrize(("name", "base"), ROBOTS)
def test_agrees(name, base):
    report = compare(name, PybulletReferee(), base=base, states=10)
    assert report.passed, report.verdict
    assert report.row("trajectory", "canonical").states == 1000
    assert report.sha256 and report.base == base


def test_spherical_joints_leave_out_what_bullet_gets_wrong():
    report = compare("humanoid", PybulletReferee(), **FEW)
    assert {"mass_matrix", "bias", "inverse_dynamics"} <= report.skipped.keys()
    assert report.row("inverse_mass_matrix", "canonical").passed


def test_impossible_inertias_leave_out_what_bullet_refuses():
    report = compare("allegro_right_hand", PybulletReferee(), base="fixed", **FEW)
    assert "no solid body" in report.skipped["mass_matrix (raw tier)"]
    assert report.row("inertia", "raw").passed and report.row("inverse_mass_matrix", "raw").passed
    assert report.row("mass_matrix", "canonical").passed


def test_a_hand_built_robot_is_compared_in_the_canonical_tier():
    report = compare(treesim.load("ur5", base="fixed"), PybulletReferee(), **FEW)
    assert report.passed and {row.tier for row in report.rows} == {"canonical"}
    assert "raw tier" in report.skipped


def random_robot(seed: int, floating: bool) -> treesim.Tree:
    """A tree that is not numbered depth-first, with every joint type Bullet has and inertial axes turned anyhow."""
    fixed = random_tree(np.random.default_rng(seed), 7, ("revolute", "prismatic", "spherical"))
    if not floating:
        return treesim.Tree("random", fixed.bodies)
    hull = replace(fixed.bodies[0], name="hull", joint=treesim.Joint("root_joint", "floating"))
    return treesim.Tree("random", [hull, *(replace(body, parent=body.parent + 1) for body in fixed.bodies)])


@pytest.mark.parametrize("floating", [True, False])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_random_trees_agree(seed, floating):
    report = compare(random_robot(seed, floating), PybulletReferee(), states=5, steps=300)
    assert report.passed, report.verdict


@pytest.fixture(scope="module")
def described() -> Described:
    return read("simple_humanoid", "floating")


def tampered(described: Described, name: str, change) -> Described:
    """The same file, beside a Tree in which one body's inertia was changed."""
    bodies = [
        replace(body, inertia=change(body.inertia)) if body.name == name else body for body in described.robot.bodies
    ]
    return replace(described, robot=treesim.Tree("tampered", bodies))


def test_a_mass_off_by_a_thousandth_fails(described):
    name = described.robot.body_names[5]
    wrong = tampered(described, name, lambda inertia: replace(inertia, mass=1.001 * inertia.mass))
    report = compare_described(wrong, PybulletReferee(), **FEW)
    assert not report.passed
    assert not report.row("mass", "raw").passed and not report.row("mass_matrix", "raw").passed
    assert repr(name) in report.verdict and "mass" in report.verdict


def test_a_flipped_product_of_inertia_fails():
    def flip(inertia):
        return replace(inertia, rotational=inertia.rotational * np.array([[1, -1, 1], [-1, 1, 1], [1, 1, 1]]))

    wrong = tampered(read("panda", "fixed"), "panda_link2", flip)
    report = compare_described(wrong, PybulletReferee(), **FEW)
    assert not report.passed and not report.row("inertia", "raw").passed
    assert "'panda_link2'" in report.verdict and "off-diagonal" in report.verdict


class WithoutGyroscopicTerm(Own):
    """treesim, had it forgotten w x I w in the equation of motion."""

    def answer(self, question):
        answers = super().answer(question)
        missing = np.array([gyroscopic(question.robot, q, v) for q, v in zip(question.q, question.v, strict=True)])
        values = dict(answers.values)
        values["bias"] = values["bias"] - missing
        values["inverse_dynamics"] = values["inverse_dynamics"] - missing
        values["forward_dynamics"] = values["forward_dynamics"] + np.linalg.solve(
            values["mass_matrix"], missing[..., None]
        ).squeeze(-1)
        return replace(answers, values=values)


def gyroscopic(robot, q, v):
    total = np.zeros(robot.nv)
    for body in robot.bodies:
        J = treesim.frame_jacobian(robot, q, body.name, reference="local")[3:]
        w = J @ v
        total += J.T @ np.cross(w, body.inertia.rotational @ w)
    return total


def test_a_forgotten_gyroscopic_term_fails():
    report = compare_described(read("panda", "fixed"), PybulletReferee(), own=WithoutGyroscopicTerm("bullet"), **FEW)
    assert not report.passed
    for tier in ("raw", "canonical"):
        assert report.row("mass_matrix", tier).passed and not report.row("bias", tier).passed
        assert not report.row("forward_dynamics", tier).passed
    assert "gyroscopic" in report.verdict


def test_default_motors_fail(described):
    report = compare_described(described, PybulletReferee(motors=True), **FEW)
    assert not report.passed and report.row("mass_matrix", "canonical").passed
    assert not report.row("forward_dynamics", "canonical").passed
    assert "motor" in report.verdict


def test_merging_by_bullet_fails():
    report = compare("panda", PybulletReferee(merge=True), base="fixed", **FEW)
    assert not report.passed
    assert any("MERGE" in change for change in report.changes["raw"])


def test_it_is_a_referee():
    assert isinstance(PybulletReferee(), Referee)


def test_planar_joints_are_refused():
    body = treesim.Body("plate", 0, treesim.Joint("slide", "planar"), treesim.Inertia(1.0, np.zeros(3), np.eye(3)))
    with pytest.raises(treesim.errors.UnsupportedError, match=r"planar.*'slide'"):
        compare(treesim.Tree("table", [body]), PybulletReferee(), **FEW)


def test_running_out_of_time_is_said():
    with pytest.raises(RefereeError, match=r"did not finish .* in 0\.01 s"):
        compare("ur5", PybulletReferee(timeout=0.01), **FEW)


def test_a_crash_is_said():
    crashed = subprocess.CompletedProcess([], returncode=-11, stdout="", stderr="")
    assert _failure(crashed) == "Bullet crashed (SIGSEGV)"
