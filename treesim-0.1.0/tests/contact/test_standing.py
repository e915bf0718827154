"""Robots set down on boxes and height fields: the first point touches, and where they stand, they stay."""

import numpy as np
import pytest

import treesim
from tests.contact.scenes import at, ball, cube, free_body, shape, simulate, turned
from treesim.contact.overlaps import pair_gaps
from treesim.contact.standing import NOTHING_HELD
from treesim.contact.tables import touching

TILT = turned((0, 1, 0), 0.2)
BOX = treesim.StaticBox((1, 1, 0.2), treesim.Placement(TILT, (0.3, 0, 0.5)))
X = (np.arange(21) - 10) * 0.1
WAVES = treesim.HeightField(0.05 * np.sin(3 * X[:, None]) + 0.1 * X[None, :] ** 2)


def least_gap(robot, q, ground):
    tables = touching(robot, (ground,), False, False, NOTHING_HELD)
    return pair_gaps(robot, tables, q, np.array([0, 0, 1.0]), 0.01).least.min()


@pytest.mark.parametrize("ground", [BOX, WAVES], ids=["box", "waves"])
@pytest.mark.parametrize("kind, size", [("sphere", (0.1,)), ("capsule", (0.05, 0.2)), ("cylinder", (0.08, 0.1)),
                                        ("box", (0.2, 0.1, 0.06))])  # fmt: skip
def test_the_first_point_touches(kind, size, ground):
    rng, robot = np.random.default_rng(0), free_body(1.0, 1.0, shape(kind, size))
    up = TILT[:, 2] if ground is BOX else np.array([0, 0, 1.0])
    for far in (-3.0, 5.0):
        axis = rng.normal(size=3)
        q = at([0.25, 0.1, 0.5] + far * up, turned(axis / np.linalg.norm(axis), 1.0))
        placed = robot.standing(q, ground)
        assert abs(least_gap(robot, placed, ground)) < 1e-12
        np.testing.assert_allclose(np.cross(placed[:3] - q[:3], up), 0, atol=1e-12)
        assert np.array_equal(placed[3:], q[3:])


def test_the_top_of_a_box_is_the_plane_in_it():
    robot = treesim.load("simple_humanoid", base="floating")
    q = np.stack([robot.neutral(), robot.neutral()])
    q[1, :2] = 0.1, -0.05
    floor = treesim.StaticBox((2, 2, 0.3), treesim.Placement(translation=(0, 0, 0.1)))
    np.testing.assert_allclose(
        robot.standing(q, floor), robot.standing(q, treesim.Ground(height=0.25)), rtol=0, atol=1e-12
    )


def test_a_ball_over_the_edge_of_a_box_rests_on_the_edge():
    """Its centre 6 cm beside the box: sqrt(10^2 - 6^2) = 8 cm above the edge."""
    box = treesim.StaticBox((1, 1, 0.2))
    placed = ball().standing(at((0.56, 0, 2.0)), box)
    assert placed[2] == pytest.approx(0.1 + 0.08, abs=1e-12)


def test_what_is_wider_than_a_box_stands_on_its_edges():
    post = treesim.StaticBox((0.1, 0.1, 1.0))
    robot = cube(0.3)
    q = robot.standing(at((0.02, 0.01, 3.0)), post)
    assert q[2] == pytest.approx(0.5 + 0.15, abs=1e-12)
    run = simulate(treesim.World(robot, ground=post), q, duration=0.1)
    assert np.abs(run.q[-1] - q).max() < 1e-9


def test_who_is_set_down_does_not_move_on():
    world = treesim.World(ball(), ground=treesim.HeightField(np.full((5, 5), 0.3), friction=0.5))
    q = world.robot.standing(at((0.05, 0.02, 0.0)), world.ground[0])
    run = simulate(world, q, duration=0.05)
    assert np.abs(run.q - q).max() < 1e-12


def test_what_is_beside_the_surface_cannot_be_set_down():
    for ground, name in ((treesim.StaticBox((1, 1, 1), name="table"), "StaticBox 'table'"), (WAVES, "HeightField")):
        with pytest.raises(treesim.ArgumentError, match=f"nothing of 'ball' is above the {name}"):
            ball().standing(at((5.0, 0, 1.0)), ground)
