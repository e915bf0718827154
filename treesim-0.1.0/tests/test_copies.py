"""Robots, bound dynamics, simulations and trajectories pass through pickles, copies and new processes, bit for bit."""

import copy
import multiprocessing
import pickle
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import cache

import numpy as np
import pytest

import treesim
from treesim.errors import FrictionWarning
from treesim.model import generators
from treesim.simulation import control

from . import trees

WAYS = {"pickle": lambda thing: pickle.loads(pickle.dumps(thing)), "deep copy": copy.deepcopy, "copy": copy.copy}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
ROBOT = generators.chain(3)


class Swing:
    """A controller with a state: it counts its calls."""

    def __init__(self, simulation=None):
        self.calls, self.simulation = 0, simulation

    def torque(self, t, q, v):
        self.calls += 1
        return np.full(len(v), 0.1 * self.calls)


def state(robot):
    given = trees.random_state(robot, 3)
    return given.q, given.v, given.tau


@every_way
@pytest.mark.parametrize("name", ["tree_1", "chain_mixed", "free_random", "asimo"])
def test_trees(way, name):
    robot = trees.tree(name)
    other = way(robot)
    assert (repr(other), other.parent.tolist()) == (repr(robot), robot.parent.tolist())
    for label in ("ints", "reals", "lower", "upper", "velocity_limit", "effort_limit", "body_rotations"):
        assert getattr(other, label).tobytes() == getattr(robot, label).tobytes(), label
    assert tuple(other.frames) == tuple(robot.frames)
    assert [visual.kind for visual in other.visuals] == [visual.kind for visual in robot.visuals]


@every_way
def test_bound_dynamics(way):
    armature = np.full(ROBOT.nv, 0.1)
    bound = treesim.Dynamics(ROBOT, gravity=[0, 1, 2], armature=armature, engine="generic")
    armature[:] = 7.0  # what is the caller's no longer matters
    other = way(bound)
    assert np.array_equal(other.forward_dynamics(*state(ROBOT)), bound.forward_dynamics(*state(ROBOT)))
    assert (other.engine, other.backend, other.dtype) == ("generic", "aba", np.float64)


def test_arrays_out_of_a_pickle_give_the_same_bits():
    """numpy gives them a description of their numbers that is equal to its own, but another object."""
    robot, damped = trees.tree("random_a"), control.PD(trees.tree("random_a"), trees.tree("random_a").neutral())
    bound, simulation = treesim.Dynamics(robot), treesim.Simulation(robot, controller=damped)
    q, v, _ = given = state(robot)
    other = pickle.loads(pickle.dumps(given))
    assert other[0].dtype is not q.dtype
    assert np.array_equal(bound.forward_dynamics(*other), bound.forward_dynamics(*given))
    assert np.array_equal(simulation.run(0.003, *other[:2]).q, simulation.run(0.003, q, v).q)


@every_way
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4"])
def test_simulations_with_their_controllers(way, integrator):
    simulation = treesim.Simulation(
        ROBOT, backend="aba", integrator=integrator, dt=1e-2, controller=Swing(), gravity=[0, 0, -1.0], engine="generic"
    )
    simulation.run(0.05)
    other = way(simulation)
    counted = other.system.controller.calls
    assert counted == simulation.system.controller.calls > 0 and (other.dt, other.engine) == (1e-2, "generic")
    found = other.run(0.1, q0=[0.1, 0.2, 0.3])
    simulation.system.controller.calls = counted
    assert np.array_equal(found.q, simulation.run(0.1, q0=[0.1, 0.2, 0.3]).q)


@pytest.mark.parametrize("way", [WAYS["pickle"], WAYS["deep copy"]], ids=["pickle", "deep copy"])
def test_a_controller_that_knows_its_simulation(way):
    controller = Swing()
    simulation = treesim.Simulation(ROBOT, controller=controller)
    controller.simulation = simulation
    other = way(simulation)
    assert other.system.controller.simulation is other is not simulation


def test_pd_control_is_as_before():
    simulation = treesim.Simulation(ROBOT, controller=control.PD(ROBOT, [0.1, 0.2, 0.3]))
    other = pickle.loads(pickle.dumps(simulation))
    assert other.system.controller.robot is other.robot
    assert np.array_equal(other.run(0.01).q, simulation.run(0.01).q)


def test_friction_is_warned_of_once():
    joint = treesim.Joint("hinge", "revolute", joint_friction=1.0)
    robot = treesim.Tree("rough", [treesim.Body("arm", 0, joint, treesim.Inertia(1.0, (1, 0, 0)))])
    with pytest.warns(FrictionWarning):
        simulation = treesim.Simulation(robot, integrator="rk4")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pickle.loads(pickle.dumps(simulation))


def test_a_controller_that_cannot_be_pickled_is_named():
    class Local:
        gain = 3.0

        def torque(self, t, q, v):
            return -self.gain * q

        def __repr__(self):
            return "<my controller>"

    simulation = treesim.Simulation(ROBOT, controller=Local())
    with pytest.raises(
        treesim.ArgumentError, match=r"the controller <my controller> cannot be pickled: .*Local.*top level"
    ):
        pickle.dumps(simulation)
    simulation = treesim.Simulation(ROBOT, controller=Swing(simulation=lambda: None))
    with pytest.raises(treesim.ArgumentError, match=r"the controller .*Swing.* cannot be pickled: .*lambda"):
        pickle.dumps(simulation)
    assert copy.deepcopy(simulation).system.controller.calls == 0  # which asks for no pickle


