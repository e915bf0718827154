"""Runs in parts: the same bits as one run, wherever it is cut."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import treesim
from treesim import ArgumentError, ContinuationWarning, Joint, Mimic
from treesim.model import generators

CHAIN = generators.chain(3)
START = np.array([0.5, -0.2, 0.1])
WHOLE = 0.06
CUTS = (0.0, 0.001, 0.017, 0.043, WHOLE)


class Integral:
    """A controller with a state: it sums errors, counts its calls, and knows the time."""

    def __init__(self, nv):
        self.sum, self.calls = np.zeros(nv), 0

    def torque(self, t, q, v):
        self.calls += 1
        self.sum += 1e-3 * v + 1e-4
        return -3.0 * self.sum + 0.1 * np.sin(40 * t) + 1e-3 * self.calls


def joined(first, rest):
    """All arrays of two runs, in which the last state of one is the first of the other."""
    names = ("t", "q", "v", "tau", "work")
    arrays = {name: np.concatenate([getattr(first, name)[:-1], getattr(rest, name)]) for name in names}
    arrays["energy"] = np.concatenate([first.energy[:-1], rest.energy])
    if first.contact is not None:
        arrays["wrench"] = np.concatenate([first.contact.wrench[:-1], rest.contact.wrench])
        arrays["solver_info"] = np.concatenate([first.contact.solver_info[:-1], rest.contact.solver_info])
    return arrays


def same(whole, first, rest):
    found = joined(first, rest)
    for name, array in found.items():
        known = getattr(whole.contact if name in ("wrench", "solver_info") else whole, name)
        assert np.array_equal(np.asarray(known).view(np.int64), np.asarray(array).view(np.int64)), name
    return True


def check(make, q0, v0=None):
    """make: of a simulation anew, with its controller."""
    whole = make().run(WHOLE, q0, v0)
    for cut in CUTS:
        simulation = make()
        first = simulation.run(cut, q0, v0)
        assert same(whole, first, simulation.run_from(WHOLE - cut, first))
    return whole


def limited(**more):
    """A pendulum of three links whose joints stop, rub and follow each other."""
    parts = {"axis": (0, 1, 0), "joint_friction": 0.02, "damping": 0.01} | more
    inertia = treesim.Inertia(1.0, (0, 0, -0.3), np.diag([0.02, 0.02, 0.01]))
    below = treesim.Placement(np.eye(3), (0, 0, -0.5))
    joints = [
        Joint("a", "revolute", lower=-0.2, upper=0.6, **parts),
        Joint("b", "revolute", placement=below, lower=-0.3, upper=0.3, **parts),
        Joint("c", "revolute", placement=below, axis=(0, 1, 0), mimic=Mimic("a", -1.5, 0.1)),
    ]
    return treesim.Tree("limited", [treesim.Body(j.name, k, j, inertia) for k, j in enumerate(joints)])


@pytest.mark.parametrize("integrator", treesim.available("integrators"))
def test_every_integrator_under_a_controller_with_a_state(integrator):
    check(lambda: treesim.Simulation(CHAIN, integrator=integrator, controller=Integral(3)), START)


@pytest.mark.parametrize("integrator", ["implicit_midpoint", "semi_implicit_euler"])
@pytest.mark.parametrize("controller", [None, "hold", "integral"])
def test_limits_friction_and_a_mimic_joint(integrator, controller):
    robot = limited()

    def make():
        drive = {"hold": treesim.PD(robot, [0.1, 0.2], kp=50, kd=2), "integral": Integral(2)}.get(controller)
        return treesim.Simulation(robot, integrator=integrator, controller=drive)

    whole = check(make, [0.59, 0.28], [3.0, 2.0])
    assert (whole.q[:, 0] >= 0.6 - 1e-9).any()


@pytest.mark.parametrize("integrator", ["implicit_midpoint", "semi_implicit_euler"])
def test_contact(integrator):
    box = treesim.free_body("crate", "box", (0.2, 0.2, 0.2), 1.0)
    world = treesim.World(box, ground=treesim.Ground(friction=0.5))

    def make():
        return treesim.Simulation(world, integrator=integrator, controller=Integral(6), dt=2.5e-4)

    whole = check(make, [0, 0, 0.1003, 0.01, 0, 0, 1], [0, 0.3, -0.5, 0, 0, 0.2])
    assert whole.contact_wrench("crate")[:, 2].any()


def test_loops():
    world = treesim.World(treesim.load("assets/four_bar.urdf"))
    check(lambda: treesim.Simulation(world), world.close([0.0, -0.9, -1.9]))


def test_random_trees_of_every_joint_type():
    for seed in range(3):
        robot = generators.random_tree(np.random.default_rng(seed), 6)
        v = np.random.default_rng(1).normal(size=robot.nv)
        check(lambda robot=robot: treesim.Simulation(robot, controller=Integral(robot.nv)), robot.random(seed), v)


def crate_on_ground(**how):
    box = treesim.free_body("crate", "box", (0.2, 0.2, 0.2), 1.0)
    return treesim.Simulation(treesim.World(box, ground=treesim.Ground(friction=0.5)), **how)


LEANING = [0, 0, 0.1, 0.01, 0, 0, 1]
PUSHED = [0.4, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".parquet", ".nc", ".mcap"])
def test_a_file_goes_on_in_a_new_simulation(tmp_path, suffix):
    whole = crate_on_ground().run(WHOLE, LEANING, PUSHED)
    first = crate_on_ground().run(0.03, LEANING, PUSHED)
    loaded = treesim.Trajectory.load(first.save(tmp_path / f"run{suffix}"))
    assert same(whole, first, crate_on_ground().run_from(0.03, loaded))


def test_the_impulses_matter():
    first = crate_on_ground().run(0.03, LEANING, PUSHED)
    cold = replace(first, provenance=None)
    with pytest.warns(ContinuationWarning, match="no impulses of contact"):
        rest = crate_on_ground().run_from(0.03, cold)
    assert not np.array_equal(rest.v, crate_on_ground().run_from(0.03, first).v)


def test_impulses_of_another_world_are_left_out_with_a_warning():
    first = crate_on_ground().run(0.03, LEANING, PUSHED)
    robot = treesim.free_body("crate", "box", (0.2, 0.2, 0.2), 1.0)
    world = treesim.World(robot, ground=[treesim.Ground(), treesim.Ground(normal=(1, 0, 0), height=-3, name="wall")])
    with pytest.warns(ContinuationWarning, match="another world"):
        treesim.Simulation(world).run_from(0.01, first)


def test_copies_and_pickles_go_on_with_a_controller_that_has_a_state():
    whole = crate_on_ground(controller=Integral(6)).run(WHOLE, LEANING, PUSHED)
    simulation = crate_on_ground(controller=Integral(6))
    first = simulation.run(0.03, LEANING, PUSHED)
    for other in (copy.deepcopy(simulation), pickle.loads(pickle.dumps(simulation)), simulation):
        assert same(whole, first, other.run_from(0.03, first))


def test_a_run_that_was_interrupted_goes_on():
    whole = crate_on_ground().run(WHOLE, LEANING, PUSHED)
    simulation = crate_on_ground()

    def press(done, total):
        if done == 23:
            raise KeyboardInterrupt

    first = simulation.run(WHOLE, LEANING, PUSHED, progress=press)
    assert first.stopped == "interrupted"
    assert same(whole, first, simulation.run_from(WHOLE - first.t[-1], first))


def test_a_controller_that_failed_in_the_middle_goes_on():
    whole = crate_on_ground().run(WHOLE, LEANING, PUSHED)
    failing = True

    def fail(t, q, v):
        if failing and t > 0.02:
            raise OSError("no answer")
        return np.zeros(6)

    simulation = crate_on_ground(controller=fail)
    with pytest.raises(OSError, match="no answer") as caught:
        simulation.run(WHOLE, LEANING, PUSHED)
    first = caught.value.trajectory
    failing = False
    assert same(whole, first, simulation.run_from(WHOLE - first.t[-1], first))


def test_a_steppers_state_goes_on_in_a_simulation():
    simulation = crate_on_ground()
    stepper = treesim.Stepper(simulation.world)
    states = [stepper.reset(LEANING, PUSHED)]
    for _ in range(40):
        states.append(stepper.step(states[-1])[0])
    run = simulation.run_from(0.02, states[20])
    for name in ("q", "v"):
        assert np.array_equal(getattr(run, name), [getattr(state, name) for state in states[20:]])
    assert run.t[0] == states[20].t


def test_a_continuation_is_repeated(tmp_path):
    simulation = crate_on_ground(
        controller=treesim.Pushed(None, crate_on_ground().robot, (9, 0, 0), start=0.02, duration=0.03)
    )
    first = simulation.run(0.03, LEANING, PUSHED)
    rest = simulation.run_from(0.03, first)
    found = treesim.replay(rest.save(tmp_path / "rest.npz"))
    assert found.same and found.trajectory.t[0] == rest.t[0]


def test_a_new_run_asks_the_controller_anew():
    simulation = treesim.Simulation(CHAIN, controller=Integral(3))
    simulation.run(0.0, START)
    simulation.run(0.0, START)
    assert simulation.system.controller.calls == 2


def test_what_does_not_fit_is_refused():
    simulation = treesim.Simulation(CHAIN)
    first = simulation.run(0.01, START)
    with pytest.raises(ArgumentError, match="the trajectory of 'limited' has the joints"):
        simulation.run_from(0.01, treesim.Simulation(limited()).run(0.01, [0.1, 0.1]))
    with pytest.raises(ArgumentError, match="no states"):
        parts = {name: getattr(first, name)[:0] for name in ("t", "q", "v", "tau", "energy", "work")}
        simulation.run_from(0.01, replace(first, **parts))
    with pytest.raises(ArgumentError, match=r"start: q must be one state of shape \(3,\)"):
        simulation.run_from(0.01, treesim.Stepper(CHAIN).reset(np.zeros((2, 3))))
    with pytest.raises(ArgumentError, match=r"start: v\[1\] is not a finite number"):
        simulation.run_from(0.01, (START, np.array([0, np.nan, 0])))
