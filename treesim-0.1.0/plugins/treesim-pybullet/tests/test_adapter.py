"""PyBullet agrees with treesim on real robots, and each deliberate error makes the report fail."""

from __future__ import annotations

import numpy as np
import pytest

import treesim
from tests import layouts
from tests.compare.test_scenes import FINGERS, ON_PLANE, stool
from treesim.compare import ControlledAdapter, compare
from treesim.compare.scene_kinds import SCENES

PybulletAdapter = pytest.importorskip("treesim_pybullet.adapter", reason="needs pybullet").PybulletAdapter

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

ROBOTS = [
    ("panda", "fixed"), ("allegro_right_hand", "fixed"),
]  # fmt: skip
MORE = [("humanoid", "floating"), ("simple_humanoid", "floating"), ("ur5", "floating")]
SLOW = pytest.mark.slow
TYPES = ("revolute", "prismatic", "spherical")
FEW = {"states": 5, "steps": 0}


@pytest.mark.parametrize(("name", "base"), [*ROBOTS, *(pytest.param(*robot, marks=SLOW) for robot in MORE)])
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


@pytest.mark.parametrize("floating", [True, pytest.param(False, marks=SLOW)])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=SLOW)])
def test_random_trees_agree(seed, floating):
    report = compare(layouts.robot(seed, floating, TYPES), PybulletAdapter(), states=5, steps=300)
    assert report.passed, report.summary


def test_each_negative_control_is_noticed():
    report = compare("panda", PybulletAdapter(), base="fixed", controls=True, **FEW)
    found = {control.name: control for control in report.controls}
    assert len(found) == 6 and all(control.applies and control.noticed for control in found.values())
    assert found["mass of one body +0.1 %"].found == "mass (raw level) at body 'panda_link1'"
    assert found["sign of a product of inertia flipped"].found.startswith("inertia (raw level)")
    assert found["gyroscopic term left out"].found.startswith("bias (raw level)")
    assert found["default motors on"].found.startswith("inverse mass matrix (raw level)")
    assert found["URDF_MERGE_FIXED_LINKS on"].found == "com (raw level) at body 'panda_link7'"
    assert found["URDF_USE_INERTIA_FROM_FILE off"].found == "inertia (raw level) at body 'panda_link1'"
    assert report.passed


def test_default_motors_spare_the_mass_matrix():
    report = compare("ur5", PybulletAdapter(motors=True), base="fixed", **FEW)
    assert not report.passed and report.row("mass_matrix", "canonical").passed
    assert not report.row("forward_dynamics", "canonical").passed
    assert "motor" in report.summary


def test_merging_by_bullet_is_told():
    report = compare("panda", PybulletAdapter(merge=True), base="fixed", **FEW)
    assert not report.passed and any("MERGE" in change for change in report.changes["raw"])


def test_it_is_an_engine_adapter():
    assert isinstance(PybulletAdapter(), ControlledAdapter)


def test_planar_joints_are_refused():
    body = treesim.Body("plate", 0, treesim.Joint("slide", "planar"), treesim.Inertia(1.0, np.zeros(3), np.eye(3)))
    with pytest.raises(treesim.errors.UnsupportedError, match=r"planar.*'slide'"):
        compare(treesim.Tree("table", [body]), PybulletAdapter(), **FEW)


def test_in_a_process_of_its_own_it_says_the_same():
    here = compare("ur5", PybulletAdapter(), base="fixed", states=5, steps=10)
    apart = compare("ur5", "pybullet", base="fixed", states=5, steps=10)
    assert apart.rows == here.rows and apart.changes == here.changes


def test_a_robot_that_bullet_does_not_load_is_a_finding():
    class Other(PybulletAdapter):
        def read(self, robot, urdf, level):
            return super().read(robot, urdf.replace('"shoulder_pan_joint"', '"other"'), level)

    report = compare("ur5", Other(), base="fixed", **FEW)
    assert not report.passed and "Bullet has no joint 'shoulder_pan_joint'" in report.failures["canonical"]


@pytest.mark.parametrize(
    ("robot", "scenes"), [(FINGERS, SCENES.keys() - ON_PLANE - {"armature"}), (stool(), {"push_sliding"})]
)
def test_scenes_agree(robot, scenes):
    report = compare(robot, PybulletAdapter(), base="fixed", states=2, steps=0, scenes=sorted(scenes))
    assert report.passed, report.summary
    assert not scenes & report.skipped.keys()
