"""The physics of a live session: motion, time, settings and joints are those of a simulation."""

import numpy as np
import pytest

import treesim
from tests.viewing.live.driven import ROBOT, Driven
from treesim.simulation.player import Frame
from treesim.states.support import gaps
from treesim.viewing.live.settings import Settings


def test_motion_is_the_simulation_s():
    driven = Driven(q=np.full(6, 0.3), settings=Settings(controller="hold", kp=500.0, kd=20.0))
    driven.play(0.5)
    steps = round(driven.player.t / 1e-3)
    hold = treesim.PD(ROBOT, np.full(6, 0.3), kp=500.0, kd=20.0)
    same = treesim.Simulation(ROBOT, controller=hold, gravity=(0, 0, -9.81), engine="generic")
    run = same.run(steps * 1e-3, np.full(6, 0.3))
    assert steps > 400 and np.array_equal(driven.player.q, run.q[-1])


def test_pause_step_and_play():
    driven = Driven(settings=Settings())
    driven.play(0.2)
    assert driven.set(running=False) == []
    t = driven.player.t
    driven.play(0.2)
    assert driven.player.t == t and not driven.state["running"]
    np.testing.assert_array_equal(driven.screen.shown[-1], driven.state["q"])
    driven.ask(do="step")
    assert driven.state["t"] == pytest.approx(t + 1e-3)
    driven.set(running=True)
    driven.play(0.2)
    assert driven.state["running"] and driven.player.t > t + 0.15


def test_a_state_of_a_page_is_where_the_robot_is_held():
    driven = Driven(settings=Settings(controller="hold", kp=500.0, kd=20.0))
    q, v = np.linspace(0.1, 0.6, 6), np.full(6, 0.5)
    driven.ask(do="put", q=q.tolist(), v=v.tolist())
    np.testing.assert_array_equal((driven.player.q, driven.player.v), (q, v))
    assert not driven.state["running"]
    np.testing.assert_array_equal(list(driven.state["targets"].values()), q)
    for wrong in ([0.0] * 5, [float("nan")] * 6, "abc", {"a": 1}):
        assert driven.ask(do="put", q=wrong, v=v.tolist()) != []
        np.testing.assert_array_equal(driven.player.q, q)


def test_speed_and_the_real_time_factor():
    driven = Driven()
    driven.set(speed=0.5)
    driven.play(2.0)
    assert driven.player.t == pytest.approx(1.0, abs=0.05)
    assert driven.state["realTimeFactor"] == pytest.approx(0.5, rel=0.05) and driven.state["message"] is None


def test_the_real_time_factor_is_that_of_the_last_second():
    driven = Driven()
    driven.set(running=True)
    for now, t in ((10.0, 0.0), (10.5, 0.1), (10.97, 0.2)):
        driven.now = now
        driven.physics.shown(Frame(t, driven.player.q, driven.player.v, None))
    assert driven.physics.pace == pytest.approx(0.2 / 0.97)
    driven.now = 11.03
    driven.physics.shown(Frame(0.3, driven.player.q, driven.player.v, None))
    assert driven.physics.pace == pytest.approx(0.2 / 0.53)


@pytest.mark.parametrize(("beyond", "accepted"), [(0.95e-9, True), (1.05e-9, False)])
def test_a_slider_may_round_its_limit(beyond, accepted):
    driven = Driven()
    name, upper = ROBOT.joint_names[0], ROBOT.upper[0]
    driven.set(running=False)
    replies = driven.set(joints={name: upper + beyond})
    assert (replies == []) == accepted
    assert driven.player.q[0] == (upper if accepted else 0.0)


@pytest.mark.parametrize("backend", ["crba_ltdl", "crba_ltl"])
def test_the_backend_is_switched_while_the_motion_goes_on(backend):
    driven = Driven(settings=Settings())
    driven.play(0.1)
    q = driven.player.q.copy()
    assert driven.set(backend=backend) == []
    assert driven.state["backend"] == backend and driven.player.simulation.backend == backend
    assert np.array_equal(driven.player.q, q)
    driven.play(0.1)
    other = treesim.Simulation(ROBOT, backend="aba", gravity=(0, 0, -9.81), engine="generic")
    run = other.run(round(driven.player.t / 1e-3) * 1e-3)
    np.testing.assert_allclose(driven.player.q, run.q[-1], atol=1e-9)


