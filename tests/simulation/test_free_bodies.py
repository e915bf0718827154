"""Controllers of a robot in a world with free bodies: they drive the robot's joints, and nothing else."""

import copy
import pickle

import numpy as np
import pytest

import treesim
from treesim import ArgumentError
from treesim.simulation.control import PD, Zero, make_controller
from treesim.simulation.controlled import ControllerError
from treesim.simulation.wrapped_controllers import ExtendedController

ROBOT = treesim.load("ur5")
Q0 = np.array([0, -1.0, 0.5, 0, 0, 0])
BOX = treesim.free_body("box", "box", (0.1, 0.1, 0.1), 1.0)
WORLD = treesim.World(ROBOT, bodies=BOX)
START = np.r_[Q0, 0.5, 0.5, 1.0, 0, 0, 0, 1]


def ran(controller, world=WORLD, q0=START, **how):
    return treesim.Simulation(world, controller=controller, **how).run(0.03, q0)


@pytest.mark.parametrize("integrator", ["implicit_midpoint", "semi_implicit_euler", "rk4"])
def test_a_controller_of_the_robot_is_that_of_the_whole_with_no_force_on_bodies(integrator):
    alone = ran(PD(ROBOT, Q0 + 0.1, kp=300, kd=30), integrator=integrator)
    whole = ran(PD(WORLD.robot, np.r_[Q0 + 0.1, START[6:]], kp=300, kd=30), integrator=integrator)
    assert np.array_equal(alone.q, whole.q) and np.array_equal(alone.tau, whole.tau)
    assert alone.tau[:, :6].any() and not alone.tau[:, 6:].any()


def test_no_torque_is_that_of_any_of_its_robots():
    assert np.array_equal(ran(Zero(ROBOT)).q, ran(None).q)


def test_a_push_of_a_robot_beside_a_box():
    trunk = treesim.Body(
        "trunk", 0, treesim.Joint("root", "floating"), treesim.Inertia(2.0, rotational=0.1 * np.eye(3))
    )
    arm = treesim.Body("arm", 1, treesim.Joint("elbow", "revolute"), treesim.Inertia(1.0, (0, 0.2, 0)))
    robot = treesim.Tree("walker", [trunk, arm])
    world = treesim.World(robot, bodies=BOX)
    q = robot.neutral()
    push = treesim.Pushed(treesim.PD(robot, q), robot, (10, 0, 0), start=0.0, duration=0.1)
    run = ran(push, world, np.r_[q, 3, 3, 3, 0, 0, 0, 1])
    beside = ran(push, robot, q)
    np.testing.assert_allclose(run.q[:, : robot.nq], beside.q, rtol=0, atol=1e-12)
    assert run.tau[:, :3].any() and not run.tau[:, robot.nv :].any()
    with pytest.raises(ArgumentError, match="several bodies on the world, 'trunk', 'box': give the robot"):
        treesim.Pushed(None, world.robot, (1, 0, 0))


def test_copies_pickles_and_recordings_go_on_with_the_same_bits(tmp_path):
    simulation = treesim.Simulation(WORLD, controller=make_controller("hold", ROBOT, Q0))
    run = simulation.run(0.03, START)
    for other in (copy.deepcopy(simulation), pickle.loads(pickle.dumps(simulation))):
        assert np.array_equal(other.run(0.03, START).q, run.q)
    assert treesim.replay(run.save(tmp_path / "run.npz")).same
    assert "controller PD" in repr(simulation)


def test_gains_of_the_users_object_are_read_when_they_are_asked_for():
    hold = treesim.PD(ROBOT, Q0, kp=1.0, kd=2.0)
    beside = ExtendedController(hold, ROBOT, WORLD.robot)
    hold.stiffness = np.arange(6.0)
    assert beside.stiffness.tolist() == [0, 1, 2, 3, 4, 5] + [0] * 6
    assert beside.damping.tolist() == [2] * 6 + [0] * 6


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (np.zeros(5), ControllerError, r"shape \(5,\), but \(12,\) is needed, 6 of them of free bodies"),
        (np.zeros(6), ControllerError, r"shape \(6,\), but \(12,\) is needed, 6 of them of free bodies"),
    ],
)
def test_functions_are_given_and_return_all_of_it(given, error, text):
    with pytest.raises(error, match=text):
        ran(lambda t, q, v: given)


MASKED = np.ma.masked_array(np.zeros(6), [1] + [0] * 5)


@pytest.mark.parametrize("wrong", [MASKED, ["a"] * 6, [1j] * 6, [True] * 6, np.ones(5)])
def test_what_is_no_torque_is_refused_beside_bodies_too(wrong):
    class Odd(PD):
        def torque(self, t, q, v):
            return wrong

    with pytest.raises(ControllerError, match="the controller 'Odd' returned"):
        ran(Odd(ROBOT, Q0, kp=1, kd=1))


def test_a_controller_of_another_robot_is_refused_with_both_names():
    other = treesim.load("panda")
    for world, which in ((WORLD, "the world's robot alone, 'ur5', or world.robot"), (ROBOT, "world.robot")):
        text = rf"the controller 'PD' is of 'panda', which has {other.nv} degrees of freedom, but 'ur5' has .*{which}"
        with pytest.raises(ArgumentError, match=text):
            treesim.Simulation(world, controller=treesim.PD(other, other.neutral()))
    with pytest.raises(ArgumentError, match=r"robot must be a Tree.*: give its robot"):
        treesim.PD(WORLD, START)
