"""Bodies that overlap from two sides, which no motion frees: impulses stay bounded, energy and rest as they are."""

import warnings

import numpy as np
import pytest

import treesim
from treesim import Body, CollisionShape, Inertia, Joint, Placement, Tree
from treesim.kernels.contact.layout import INFO

RULES = ("implicit_midpoint", "semi_implicit_euler")
UPRIGHT = (0, 0, 0, 1)
CUBE = treesim.free_body("cube", "box", (0.2, 0.2, 0.2), 1.0)
BALL = treesim.free_body("ball", "sphere", (0.1,), 1.0)


def slot(width):
    """Two walls so far apart."""
    places = [(side * (width / 2 + 0.1), 0, 0.5) for side in (-1, 1)]
    return [treesim.StaticBox((0.2, 2, 1), Placement(translation=place)) for place in places]


def check(run, weight):
    """Solved, at rest, and neither energy nor force comes out of nothing."""
    force = np.abs(run.contact.pair_wrench[:-1, :, :3]).max(axis=(1, 2), initial=0.0)
    assert run.residual.max() < 1e-9 and run.contact.solver_info[:, INFO.position_residual].max() < 1e-8
    assert run.contact.solver_info[:-1, 4].mean() < 300
    assert np.abs(run.v[len(run) // 2 :]).max() < 1e-7
    assert run.energy_certificate.max() < 1e-9 * weight and np.diff(run.energy).max() < 1e-7 * weight
    assert force[len(force) // 2 :].max() < 50 * weight


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("excess", [1e-6, 1e-5, 1e-4, 1e-3, 1e-2])
def test_a_box_in_too_narrow_a_slot_rests(excess, rule):
    world = treesim.World(CUBE, ground=[treesim.Ground(), *slot(0.2 - excess)])
    with warnings.catch_warnings():
        warnings.simplefilter("error", treesim.ContactWarning)
        run = treesim.Simulation(world, integrator=rule).run(0.3, [0, 0, 0.1, *UPRIGHT])
    check(run, 9.81)
    assert run.penetration[-2] < 0.6 * excess, "half of it on either side"


@pytest.mark.parametrize("rule", RULES)
def test_a_ball_between_walls_falls_as_nothing_presses_it(rule):
    """Rigid bodies leave open what presses between them; of all that the law allows, the solver finds the least."""
    run = treesim.Simulation(treesim.World(BALL, ground=slot(0.199)), integrator=rule).run(0.2, [0, 0, 0.5, *UPRIGHT])
    lag = 0.5 * 9.81 * 0.2 * 1e-3 * (rule == "semi_implicit_euler")
    assert run.q[-1, 2] == pytest.approx(0.5 - 0.5 * 9.81 * 0.04 - lag / 2, abs=1e-4 + lag)
    assert run.v[-1, 2] == pytest.approx(-9.81 * 0.2) and run.residual.max() < 1e-9
    assert run.contact.solver_info[:, INFO.position_residual].max() < 1e-5


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("mass", [0.01, 100.0])
def test_what_lies_on_squeezed_bodies_does_not_sink(rule, mass):
    load = treesim.free_body("load", "box", (0.19, 0.19, 0.1), mass)
    world = treesim.World(CUBE, bodies=[load], ground=[treesim.Ground(), *slot(0.1999)])
    run = treesim.Simulation(world, integrator=rule).run(0.3, [0, 0, 0.1, *UPRIGHT, 0, 0, 0.25, *UPRIGHT])
    assert np.abs(run.q[:, 9] - 0.25).max() < 1e-6 and run.residual.max() < 1e-6


def arm():
    """One joint that stands at its lower limit, and a ball at the end of its arm."""
    ball = CollisionShape(1, Placement(translation=(0.5, 0, 0)), "sphere", size=(0.05,), link="arm")
    joint = Joint("elbow", "revolute", axis=(0, -1, 0), lower=0.0, upper=1.0)
    inertia = Inertia(1.0, np.array([0.25, 0, 0]), np.diag([1e-3, 0.08, 0.08]))
    return Tree("arm", [Body("arm", 0, joint, inertia)], shapes=[ball])


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("overlap", [1e-4, 1e-3, 1e-2])
def test_an_arm_between_its_limit_and_a_ceiling_stays(overlap, rule):
    ceiling = treesim.StaticBox((0.4, 0.4, 0.1), Placement(translation=(0.5, 0, 0.1 - overlap)))
    run = treesim.Simulation(treesim.World(arm(), ground=ceiling), integrator=rule).run(0.5, [0.0])
    check(run, 9.81)
    assert run.q.min() > -3 * overlap


def test_rollouts_between_planes_do_as_single_states():
    """On lanes, where spheres and planes are."""
    planes = [treesim.Ground(), treesim.Ground(normal=(0, 0, -1), height=-0.1995)]
    world = treesim.World(BALL, ground=planes)
    q0 = np.array([[0, 0, z, *UPRIGHT] for z in np.linspace(0.0993, 0.1003, 20)])
    runs = treesim.rollout(world, q0, np.zeros(6), steps=200)
    for k in (0, 7, 19):
        alone = treesim.Simulation(world, integrator=runs.integrator if hasattr(runs, "integrator") else RULES[0])
        np.testing.assert_allclose(runs.q[k, -1], alone.run(0.2, q0[k]).q[-1], atol=1e-8)


def test_an_overlap_from_one_side_ends():
    """Down to 1e-5 m, at 1 m/s at most."""
    run = treesim.Simulation(treesim.World(CUBE, ground=treesim.Ground())).run(0.3, [0, 0, 0.09, *UPRIGHT])
    lift = np.diff(run.q[:, 2]) / 1e-3
    assert lift.max() < 1.0 and abs(run.penetration[-2]) < 1.1e-5 and np.abs(run.v).max() < 1e-8
