"""Starts beyond position limits: one warning a run, which names joint, limit, energy and remedy."""

import copy
import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

import treesim
from treesim import Joint, LimitWarning, Mimic
from treesim.cli.main import app
from treesim.simulation.start_limits import warn_of_start

ARM = treesim.Inertia(2.0, (0, 0, -0.5), np.diag([0.1, 0.1, 0.01]))


def pendulum(lower=-1.0, upper=-0.2, kind="revolute", **more):
    axis = (0, 1, 0) if kind == "revolute" else (0, 0, 1)
    joint = Joint("hinge", kind, axis=axis, lower=lower, upper=upper, **more)
    return treesim.Tree("arm", [treesim.Body("link", 0, joint, ARM)])


ROBOT = pendulum()
BEYOND, WITHIN = np.array([0.1]), np.array([-0.2])


def warned(action):
    """The texts of all LimitWarnings of an action."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    found = [one for one in caught if issubclass(one.category, LimitWarning)]
    assert all(one.filename == __file__ for one in found), "the warning points at the caller"
    return [str(one.message) for one in found]


def batch(q):
    stepper = treesim.BatchStepper(ROBOT, 4)
    stepper.put(slice(None), q, np.zeros(1))
    for _ in range(3):
        stepper.step()


def steps(q):
    stepper = treesim.Stepper(ROBOT)
    for _ in range(3):
        stepper.step(stepper.reset(q))


WAYS = {
    "run": lambda q: treesim.Simulation(ROBOT).run(0.01, q),
    "run_from": lambda q: treesim.Simulation(ROBOT).run_from(0.01, (q, np.zeros(1))),
    "semi_implicit_euler": lambda q: treesim.Simulation(ROBOT, integrator="semi_implicit_euler").run(0.01, q),
    "stepper": steps,
    "rollout": lambda q: treesim.rollout(ROBOT, np.tile(q, (4, 1)), np.zeros(1), steps=3),
    "batch stepper": batch,
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_start_warns_once(way):
    (text,) = warned(lambda: WAYS[way](BEYOND))
    assert "'hinge' at 0.1 rad" in text and "is 0.3 rad above its upper limit of -0.2 rad" in text
    assert "start from robot.clamp(q0)" in text
    assert ("4 of 4 states of 'arm' start" in text) == (way in ("rollout", "batch stepper"))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("q", [WITHIN, WITHIN + 5e-10, np.array([-0.7]), ROBOT.clamp(BEYOND)])
def test_starts_within_the_limits_do_not(way, q):
    assert warned(lambda: WAYS[way](q)) == []


def test_worlds_without_limits_and_integrators_that_leave_them_out_do_not():
    free = treesim.World(ROBOT, use_limits=False)
    assert warned(lambda: treesim.Simulation(free).run(0.01, BEYOND)) == []
    assert warned(lambda: treesim.Stepper(free).reset(BEYOND)) == []
    assert warned(lambda: treesim.rollout(free, BEYOND[None], np.zeros(1), steps=2)) == []
    assert warned(lambda: treesim.Simulation(ROBOT, integrator="rk4").run(0.01, BEYOND)) == []


def test_a_second_run_warns_again_and_a_continuation_does_not():
    simulation, runs = treesim.Simulation(ROBOT), []
    assert len(warned(lambda: runs.append(simulation.run(0.002, BEYOND)))) == 1
    assert warned(lambda: simulation.run_from(0.002, runs[0])) == []
    assert warned(lambda: treesim.replay(runs[0])) == []
    assert len(warned(lambda: simulation.run(0.002, BEYOND))) == 1


def test_the_energy_is_the_change_of_potential_energy():
    energy = [treesim.energy(ROBOT, q, np.zeros(1))[1] for q in (BEYOND, WITHIN)]
    (text,) = warned(lambda: treesim.Simulation(ROBOT).run(0.0, BEYOND))
    assert f"potential energy by {energy[1] - energy[0]:+.3g} J" in text
    (text,) = warned(lambda: treesim.Simulation(ROBOT, gravity=(0, 0, 0)).run(0.0, BEYOND))
    assert "potential energy by +0 J" in text


def test_units_and_sides():
    slider = pendulum(lower=0.5, upper=np.inf, kind="prismatic")
    (text,) = warned(lambda: treesim.Simulation(slider).run(0.0, [0.2]))
    assert "'hinge' at 0.2 m is 0.3 m below its lower limit of 0.5 m" in text


def test_the_farthest_state_and_joint_are_named():
    bodies = [treesim.Body(f"link{k}", k, Joint(f"j{k}", "revolute", lower=-1, upper=1), ARM) for k in range(3)]
    robot = treesim.Tree("chain", bodies)
    q = np.zeros((5, 3))
    q[1, 0], q[3] = 1.2, (-1.1, 1.5, 1.3)
    (text,) = warned(lambda: treesim.rollout(robot, q, np.zeros(3), steps=1))
    assert "2 of 5 states of 'chain' start" in text
    assert "joint 'j1' at 1.5 rad (state 3) is 0.5 rad above" in text and "and 2 more joints are beyond theirs" in text


def test_limits_of_mimic_joints_are_the_leaders():
    line = Joint("b", "revolute", axis=(0, 1, 0), mimic=Mimic("hinge", 2.0, 0.0), lower=-0.4, upper=0.4)
    mimicked = pendulum(-1, 1).bodies[0]
    robot = treesim.Tree("pair", [mimicked, treesim.Body("second", 1, line, ARM)])
    (text,) = warned(lambda: treesim.Simulation(robot).run(0.0, [0.5]))
    assert "'hinge' at 0.5 rad" in text and "upper limit of 0.2 rad" in text
    assert warned(lambda: treesim.Simulation(robot).run(0.0, robot.clamp([0.5]))) == []


def test_limits_of_single_rollouts():
    upper = np.array([[0.0], [0.2], [0.05], [1.0]])
    q, v = np.tile(BEYOND, (4, 1)), np.zeros(1)
    (text,) = warned(lambda: treesim.rollout(ROBOT, q, v, steps=1, model_parameters={"upper": upper}))
    assert "2 of 4 states" in text and "(state 0) is 0.1 rad above its upper limit of 0 rad" in text
    wide = {"upper": np.array([0.5])}
    assert warned(lambda: treesim.rollout(ROBOT, q, v, steps=1, model_parameters=wide)) == []
    stepper = treesim.BatchStepper(ROBOT, 4, model_parameters={"upper": upper})
    stepper.put(slice(None), np.array([-0.5]), v)
    assert warned(stepper.step) == []
    assert warned(lambda: stepper.put([1, 3], q[:2], v)) == []
    (text,) = warned(lambda: stepper.put([3, 2], q[:2], v))
    assert "1 of 2 states" in text and "(state 1) is 0.05 rad above" in text


@pytest.mark.parametrize(("number", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-5)])
@pytest.mark.parametrize("side", [-1, 1])
def test_a_start_may_be_beyond_its_limit_by_rounding(number, tolerance, side):
    world = treesim.World(pendulum(*sorted((0.0, -side))))
    assert not warn_of_start(world, np.array([side * 0.95 * tolerance], number))
    with pytest.warns(LimitWarning, match="start"):
        assert warn_of_start(world, np.array([side * 1.05 * tolerance], number))


def test_single_precision_rounds_more():
    upper = ROBOT.upper.astype(np.float32)
    q = np.nextafter(upper, np.float32(1))[None]
    assert warned(lambda: treesim.rollout(ROBOT, q, np.zeros(1, np.float32), steps=1)) == []


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_of_steppers_have_warned_when_the_original_has(copied):
    stepper, many = treesim.Stepper(ROBOT), treesim.BatchStepper(ROBOT, 2)
    many.put(slice(None), BEYOND, np.zeros(1))
    assert len(warned(lambda: stepper.reset(BEYOND))) == len(warned(many.step)) == 1
    assert warned(lambda: copied(stepper).reset(BEYOND)) == []
    assert warned(lambda: copied(many).put(slice(None), BEYOND, np.zeros(1))) == []


def test_states_in_motion_are_no_starts():
    stepper = treesim.BatchStepper(ROBOT, 2)
    stepper.put(slice(None), WITHIN, np.ones(1))
    assert warned(lambda: [stepper.step() for _ in range(20)]) == []


@pytest.mark.parametrize("name", ["panda", "hyq", "ur5", "g1_29dof_rev_1_0"])
def test_clamp_is_within_the_limits_and_changes_nothing_within_them(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", treesim.UrdfWarning)
        robot = treesim.load(name, base="floating")
    rng = np.random.default_rng(0)
    q = np.stack([robot.neutral(), *(robot.random(rng) for _ in range(5))])
    found = robot.clamp(q)
    assert (found >= robot.lower).all() and (found <= robot.upper).all()
    assert np.array_equal(found[1:], q[1:]) and np.array_equal(robot.clamp(found), found)
    assert np.array_equal(robot.clamp(q[0]), found[0])
    with pytest.raises(treesim.ArgumentError, match="q"):
        robot.clamp(q[:, 1:])


def test_the_command_line_reports_it_once():
    found = CliRunner().invoke(app, ["simulate", "panda", "--duration", "0.002"])
    assert found.exit_code == 0 and found.output.count("LimitWarning") == 0
    assert " ".join(found.output.split()).count("'panda' starts beyond position limits") == 1


def test_a_large_batch_is_checked_without_a_copy_of_it():
    q = np.tile(WITHIN, (100_000, 1))
    tracemalloc.start()
    try:
        assert not warn_of_start(treesim.World(ROBOT), q)
        assert tracemalloc.get_traced_memory()[1] < q.nbytes / 4
    finally:
        tracemalloc.stop()
    for wrong in (BEYOND, -2.0):  # one state above and one below
        with pytest.warns(LimitWarning, match="1 of 100000 states of 'arm' start beyond"):
            assert warn_of_start(treesim.World(ROBOT), np.vstack([q[1:], np.atleast_2d(wrong)]))
