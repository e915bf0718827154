"""Closed loops on a ground: the same impulses keep both laws."""

import numpy as np
import pytest

import treesim
from tests.contact.scenes import G, at, shape, simulate

BAR = treesim.Inertia(1.0, (0, 0, 0.25), np.diag([0.02, 0.02, 1e-3]))
END = treesim.Placement(translation=(0, 0, 0.5))


def hinge(name, x, z, **options):
    return treesim.Joint(
        name, "revolute", placement=treesim.Placement(translation=(x, 0, z)), axis=(0, 1, 0), **options
    )


def parallelogram():
    """A plate on four balls, two bars upright on it, and one across their tops, which a loop ties to the second bar."""
    plate = treesim.Inertia(4.0, (0, 0, 0), np.diag([0.1, 0.1, 0.2]))
    across = treesim.Inertia(1.0, (0.2, 0, 0), np.diag([1e-3, 0.02, 0.02]))
    bodies = [
        treesim.Body("plate", 0, treesim.Joint("free", "floating"), plate),
        treesim.Body("left", 1, hinge("left_hinge", -0.2, 0.0, lower=-1.0, upper=1.0), BAR),
        treesim.Body("right", 1, hinge("right_hinge", 0.2, 0.0), BAR),
        treesim.Body("top", 2, hinge("top_hinge", 0.0, 0.5, joint_friction=0.2), across),
    ]
    frames = [
        treesim.Frame("left_end", 4, treesim.Placement(translation=(0.4, 0, 0))),
        treesim.Frame("right_end", 3, END),
    ]
    places = [(x, y, -0.05) for x in (-0.3, 0.3) for y in (-0.2, 0.2)]
    feet = [shape("sphere", (0.05,), treesim.Placement(translation=p)) for p in places]
    return treesim.Tree("parallelogram", bodies, frames=frames, shapes=feet)


def closed(world, run):
    """Gaps are closed in every step; in one with an impact, which turns velocities, to (h omega)^2 l / 2."""
    gaps = np.abs(world.gaps(run.q)).max(axis=-1)
    assert gaps.max() < 1e-4 and np.quantile(gaps, 0.95) < 1e-8


@pytest.mark.slow
def test_a_loop_stays_closed_while_its_robot_lands_and_comes_to_rest():
    robot = parallelogram()
    loop = treesim.LoopConstraint("left_end", "right_end", rows="linear")
    world = treesim.World(robot, loop, ground=treesim.Ground(friction=0.6))
    q = world.close(np.r_[at((0, 0, 0.15)), 0.2, 0.2, -0.2])
    run = simulate(world, q, duration=2.0, dt=1e-3)
    closed(world, run)
    assert run.q[-1, 7] == pytest.approx(1.0, abs=1e-5)  # the limit that it falls onto
    assert np.abs(run.v[-1]).max() < 1e-6 and run.solver_info[:, 0].max() < 1e-4
    assert run.wrench[-1, 1, 2] == pytest.approx(7 * G, rel=1e-5)
    assert np.diff(run.energy).max() < 2e-3 and run.energy[-1] < run.energy[0] - 5


def test_a_held_frame_and_a_limit_at_once():
    """A chain whose end is held, and whose first joint reaches its limit: it stops there with the end in its place."""
    bodies = [
        treesim.Body(f"bar{k}", k, hinge(f"hinge{k}", 0.0, 0.5 * (k > 0), lower=-2.5, upper=2.5), BAR) for k in range(3)
    ]
    robot = treesim.Tree("chain", bodies, frames=[treesim.Frame("tip", 3, END)])
    pose = np.eye(4)
    pose[0, 3] = 0.9
    rows = [[1, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]]
    world = treesim.World(robot, treesim.FrameConstraint("tip", rows=rows, pose=pose))
    q = world.close([0.2, 0.7, 1.2])
    run = simulate(world, q, duration=1.5)
    closed(world, run)
    assert run.q[:, 0].max() == pytest.approx(2.5, abs=1e-6) and np.abs(run.v[-1]).max() < 1e-6
    assert np.diff(run.energy).max() < 1e-3


def test_only_the_midpoint_holds_loops_on_a_ground():
    world = treesim.World(
        parallelogram(), treesim.LoopConstraint("left_end", "right_end", rows="linear"), ground=treesim.Ground()
    )
    with pytest.raises(treesim.UnsupportedError, match="does not support the constraints"):
        treesim.Stepper(world, integrator="semi_implicit_euler")
