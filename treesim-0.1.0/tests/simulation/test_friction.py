"""Coulomb friction and strong damping: simulated by the integrators that say so; friction is refused with notice by
the others."""

import numpy as np
import pytest

import treesim
from treesim import Body, Inertia, Joint, Tree, plugins
from treesim.errors import FrictionWarning

MASS, FRICTION = 2.0, 3.0


def with_friction(honoured: bool) -> list[str]:
    return [
        name for name in treesim.available("integrators") if plugins.get("integrators", name).joint_friction == honoured
    ]


def block(pull: float = 0.0, mass: float = MASS, friction: float = FRICTION, damping: float = 0.0) -> Tree:
    """A block that slides along x, pulled by a force."""
    joint = Joint("slide", "prismatic", axis=(1, 0, 0), joint_friction=friction, damping=damping)
    return Tree("block", [Body("block", 0, joint, Inertia(mass))], gravity=(pull / mass, 0, 0))


def run(robot: Tree, integrator: str, duration: float, v0: float):
    return treesim.Simulation(robot, integrator=integrator, dt=1e-3).run(duration, v0=np.array([v0]))


@pytest.mark.parametrize("integrator", with_friction(True))
@pytest.mark.parametrize("direction", [1, -1])
def test_a_sliding_block_slows_evenly_and_stops(integrator, direction):
    sliding = run(block(), integrator, 1.5, 1.5 * direction)
    deceleration = FRICTION / MASS
    assert sliding.v[500, 0] == pytest.approx(direction * (1.5 - 0.5 * deceleration), abs=2e-3)
    assert abs(sliding.v[-1, 0]) < 1e-3
    assert sliding.q[-1, 0] == pytest.approx(direction * 1.5**2 / (2 * deceleration), abs=2e-3)


@pytest.mark.parametrize("integrator", with_friction(True))
def test_a_block_holds_against_a_pull_below_its_friction(integrator):
    held = run(block(pull=0.8 * FRICTION), integrator, 1.0, 0.0)
    assert 0 <= held.q[-1, 0] < 1e-3
    dragged = run(block(pull=1.5 * FRICTION), integrator, 1.0, 0.0)
    assert dragged.q[-1, 0] == pytest.approx(0.25 * FRICTION / MASS, rel=3e-2)  # linearised about the last speed


@pytest.mark.parametrize("integrator", with_friction(True))
@pytest.mark.parametrize("resistance", [{"friction": FRICTION}, {"friction": 0.0, "damping": 1000.0}])
def test_resistance_far_stiffer_than_the_step_stays_stable(integrator, resistance):
    """A block of 20 g: a step would undo its speed many times over, were the resistance taken at its start."""
    stopped = run(block(mass=0.02, **resistance), integrator, 0.5, 0.3)
    assert (np.diff(stopped.v[:, 0]) <= 0).all() and 0 <= stopped.v[-1, 0] < 1e-3


@pytest.mark.parametrize("integrator", with_friction(False))
def test_integrators_without_friction_say_so_and_name_the_joint(integrator):
    with pytest.warns(FrictionWarning, match="slide"):
        treesim.Simulation(block(), integrator=integrator)


def test_negative_damping_drives_a_joint():
    """v' = -(d / I) v with d < 0: speed grows, and the run does not end in an error."""
    wheel = treesim.Body(
        "wheel", 0, treesim.Joint("axle", "continuous", damping=-0.5), treesim.Inertia(1.0, rotational=np.eye(3))
    )
    run = treesim.Simulation(treesim.Tree("driven", [wheel]), dt=1e-4).run(1.0, v0=[1.0])
    assert run.stopped is None and run.v[-1, 0] == pytest.approx(np.exp(0.5), rel=1e-4)
