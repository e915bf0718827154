"""Rollouts, batch steppers, steppers and simulations are the same motion, in contact too."""

from itertools import product

import numpy as np
import pytest

import treesim
from treesim.engine.call.generic import runs_compiled

pytestmark = pytest.mark.skipif(not runs_compiled(), reason="plain Python has no SIMD lanes")
RULES = ("implicit_midpoint", "semi_implicit_euler")
EVERYDAY = (("go2", RULES[1]), ("simple_humanoid", RULES[0]))
# humanoids on soles and on points, quadrupeds of balls and of meshes, and what stands on two points
KINDS = ("g1_29dof_rev_1_0", "go2", "simple_humanoid", "anymal_c", "mini_cheetah", "solo8", "icub_reduced", "bolt")
OTHERS = (
    "a1", "aliengo", "anymal", "b1", "go1", "hyq", "laikago", "solo12", "spirit40", "vision60", "talos_reduced",
    "romeo_small",
)  # fmt: skip
SLOW = {*product(KINDS, RULES), *zip(OTHERS, RULES * 6, strict=True)} - {*EVERYDAY}
DT, STEPS, COUNT = 1e-3, 20, 8


def start(name):
    """A world of a robot that stands on a plane, and states with random joint velocities."""
    robot = treesim.load(name, base="floating")
    world = treesim.World(robot, ground=treesim.Ground(friction=0.8))
    simple = np.repeat([body.joint.nv == 1 for body in robot.bodies], [body.joint.nv for body in robot.bodies])
    q = np.tile(treesim.standing(robot, robot.clamp(robot.neutral())), (COUNT, 1))
    return world, q, 0.3 * np.random.default_rng(1).normal(size=(COUNT, robot.nv)) * simple


def by_stepper(world, q, v, rule):
    """Velocities after every step of one state."""
    stepper = treesim.Stepper(world, DT, integrator=rule)
    state, found = stepper.reset(q, v), []
    for _ in range(STEPS):
        state, _ = stepper.step(state)
        found.append(state.v)
    return np.array(found)


def apart(x, y):
    """Largest difference of velocities, relative to the largest velocity or 1."""
    return np.abs(x - y).max() / max(1.0, np.abs(y).max())


@pytest.mark.filterwarnings("ignore::treesim.errors.TreesimWarning")
@pytest.mark.parametrize(
    ("name", "rule"),
    [*EVERYDAY, *(pytest.param(*case, marks=pytest.mark.slow) for case in sorted(SLOW))],
)
def test_all_ways_of_stepping_agree(name, rule):
    """SIMD lanes take the stages of single steps, on the same rows in the same order.

    Their rounding differs. It grows by the condition of nearly dependent rows, which the points of flat feet have.
    Batches are equal to the bit, and so are single steps.
    """
    world, q, v = start(name)
    runs = treesim.rollout(world, q, v, dt=DT, steps=STEPS, integrator=rule)
    singly = [by_stepper(world, *state, rule) for state in zip(q, v, strict=True)]
    differences = [apart(x, y) for x, y in zip(runs.v, singly, strict=True)]
    assert np.median(differences) < 1e-9 and max(differences) < 1e-6
    batch = treesim.BatchStepper(world, COUNT, DT, steps=STEPS, integrator=rule)
    batch.put(slice(None), q, v)
    batch.step()
    assert np.array_equal(batch.v, runs.v[:, -1])
    trajectory = treesim.Simulation(world, DT, integrator=rule).run(STEPS * DT, q[0], v[0])
    assert np.array_equal(trajectory.v[1:], singly[0])
