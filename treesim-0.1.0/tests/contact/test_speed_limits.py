"""Velocity limits of joints: motors brake with their effort."""

import numpy as np
import pytest

import treesim


def wheel(speed, effort):
    """A wheel of 0.1 kg m^2 without gravity."""
    axle = treesim.Joint("axle", "continuous", velocity_limit=speed, effort_limit=effort)
    body = treesim.Body("wheel", 0, axle, treesim.Inertia(1.0, (0, 0, 0), 0.1 * np.eye(3)))
    return treesim.Tree("wheel", [body], gravity=(0, 0, 0))


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_motor_turns_no_faster_than_its_limit(side):
    world = treesim.World(wheel(speed=2.0, effort=1.0), use_velocity_limits=True)
    run = treesim.Simulation(world, controller=lambda t, q, v: np.array([side])).run(0.5)
    until = run.t < 0.19  # 2 rad/s are reached after 0.2 s
    np.testing.assert_allclose(run.v[until, 0], side * 10 * run.t[until], rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.v[run.t > 0.21, 0], side * 2.0, rtol=0, atol=1e-12)


def test_what_is_faster_at_the_start_is_braked_with_the_effort():
    world = treesim.World(wheel(speed=2.0, effort=1.0), use_velocity_limits=True)
    run = treesim.Simulation(world).run(0.5, v0=[5.0])
    braked = run.t < 0.29
    np.testing.assert_allclose(run.v[braked, 0], 5.0 - 10 * run.t[braked], rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.v[run.t > 0.31, 0], 2.0, rtol=0, atol=1e-12)


def test_speeds_are_not_limited_unless_asked_for():
    run = treesim.Simulation(wheel(speed=2.0, effort=1.0), controller=lambda t, q, v: np.array([1.0])).run(0.5)
    assert abs(run.v[-1, 0] - 5.0) < 1e-12
