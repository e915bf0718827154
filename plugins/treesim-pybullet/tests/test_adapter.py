"""PyBullet agrees with treesim on real robots, and each deliberate fault makes the report fail."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import numpy as np
import pytest
from treesim_pybullet.adapter import PybulletAdapter, _failure

import treesim
from tests import layouts
from treesim.compare import CANONICAL, EngineAdapter, EngineError, RobotSource, compare
from treesim.compare.checks import compare_source
from treesim.compare.source import read
from treesim.compare.treesim_engine import TreesimEngine, TreesimModel

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

ROBOTS = [
    ("simple_humanoid", "floating"), ("talos_full_v2", "floating"), ("humanoid", "floating"), ("ur5", "floating"),
    ("ur5", "fixed"), ("panda", "fixed"), ("kuka_iiwa", "fixed"), ("anymal_c", "floating"),
    ("allegro_right_hand", "fixed"),
]  # fmt: skip
TYPES = ("revolute", "prismatic", "spherical")
FEW = {"states": 5, "steps": 0}


@pytest.mark.parametrize(("name", "base"), ROBOTS)
def test_agrees(name, base):
    report = compare(name, PybulletAdapter(), base=base, states=10)
    assert report.passed, report.summary
    assert report.row("trajectory", "canonical").states == 1000
    assert report.sha256 and report.base == base


def test_spherical_joints_leave_out_what_bullet_gets_wrong():
    report = compare("humanoid", PybulletAdapter(), **FEW)
    assert {"mass_matrix", "bias", "inverse_dynamics"} <= report.skipped.keys()
    assert report.row("inverse_mass_matrix", "canonical").passed


def test_impossible_inertias_leave_out_what_bullet_refuses():
    report = compare("allegro_right_hand", PybulletAdapter(), base="fixed", **FEW)
    assert "no solid body" in report.skipped["mass_matrix (raw level)"]
    assert report.row("inertia", "raw").passed and report.row("inverse_mass_matrix", "raw").passed
    assert report.row("mass_matrix", "canonical").passed


def test_a_hand_built_robot_is_compared_at_the_canonical_level():
    report = compare(treesim.load("ur5", base="fixed"), PybulletAdapter(), **FEW)
    assert report.passed and {row.level for row in report.rows} == {"canonical"}
    assert "raw level" in report.skipped


@pytest.mark.parametrize("floating", [True, False])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_random_trees_agree(seed, floating):
    report = compare(layouts.robot(seed, floating, TYPES), PybulletAdapter(), states=5, steps=300)
    assert report.passed, report.summary


@pytest.fixture(scope="module")
def described() -> RobotSource:
    return read("simple_humanoid", "floating")


def tampered(described: RobotSource, name: str, change) -> RobotSource:
    """The same file, beside a Tree in which one body's inertia was changed."""
    bodies = [
        replace(body, inertia=change(body.inertia)) if body.name == name else body for body in described.robot.bodies
    ]
    return replace(described, robot=treesim.Tree("tampered", bodies))


def test_a_mass_off_by_a_thousandth_fails(described):
    name = described.robot.body_names[5]
    wrong = tampered(described, name, lambda inertia: replace(inertia, mass=1.001 * inertia.mass))
    report = compare_source(wrong, PybulletAdapter(), **FEW)
    assert not report.passed
    assert not report.row("mass", "raw").passed and not report.row("mass_matrix", "raw").passed
    assert repr(name) in report.summary and "mass" in report.summary


def test_a_flipped_product_of_inertia_fails():
    def flip(inertia):
        return replace(inertia, rotational=inertia.rotational * np.array([[1, -1, 1], [-1, 1, 1], [1, 1, 1]]))

    wrong = tampered(read("panda", "fixed"), "panda_link2", flip)
    report = compare_source(wrong, PybulletAdapter(), **FEW)
    assert not report.passed and not report.row("inertia", "raw").passed
    assert "'panda_link2'" in report.summary and "off-diagonal" in report.summary


class ModelWithoutGyroscopicTerm(TreesimModel):
    """treesim, had it forgotten w x I w in the equation of motion."""

    def evaluate(self, states):
        results = super().evaluate(states)
        missing = np.array([gyroscopic(self.robot, q, v) for q, v in zip(states.q, states.v, strict=True)])
        values = dict(results.values)
        values["bias"] = values["bias"] - missing
        values["inverse_dynamics"] = values["inverse_dynamics"] - missing
        values["forward_dynamics"] = values["forward_dynamics"] + np.linalg.solve(
            values["mass_matrix"], missing[..., None]
        ).squeeze(-1)
        return replace(results, values=values)


class WithoutGyroscopicTerm(TreesimEngine):
    def read(self, robot, urdf="", level=CANONICAL):
        return ModelWithoutGyroscopicTerm(robot, self.integrator)


def gyroscopic(robot, q, v):
    total = np.zeros(robot.nv)
    for body in robot.bodies:
        J = treesim.frame_jacobian(robot, q, body.name, reference="local")[3:]
        w = J @ v
        total += J.T @ np.cross(w, body.inertia.rotational @ w)
    return total


def test_a_forgotten_gyroscopic_term_fails():
    report = compare_source(read("panda", "fixed"), PybulletAdapter(), own=WithoutGyroscopicTerm("bullet"), **FEW)
    assert not report.passed
    for level in ("raw", "canonical"):
        assert report.row("mass_matrix", level).passed and not report.row("bias", level).passed
        assert not report.row("forward_dynamics", level).passed
    assert "gyroscopic" in report.summary


def test_default_motors_fail(described):
    report = compare_source(described, PybulletAdapter(motors=True), **FEW)
    assert not report.passed and report.row("mass_matrix", "canonical").passed
    assert not report.row("forward_dynamics", "canonical").passed
    assert "motor" in report.summary


def test_merging_by_bullet_fails():
    report = compare("panda", PybulletAdapter(merge=True), base="fixed", **FEW)
    assert not report.passed
    assert any("MERGE" in change for change in report.changes["raw"])


def test_it_is_an_engine_adapter():
    assert isinstance(PybulletAdapter(), EngineAdapter)


def test_planar_joints_are_refused():
    body = treesim.Body("plate", 0, treesim.Joint("slide", "planar"), treesim.Inertia(1.0, np.zeros(3), np.eye(3)))
    with pytest.raises(treesim.errors.UnsupportedError, match=r"planar.*'slide'"):
        compare(treesim.Tree("table", [body]), PybulletAdapter(), **FEW)


def test_running_out_of_time_is_said():
    with pytest.raises(EngineError, match=r"did not finish .* in 0\.01 s"):
        compare("ur5", PybulletAdapter(timeout=0.01), **FEW)


def test_a_crash_is_said():
    crashed = subprocess.CompletedProcess([], returncode=-11, stdout="", stderr="")
    assert _failure(crashed) == "Bullet crashed (SIGSEGV)"
