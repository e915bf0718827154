"""What drives the joints of a live robot: motors within their limits, and hands beyond them."""

import math

import numpy as np
import pytest

import treesim
from tests.viewing.live.driven import ROBOT, Driven
from treesim.viewing.live.controller import Drive, without_effort_limits
from treesim.viewing.live.settings import Settings


@pytest.mark.parametrize("backend", ["aba", "crba_ltdl"])
def test_a_pull_moves_the_robot_beyond_its_motors_forces(backend):
    driven = Driven(settings=Settings(gravity=(0, 0, 0), backend=backend, controller="hold"))
    tip = ROBOT.body_names[-1]
    before = treesim.frame_pose(ROBOT, driven.player.q, tip)[:3, 3]
    target = before + np.array([0.1, 0.1, 0.2])
    assert driven.ask(do="pull", body=tip, point=[0, 0, 0], target=target.tolist()) == []
    assert driven.state["pull"]["force"] > 0
    driven.play(1.0)
    after = treesim.frame_pose(ROBOT, driven.player.q, tip)[:3, 3]
    assert np.linalg.norm(target - after) < 0.7 * np.linalg.norm(target - before)
    driven.ask(do="release")
    assert driven.state["pull"] is None
    driven.play(3.0)
    np.testing.assert_allclose(driven.player.q, 0, atol=0.05)


def test_motors_keep_their_limits_while_the_hand_has_none():
    joint = treesim.Joint("hinge", "revolute", axis=(0, 1, 0), effort_limit=1.0)
    inertia = treesim.Inertia(1.0, (0, 0, -0.5), np.diag([0.1, 0.1, 0.1]))
    robot = treesim.Tree("weak", [treesim.Body("pole", 0, joint, inertia)])
    driven = Driven(robot, settings=Settings(gravity=(0, 0, 0), controller="hold", kp=1e4, kd=0.0))
    driven.set(running=False)
    driven.physics.target[:] = 1.0
    driven.physics.drive.aim(driven.physics.target)
    q, v = np.zeros(1), np.zeros(1)
    assert driven.physics.drive.torque(0.0, q, v) == pytest.approx(1.0)
    driven.ask(do="pull", body="pole", point=[0, 0, -1.0], target=[10.0, 0, -1.0])
    pull = driven.physics.pull
    assert driven.physics.drive.torque(0.0, q, v)[0] == pytest.approx(1.0 - pull.force[0])
    assert driven.physics.world.robot.effort_limit[0] == math.inf


@pytest.mark.parametrize("rule", ["implicit_midpoint", "semi_implicit_euler"])
def test_gains_of_saturated_motors_are_left_out_as_in_steppers(rule):
    robot, kp, kd = treesim.load("ur5"), 2e3, 20.0
    q, target = robot.neutral(), np.full(6, 0.8)
    drive = Drive(robot, treesim.PD(robot, target, kp=kp, kd=kd))
    run = treesim.Simulation(
        without_effort_limits(robot), backend="aba", integrator=rule, dt=1e-3, controller=drive
    ).run(0.2, q)
    stepper = treesim.Stepper(robot, 1e-3, integrator=rule, kp=kp, kd=kd)
    state, saturated = stepper.reset(q), np.zeros(6, bool)
    for _ in range(200):
        state, report = stepper.step(state, target)
        saturated |= np.abs(report.force) >= robot.effort_limit
    assert saturated.any()
    np.testing.assert_allclose(run.q[-1], state.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.v[-1], state.v, rtol=0, atol=1e-11)
