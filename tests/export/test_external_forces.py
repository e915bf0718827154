"""Pulls and external forces in exported steps, with joint limits, friction and contact, against steps in Python."""

from itertools import product
from typing import NamedTuple

import numpy as np
import pytest

import treesim
from treesim import Tree, World
from treesim.export.contact_module import contact_module
from treesim.export.webassembly import step_module
from treesim.simulation.control import make_controller
from treesim.viewing.live.controller import Drive, without_effort_limits
from treesim.viewing.live.forces import Force
from treesim.viewing.live.mouse_spring import MouseSpring

from .machine import Machine, Stage

H, STEPS = 5e-4, 60
RULES = ("implicit_midpoint", "semi_implicit_euler")


class Case(NamedTuple):
    """A robot, its base, and what stands below it."""

    name: str
    base: str = "fixed"
    ground: bool = False


UR5 = Case("ur5")
CASES = [
    Case("z1"), UR5, Case("panda"), Case("baxter"), Case("xarm6_with_gripper"), Case("talos_arm"),
    Case("go1", "floating", True), Case("bolt", "floating", True), Case("hyq", "floating"), Case("z1", "floating"),
]  # fmt: skip


def world_of(case: Case) -> World:
    robot = treesim.load(case.name, base=case.base)
    return World(robot, ground=treesim.Ground(friction=0.6)) if case.ground else World(robot)


def start_of(world: World, case: Case) -> tuple[np.ndarray, np.ndarray]:
    """A state in which joints move towards their limits, or feet come down on the ground."""
    robot = world.robot
    if case.ground:
        return treesim.standing(robot, robot.neutral()), np.eye(robot.nv)[2] * -0.3
    q = robot.neutral()
    for joint, at in robot.q_index.items():
        near = np.minimum(robot.lower[at] + 0.01, (robot.lower[at] + robot.upper[at]) / 2)
        if len(near) == 1 and np.isfinite(near).all():
            q[robot.q_index[joint]] = near
    return q, np.where(np.arange(robot.nv) % 2, 1.0, -1.0)


