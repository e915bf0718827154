"""One contact step: steppers, simulations, batch steppers and rollouts have the same bits, whatever is requested."""

import numpy as np
import pytest

import treesim
from treesim.contact import lanes
from treesim.contact.bodies import MOST_FREE

DT = 1e-3
RULES = ["semi_implicit_euler", "implicit_midpoint"]
BOX = treesim.free_body("box", "box", (0.2, 0.3, 0.4), 2.0)
DRUM = treesim.free_body("drum", "cylinder", (0.1, 0.3), 1.0)
# a humanoid, quadrupeds, one with mimic joints; feet of boxes, spheres, hulls and meshes
ROBOTS = ["simple_humanoid", "hyq", "solo12", "talos", "icub", "panda", "g1_29dof_rev_1_0", "anymal", "go2", "a1"]


def balls(count):
    """World of balls on a plane."""
    first, *others = (treesim.free_body(f"ball {k}", "sphere", (0.1,), 1.0) for k in range(count))
    return treesim.World(first, bodies=others, ground=treesim.Ground())


class Case:
    """A robot that falls on a plane and is pushed there, driven by gains; boxes lie on each other at a place [m]."""

    def __init__(self, robot, rule, count, steps, sensors=False, boxes=0, place=0.3, **surface):
        self.robot, self.steps, self.surface, rng = robot, steps, surface, np.random.default_rng(1)
        link = robot.body_names[0]
        self.sensors = [treesim.ContactForce(link), treesim.Imu(link)] if sensors else []
        self.boxes = [treesim.free_body(f"box {k}", "box", (0.2,) * 3, 1.0) for k in range(boxes)]
        stack = [[place, 0.0, 0.1 + 0.2 * k, 0, 0, 0, 1] for k in range(boxes)]
        self.q = np.tile(np.r_[robot.standing(robot.clamp(robot.neutral())), np.ravel(stack)], (count, 1))
        self.q[:, 2] += 0.01
        nv, free = robot.nv + 6 * boxes, 6 * boxes
        self.v = rng.uniform(-0.3, 0.3, (count, nv))
        driven = np.r_[np.zeros(6), np.ones(robot.nv - 6), np.zeros(free)]
        self.u = 0.02 * rng.normal(size=(count, nv)) * driven
        self.push = {link: rng.normal(size=(count, 6))} if sensors else None
        self.friction = rng.uniform(0.2, 0.8, count)
        self.how = {"dt": DT, "kp": 100.0 * driven, "kd": 5.0 * driven, "integrator": rule}

    def world(self, friction=0.5):
        ground = treesim.Ground(friction=friction, **self.surface)
        surface = treesim.Surface(friction=0.5, **self.surface)
        return treesim.World(self.robot, bodies=self.boxes, ground=ground, surface=surface, sensors=self.sensors)

    def of(self, k):
        """Return the force on state k."""
        return {} if self.push is None else {"f_ext": {link: x[k] for link, x in self.push.items()}}

    def stepped(self, k, world):
        """Return state k after all steps of a stepper, and its readings in the last one."""
        stepper = treesim.Stepper(world, **self.how)
        state, report = stepper.reset(self.q[k], self.v[k]), None
        for _ in range(self.steps):
            state, report = stepper.step(state, self.u[k], **self.of(k))
        return state, report

    def rolled(self, rows, **more):
        forces = {} if self.push is None else {"f_ext": {link: x[rows] for link, x in self.push.items()}}
        given = self.q[rows], self.v[rows], np.repeat(self.u[rows, None], self.steps, axis=1)
        return treesim.rollout(self.world(), *given, **self.how, **forces, **more)

    def check(self, k, q, v, world=None):
        state, report = self.stepped(k, world or self.world())
        assert np.isfinite(q).all() and np.array_equal(state.q, q) and np.array_equal(state.v, v)
        return report


def check_all(case):
    """Rollouts of all and of one, with and without friction of each; a simulation and a batch stepper."""
    every, one = case.rolled(slice(None)), case.rolled(slice(2, 3))
    own = case.rolled(slice(None), model_parameters={"ground_friction": case.friction})
    assert np.array_equal(every.q[2], one.q[0]) and np.array_equal(every.v[2], one.v[0])
    for k in range(len(case.q)):
        report = case.check(k, every.q[k, -1], every.v[k, -1])
        case.check(k, own.q[k, -1], own.v[k, -1], case.world(float(case.friction[k])))
        for name, reading in report.sensors.items() if case.sensors else ():
            np.testing.assert_array_equal(every.sensors[name][k, -1], reading)
    batch = treesim.BatchStepper(case.world(), len(case.q), **case.how)
    batch.put(slice(None), case.q, case.v)
    for _ in range(case.steps):
        batch.step(case.u, **({} if case.push is None else {"f_ext": case.push}))
    assert np.array_equal(batch.q, every.q[:, -1]) and np.array_equal(batch.v, every.v[:, -1])


