"""Assignment of actuators to the joints of a world, what they change in its robot, and what cannot have them."""

import copy
import pickle

import numpy as np
import pytest

import treesim
from tests.coupled import coupled
from treesim import (
    ArgumentError,
    Body,
    Inertia,
    Joint,
    Motor,
    PositionServo,
    Tree,
    UnknownNameError,
    UnsupportedError,
    VelocityServo,
    World,
)
from treesim.simulation.serialization import plain, restored

GO2 = treesim.load("go2", base="floating")
KNEES = [name for name in GO2.joint_names if "calf" in name]


def test_names_precede_patterns_in_their_order():
    motor, servo, other = Motor(gear=2), PositionServo(20, 1), VelocityServo(1)
    world = World(GO2, actuators={"*_calf_*": servo, "*": other, KNEES[0]: motor})
    table, at = world.actuator_table, GO2.v_index
    assert table.gain[at[KNEES[0]]] == 2 and table.kp[at[KNEES[1]]] == 20 and table.gain[6] == table.kd[6] == 1
    assert not table.driven[:6].any() and table.driven[6:].all(), "a pattern leaves out the base"


def test_the_robot_of_the_world_has_what_actuators_add():
    joint = Joint("j", "revolute", armature=0.1, damping=0.2, joint_friction=0.3, effort_limit=50, velocity_limit=7)
    robot = Tree("r", [Body("b", 0, joint, Inertia(1.0, rotational=np.eye(3)))])
    motor = Motor(gear=10, rotor_inertia=1e-3, damping=1, joint_friction=2, effort_limit=40)
    world = World(robot, actuators={"j": motor})
    for made in (world, world.with_robot(robot), world.with_sensors(treesim.JointTorque()), copy.copy(world)):
        found = made.robot.joint("j")
        numbers = found.armature, found.damping, found.joint_friction, found.effort_limit, found.velocity_limit
        assert [float(x[0]) for x in numbers] == pytest.approx([0.2, 1.2, 2.3, 40, 7])
        assert made.actuators == {"j": motor} and made.alone is robot
    for made in (pickle.loads(pickle.dumps(world)), restored(plain(world))):
        assert made.robot.armature[0] == pytest.approx(0.2) and made.actuators == {"j": motor}
    assert "<Motor: effort_limit=40.0" in str(world._repr_fields())
    assert World(robot).robot is robot and World(robot, actuators={}).actuator_table is None


def test_bodies_of_the_world_may_have_actuators():
    slide = Tree("slide", [Body("car", 0, Joint("rail", "prismatic"), Inertia(1.0))])
    world = World(GO2, bodies=[slide], actuators={"rail": Motor(gear=3)})
    assert world.actuator_table.gain[-1] == 3


@pytest.mark.parametrize(
    ("actuators", "error", "message"),
    [
        ({"knee": Motor()}, UnknownNameError, "unknown joint or pattern of actuators 'knee' of 'go2_description'"),
        ({"*_wheel": Motor()}, UnknownNameError, "unknown joint or pattern"),
        ({KNEES[0]: 3.0}, ArgumentError, f"actuators\\['{KNEES[0]}'\\] must be a Motor, DCMotor, .*got 3.0"),
        ({3: Motor()}, ArgumentError, "a key of actuators must be a text"),
        ([Motor()], ArgumentError, "actuators must be {joint name or pattern: actuator}"),
        ({"*": Motor(), "*calf*": Motor()}, ArgumentError, "actuators.'.calf.'.: joint '.*' has two actuators"),
        ({"root_joint": Motor()}, UnsupportedError, "'root_joint' is floating: actuators drive joints of one degree"),
    ],
)
def test_what_cannot_be_assigned(actuators, error, message):
    with pytest.raises(error, match=message):
        World(GO2, actuators=actuators)


def test_mimic_joints_take_the_actuator_of_the_mimicked_one():
    robot = coupled(2)
    with pytest.raises(UnsupportedError, match="'joint_5' mimics joint 'joint_6': give that joint the actuator"):
        World(robot, actuators={"joint_5": Motor()})
    assert World(robot, actuators={"*": Motor()}).actuator_table.driven[robot.v_index["joint_6"]] == 1


def test_a_velocity_limit_needs_a_largest_force():
    robot = Tree("r", [Body("b", 0, Joint("j", "continuous"), Inertia(1.0, rotational=np.eye(3)))])
    with pytest.raises(ArgumentError, match="velocity_limit needs an effort_limit"):
        World(robot, actuators={"j": Motor(velocity_limit=3)})


def test_a_joint_has_gains_or_an_actuator(tmp_path):
    world = World(GO2, actuators={KNEES[0]: Motor()})
    message = f"joint '{KNEES[0]}' has an actuator in its World, and gains kp or kd"
    q, v = GO2.neutral(), np.zeros(GO2.nv)
    for refused in (
        lambda: treesim.Stepper(world, kp=20.0),
        lambda: treesim.rollout(world, q, v, kp=20.0, steps=1),
        lambda: treesim.BatchStepper(world, 2, kd=1.0, dt=1e-3),
        lambda: treesim.Simulation(world, controller=treesim.PD(GO2, q)),
        lambda: treesim.sweep(world, vary={}, steps=1, samples=2, kp=20.0, store=tmp_path / "s"),
    ):
        with pytest.raises(ArgumentError, match=message):
            refused()
    gains = np.full(GO2.nv, 20.0)
    gains[:6], gains[GO2.v_index[KNEES[0]]] = 0, 0
    assert treesim.Stepper(world, kp=gains).settings.has_gains, "other joints may have gains"
