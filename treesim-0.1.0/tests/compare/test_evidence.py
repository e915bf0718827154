"""Where two sides differ: relative poses, tolerances by physical scales, and numbers that are none."""

from __future__ import annotations

import numpy as np
import pytest

import treesim
from tests.compare.injected import description_of
from treesim.compare.candidates import Side
from treesim.compare.evidence import TOLERANCE, Evidence, relative
from treesim.compare.treesim_engine import TreesimEngine, random_batch


@pytest.fixture
def details():
    description = description_of("ur5", "fixed")
    robot = description.bodies_alone
    batch = random_batch(robot, 4, 0, 0, 1e-3)
    return description, robot, batch, dict(TreesimEngine(None).read(robot).evaluate(batch).values)


def mismatch(details, **changed):
    description, robot, batch, values = details
    return Evidence(robot, batch, values | changed).mismatch(Side(description))


def test_relative_poses_compose_to_those_in_the_world(details):
    _, robot, _, values = details
    parts, world = relative(values["pose"], robot.topology.parent), np.eye(4)
    for k in range(robot.n_bodies):  # ur5 is a chain
        world = world @ parts[:, k]
    np.testing.assert_allclose(world, values["pose"][:, -1], atol=1e-14)


def test_nothing_differs_from_itself(details):
    assert mismatch(details).vanished


@pytest.mark.parametrize(("quantity", "size"), [("mass", 0.01), ("com", 0.001), ("inertia", 1e-4)])
def test_a_body_that_differs_is_told(details, quantity, size):
    changed = np.array(details[-1][quantity])
    changed[3] += size * (np.eye(3) if quantity == "inertia" else 1.0)
    assert list(mismatch(details, **{quantity: changed}).bodies) == [(quantity, 4)]


def test_a_joint_moves_one_body_against_its_parent_though_all_behind_it_move(details):
    _, robot, batch, _ = details
    q = batch.q.copy()
    q[:, 2] += 0.1
    found = mismatch(details, pose=treesim.body_poses(robot, q)[:, 1:])
    assert set(found.bodies) == {("rotation", 3)}


def test_forces_differ_beyond_rounding_only(details):
    tau = details[-1]["inverse_dynamics"]
    size = np.abs(tau).max()
    assert mismatch(details, inverse_dynamics=tau + 0.1 * TOLERANCE * size).vanished
    assert not mismatch(details, inverse_dynamics=tau + 1e3 * TOLERANCE * size).vanished


def test_a_number_that_is_none_differs(details):
    pose = details[-1]["pose"].copy()
    pose[1, 2, 0, 3] = np.nan
    assert ("origin", 3) in mismatch(details, pose=pose).bodies
    assert mismatch(details, inverse_dynamics=details[-1]["inverse_dynamics"] * np.nan).force == np.inf


def test_an_engine_that_tells_its_bodies_alone_is_judged_by_them(details):
    description, robot, batch, values = details
    found = Evidence(robot, batch, {key: values[key] for key in ("mass", "com", "inertia")}).mismatch(Side(description))
    assert found.vanished and found.like(found) and found.force == 0.0


def test_forces_follow_from_bias_and_mass_matrix_or_from_accelerations(details):
    description, robot, batch, values = details
    for kept in (("bias", "mass_matrix"), ("forward_dynamics",)):
        found = Evidence(robot, batch, {key: values[key] for key in kept}).mismatch(Side(description))
        assert found.vanished and found.forces.shape == batch.v.shape
