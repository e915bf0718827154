"""Operational space, constrained dynamics and motions of robots whose joints follow others, against dense algebra."""

import numpy as np
import pytest

import treesim
from tests.coupled import coupled, dense, state
from treesim import CenterOfMassTask, FrameTask, UnsupportedError, plugins
from treesim.compare.engine_model import EngineModel
from treesim.compare.source import read
from treesim.dynamics.operational.base import Method
from treesim.dynamics.operational.mimic import inverse_inertia_by

ROBOT = coupled(1)
FRAMES = ("body_9", "body_7")


def jacobian(robot, q, frame, reference="world"):
    """J G."""
    return treesim.frame_jacobian(robot.spanning, robot.expand(q), frame, reference=reference) @ robot.mimic_map.G


@pytest.mark.parametrize("reference", ["world", "local"])
def test_jacobians_are_those_of_the_spanning_tree(reference):
    q, v, a, _ = state(ROBOT)
    whole, Q, V = ROBOT.spanning, ROBOT.expand(q), ROBOT.expand_velocity(v)
    J = jacobian(ROBOT, q, FRAMES[0], reference)
    np.testing.assert_allclose(treesim.frame_jacobian(ROBOT, q, FRAMES[0], reference=reference), J, atol=1e-14)
    np.testing.assert_allclose(treesim.frame_velocity(ROBOT, q, v, FRAMES[0], reference=reference), J @ v, atol=1e-13)
    expected = treesim.frame_acceleration(whole, Q, V, ROBOT.expand_velocity(a), FRAMES[0], reference=reference)
    np.testing.assert_allclose(
        treesim.frame_acceleration(ROBOT, q, v, a, FRAMES[0], reference=reference), expected, atol=1e-12
    )
    np.testing.assert_allclose(treesim.body_poses(ROBOT, q), treesim.body_poses(whole, Q), atol=1e-15)
    np.testing.assert_allclose(
        treesim.frame_pose(ROBOT, q, "body_3"), treesim.frame_pose(whole, Q, "body_3"), atol=1e-15
    )
    momentum = ROBOT.mass * treesim.center_of_mass_jacobian(ROBOT, q) @ v
    np.testing.assert_allclose(momentum, treesim.momentum(ROBOT, q, v)[:3], atol=1e-12)


class Foreign(Method):
    """Somebody's method, which knows nothing of followers."""

    name = "foreign"

    def inverse_inertia(self, robot, q, frames, reference):
        assert robot.mimic_map is None
        return treesim.inverse_operational_inertia(robot, q, frames, method="pv_osim", reference=reference)


@pytest.mark.parametrize("reference", ["world", "local"])
@pytest.mark.parametrize("method", ["pv_osim", "rjk", "bound", "foreign"])
def test_inverse_inertia_is_the_reduced_one(method, reference):
    q = np.array([ROBOT.random(seed) for seed in range(3)])
    if method == "bound":
        found = treesim.Dynamics(ROBOT, engine="generic").inverse_operational_inertia(q, FRAMES, "pv_osim", reference)
    elif method == "foreign":
        found = inverse_inertia_by(Foreign(), ROBOT, q, FRAMES, reference)
    else:
        found = treesim.inverse_operational_inertia(ROBOT, q, FRAMES, method=method, reference=reference)
    for k in range(3):
        M, _ = dense(ROBOT, q[k], np.zeros(ROBOT.nv))
        J = np.vstack([jacobian(ROBOT, q[k], frame, reference) for frame in FRAMES])
        expected = J @ np.linalg.solve(M, J.T)
        np.testing.assert_allclose(found[k], expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_no_frames_have_empty_matrices_at_every_state():
    q = np.array([ROBOT.neutral()] * 3)
    assert inverse_inertia_by(Foreign(), ROBOT, q, (), "world").shape == (3, 0, 0)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("factors", [treesim.ltdl, treesim.ltl])
def test_sparse_rows_lie_on_paths_of_the_reduced_matrix(seed, factors):
    robot = coupled(seed)
    q, v, _, _ = state(robot, seed)
    M, _ = dense(robot, q, v)
    frames = ["body_9", "body_2", "body_5"]
    J = treesim.sparse_jacobian(robot, q, frames)
    full = np.vstack([jacobian(robot, q, frame) for frame in frames])
    np.testing.assert_allclose(J.dense(), full, atol=1e-13)
    F = factors(robot.dof_parent, M)
    np.testing.assert_allclose(M @ F.solve(np.ones(robot.nv)), 1, rtol=0, atol=1e-11)
    Y_D, Y_d = J.divide(F)
    expected = full @ np.linalg.solve(M, full.T)
    np.testing.assert_allclose(Y_D.multiply_rows(Y_d), expected, rtol=0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("method", ["ltdl", "rjk"])
def test_operational_space_predicts_accelerations(method):
    q, v, tau, f_ext = state(ROBOT)
    tasks = ["body_9", FrameTask("body_7", "linear"), CenterOfMassTask()]
    space = treesim.operational_space(ROBOT, q, v, tasks, method=method, f_ext=f_ext)
    M, _ = dense(ROBOT, q, v, f_ext)
    J = space.jacobian
    qdd = treesim.forward_dynamics(ROBOT, q, v, tau, f_ext=f_ext)
    expected = np.concatenate(
        [treesim.frame_acceleration(ROBOT, q, v, qdd, frame)[:rows] for frame, rows in (("body_9", 6), ("body_7", 3))]
    )
    np.testing.assert_allclose(space.acceleration(tau)[:9], expected, atol=1e-10 * np.abs(expected).max())
    np.testing.assert_allclose(space.inverse_inertia, J @ np.linalg.solve(M, J.T), atol=1e-11)
    np.testing.assert_allclose(J @ space.jbar @ J, J, atol=1e-9)
    np.testing.assert_allclose(J @ space.nullspace, 0, atol=1e-9)
    assert space.nullspace.shape == (ROBOT.nv, ROBOT.nv)


def test_schedules_end_with_the_rows_of_the_followers():
    counting = pytest.importorskip("treesim_lab.cost.counting")
    for found, count in (
        (treesim.schedule(ROBOT, "aba"), counting.forward_dynamics(ROBOT, plugins.get("dynamics", "aba"))),
        (treesim.schedule(ROBOT, "constraint_force", frames=FRAMES),
         counting.inverse_inertia(ROBOT, plugins.get("operational", "constraint_force"), FRAMES, "world")),
    ):  # fmt: skip
        assert found.operations == count.operations.total and found.depth == count.depth
        assert found.stages[-1].name == "rows of mimic joints" and found.stages[-1].width == 1


REFUSED = {
    "a model in another engine": lambda q: EngineModel(ROBOT),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_serve_followers_says_so(what):
    with pytest.raises(UnsupportedError, match=f"{what} does not support mimic joints, such as '.*mimic='free'"):
        REFUSED[what](state(ROBOT)[0])


def test_other_engines_are_compared_on_the_spanning_tree():
    assert read(ROBOT, "fixed").robot is ROBOT.spanning
