"""Real robots stand, are pushed, and fall. Gains are such that all motion has settled in the time given."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import treesim
from tests.contact.scenes import G

pytestmark = pytest.mark.slow
G1 = "g1_29dof_rev_1_0"


def stance(robot):
    """A standing configuration, and the targets that hold it."""
    q = treesim.standing(robot, robot.neutral())
    targets = np.zeros(robot.nv)
    for name, where in robot.v_index.items():
        if where.stop - where.start == 1:
            targets[where] = q[robot.q_index[name]]
    return q, targets


def held(robot, kp, kd, duration, push=None, integrator="implicit_midpoint"):
    """States (K, nq), reports, and the stance; push (K, 6): force and moment on the base, along its own axes."""
    q, targets = stance(robot)
    stepper = treesim.Stepper(treesim.World(robot, ground=treesim.Ground()), integrator=integrator, kp=kp, kd=kd)
    state, states, told, force = stepper.reset(q), [], [], []
    for k in range(round(duration / stepper.dt)):
        if push is not None:
            targets[:6] = push[k]
        state, report = stepper.step(state, targets)
        states.append(state.q)
        told.append(report.contact.told)
        force.append(report.contact.wrench[1:, :3].sum(axis=0))
    return np.array(states), np.array(told), np.array(force), state, q


@pytest.mark.parametrize(
    ("name", "kp", "kd", "duration"),
    [(G1, 2000.0, 100.0, 10.0), ("anymal", 500.0, 20.0, 6.0), ("solo12", 20.0, 1.0, 6.0)],
)
def test_robots_stand_still(name, kp, kd, duration):
    """C9: no creep in the last half, no overlap, and the ground carries the weight."""
    robot = treesim.load(name, base="floating")
    states, told, force, state, q = held(robot, kp, kd, duration)
    half = len(states) // 2
    assert np.abs(states[half:] - states[half]).max() < 1e-8
    assert told[:, 0].max() < 1e-8 and told[:, 2].max() <= 1e-12 and told[half:, 1].max() < 1e-8
    assert np.abs(state.v).max() < 1e-9 and abs(state.q[2] - q[2]) < 1e-3
    np.testing.assert_allclose(force[-1], [0, 0, robot.mass * G], rtol=0, atol=1e-5 * robot.mass * G)


def test_talos_stands():
    robot = treesim.load("talos", base="floating")
    states, told, force, _, _ = held(robot, 8000.0, 400.0, 6.0)
    assert np.abs(states[-3000:] - states[-3000]).max() < 1e-6 and told[:, 0].max() < 1e-7
    assert force[-1, 2] == pytest.approx(robot.mass * G, rel=1e-5)


def test_g1_stands_by_euler_too():
    states, told, _, _, _ = held(
        treesim.load(G1, base="floating"), 2000.0, 100.0, 3.0, integrator="semi_implicit_euler"
    )
    assert np.abs(states[-500:] - states[-500]).max() < 1e-6 and told[:, 0].max() < 1e-8


def test_g1_is_pushed_and_comes_back():
    """20 N sideways for half a second: the ground answers with as much friction, and no foot slips."""
    robot = treesim.load(G1, base="floating")
    push = np.zeros((3000, 6))
    push[1000:1500, 1] = 20.0
    states, told, force, state, _ = held(robot, 2000.0, 100.0, 3.0, push)
    sways = states[:, 1] - states[990, 1]
    assert np.abs(sways).max() > 1e-4 and abs(sways[-1]) < 1e-6
    assert force[1400:1500, 1].mean() == pytest.approx(-20.0, rel=0.01)
    for side in ("left", "right"):
        foot = f"{side}_ankle_roll_link"
        places = [treesim.frame_pose(robot, q, foot)[:3, 3] for q in (states[990], states[1490], states[-1])]
        assert np.ptp(places, axis=0).max() < 1e-5
    assert told[:, 0].max() < 1e-6 and np.abs(state.v).max() < 1e-5


def test_g1_is_pushed_with_50_newtons_and_stands():
    """One foot slides by some millimetres; then all is still again, and the ground carries the weight."""
    robot = treesim.load(G1, base="floating")
    push = np.zeros((4000, 6))
    push[1000:1500, 1] = 50.0
    states, told, force, state, q = held(robot, 2000.0, 100.0, 4.0, push)
    assert abs(state.q[2] - q[2]) < 1e-3 and np.abs(states[-1, :2]).max() < 0.01
    assert told[:, 0].max() < 1e-6 and np.abs(state.v).max() < 1e-4
    assert force[-1, 2] == pytest.approx(robot.mass * G, rel=1e-3)


@pytest.mark.parametrize("rule", ["implicit_midpoint", "semi_implicit_euler"])
def test_g1_falls_and_lies_still(rule):
    """C11: damping 0.2 and friction 0.3 in every joint."""
    robot = treesim.load(G1, base="floating")
    bodies = [
        body if body.joint.type == "floating" else replace(body, joint=replace(body.joint, damping=0.2, friction=0.3))
        for body in robot.bodies
    ]
    robot = treesim.Tree("g1", bodies, shapes=robot.shapes)
    world = treesim.World(robot, ground=treesim.Ground())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # Euler's step tells of its energy error
        run = treesim.Simulation(world, integrator=rule, substeps=1).run(4.0, stance(robot)[0])
    assert run.stopped is None and np.abs(run.v[-1]).max() < 1e-9
    assert np.diff(run.energy).max() < 1e-4 and run.energy_certificate.max() <= 1e-9
    assert run.penetration.max() < 1e-3 and run.energy[-1] < run.energy[0] - 100
    assert (run.residual > 1e-9).mean() < 5e-3 and run.residual.max() < 1e-4
    beyond = np.maximum(run.q[:, 7:] - robot.upper[7:], robot.lower[7:] - run.q[:, 7:]).max()
    assert beyond < 1e-3
