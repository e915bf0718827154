"""Operational space, constrained dynamics and motions of robots whose joints follow others, against dense algebra."""

import numpy as np
import pytest

import treesim
from tests.coupled import coupled, dense, state
from treesim import CenterOfMassTask, FrameTask, UnsupportedError
from treesim.compare.engines import EngineModel
from treesim.compare.source import read

ROBOT = coupled(1)
FRAMES = ("body_9", "body_7")


def jacobian(robot, q, frame, reference="world"):
    """J G."""
    return treesim.frame_jacobian(robot.spanning, robot.expand(q), frame, reference) @ robot.coupling.G


@pytest.mark.parametrize("reference", ["world", "local"])
def test_jacobians_are_those_of_the_spanning_tree(reference):
    q, v, a, _ = state(ROBOT)
    whole, Q, V = ROBOT.spanning, ROBOT.expand(q), ROBOT.expand_velocity(v)
    J = jacobian(ROBOT, q, FRAMES[0], reference)
    np.testing.assert_allclose(treesim.frame_jacobian(ROBOT, q, FRAMES[0], reference), J, atol=1e-14)
    np.testing.assert_allclose(treesim.frame_velocity(ROBOT, q, v, FRAMES[0], reference), J @ v, atol=1e-13)
    expected = treesim.frame_acceleration(whole, Q, V, ROBOT.expand_velocity(a), FRAMES[0], reference)
    np.testing.assert_allclose(treesim.frame_acceleration(ROBOT, q, v, a, FRAMES[0], reference), expected, atol=1e-12)
    np.testing.assert_allclose(treesim.body_poses(ROBOT, q), treesim.body_poses(whole, Q), atol=1e-15)
    np.testing.assert_allclose(
        treesim.frame_pose(ROBOT, q, "body_3"), treesim.frame_pose(whole, Q, "body_3"), atol=1e-15
    )
    momentum = ROBOT.mass * treesim.center_of_mass_jacobian(ROBOT, q) @ v
    np.testing.assert_allclose(momentum, treesim.momentum(ROBOT, q, v)[:3], atol=1e-12)


@pytest.mark.parametrize("method", ["ltl", "ltdl", "pv_osim", "rjk", "efpa"])
def test_inverse_inertia_by_any_method(method):
    q = np.array([ROBOT.random(seed) for seed in range(3)])
    found = treesim.inverse_operational_inertia(ROBOT, q, FRAMES, method)
    for k in range(3):
        M, _ = dense(ROBOT, q[k], np.zeros(ROBOT.nv))
        J = np.vstack([jacobian(ROBOT, q[k], frame) for frame in FRAMES])
        expected = J @ np.linalg.solve(M, J.T)
        np.testing.assert_allclose(found[k], expected, rtol=0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("method", ["ltdl", "rjk"])
def test_operational_space_predicts_accelerations(method):
    q, v, tau, f_ext = state(ROBOT)
    tasks = ["body_9", FrameTask("body_7", "position"), CenterOfMassTask()]
    space = treesim.operational_space(ROBOT, q, v, tasks, method, f_ext=f_ext)
    M, _ = dense(ROBOT, q, v, f_ext)
    J = space.jacobian
    qdd = treesim.forward_dynamics(ROBOT, q, v, tau, f_ext)
    expected = np.concatenate(
        [treesim.frame_acceleration(ROBOT, q, v, qdd, frame)[:rows] for frame, rows in (("body_9", 6), ("body_7", 3))]
    )
    np.testing.assert_allclose(space.acceleration(tau)[:9], expected, atol=1e-10 * np.abs(expected).max())
    np.testing.assert_allclose(space.inverse_inertia, J @ np.linalg.solve(M, J.T), atol=1e-11)
    np.testing.assert_allclose(J @ space.jbar @ J, J, atol=1e-9)
    np.testing.assert_allclose(J @ space.nullspace, 0, atol=1e-9)
    assert space.nullspace.shape == (ROBOT.nv, ROBOT.nv)


REFUSED = {
    "sparse_jacobian": lambda q: treesim.sparse_jacobian(ROBOT, q, "body_9"),
    "schedule": lambda q: treesim.schedule(ROBOT, "aba"),
    "entry inverse_inertia_pv_osim": lambda q: treesim.Dynamics(ROBOT).inverse_operational_inertia(q, "body_9"),
    "a model in another engine": lambda q: EngineModel(ROBOT),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_serve_followers_says_so(what):
    with pytest.raises(UnsupportedError, match=f"{what} does not serve joints that follow others, as '.*mimic='free'"):
        REFUSED[what](state(ROBOT)[0])


def test_other_engines_are_compared_on_the_spanning_tree():
    assert read(ROBOT, "fixed").robot is ROBOT.spanning
