"""The stage of contact as WebAssembly against steppers in Python."""

import numpy as np
import pytest

import treesim
from treesim import Body, CollisionShape, Inertia, Joint, Mimic, Placement, Tree, World
from treesim.errors import UnsupportedError
from treesim.export.contact_module import contact_module
from treesim.export.webassembly import step_module
from treesim.kernels.contact.layout import COUNT

from .machine import Machine, Stage

H = 1e-3


def compared(
    world: World, rule: str, q: np.ndarray, v: np.ndarray, steps: int, accuracy: float = 1e-12
) -> tuple[Stage, dict[str, np.ndarray]]:
    """Step a world both ways; return the stage, and its last arrays."""
    machine, stage = Machine(world.robot, step_module(world.robot)), Stage(contact_module(world))
    machine.settle(rule, H)
    stage.settle(world, rule, H)
    machine.put(q=q, v=v)
    stepper = treesim.Stepper(world, H, integrator=rule, substeps=1)
    state = stepper.reset(q, v)
    for _ in range(steps):
        found = stage.step(machine)
        state, report = stepper.step(state)
    report.check()
    np.testing.assert_allclose(machine.arrays["q"], state.q, rtol=0, atol=accuracy)
    np.testing.assert_allclose(machine.arrays["v"], state.v, rtol=0, atol=100 * accuracy)
    wrench = report.contact.wrench[..., :3]
    np.testing.assert_allclose(found["wrench"].reshape(-1, 6)[:, :3], wrench, rtol=0, atol=100 * accuracy / H)
    return stage, found


@pytest.mark.parametrize(
    ("rule", "rolling"),
    [
        ("implicit_midpoint", 0.0),
        pytest.param("semi_implicit_euler", 0.0, marks=pytest.mark.slow),
        ("semi_implicit_euler", 0.005),
    ],
)
def test_a_ball_that_rolls_is_that_of_the_stepper(rule, rolling):
    ball = treesim.free_body("ball", "sphere", (0.1,), 1.0)
    world = World(ball, ground=treesim.Ground(friction=0.3, rolling_friction=rolling, torsional_friction=rolling))
    q, v = np.array([0, 0, 0.1, 0, 0, 0, 1.0]), np.array([1.0, 0.2, 0, 0, 0, 0])
    _, found = compared(world, rule, q, v, 100)
    weight = found["wrench"].reshape(-1, 6)[1, 2]
    assert weight == pytest.approx(-ball.gravity[2], rel=1e-6), "the ground carries the ball"


def test_joints_at_their_limits_are_those_of_the_stepper():
    """Of a robot with a mimic joint, whose limit is met first."""
    limits = {"lower": -0.3, "upper": 0.3, "joint_friction": 0.1}
    place, link = Placement(translation=(0.3, 0.0, 0.0)), Inertia(1.0, (0.2, 0.0, 0.0), 0.01 * np.eye(3))
    joints = [Joint(f"j{k}", "revolute", placement=place, axis=(0, k % 2, 1), **limits) for k in range(2)]
    joints.append(Joint("mimic", "prismatic", placement=place, axis=(1, 0, 0), mimic=Mimic("j1", 1.2), **limits))
    robot = Tree("arm", [Body(joint.name, k, joint, link) for k, joint in enumerate(joints)])
    _, found = compared(World(robot), "implicit_midpoint", np.zeros(2), np.array([-4.0, 4.0]), 100)
    assert found["q_new"][1] == pytest.approx(0.3 / 1.2, abs=1e-9), "the mimic joint is at its limit"


def test_contacts_beyond_the_room_are_made_room_for():
    """A table whose last twelve feet carry one of its ends: it would tip if they were left out."""
    rng = np.random.default_rng(0)
    places = [(-1.0, *y) for y in rng.uniform(-1, 1, (128, 1))] + [(1.0, *y) for y in rng.uniform(-1, 1, (12, 1))]
    feet = [CollisionShape(1, Placement.from_xyz_rpy((x, y, 0.0)), "sphere", size=(0.1,)) for x, y in places]
    inertia = Inertia(10.0, np.zeros(3), np.eye(3))
    table = Tree("table", [Body("top", 0, Joint("root", "floating"), inertia)], shapes=feet)
    q = np.array([0, 0, 0.1, 0, 0, 0, 1.0])
    world = World(table, ground=treesim.Ground())
    _, found = compared(world, "implicit_midpoint", q, np.zeros(6), 3, accuracy=1e-9)
    assert found["solver_info"][3] == len(feet) and found["solver_info"][5] == 0


def test_a_component_has_room_for_all_contacts():
    """Programs increase the capacity alone."""
    boxes = [treesim.free_body(f"box {k}", "box", (0.2,) * 3, 1.0) for k in range(8)]
    world = World(boxes[0], bodies=boxes[1:], ground=treesim.Ground())
    module = contact_module(world)
    place = module.capacity - module.kernel.base + 8 * (COUNT.component - COUNT.capacity)
    room = np.frombuffer(module.kernel.image, np.int64, 1, place)[0]
    assert room == module.most_contacts > world.touching.counts.component


def test_worlds_without_a_stage_of_contact_are_refused():
    with pytest.raises(UnsupportedError, match="no stage of contact"):
        contact_module(World(treesim.load("ur5"), use_limits=False, use_joint_friction=False))
    with pytest.raises(UnsupportedError, match="no stage of contact"):
        contact_module(World(treesim.load("ur5"), [treesim.FrameConstraint("ee_link", rows="linear")]))
    with pytest.raises(UnsupportedError, match="coal"):
        contact_module(World(treesim.load("ur5"), collision="coal"))


@pytest.mark.slow
def test_a_humanoid_stands_as_in_python(monkeypatch):
    """By code of the size that users get, whose arrays nothing fills."""
    monkeypatch.delenv("TREESIM_FILL", raising=False)
    robot = treesim.load("g1_29dof_rev_1_0", base="floating")
    world = World(robot, ground=treesim.Ground(friction=0.8))
    stage, found = compared(
        world, "implicit_midpoint", treesim.standing(robot, robot.neutral()), np.zeros(robot.nv), 100
    )
    assert found["solver_info"][3] > 0, "it touches"
    assert len(stage.kernel.code) < 100_000
