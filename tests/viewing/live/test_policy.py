"""Policies of live sessions: rate, memory and commands are those of a simulation."""

import numpy as np
import pytest

import treesim
from tests.policies.contracts import linear
from tests.viewing.live.driven import ROBOT, Driven, ReferenceScreen
from treesim.viewing.live.settings import Settings

NAMES = list(ROBOT.joint_names)
CONTRACT = f"""
policy = 1
rate = 50
joints = {{order = {NAMES}}}
observation = {{terms = [
  {{term = "command", names = ["x", "y"], range = {{x = [-0.5, 1]}}}}, {{term = "last_action", history = 2}},
  {{term = "joint_position", delay = 0.02}}]}}
action = {{kind = "joint_position"}}
actuators = {{"*" = {{type = "PositionServo", kp = 300, kd = 30}}}}
""".encode()
WEIGHTS = np.random.default_rng(0).normal(scale=0.2, size=(20, 6))
SETTINGS = Settings(gravity=(0.0, 0.0, 0.0), dt=0.005, controller="policy")


@pytest.fixture(scope="module")
def policy():
    return treesim.policies.load(linear(20, 6, WEIGHTS.T), CONTRACT, ROBOT)


def driven_by(policy, **options):
    world = treesim.World(ROBOT, actuators=policy.actuators)
    return Driven(world, settings=SETTINGS, policy=policy, command=[0.2, 0.0], screen=ReferenceScreen(), **options)


def simulated(policy, steps, command, **options):
    """The configuration after steps under commands {step from which on: command}."""
    controller = policy.controller(0.005, command[0])
    world = treesim.World(ROBOT, actuators=policy.actuators)
    simulation = treesim.Simulation(world, 0.005, controller=controller, gravity=(0, 0, 0), engine="generic", **options)
    q, v = np.zeros(6), np.zeros(6)
    for k in range(steps):
        controller.command = command.get(k, controller.command)
        q, v = simulation.step(k * 0.005, q, v)
    return q


def test_the_motion_is_the_simulation_s_with_commands_and_begins_anew_at_a_reset(policy):
    driven = driven_by(policy)
    ranges = [("x", -0.5, 1), ("y", -1, 1)]
    assert driven.screen.panels[-1]["commands"] == [
        dict(zip(("name", "lower", "upper"), x, strict=True)) for x in ranges
    ]
    assert "policy" in driven.screen.panels[-1]["controllers"]
    driven.set(reference="simulation")
    for _ in range(2):
        assert driven.state["command"] == {"x": 0.2, "y": 0}
        driven.play(0.23)
        turn = driven.player.steps
        assert driven.set(command={"y": -1}) == [] and driven.state["command"] == {"x": 0.2, "y": -1}
        driven.play(0.3)
        expected = simulated(policy, driven.player.steps, {0: [0.2, 0], turn: [0.2, -1]})
        np.testing.assert_allclose(driven.player.q, expected, rtol=0, atol=1e-12)
        assert np.abs(expected).max() > 0.05
        np.testing.assert_array_equal(driven.physics.reference.q, driven.player.q)
        driven.ask(do="reset")


def test_another_setting_keeps_the_memory(policy):
    driven = driven_by(policy)
    driven.play(0.3)
    driven.set(backend="rjk")
    driven.set(reference="simulation")
    driven.play(0.3)
    expected = simulated(policy, driven.player.steps, {0: [0.2, 0]})
    np.testing.assert_allclose(driven.player.q, expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(driven.physics.reference.q, driven.player.q)
    assert driven.set(dt=0.003)[0].startswith("the period of the policy, 50 Hz, is no whole multiple of dt = 0.003 s")
    driven.set(controller="hold")
    driven.play(0.1)
    assert driven.set(joints={NAMES[0]: 0.1}, command={"x": 1}) == []
    driven.set(controller="policy")
    driven.play(0.1)
    assert driven.state["command"]["x"] == 1 == driven.physics.drive.inner.command[0]


def test_what_is_wrong_changes_nothing(policy):
    driven = driven_by(policy)
    for values, message in (
        ({"command": {"x": -0.6}}, "command 'x' goes from -0.5 to 1, not -0.6"),
        ({"command": {"x": "1"}}, "command 'x' goes from -0.5 to 1, not '1'"),
        ({"command": {"z": 0}}, "unknown number of the command 'z'"),
        ({"command": [1, 2]}, "command must be {name: number}, got [1, 2]"),
        ({"joints": {NAMES[0]: 0.1}}, "the policy sets the targets of joints: pause, or choose the controller 'hold'"),
    ):
        (reply,) = driven.set(**values)
        assert message in reply, reply
    assert driven.state["command"] == {"x": 0.2, "y": 0}
    without = Driven()
    assert without.set(controller="policy") == ["controller 'policy': no policy was loaded with this robot"]
    assert "commands" not in without.screen.panels[-1] and without.state["command"] == {}
