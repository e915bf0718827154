"""Bodies that turn by themselves under semi-implicit Euler: no energy out of their gyroscopic term."""

import numpy as np
import pytest

import treesim
from treesim import Body, Inertia, Joint, Tree

RULE = "semi_implicit_euler"
INERTIA = Inertia(1.0, (0.02, -0.01, 0.03), np.diag([1e-3, 2e-3, 2.5e-3]))
AXIS = np.array([0.3, 1.0, 0.1])


def body(inertia=INERTIA):
    return Tree("body", [Body("body", 0, Joint("joint", "floating"), inertia)])


def run(robot, speed, dt=5e-4, duration=1.0, rule=RULE, gravity=(0, 0, 0)):
    simulation = treesim.Simulation(robot, dt=dt, integrator=rule, gravity=gravity, substeps=1)
    return simulation.run(duration, robot.neutral(), np.r_[np.zeros(robot.nv - 3), speed * AXIS])


@pytest.mark.filterwarnings("ignore::treesim.EnergyWarning")
@pytest.mark.parametrize("speed", [20.0, 200.0, 1000.0])
def test_it_takes_energy_and_never_gives_any(speed):
    """At 200 rad/s the explicit term made energies infinite after 0.34 s."""
    found = run(body(), speed, duration=2.0)
    assert len(found) == 4001 and np.isfinite(found.q).all()
    assert np.diff(found.energy).max() < 1e-3 * found.energy[0] and found.energy[-1] < found.energy[0]


def test_the_centre_of_mass_of_what_flies_goes_straight():
    robot = body()
    found = run(robot, 50.0, gravity=(0, 0, -9.81))
    com = np.array([treesim.center_of_mass(robot, q) for q in found.q])
    start = com[0]
    speed = np.cross(50.0 * AXIS, INERTIA.com)
    t = found.t
    parabola = start + t[:, None] * speed - 0.5 * 9.81 * (t * (t + 5e-4))[:, None] * [0, 0, 1]
    np.testing.assert_allclose(com, parabola, atol=1e-9)


def test_it_is_of_first_order():
    fine = run(body(), 10.0, dt=1e-3, rule="implicit_midpoint").q[-1]
    errors = [np.abs(run(body(), 10.0, dt=dt).q[-1] - fine).max() for dt in (1e-3, 5e-4, 2.5e-4)]
    assert 1.8 < errors[0] / errors[1] < 2.2 and 1.8 < errors[1] / errors[2] < 2.2


def test_a_ball_has_no_gyroscopic_term():
    found = run(body(Inertia(1.0, (0, 0, 0), 1e-3 * np.eye(3))), 300.0)
    np.testing.assert_allclose(found.v[:, -3:], np.broadcast_to(300.0 * AXIS, (len(found), 3)), rtol=1e-12)


def test_bodies_that_carry_others_step_as_before():
    """The term of a tree couples its bodies: it stays explicit, as in the equations of motion."""
    robot = Tree("two", [
        Body("base", 0, Joint("free", "floating"), INERTIA), Body("arm", 1, Joint("hinge", "revolute"), INERTIA),
    ])  # fmt: skip
    v = np.r_[np.zeros(3), 5.0 * AXIS, 1.0]
    qdd = treesim.forward_dynamics(robot, robot.neutral(), v, np.zeros(7), gravity=(0, 0, 0))
    stepper = treesim.Stepper(robot, dt=1e-3, integrator=RULE, gravity=(0, 0, 0), substeps=1)
    after, _ = stepper.step(stepper.reset(robot.neutral(), v))
    np.testing.assert_allclose(after.v[3:], (v + 1e-3 * qdd)[3:], rtol=1e-12)


@pytest.mark.parametrize("batch", [1, 9])
def test_batches_and_rollouts_do_the_same(batch):
    robot = body()
    v = np.linspace(10, 300, batch)[:, None] * np.r_[np.zeros(3), AXIS]
    runs = treesim.rollout(
        robot, np.tile(robot.neutral(), (batch, 1)), v, steps=40, dt=5e-4, integrator=RULE, substeps=1
    )
    alone = treesim.Simulation(robot, dt=5e-4, integrator=RULE, substeps=1).run(0.02, robot.neutral(), v[-1])
    np.testing.assert_allclose(runs.q[-1], alone.q[1:], atol=1e-12)
