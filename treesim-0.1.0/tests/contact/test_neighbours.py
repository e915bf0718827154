"""A rollout with contact has the same bits whatever is rolled out with it."""

import numpy as np
import pytest

import treesim

STEPS = 15


@pytest.mark.parametrize(
    "name, integrator",
    [
        ("anymal_c", "implicit_midpoint"),
        ("simple_humanoid", "semi_implicit_euler"),
        pytest.param("talos_reduced", "implicit_midpoint", marks=pytest.mark.slow),
    ],
)
def test_a_rollout_alone_has_the_bits_that_it_has_among_others(name, integrator):
    """In states that touch at other points than their neighbours: hulls, spheres, limits, several contacts a body."""
    robot = treesim.load(name, base="floating")
    world, rng = treesim.World(robot, ground=treesim.Ground()), np.random.default_rng(0)
    q = robot.clamp([robot.integrate(robot.neutral(), 0.05 * rng.normal(size=robot.nv)) for _ in range(24)])
    q, v = np.array([treesim.standing(robot, each) for each in q]), 0.5 * rng.normal(size=(24, robot.nv))
    together = treesim.rollout(world, q, v, steps=STEPS, integrator=integrator)
    order = rng.permutation(24)
    shuffled = treesim.rollout(world, q[order], v[order], steps=STEPS, integrator=integrator)
    assert np.array_equal(shuffled.q, together.q[order]) and np.array_equal(shuffled.v, together.v[order])
    for k in range(0, 24, 5):
        alone = treesim.rollout(world, q[k : k + 1], v[k : k + 1], steps=STEPS, integrator=integrator)
        assert np.array_equal(alone.q[0], together.q[k]) and np.array_equal(alone.v[0], together.v[k]), k