@pytest.mark.parametrize("sensors", [False, True])
@pytest.mark.parametrize("rule", RULES)
def test_a_box_has_the_same_bits_in_all_of_them(rule, sensors):
    check_all(Case(BOX, rule, 5, 60, sensors))


@pytest.mark.parametrize("rule", RULES)
def test_bounces_have_the_same_bits_in_all_of_them(rule):
    check_all(Case(BOX, rule, 5, 60, restitution=0.5))


@pytest.mark.slow
@pytest.mark.parametrize("body", [BOX, DRUM], ids=["box", "drum"])
@pytest.mark.parametrize("rule", RULES)
def test_rolling_friction_and_restitution_have_the_same_bits_in_all_of_them(rule, body):
    check_all(Case(body, rule, 5, 150, restitution=0.3, rolling_friction=0.01, torsional_friction=0.005))


def test_a_robot_and_boxes_have_the_same_bits_in_all_of_them():
    check_all(Case(treesim.load("solo12", base="floating"), RULES[1], 5, 60, True, boxes=2, place=0.35))


@pytest.mark.parametrize("rule", RULES)
def test_many_free_bodies_have_the_same_bits_in_steps_and_rollouts(rule):
    """Steps of one state loop over them, rollouts run straight-line code of them."""
    world, rng = balls(MOST_FREE + 1), np.random.default_rng(0)
    q, v = np.tile(world.robot.neutral(), (3, 1)), rng.normal(0, 0.3, (3, world.robot.nv))
    q[:, 0::7], q[:, 2::7] = 0.19 * np.arange(MOST_FREE + 1), 0.1
    rolled = treesim.rollout(world, q, v, dt=DT, steps=30, integrator=rule)
    stepper = treesim.Stepper(world, DT, integrator=rule)
    state = stepper.reset(q[1], v[1])
    for _ in range(30):
        state, _ = stepper.step(state)
    assert np.array_equal(state.q, rolled.q[1, -1]) and np.array_equal(state.v, rolled.v[1, -1])


def test_steps_read_nothing_beside_their_tables(monkeypatch):
    """A drum has two points and eight places on its rims."""
    case, bound = Case(DRUM, RULES[0], 5, 80), lanes.bound_call
    expected = case.rolled(slice(None)).q

    def between_nan(table):
        numbers = np.full(table.size + 200, np.nan)
        numbers[100:-100] = table
        numbers.setflags(write=False)
        return numbers[100:-100]

    def is_table(x):
        return x.dtype == float and not x.flags.writeable

    def surrounded(entry, *arrays):
        return bound(entry, *[between_nan(x) if is_table(x) else x for x in arrays])

    monkeypatch.setattr(lanes, "bound_call", surrounded)
    np.testing.assert_array_equal(case.rolled(slice(None)).q, expected)


@pytest.mark.parametrize("rule", RULES)
def test_a_simulation_has_the_bits_of_a_stepper(rule):
    case = Case(BOX, rule, 3, 40)
    sim = treesim.Simulation(case.world(), DT, integrator=rule, controller=lambda t, q, v: case.u[2])
    run = sim.run(case.steps * DT, case.q[2], case.v[2])
    case.check(2, run.q[-1], run.v[-1])


@pytest.mark.nightly
@pytest.mark.parametrize("sensors", [False, True])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ROBOTS)
def test_robots_have_the_same_bits_in_all_of_them_after_200_steps(name, rule, sensors):
    check_all(Case(treesim.load(name, base="floating"), rule, 9, 200, sensors))


@pytest.mark.nightly
@pytest.mark.parametrize("sensors", [False, True])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("name", "boxes", "place"), [("solo12", 1, 0.3), ("a1", 2, 0.5), ("talos", 2, 0.3), ("hyq", 3, 0.3)]
)
def test_robots_and_boxes_have_the_same_bits_after_200_steps(name, boxes, place, rule, sensors):
    options = {"restitution": 0.4, "rolling_friction": 0.01} if boxes == 1 else {}
    check_all(Case(treesim.load(name, base="floating"), rule, 9, 200, sensors, boxes, place, **options))
