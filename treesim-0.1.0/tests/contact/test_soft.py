"""Soft surfaces: springs that give back what they took, dampers that push nothing that is not there."""

import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import treesim
from tests.contact.scenes import RULES, G, at, ball, simulate

TOP = 0.5  # m above where the ball touches


def bounce(stiffness, dt, rule, dissipation=0.0, top=TOP):
    """A ball of 1 kg let go, up to the top after its first bounce."""
    ground = treesim.Ground(stiffness=stiffness, dissipation_time=dissipation)
    contact = 2 * np.pi / np.sqrt(stiffness)
    duration = 2 * np.sqrt(2 * top / G) + contact
    return treesim.Simulation(treesim.World(ball(), ground=ground), dt=dt, integrator=rule, substeps=1).run(
        np.ceil(duration / dt) * dt, at((0, 0, 0.1 + top))
    )


def lost(run, top=TOP):
    """The energy that is missing at the top, over that at the start [J]."""
    return float(G * top - (run.energy[-1] - G * 0.1))


@pytest.mark.parametrize("stiffness", [1e3, 1e4])
def test_the_midpoint_rule_keeps_the_energy_of_a_bounce_to_second_order(stiffness):
    """The mean over starts, as the phase in which a step meets the ground differs."""
    tops = TOP + np.linspace(0, 0.01, 9)
    coarse, fine = (
        np.mean([abs(lost(bounce(stiffness, dt, RULES[0], top=top), top)) for top in tops]) for dt in (2e-3, 5e-4)
    )
    assert coarse / fine > 9 and fine < 1e-3 * G * TOP * stiffness / 1e4


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("stiffness", [1e3, 1e4, 1e5])
def test_the_balance_tells_what_the_rule_makes_of_a_spring(stiffness, rule):
    """Over and above what it makes of the fall: semi-implicit Euler's parabola has an error of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", treesim.ContactWarning)
        run = bounce(stiffness, 1e-3, rule)
    missing = run.energy[0] - run.energy[-1]
    assert run.energy_error[-1] == pytest.approx(-missing, abs=1e-9 * G)
    if rule == "semi_implicit_euler":
        assert missing > 0.2, "order 1 in the time of contact"
    assert run.energy_certificate.max() <= 0


@pytest.mark.parametrize("dissipation", [1e-3, 1e-2])
def test_dampers_take_what_they_should(dissipation):
    """Kelvin and Voigt's law, which does not pull: against a fine solution."""
    stiffness = 1e4

    def rate(_, y):
        force = max(-stiffness * y[0] - stiffness * dissipation * y[1], 0.0) if y[0] < 0 else 0.0
        return [y[1], force - G]

    def leaves(_, y):
        return y[0]

    leaves.terminal, leaves.direction = True, 1
    speed = np.sqrt(2 * G * TOP)
    out = solve_ivp(rate, (0, 1), [-1e-12, -speed], max_step=1e-5, events=leaves, rtol=1e-9).y[1, -1]
    errors = []
    for dt in (1e-3, 2.5e-4):
        run = bounce(stiffness, dt, RULES[0], dissipation)
        after = run.v[np.flatnonzero((run.q[:, 2] > 0.1) & (run.v[:, 2] > 0))[0], 2]
        errors.append(abs(after - out))
        assert abs(run.energy_error).max() < 40 * dt**2 * stiffness
    assert errors[1] < max(errors[0] / 2, 0.01) and errors[1] < 0.08


@pytest.mark.parametrize("rule", RULES)
def test_a_damper_pushes_nothing_above_the_ground(rule):
    ground = treesim.Ground(stiffness=1e4, dissipation_time=0.1)
    run = simulate(treesim.World(ball(), ground=ground), at((0, 0, 0.2)), [0, 0, -3.0, 0, 0, 0], 0.05, integrator=rule)
    open_until = np.flatnonzero(run.q[:, 2] < 0.1)[0]
    np.testing.assert_allclose(np.diff(run.v[:open_until, 2]), -G * 1e-3, rtol=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_rollouts_on_soft_ground_do_as_single_states(rule):
    """On lanes; their balance, too."""
    world = treesim.World(ball(), ground=treesim.Ground(stiffness=1e4, dissipation_time=2e-3))
    q0 = np.array([at((0, 0, z)) for z in np.linspace(0.0995, 0.12, 19)])
    runs = treesim.rollout(world, q0, np.zeros(6), steps=150, dt=1e-3, integrator=rule, work=True)
    for k in (0, 5, 18):
        alone = treesim.Simulation(world, dt=1e-3, integrator=rule).run(0.15, q0[k])
        np.testing.assert_allclose(runs.q[k], alone.q[1:], atol=1e-9)
        np.testing.assert_allclose(runs.work[k], alone.work[1:], atol=1e-9)