def acting(world: World, q: np.ndarray) -> list[MouseSpring | Force]:
    """A pull on the last body, which is strong enough to move it, and a force on one in the middle."""
    robot, names = world.robot, world.robot.body_names
    point = np.array([0.01, 0.02, 0.03])
    place = treesim.body_poses(robot, q)[-1] @ [*point, 1]
    pull = MouseSpring(robot, names[-1], point, place[:3] + np.array([0.2, -0.3, 0.25]), H)
    pull.tune(q)
    size = robot.mass * 9.81 + 100 * robot.joint_friction.max()  # [N]: no joint sticks
    return [pull, Force(robot, names[len(names) // 2], [0.0, 0.05, 0.0], size * np.array([0.2, 0.1, 0.3]))]


def wrenches(robot: Tree, hands: list[MouseSpring | Force], q: np.ndarray) -> np.ndarray:
    """f_ext of what acts, of the forces as they were asked for last: force and moment in each body's own axes."""
    f_ext, poses = np.zeros((robot.n_bodies, 6)), treesim.body_poses(robot, q)
    for hand in hands:
        k = robot.body_names.index(hand.body)
        f = poses[k + 1, :3, :3].T @ hand.force
        f_ext[k] += [*f, *np.cross(hand.point, f)]
    return f_ext


def targets(robot: Tree, q: np.ndarray) -> np.ndarray:
    """Controls that hold joints of one coordinate where they are in q."""
    control = np.zeros(robot.nv)
    for joint, at in robot.v_index.items():
        if at.stop - at.start == 1:
            control[at] = q[robot.q_index[joint]]
    return control


def exported_steps(world: World, rule: str, q, v, hands, kp: float, kd: float) -> tuple[np.ndarray, np.ndarray]:
    """The state after STEPS of the modules, under what acts; held about q by joints with these gains."""
    machine, stage = Machine(world.robot, step_module(world.robot)), Stage(contact_module(world))
    machine.settle(rule, H, kp, kd)
    stage.settle(world, rule, H, kp, kd)
    machine.put(q=q, v=v, control=targets(world.robot, q) if kp else np.zeros(world.robot.nv))
    rows_acted = False
    for _ in range(STEPS):
        now = machine.arrays["q"].copy(), machine.arrays["v"].copy()
        for hand in hands:
            hand.generalised(*now)
        machine.put(f_ext=wrenches(world.robot, hands, now[0]))
        rows_acted |= bool(stage.step(machine)["after"].any())
    assert rows_acted or kp > 10, "limits, friction or contacts"
    return machine.arrays["q"].copy(), machine.arrays["v"].copy()


def python_steps(world: World, rule: str, q, v, hands, kp: float, kd: float) -> tuple[np.ndarray, np.ndarray]:
    """The same by a Simulation, as the live page steps."""
    robot = world.robot
    drive = Drive(robot, make_controller("hold" if kp else "none", robot, q, kp, kd))
    for k, hand in enumerate(hands):
        if isinstance(hand, MouseSpring):
            drive.pull = hand
        else:
            drive.forces = {**drive.forces, str(k): hand}
    free = world.with_robot(without_effort_limits(robot))
    run = treesim.Simulation(free, backend="aba", integrator=rule, dt=H, controller=drive, substeps=1).run(
        STEPS * H, q, v
    )
    return run.q[-1], run.v[-1]


def compare(case: Case, rule: str, kp: float) -> None:
    world = world_of(case)
    q, v = start_of(world, case)
    hands = acting(world, q)
    found, wanted = (steps(world, rule, q, v, hands, kp, kp / 10) for steps in (exported_steps, python_steps))
    unmoved = python_steps(world, rule, q, v, [], kp, kp / 10)
    assert np.abs(unmoved[1] - wanted[1]).max() > 1e-2, "what acts moves it"
    np.testing.assert_allclose(found[0], wanted[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found[1], wanted[1], rtol=0, atol=1e-11)


@pytest.mark.slow
def test_pulls_and_forces_are_those_of_python():
    compare(UR5, "implicit_midpoint", 2.0)


SETTINGS = list(product(RULES, (0.0, 2.0, 5e3)))  # the last gain saturates motors


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "rule", "kp"),
    [(case, *SETTINGS[k % len(SETTINGS)]) for k, case in enumerate(CASES)],
    ids=str,
)
def test_pulls_and_forces_on_ten_robots_are_those_of_python(case, rule, kp):
    compare(case, rule, kp)


@pytest.mark.parametrize("rule", RULES)
def test_saturated_motors_hold_no_joint_against_external_forces(rule):
    """Without damping a step with saturated motors is one of their largest forces, without gains."""
    world = world_of(UR5)
    robot = world.robot
    q, v = start_of(world, UR5)
    force = Force(robot, "wrist_1_link", [0.0, 0.1, 0.0], [20.0, 10.0, 30.0])
    machine, stage = Machine(robot, step_module(robot)), Stage(contact_module(world))
    machine.settle(rule, H, 1e6, 1e3)
    stage.settle(world, rule, H, 1e6, 1e3)
    machine.put(q=q, v=v, control=q - 1.0)
    stepper = treesim.Stepper(world.with_robot(without_effort_limits(robot)), H, integrator=rule, substeps=1)
    state = stepper.reset(q, v)
    for _ in range(20):
        force.generalised(state.q, state.v)
        machine.put(f_ext=wrenches(robot, [force], state.q))
        acted = stage.step(machine)["after"].any()
        state, _ = stepper.step(state, force.generalised(state.q, state.v) - robot.effort_limit)
    assert acted
    np.testing.assert_allclose(machine.arrays["q"], state.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(machine.arrays["v"], state.v, rtol=0, atol=1e-11)
