"""Real robots, read by treesim and by Pinocchio from one file: kinematics, mass matrix, inverse, forward dynamics."""

import numpy as np
import pytest

import treesim
from tests.pinocchio import oracle
from tests.pinocchio.robots import ROBOTS, path
from tests.trees import random_state, relative_error

EXACT = 1e-12
FORWARD = {"simple_humanoid": 1e-13, "talos_full_v2": 1e-12, "talos_reduced": 1e-12}  # by conditioning; others 1e-12
STATES = 5


@pytest.fixture(scope="module", params=["fixed", "floating"])
def base(request):
    return request.param


@pytest.fixture(scope="module", params=ROBOTS)
def pair(request, base):
    """A robot, Pinocchio's model of it, and its name."""
    robot = treesim.load(path(request.param), base=base, **mimic_option(request.param))
    read = oracle.from_urdf_by_hand if request.param == "bullet_humanoid" else oracle.from_urdf
    return robot, read(robot, path(request.param), base), request.param


def mimic_option(name):
    """Panda's fingers are coupled by a mimic joint, which Pinocchio leaves free."""
    return {"mimic": "free"} if "<mimic" in path(name).read_text(errors="replace") else {}


def states(robot):
    return [random_state(robot, seed) for seed in range(STATES)]


def test_total_mass(pair):
    robot, pin, _ = pair
    assert robot.mass == pytest.approx(sum(inertia.mass for inertia in pin.model.inertias[1:]), rel=1e-14)


def test_poses_and_jacobians(pair):
    robot, pin, _ = pair
    q = random_state(robot).q
    for frame in robot.frame_names[:: max(1, len(robot.frame_names) // 12)]:
        assert relative_error(treesim.frame_pose(robot, q, frame), pin.pose(q, frame)) < EXACT
        for reference in ("world", "local"):
            J = treesim.frame_jacobian(robot, q, frame, reference=reference)
            assert relative_error(J, pin.jacobian(q, frame, reference)) < EXACT


def test_mass_matrix(pair):
    robot, pin, _ = pair
    for state in states(robot)[:2]:
        assert relative_error(treesim.mass_matrix(robot, state.q), pin.mass_matrix(state.q)) < EXACT


def test_bias_and_inverse_dynamics(pair):
    robot, pin, _ = pair
    for q, v, a, _, f_ext in states(robot):
        tau = treesim.inverse_dynamics(robot, q, v, a, f_ext=f_ext)
        assert relative_error(tau, pin.inverse(q, v, a, f_ext)) < EXACT
        assert relative_error(treesim.bias_forces(robot, q, v), pin.inverse(q, v, 0 * a)) < EXACT


@pytest.mark.parametrize("backend", treesim.available("dynamics"))
def test_forward_dynamics(pair, backend):
    """Both with random torques and with those of a random acceleration: the first alone flatters every method."""
    robot, pin, name = pair
    for q, v, a, tau, f_ext in states(robot):
        for torque in (tau, pin.inverse(q, v, a, f_ext)):
            result = treesim.forward_dynamics(robot, q, v, torque, f_ext=f_ext, backend=backend)
            expected = pin.forward(q, v, torque, f_ext)
            error = np.linalg.norm(result - expected) / np.linalg.norm(expected)
            assert error < FORWARD.get(name, 1e-12)  # NaN fails
