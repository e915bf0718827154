"""Drake agrees with treesim on real robots and random trees, and inertias that it would replace are rejected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="needs the package drake")
from treesim_drake.adapter import DrakeAdapter
from treesim_drake.reading import stripped

import treesim
from tests import layouts
from treesim import testing
from treesim.compare import EngineAdapter, EngineError, Isolated, compare
from treesim.compare.drake import DrakeLayout
from treesim.compare.source import canonical, without_losses
from treesim.errors import UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
TYPES = ("revolute", "continuous", "prismatic", "planar")
ROBOTS = [("panda", "fixed"), ("ur5", "fixed"), ("ur5", "floating"), ("g1_29dof_rev_1_0", "floating"),
          ("talos_reduced", "floating"), ("a1", "floating")]  # fmt: skip
FEW = {"states": 5, "steps": 0}
INERTIA = treesim.Inertia(1.0, (0.1, 0.0, 0.0), np.eye(3) * 0.01)


def read(robot):
    """Return a robot in Drake at the canonical level."""
    bare = without_losses(robot)
    return DrakeAdapter().read(bare, canonical(bare), "canonical")


def a_link(name, inertia, type_="revolute"):
    return treesim.Tree("one", [treesim.Body(name, 0, treesim.Joint("hinge", type_), inertia)])


def test_it_is_an_engine_adapter():
    assert isinstance(DrakeAdapter(), EngineAdapter)
    assert testing.check_engine(DrakeAdapter()).failures == ()


@pytest.mark.parametrize(("name", "base"), ROBOTS)
def test_agrees(name, base):
    report = compare(name, DrakeAdapter(), base=base, **FEW)
    assert report.passed, report.summary
    assert len(report.rows) == 18 and {row.level for row in report.rows} == {"raw", "canonical"}


@pytest.mark.parametrize("floating", [True, False])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_random_trees_agree(seed, floating):
    report = compare(layouts.robot(seed, floating, TYPES), DrakeAdapter(), **FEW)
    assert report.passed, report.summary


@pytest.mark.parametrize("name", ["g1_29dof_rev_1_0", "ur5"])
def test_a_plant_has_the_numbers_where_the_layout_of_states_says(name):
    robot = treesim.load(name, base="floating")
    found, said = read(robot).layout, DrakeLayout(robot)
    np.testing.assert_array_equal(found.q_order, said.q_order)
    np.testing.assert_array_equal(found.v_order, said.v_order)


def test_each_negative_control_is_noticed():
    report = compare("panda", DrakeAdapter(), base="fixed", controls=True, **FEW)
    assert len(report.controls) == 3 and all(control.applies and control.noticed for control in report.controls)


def test_in_a_process_of_its_own_it_says_the_same():
    here = compare("ur5", DrakeAdapter(), base="fixed", **FEW)
    with Isolated(DrakeAdapter()) as engine:
        apart = compare("ur5", engine, base="fixed", **FEW)
    assert apart.rows == here.rows and apart.changes == here.changes


def test_a_gravity_of_its_own_is_given_to_drake():
    robot = treesim.Tree("moon", [treesim.Body("arm", 0, treesim.Joint("hinge", "revolute"), INERTIA)],
                         gravity=(1.0, 2.0, -1.6))  # fmt: skip
    report = compare(robot, DrakeAdapter(), **FEW)
    assert report.passed and report.row("bias", "canonical").passed


@pytest.mark.parametrize("moments, mass, what", [
    ((1.0, 0.1, 0.1), 1.0, "'arm' has an inertia that no rigid body has"),
    ((1.0, 1.0, 1.0), 0.0, "'arm' has an inertia, but no mass"),
])  # fmt: skip
def test_inertias_that_drake_would_replace_are_refused(moments, mass, what):
    robot = a_link("arm", treesim.Inertia(mass, np.zeros(3), np.diag(moments)))
    with pytest.raises(UnsupportedError, match=what):
        read(robot)


def test_spherical_joints_are_refused():
    robot = a_link("arm", INERTIA, "spherical")
    with pytest.raises(UnsupportedError, match="Drake reads no spherical joint from a URDF"):
        compare(robot, DrakeAdapter(), **FEW)


def test_a_joint_about_which_nothing_has_inertia_has_no_acceleration():
    robot = a_link("arm", treesim.Inertia(0.0))
    model, zero = read(robot), np.zeros(1)
    assert model.bodies()["mass"] == [0.0] and model.inverse_dynamics(zero, zero, zero) == [0.0]
    with pytest.raises(UnsupportedError, match="no acceleration of this robot"):
        model.forward_dynamics(zero, zero, zero)


def test_a_moving_link_called_world_moves():
    report = compare(treesim.Tree("free", [treesim.Body("world", 0, treesim.Joint("root_joint", "floating"), INERTIA)]),
                     DrakeAdapter(), **FEW)  # fmt: skip
    assert report.passed, report.summary


def test_texts_that_drake_does_not_read():
    robot = treesim.Tree("arms", [treesim.Body(name, 0, treesim.Joint(f"{name}_hinge", "revolute"), INERTIA)
                                  for name in ("left", "right")])  # fmt: skip
    fewer = treesim.Tree("arms", robot.bodies[:1])
    with pytest.raises(EngineError, match="reads other joints"):
        DrakeAdapter().read(robot, canonical(fewer), "canonical")
    wrong = canonical(robot).replace('"left"', '"right"')
    with pytest.raises(UnsupportedError, match="Drake cannot read this URDF"):
        DrakeAdapter().read(robot, wrong, "canonical")


def test_what_is_taken_out_is_told():
    text = treesim.to_urdf(a_link("arm", INERTIA)).replace(
        "</robot>", '<material name="red"/><gazebo><visual/></gazebo><calibration/></robot>'
    )
    bare, changes = stripped(text, a_link("arm", replace(INERTIA)))
    assert changes == ("removed 1 <visual>, 1 <calibration>, 1 <material>, 1 <gazebo>",)
    assert "gazebo" not in bare and "material" not in bare
