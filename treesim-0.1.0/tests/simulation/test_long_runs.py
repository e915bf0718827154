"""Long runs, left to the continuous integration: accuracy on long chains and conservation over many steps."""

import numpy as np
import pytest

import treesim
from tests import sensitivity
from treesim.model import generators
from treesim.testing.bounds import apart

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("backend", ["aba", "rjk"])
def test_prescribed_motion_of_a_chain_of_a_thousand_bodies(backend):
    """Large torques that cancel: the error of O(N) methods stays below what rounding the mass matrix once does."""
    robot = generators.chain(1000, ("revolute",))
    rng = np.random.default_rng(0)
    q, v, a = rng.uniform(-np.pi, np.pi, robot.nv), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    tau = treesim.inverse_dynamics(robot, q, v, a)
    found = treesim.forward_dynamics(robot, q, v, tau, backend=backend)
    bound = sensitivity.of_forward_dynamics(robot, q, v, tau, a, backend)
    assert sensitivity.farthest(found, a) <= bound / sensitivity.ROUNDINGS < 1e-5


def test_a_chain_of_ten_thousand_bodies_needs_no_quadratic_memory():
    """A 10,000 x 10,000 matrix would take 800 MB; ABA and RNEA take a few."""
    robot = generators.chain(10_000, ("revolute",))
    rest = np.zeros(robot.nv)
    tau = treesim.inverse_dynamics(robot, rest, rest, rest)
    a = treesim.forward_dynamics(robot, rest, rest, tau)
    assert np.abs(a).max() <= 1e-2  # torques of 1e8 N m cancel down to this


def test_a_humanoid_in_free_flight_keeps_energy_and_momentum_for_ten_seconds():
    robot = treesim.load("simple_humanoid", base="floating")
    rng = np.random.default_rng(0)
    v0 = 0.5 * rng.normal(size=robot.nv)
    run = treesim.Simulation(robot, integrator="rk4", dt=1e-3, gravity=(0, 0, 0)).run(10.0, v0=v0)
    assert run.stopped is None
    momentum = treesim.momentum(robot, run.q, run.v)
    assert np.ptp(run.energy) <= 1e-7 * run.energy[0]
    assert np.ptp(momentum, axis=0).max() <= 1e-7 * np.abs(momentum).max()


def test_two_hundred_thousand_states_in_one_batch():
    robot = treesim.load("solo12", base="floating")
    rng = np.random.default_rng(0)
    states = 200_000
    q = np.tile(robot.neutral(), (states, 1))
    q[:, 7:] = rng.uniform(-1, 1, (states, robot.nq - 7))
    v, a = rng.normal(size=(2, states, robot.nv))
    tau = treesim.inverse_dynamics(robot, q, v, a)
    found = treesim.forward_dynamics(robot, q, v, tau)
    some = slice(None, None, 100)
    bounds = sensitivity.of_forward_dynamics(robot, q[some], v[some], tau[some], a[some])
    assert (apart([found[some]], [a[some]]) <= bounds).all()
    assert apart([found], [a]).max() <= bounds.max()