@every_way
def test_trajectories_and_rollouts(way):
    run = treesim.Simulation(ROBOT).run(0.01)
    other = way(run)
    assert repr(other) == repr(run) and other.metadata == run.metadata
    assert all(np.array_equal(getattr(other, x), getattr(run, x)) for x in ("t", "q", "v", "tau", "energy"))
    runs = treesim.rollout(ROBOT, np.ones(3), np.zeros(3), steps=5)
    assert np.array_equal(way(runs).q, runs.q)


def elsewhere(robot, bound, simulation):
    """What another process makes of them."""
    q, v, tau = state(robot)
    return treesim.forward_dynamics(robot, q, v, tau), bound.forward_dynamics(q, v, tau), simulation.run(0.02)


def test_a_process_started_afresh_computes_the_same_bits():
    robot = trees.tree("random_a")
    given = robot, treesim.Dynamics(robot), treesim.Simulation(robot, controller=control.PD(robot, robot.neutral()))
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        there = pool.submit(elsewhere, *given).result()
    for found, wanted in zip(there[:2], elsewhere(*given)[:2], strict=True):
        assert np.array_equal(found, wanted)
    assert np.array_equal(there[2].q, elsewhere(*given)[2].q) and there[2].robot_name == robot.name


@cache
def standing():
    """A humanoid on the ground, whose steps begin with the impulses of the step before, and where it stands."""
    robot = treesim.load("simple_humanoid", base="floating")
    world = treesim.World(robot, ground=treesim.Ground())
    return world, treesim.standing(robot, robot.clamp(robot.neutral()))


@every_way
@pytest.mark.parametrize("steps", [0, 5])
def test_batch_steppers_go_on(way, steps):
    world, q = standing()
    mass = np.linspace(0.9, 1.1, 3)[:, None] * [body.inertia.mass for body in world.robot.bodies]
    kp = np.zeros(world.robot.nv)
    stepper = treesim.BatchStepper(world, 3, kp=kp, model_parameters={"mass": mass}, threads=1)
    kp[:], mass[:] = 1.0, 1.0  # what is the caller's no longer matters
    stepper.put(slice(None), q, np.zeros(world.robot.nv))
    for _ in range(steps):
        stepper.step()
    twin = way(stepper)
    assert (repr(twin), twin.threads) == (repr(stepper), 1)
    for x in (twin, stepper):  # one after the other: neither may change the other's memory
        for _ in range(5):
            x.step()
    for label in ("q", "v", "residual", "finite"):
        assert np.array_equal(getattr(twin, label), getattr(stepper, label)), label
        assert not np.shares_memory(getattr(twin, label), getattr(stepper, label)), label


def test_a_batch_stepper_is_not_copied_within_a_step():
    stepper = treesim.BatchStepper(ROBOT, 1)
    with stepper._alone("step"), pytest.raises(treesim.ArgumentError, match="copying: another thread uses"):
        copy.copy(stepper)


@every_way
def test_simulations_and_players_go_on_from_the_impulses_of_the_step_before(way):
    world, q = standing()
    player = treesim.Player(treesim.Simulation(world), q0=q)
    player.step(5)
    twin = way(player)
    assert twin.t == player.t
    for x in (twin, player):
        x.step(5)
    assert np.array_equal(twin.q, player.q) and np.array_equal(twin.v, player.v)
    assert np.array_equal(twin.simulation.system.work, player.simulation.system.work)


@pytest.mark.parametrize("one", [lambda x: pickle.loads(pickle.dumps(x)), lambda x: np.repeat(x, 2)[::2]])
def test_states_of_any_layout_step_with_the_same_bits(one):
    world, q = standing()
    v, simulation, stepper = np.zeros(world.robot.nv), treesim.Simulation(world), treesim.Stepper(world)
    for _ in range(4):
        state = stepper.reset(q, v)
        other = treesim.State(0.0, one(q), one(v), state.impulses, state.contact)
        simulation.system.forget()
        found = simulation.step(0.0, one(q), one(v)), (stepper.step(other)[0].q, stepper.step(other)[0].v)
        simulation.system.forget()
        q, v = simulation.step(0.0, q, v)
        for ends in found:
            assert np.array_equal(ends[0], q) and np.array_equal(ends[1], v)


def height(q):
    """Of a chain's end."""
    return [treesim.frame_pose(ROBOT, q, ROBOT.body_names[-1])[2, 3]]


@every_way
@pytest.mark.parametrize("engine", ["auto", "generic"])
def test_batch_functions(way, engine):
    function, q = (
        treesim.BatchFunction(height, [ROBOT.nq], what="the height", named=["q"], engine=engine),
        np.ones((2, ROBOT.nq)),
    )
    assert np.array_equal(way(function)(q), function(q)) and repr(way(function)) == repr(function)


def test_copies_of_steppers_repeat_no_warning():
    joint = treesim.Joint("hinge", "revolute", joint_friction=1.0)
    robot = treesim.Tree("rough", [treesim.Body("arm", 0, joint, treesim.Inertia(1.0, (1, 0, 0)))])
    with pytest.warns(FrictionWarning):
        made = [treesim.Stepper(robot, integrator="rk4"), treesim.BatchStepper(robot, 2, integrator="rk4")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for stepper in made:
            copy.deepcopy(stepper)
            pickle.loads(pickle.dumps(stepper))
