"""The stage of contact as WebAssembly against steppers in Python."""

import numpy as np
import pytest

import treesim
from treesim import World
from treesim.errors import UnsupportedError
from treesim.export.contact_module import contact_module
from treesim.export.webassembly import step_module
from treesim.kernels.status import FINE
from treesim.step_settings import StepSettings

from .machine import Instance, Machine

H = 1e-3


class Stage(Instance):
    """A world's stage of contact behind the free step of a machine."""

    def __init__(self, world: World, rule: str) -> None:
        self.module = module = contact_module(world)
        super().__init__(module.code, module.pages, module.stack)
        self.write(module.image, module.base)
        arrays = self.arrays_at(module.arrays)
        arrays["settings"][:] = StepSettings.of(world.robot, rule, H).table
        arrays["scheme"][0] = module.share[rule]
        self.rule = rule

    def step(self, machine: Machine) -> dict[str, np.ndarray]:
        machine.call(self.rule, machine.module.base)
        given, arrays = machine.arrays, self.arrays_at(self.module.arrays)
        for name, source in (("q", "q"), ("v", "v"), ("q_free", "q_new"), ("v_free", "v_new"), ("force", "force")):
            arrays[name][:] = given[source]
        assert self.call("call", self.module.base, self.module.heap) == FINE
        found = self.arrays_at(self.module.arrays)
        found["before"][:] = found["after"]
        machine.put(q=found["q_new"], v=found["v_new"])
        return found


def compared(
    world: World, rule: str, q: np.ndarray, v: np.ndarray, steps: int, accuracy: float = 1e-12
) -> tuple[Stage, dict[str, np.ndarray]]:
    """Step a world both ways; return the stage, and its last arrays."""
    machine, stage = Machine(world.robot, step_module(world.robot)), Stage(world, rule)
    machine.settle(rule, H)
    machine.put(q=q, v=v)
    stepper = treesim.Stepper(world, H, rule, substeps=1)
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


@pytest.mark.parametrize("rule", ["implicit_midpoint", "semi_implicit_euler"])
def test_a_ball_that_rolls_is_that_of_the_stepper(rule):
    ball = treesim.free_body("ball", "sphere", (0.1,), 1.0)
    world = World(ball, ground=treesim.Ground(friction=0.3))
    q, v = np.array([0, 0, 0.1, 0, 0, 0, 1.0]), np.array([1.0, 0.2, 0, 0, 0, 0])
    _, found = compared(world, rule, q, v, 100)
    weight = found["wrench"].reshape(-1, 6)[1, 2]
    assert weight == pytest.approx(-ball.gravity[2], rel=1e-6), "the ground carries the ball"


@pytest.mark.parametrize("name", ["ur5", "panda"])  # panda: a joint that follows another one
def test_joints_at_their_limits_are_those_of_the_stepper(name):
    robot = treesim.load(name)
    v = np.where(np.arange(robot.nv) % 2, 4.0, -4.0)
    q = np.clip(robot.neutral(), robot.lower + 0.05, robot.upper - 0.05)
    _, found = compared(World(robot), "implicit_midpoint", q, v, 100)
    assert found["after"].any() or name == "ur5"


def test_worlds_without_a_stage_of_contact_are_refused():
    with pytest.raises(UnsupportedError, match="no stage of contact"):
        contact_module(World(treesim.load("ur5"), limits=False, friction=False))
    with pytest.raises(UnsupportedError, match="no stage of contact"):
        contact_module(World(treesim.load("ur5"), [treesim.FrameConstraint("ee_link", "linear")]))
    with pytest.raises(UnsupportedError, match="coal"):
        contact_module(World(treesim.load("ur5"), collision="coal"))


@pytest.mark.slow
def test_a_humanoid_stands_as_in_python():
    robot = treesim.load("g1_29dof_rev_1_0", base="floating")
    world = World(robot, ground=treesim.Ground(friction=0.8))
    stage, found = compared(
        world, "implicit_midpoint", treesim.standing(robot, robot.neutral()), np.zeros(robot.nv), 100
    )
    assert found["told"][3] > 0, "it touches"
    assert len(stage.module.code) < 100_000
