"""The regressor: forces are linear in the ten parameters of every body."""

from __future__ import annotations

import numpy as np
import pytest

import treesim
from treesim.compare.regressor import PARAMETERS, fitted_change, inertia_from, parameters, regressor

ROUNDING = 1e-12


@pytest.fixture(scope="module")
def motion():
    robot = treesim.load("ur5")
    rng = np.random.default_rng(0)
    return robot, np.array([robot.random(rng) for _ in range(5)]), *rng.standard_normal((2, 5, robot.nv))


def test_the_bodies_add_up_to_inverse_dynamics(motion):
    robot, *state = motion
    parts = [regressor(robot, i, *state) @ parameters(body.inertia) for i, body in enumerate(robot.bodies, start=1)]
    expected = treesim.inverse_dynamics(robot, *state).ravel()
    np.testing.assert_allclose(sum(parts), expected, atol=ROUNDING * np.abs(expected).max())


def test_a_point_mass_on_a_hinge_in_closed_form():
    """tau = m l^2 a + m g l sin q for a pendulum about y that hangs along -z."""
    hinge = treesim.Joint("hinge", "revolute", axis=(0, 1, 0))
    robot = treesim.Tree("pendulum", [treesim.Body("bob", 0, hinge, treesim.Inertia(1.0, (0, 0, -0.5)))])
    q, v, a = np.array([[0.3]]), np.array([[2.0]]), np.array([[0.7]])
    Y = regressor(robot, 1, q, v, a)
    expected = 2.0 * (0.5**2 * 0.7 + 9.81 * 0.5 * np.sin(0.3))
    assert Y.shape == (1, PARAMETERS)
    assert Y @ parameters(treesim.Inertia(2.0, (0, 0, -0.5))) == pytest.approx(expected)


def test_an_inertia_comes_back_from_its_parameters():
    inertia = treesim.load("ur5").bodies[1].inertia
    found = inertia_from(parameters(inertia))
    assert found.mass == inertia.mass
    np.testing.assert_allclose(found.com, inertia.com, atol=ROUNDING)
    np.testing.assert_allclose(found.rotational, inertia.rotational, atol=ROUNDING)


def test_a_change_of_one_body_is_fitted_exactly_and_that_of_another_is_not(motion):
    robot, *state = motion
    change = np.array([0.5, 0.1, 0.0, -0.2, 0.03, 0.0, 0.01, 0.02, 0.0, 0.04])
    forces = (regressor(robot, 3, *state) @ change).reshape(state[0].shape)
    found, left = fitted_change(robot, 3, *state, forces)
    np.testing.assert_allclose(regressor(robot, 3, *state) @ (found - change), 0.0, atol=1e-11)
    assert left < 1e-11 < 1e-3 < fitted_change(robot, 6, *state, forces)[1]