def test_other_settings_take_effect_at_once():
    driven = Driven(settings=Settings())
    driven.play(0.1)
    wanted = {
        "gravity": [1.0, 2.0, -3.0],
        "dt": 2e-3,
        "controller": "hold",
        "kp": 40.0,
        "kd": 4.0,
        "integrator": "semi_implicit_euler",
    }
    assert driven.set(**wanted) == []
    assert {name: driven.state[name] for name in wanted} == wanted
    simulation = driven.player.simulation
    assert simulation.dt == 2e-3 and list(simulation.gravity) == wanted["gravity"]
    t = driven.player.t
    driven.play(0.2)
    assert driven.player.t - t == pytest.approx(0.2, abs=0.02)


def test_a_slider_of_a_running_robot_that_nothing_drives_lets_it_hold():
    driven = Driven()
    driven.set(joints={ROBOT.joint_names[0]: 0.5})
    assert driven.state["controller"] == "hold"
    driven.play(3.0)
    assert driven.player.q[0] == pytest.approx(0.5, abs=0.05)
    np.testing.assert_allclose(driven.player.q[1:], 0.0, atol=0.05)


def test_reset_begins_again():
    driven = Driven(q=np.full(6, 0.2), settings=Settings())
    driven.play(0.3)
    driven.ask(do="pull", body=ROBOT.body_names[-1], point=[0, 0, 0], target=[1, 1, 1])
    driven.ask(do="reset")
    assert driven.state["t"] == 0 and driven.state["q"] == [0.2] * 6 and driven.state["pull"] is None
    assert driven.state["history"] == [0, 0]


def test_history_is_gone_back_to_and_goes_on_from_there():
    driven = Driven(settings=Settings())
    driven.play(0.5)
    states = {state["t"]: state["q"] for state in driven.screen.states}
    t = sorted(states)[len(states) // 2]
    driven.ask(do="seek", t=t)
    assert driven.state["t"] == t and driven.state["q"] == states[t] and not driven.state["running"]
    assert driven.state["history"][1] > t, "what comes after is kept"
    driven.ask(do="seek", t=1e9)
    assert driven.state["t"] == driven.state["history"][1]
    driven.ask(do="seek", t=t)
    driven.set(running=True)
    driven.play(0.1)
    assert driven.physics.history.span[1] == pytest.approx(t + 0.1, abs=0.02)


def test_a_floating_robot_stands_and_its_joints_lift_it_out_of_the_ground():
    robot = treesim.load("anymal", base="floating")
    sensors, knees = [treesim.Imu("base"), treesim.JointTorque()], ("LF_KFE", "RF_KFE", "LH_KFE", "RH_KFE")
    world = treesim.World(robot, ground=treesim.Ground(), sensors=sensors)
    q = treesim.standing(robot, robot.configuration({"root_joint": robot.neutral()[:7], **dict.fromkeys(knees, 1.0)}))
    driven = Driven(world, q, Settings(controller="hold", kp=2000.0, kd=100.0))
    driven.physics.scene = driven.physics.scene._replace(base="floating")
    assert len(driven.screen.grounds) == 1 and driven.screen.panels[-1]["can"] == [
        "pull",
        "seek",
        "com",
        "momentum",
        "contact",
        "points",
    ]
    assert "rk4" not in driven.screen.panels[-1]["integrators"], "it knows no contact"
    (reply,) = driven.set(referenceIntegrator="rk4")
    assert "rk4" in reply and driven.state["reference"] == "none"
    driven.play(0.5)
    assert driven.state["contactForce"] == pytest.approx(robot.mass * 9.81, rel=0.2)
    total = sum(np.array(contact["force"]) for contact in driven.state["contacts"].values())
    np.testing.assert_allclose(np.linalg.norm(total), driven.state["contactForce"])
    assert len(driven.state["contacts"]) == 4, "its feet"
    points = np.array(driven.state["points"])
    np.testing.assert_allclose(points[:, 3:].sum(axis=0), total, rtol=0, atol=1e-9 * robot.mass)
    assert np.abs(points[:, 2]).max() < 1e-3, "on the ground"
    (imu, torque), readings = driven.screen.panels[-1]["sensors"], driven.state["sensors"]
    assert imu["units"] == ["m/s^2"] * 3 + ["rad/s"] * 3
    assert torque["columns"] == [robot.dof_name(k) for k in range(robot.nv)]
    assert np.linalg.norm(readings["imu_base"][:3]) == pytest.approx(9.81, rel=0.2)
    np.testing.assert_array_equal(readings["joint_torque"], driven.physics.player.simulation.system.applied)
    np.testing.assert_allclose(driven.state["com"], treesim.center_of_mass(robot, driven.state["q"]), atol=1e-12)
    driven.set(running=False)
    assert driven.set(joints=dict.fromkeys(knees, 0.0)) == []
    gap = gaps(robot, driven.player.q, np.array([0, 0, 1.0]), 0.0).min()
    assert driven.player.q[2] > q[2] + 0.02 and gap == pytest.approx(0, abs=1e-9)
