"""What integrators make of motions that are known: a top, damping, energy and momentum.

The order that each declares is tried by `treesim.testing.check_integrator` (tests/testing/test_integrators.py).
"""

import numpy as np
import pytest

import treesim
from tests import trees
from treesim import Body, Inertia, Joint, Tree, plugins
from treesim.model import generators as make

INTEGRATORS = treesim.available("integrators")
every_integrator = pytest.mark.parametrize("integrator", INTEGRATORS)


def floating_robot() -> Tree:
    """A floating carrier with branches that hold a spherical joint among others."""
    return trees.on_floating_base(make.chain_with_side_branches(2, ("spherical", "revolute", "prismatic", "revolute")))


def end(robot, integrator, steps, duration, q0, v0):
    """State after `steps` steps."""
    simulation = treesim.Simulation(robot, integrator=integrator, dt=duration / steps)
    run = simulation.run(duration, q0=q0, v0=v0)
    assert len(run.t) == steps + 1
    return run.q[-1], run.v[-1]


def one_body(joint: Joint, moments=(1.0, 1.0, 1.0), gravity=(0.0, 0.0, 0.0)) -> Tree:
    return Tree("one_body", [Body("body", 0, joint, Inertia(2.0, rotational=np.diag(moments)))], gravity=gravity)


@every_integrator
def test_a_symmetric_top_precesses(integrator):
    """Euler's equations solved by hand: with moments (A, A, C), spin w3 stays and (w1, w2) turns at (C - A)/A w3."""
    A, C, spin, tilt, duration = 1.0, 1.5, 4.0, 0.7, 0.5
    top = one_body(Joint("ball", "spherical"), (A, A, C))
    steps = 400
    _, v = end(top, integrator, steps, duration, top.neutral(), np.array([tilt, 0, spin]))
    angle = (C - A) / A * spin * duration
    tolerance = {1: 2e-2, 2: 1e-4}.get(plugins.get("integrators", integrator).order, 1e-9)
    assert np.abs(v - [tilt * np.cos(angle), tilt * np.sin(angle), spin]).max() < tolerance


@every_integrator
def test_joint_damping_decays_exponentially(integrator):
    damping, inertia, duration = 0.6, 2.0, 0.5
    hinge = one_body(Joint("hinge", "revolute", damping=damping), (1, 1, inertia))
    _, v = end(hinge, integrator, 500, duration, np.zeros(1), np.array([3.0]))
    assert v[0] == pytest.approx(3 * np.exp(-damping / inertia * duration), rel=1e-4)


@every_integrator
def test_energy_drifts_no_more_than_the_order_allows(integrator):
    robot = floating_robot()
    rng = np.random.default_rng(3)
    run = treesim.Simulation(robot, integrator=integrator, dt=1e-4).run(
        0.05, q0=robot.random(rng), v0=rng.normal(size=robot.nv)
    )
    drift = np.abs(run.energy - run.energy[0]).max() / np.abs(run.energy[0])
    assert drift < {1: 1e-2, 2: 1e-6}.get(plugins.get("integrators", integrator).order, 1e-10)


@every_integrator
def test_momentum_stays_in_free_flight(integrator):
    robot = trees.tree("free_random")
    rng = np.random.default_rng(4)
    simulation = treesim.Simulation(robot, integrator=integrator, dt=2e-4, gravity=(0, 0, 0))
    run = simulation.run(0.05, q0=robot.random(rng), v0=rng.normal(size=robot.nv))
    momentum = treesim.momentum(robot, run.q, run.v)
    drift = np.abs(momentum - momentum[0]).max() / np.abs(momentum[0]).max()
    assert drift < {1: 1e-2, 2: 1e-5}.get(plugins.get("integrators", integrator).order, 1e-9)
