"""Worlds with actuators in live sessions: targets of servos, delays, and pulls beyond the limits of motors."""

import numpy as np

import treesim
from tests.viewing.live.driven import ROBOT, STILL, Driven, ReferenceScreen
from treesim import Motor, PositionServo
from treesim.viewing.live.settings import Settings

SERVO = PositionServo(500, 50, effort_limit=60, delay=0.01)
ACTUATORS = {"shoulder_pan_joint": Motor(effort_limit=50), "shoulder_*": SERVO, "elbow_joint": SERVO}


def test_the_motion_is_the_simulation_s_also_after_a_reset():
    world = treesim.World(ROBOT, actuators=ACTUATORS)
    settings = Settings(controller="hold", kp=300.0, kd=30.0)
    driven = Driven(world, np.full(6, 0.3), settings, ReferenceScreen())
    driven.set(reference="simulation")
    held = np.array([0, 0, 0, 300.0, 300, 300])

    class Hold:
        stiffness, damping = held, held / 10

        def torque(self, t, q, v):
            return np.r_[0, 0.3, 0.3, (held * (0.3 - q) - held / 10 * v)[3:]]

    for _ in range(2):
        driven.play(0.3)
        same = treesim.Simulation(world, controller=Hold(), gravity=(0, 0, -9.81), engine="generic")
        run = same.run(driven.player.steps * 1e-3, np.full(6, 0.3))
        np.testing.assert_allclose(driven.player.q, run.q[-1], rtol=0, atol=1e-11)
        latest = run.tau[round(driven.state["t"] / 1e-3) - 1]  # of the step before
        np.testing.assert_allclose(driven.state["tau"], latest, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(driven.physics.reference.q, driven.player.q)
        driven.ask(do="reset")


def test_targets_and_pulls_move_it():
    driven = Driven(treesim.World(ROBOT, actuators={"*": SERVO}), settings=STILL, screen=ReferenceScreen())
    driven.set(controller="hold")
    driven.set(joints={"elbow_joint": 0.4})
    driven.play(1.5)
    assert abs(driven.player.q[2] - 0.4) < 0.01
    before, tip = driven.player.q, ROBOT.body_names[-1]
    place = treesim.frame_pose(ROBOT, before, tip)[:3, 3]
    assert driven.ask(do="pull", body=tip, point=[0, 0, 0], target=(place + np.array([0, 0, 0.5])).tolist()) == []
    driven.play(0.5)
    assert driven.state["pull"]["force"] > 10 and np.abs(driven.player.q - before).max() > 0.05
    assert np.abs(driven.state["tau"]).max() <= 60 + 1e-9
    driven.ask(do="release")
    driven.set(integrator="semi_implicit_euler")
    driven.play(2.0)
    np.testing.assert_allclose(driven.player.q, before, atol=0.02)
