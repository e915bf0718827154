"""Pinocchio agrees with treesim on real robots and random trees, and its layout is invertible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from treesim_pinocchio.adapter import PinocchioAdapter
from treesim_pinocchio.reading import from_tree, from_urdf

import treesim
from tests import layouts
from tests.compare.test_scenes import FINGERS
from tests.optional import need
from treesim.compare import NUMBERED, EngineAdapter, EngineError, States, compare
from treesim.compare.cases import inverse_inertia, operational_space
from treesim.compare.scene_kinds import SCENES
from treesim.compare.source import canonical
from treesim.compare.treesim_engine import random_batch
from treesim.errors import UnsupportedError
from treesim.model.generators import chain

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
TYPES = ("revolute", "continuous", "prismatic", "spherical", "planar")
READ = ("revolute", "continuous", "prismatic")  # by its own reader
ROBOTS = [("simple_humanoid", "floating"), ("talos_full_v2", "floating"), ("ur5", "floating"), ("ur5", "fixed"),
          ("anymal_c", "floating")]  # fmt: skip


def limited(seed, floating):
    """Return a random tree with limits, which Pinocchio's reader requires."""
    robot = layouts.robot(seed, floating, READ)
    limits = {"lower": -3.0, "upper": 3.0, "effort_limit": 9.0, "velocity_limit": 9.0}
    bodies = [
        body if body.joint.type == "floating" else replace(body, joint=replace(body.joint, **limits))
        for body in robot.bodies
    ]
    return treesim.Tree("limited", bodies)


def test_it_is_an_engine_adapter():
    assert isinstance(PinocchioAdapter(), EngineAdapter)
    assert treesim.plugins.get("engines", "pinocchio").version() == PinocchioAdapter().version()


@pytest.mark.parametrize(("name", "base"), ROBOTS)
def test_agrees(name, base):
    report = compare(name, PinocchioAdapter(), base=base, states=10)
    assert report.passed, report.summary
    assert len(report.rows) == 18 and report.skipped.keys() == {"trajectory"}


def test_spherical_joints_are_compared_at_the_canonical_level():
    need("pybullet")  # which brings the robot
    report = compare("humanoid", PinocchioAdapter(), states=5)
    assert report.passed, report.summary
    assert {row.level for row in report.rows} == {"canonical"} and "spherical" in report.skipped["raw level"]


@pytest.mark.parametrize("floating", [True, False])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_random_trees_agree(seed, floating):
    for robot in (layouts.robot(seed, floating, TYPES), limited(seed, floating)):
        report = compare(robot, PinocchioAdapter(), states=5)
        assert report.passed, report.summary


@pytest.mark.parametrize("floating", [True, False])
@given(seed=st.integers(0, 2**32 - 1))
def test_layout(floating, seed):
    robot = layouts.robot(seed % 5, floating, TYPES)
    layouts.check(robot, from_tree(robot).layout, seed)
    robot = limited(seed % 5, floating)
    layouts.check(robot, from_urdf(robot, canonical(robot)).layout, seed)


def test_an_angle_is_cosine_and_sine():
    robot = treesim.Tree("wheel", [treesim.Body("wheel", 0, treesim.Joint("axle", "continuous"))])
    layout = from_tree(robot).layout
    np.testing.assert_allclose(layout.configuration_to_engine(np.array([0.5])), [np.cos(0.5), np.sin(0.5)])


def test_texts_that_pinocchio_does_not_read():
    robot = limited(0, False)
    with pytest.raises(UnsupportedError, match="Pinocchio cannot read this URDF"):
        from_urdf(robot, "<robot>")
    fewer = treesim.Tree("fewer", robot.bodies[:3])
    with pytest.raises(EngineError, match="reads other joints"):
        from_urdf(robot, canonical(fewer))


def test_cases_of_single_states_and_batches():
    robot = limited(3, True)
    model, rng = from_urdf(robot, canonical(robot)), np.random.default_rng(1)
    q = np.array([robot.random(rng) for _ in range(4)])
    v, a = rng.normal(size=(2, 4, robot.nv))
    states = States(q, v, a, treesim.inverse_dynamics(robot, q, v, a))
    truth = {"forward dynamics": a, "inverse dynamics": states.tau, "mass matrix": treesim.mass_matrix(robot, q),
             "M⁻¹ τ": treesim.solve_mass_matrix(robot, q, states.tau)}  # fmt: skip
    for case in model.calls(States(*(x[0] for x in states))):
        np.testing.assert_allclose(case.result(), truth[case.quantity][0], atol=1e-9)
    for case in model.batches(states, 2):
        np.testing.assert_allclose(case.result(), truth[case.quantity], atol=1e-9)
    assert model.rollouts(None, 1) == []


def test_cases_of_derivatives():
    robot = limited(3, True)
    model, rng = from_urdf(robot, canonical(robot)), np.random.default_rng(1)
    q = np.array([robot.random(rng) for _ in range(4)])
    v, a = rng.normal(size=(2, 4, robot.nv))
    tau = treesim.inverse_dynamics(robot, q, v, a)
    truth = {
        "derivatives of inverse dynamics": np.stack(treesim.inverse_dynamics_derivatives(robot, q, v, a), axis=-2),
        "derivatives of forward dynamics": np.stack(treesim.forward_dynamics_derivatives(robot, q, v, tau), axis=-2),
        "M⁻¹": treesim.inverse_mass_matrix(robot, q),
    }
    cases = model.derivatives(States(q, v, a, tau))
    assert [case.quantity for case in cases] == list(truth) and {case.states for case in cases} == {4}
    for case in cases:
        np.testing.assert_allclose(case.result(), truth[case.quantity], atol=1e-8)


def test_cases_of_the_operational_space():
    robot = treesim.load("ur5", base="fixed")
    frame = robot.body_names[-1]
    model, q, v = from_urdf(robot, canonical(robot)), robot.random(0), np.ones(robot.nv)
    space = treesim.operational_space(robot, q, v, frame)
    truth = {
        inverse_inertia(6): treesim.inverse_operational_inertia(robot, q, frame, reference="local"),
        operational_space(6): space.nullspace,
    }
    for case in model.operational(States(q, v, v, v), (frame,), regular=True):
        np.testing.assert_allclose(case.result(), truth.pop(case.quantity), atol=1e-7)
    assert not truth
    assert len(model.operational(States(q, v, v, v), (frame,), regular=False)) == 1


def test_scenes_agree():
    report = compare(FINGERS, PinocchioAdapter(), base="fixed", states=2, steps=0, scenes="all")
    assert report.passed, report.summary
    driven = {"torques", "pd", "damping", "armature", "mimic"}
    assert {name for name in SCENES if name not in report.skipped} == driven | {"limit"}
    assert all(report.row(name, "scene").largest < 1e-12 for name in driven)


def test_own_routines_are_wrong_on_interleaved_trees_only():
    for tree, wrong in ((limited(3, True), {"mass_matrix", "inverse_mass_matrix"}), (chain(4), set())):
        batch = random_batch(tree, 3, 0, 0, 1e-3)
        model = PinocchioAdapter().read(tree, "", NUMBERED)
        theirs, truth = (each.evaluate(batch) for each in (model, PinocchioAdapter().convert(tree)))
        assert theirs.faulty.keys() == wrong
        for quantity in ("mass_matrix", "inverse_mass_matrix", "bias", "forward_dynamics"):
            equal = np.allclose(theirs.values[quantity], truth.values[quantity], rtol=1e-9, atol=1e-9)
            assert equal == (quantity not in wrong), quantity
