"""The step as WebAssembly against the same step in Python, and against the equation of motion."""

import json

import numpy as np
import pytest

import treesim
from tests import coupled, trees
from treesim import World
from treesim.errors import UnsupportedError
from treesim.export.webassembly import step_module
from treesim.kernels.stepping.rules import RULES

from .machine import Machine

BACKENDS = ("aba", "crba_ltdl", "rjk")
FREE = trees.on_floating_base(trees.random_tree(153, 5))  # joints of every kind, one of each: floating its base
MIMIC = coupled.tie(trees.random_tree(1, 5, joint_types=coupled.SIMPLE, armature=0.3), 1, most=2)
H = 1e-3


def start(robot, seed=0):
    rng = np.random.default_rng(seed)
    return robot.random(rng), 0.3 * rng.normal(size=robot.nv), 0.2 * rng.normal(size=robot.nv), rng


@pytest.mark.parametrize(
    ("robot", "rule"),
    [
        (FREE, "implicit_midpoint"),
        (MIMIC, "semi_implicit_euler"),
        *(pytest.param(FREE, rule, marks=pytest.mark.slow) for rule in RULES if rule != "implicit_midpoint"),
        pytest.param(MIMIC, "implicit_midpoint", marks=pytest.mark.slow),
    ],
)
def test_steps_are_those_of_steppers(robot, rule):
    q, v, u, _ = start(robot)
    machine = Machine(robot, step_module(robot))
    machine.settle(rule, H)
    machine.put(q=q, v=v, control=u)
    found = machine.step(rule, 20)
    stepper = treesim.Stepper(World(robot, use_limits=False, use_joint_friction=False), H, integrator=rule, substeps=1)
    state = stepper.reset(q, v)
    for _ in range(20):
        state, report = stepper.step(state, u)
    np.testing.assert_allclose(found[0], state.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found[1], state.v, rtol=0, atol=1e-11)  # of velocities of order ten
    np.testing.assert_allclose(machine.arrays["force"], report.force, rtol=1e-12)
    work = [report.control_work, report.passive_work]
    np.testing.assert_allclose(machine.arrays["work"], work, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize(("robot", "backend"), [*((FREE, name) for name in BACKENDS), (MIMIC, "rjk")])
def test_wrenches_and_gravity_act_as_in_forward_dynamics(robot, backend):
    q, v, u, rng = start(robot, 1)
    f_ext, gravity = rng.normal(size=(robot.n_bodies, 6)), rng.normal(size=3)
    machine = Machine(robot, step_module(robot, backend))
    machine.settle("explicit_euler", H)
    machine.put(q=q, v=v, control=u, f_ext=f_ext, gravity=gravity)
    machine.step("explicit_euler")
    tau = np.clip(u, -robot.effort_limit, robot.effort_limit) - robot.damping * v
    qdd = treesim.forward_dynamics(robot, q, v, tau, f_ext=f_ext, gravity=gravity)
    np.testing.assert_allclose((machine.arrays["v_new"] - v) / H, qdd, rtol=0, atol=1e-12 / H * max(1, abs(v).max()))


@pytest.mark.parametrize("robot", [FREE, MIMIC], ids=["free", "mimic"])
def test_the_view_is_that_of_the_state(robot):
    q, v, _, rng = start(robot, 2)
    gravity = rng.normal(size=3)
    machine = Machine(robot, step_module(robot))
    machine.put(q=q, v=v, gravity=gravity)
    poses, energy = machine.view()
    np.testing.assert_allclose(poses, treesim.body_poses(robot, q), rtol=0, atol=1e-13)
    np.testing.assert_allclose(energy, treesim.energy(robot, q, v, gravity=gravity), rtol=1e-12, atol=1e-12)


def test_gains_hold_joints_within_their_efforts():
    robot = treesim.load("ur5")
    machine = Machine(robot, step_module(robot))
    machine.settle("implicit_midpoint", H / 2, 800.0, 40.0)
    target = np.full(6, 0.7)
    machine.put(q=np.zeros(6), v=np.zeros(6), control=target)
    q, v = machine.step("implicit_midpoint", 200)
    state = treesim.Stepper(
        World(robot, use_limits=False, use_joint_friction=False), 0.1, substeps=200, kp=800.0, kd=40.0
    )
    state, _ = state.step(state.reset(), target)
    np.testing.assert_allclose(q, state.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(v, state.v, rtol=0, atol=1e-11)


def test_a_module_asks_for_memory_and_no_functions():
    module = step_module(FREE)
    assert Machine(FREE, module).imports == {("env", "__linear_memory"), ("env", "__stack_pointer")}
    layout = json.loads(json.dumps(module.layout()))
    places = sorted(layout["arrays"].values())
    ends = [address + 8 * count for address, count in places]
    assert layout["base"] == places[0][0] and ends[-1] <= 65536 * layout["pages"]
    assert all(end <= after for end, (after, _) in zip(ends, places[1:], strict=False))


def test_angles_of_many_turns_keep_their_digits():
    robot = treesim.load("ur5")
    machine = Machine(robot, step_module(robot))
    q = np.full(robot.nq, 1e5)
    machine.put(q=q, v=np.zeros(robot.nv))
    np.testing.assert_allclose(machine.view()[0], treesim.body_poses(robot, q), rtol=0, atol=1e-12)


def test_backends_without_a_straight_course_are_refused():
    with pytest.raises(UnsupportedError, match="reference"):
        step_module(FREE, "reference")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "base", "kp", "backend"),
    [("g1_29dof_rev_1_0", "floating", 300.0, "aba"), ("hyq", "floating", 0.0, "rjk"), ("hyq", "floating", 0.0, "aba"),
     *(("panda", "fixed", 100.0, backend) for backend in BACKENDS)],
)  # fmt: skip
def test_a_second_of_a_robot_is_that_of_a_rollout(name, base, kp, backend):
    robot = treesim.load(name, base=base)
    rng = np.random.default_rng(0)
    q, v = robot.integrate(robot.neutral(), 0.1 * rng.normal(size=robot.nv)), 0.3 * rng.normal(size=robot.nv)
    u, rule = 0.1 * rng.normal(size=robot.nv), "implicit_midpoint"
    machine = Machine(robot, step_module(robot, backend))
    machine.settle(rule, H / 2, kp, kp / 50)
    machine.put(q=q, v=v, control=u)
    end = machine.step(rule, 2000)
    how = {"dt": H, "kp": kp, "kd": kp / 50, "backend": backend, "substeps": 2}
    run = treesim.rollout(World(robot, use_limits=False, use_joint_friction=False), q, v, np.tile(u, (1000, 1)), **how)
    np.testing.assert_allclose(end[0], run.q[0, -1], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(end[1], run.v[0, -1], rtol=1e-12, atol=1e-12)
