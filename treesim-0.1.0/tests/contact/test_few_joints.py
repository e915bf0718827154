"""Arms of few joints that touch: their contacts have directions in which nothing can move."""

import numpy as np
import pytest

import treesim
from tests.contact.scenes import NOTHING, RULES, shape, simulate

LINK = treesim.Inertia(1.0, (1.0, 0, 0), np.diag([0.01, 0.1, 0.1]))
TIP = treesim.Placement(translation=(1.0, 0, 0))


def arm(axis, joints, **options):
    """Links of 1 m with joints about one axis, and a ball of 5 cm at the end."""
    bodies = [
        treesim.Body(
            f"link{k}",
            k,
            treesim.Joint(f"joint{k}", "revolute", placement=TIP if k else NOTHING, axis=axis, **options),
            LINK,
        )
        for k in range(joints)
    ]
    return treesim.Tree("arm", bodies, shapes=[shape("sphere", (0.05,), TIP, body=joints)])


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("axis", [(0, 1, 0), (0, 0.6, 0.8)])
@pytest.mark.parametrize("joints", [1, 2])
def test_an_arm_falls_onto_the_floor_and_rests(rule, axis, joints):
    world = treesim.World(arm(axis, joints, joint_friction=0.05), ground=treesim.Ground(height=-0.3, friction=0.5))
    run = simulate(world, np.zeros(joints), np.full(joints, 0.1), duration=1.5, integrator=rule)
    assert run.solver_info[:, 1].max() < 1e-7 and run.solver_info[:, 0].max() < 2e-5
    assert np.abs(run.v[-1]).max() < 1e-8 and run.wrench[-1, joints, 2] > 0
    assert np.diff(run.energy).max() < 1e-4


@pytest.mark.parametrize("height", [-0.05, -0.049])
def test_an_arm_that_turns_level_is_not_stopped_by_a_floor_it_cannot_press(height):
    """No joint moves the ball up or down: neither weight nor overlap reach the joint."""
    world = treesim.World(arm((0, 0, 1), 2), ground=treesim.Ground(height=height, friction=0.5))
    free = treesim.World(arm((0, 0, 1), 2))
    runs = [simulate(w, np.zeros(2), [0.5, -0.2], duration=0.2) for w in (world, free)]
    assert np.array_equal(runs[0].q, runs[1].q)
    assert runs[0].solver_info[-1, 0] == pytest.approx(0.05 + height, abs=1e-12)


@pytest.mark.slow
def test_rows_that_nothing_moves_do_not_matter():
    """A planar chain whose end is held in all three directions of space, with a limit and friction beside it."""
    bodies = [
        treesim.Body(
            f"bar{k}", k,
            treesim.Joint(f"hinge{k}", "revolute", placement=TIP if k else NOTHING, axis=(0, 1, 0), joint_friction=0.1,
                          lower=-3, upper=3),
            treesim.Inertia(1.0, (0.5, 0, 0), np.diag([0.001, 0.1, 0.1])),
        )
        for k in range(3)
    ]  # fmt: skip
    robot = treesim.Tree("chain", bodies, frames=[treesim.Frame("tip", 3, TIP)])
    pose = np.eye(4)
    pose[0, 3] = 1.5
    three, two = (
        treesim.World(robot, treesim.FrameConstraint("tip", rows=rows, pose=pose))
        for rows in ("linear", [[1, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]])
    )
    q = two.close([-1.0, 1.0, 1.2])
    runs = [simulate(world, q, duration=0.5) for world in (three, two)]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-9)
    assert np.abs(runs[1].q[-1] - q).max() > 0.1
