"""Choice of four contact points: those that carry, those that overlap, and the widest support."""

import numpy as np
import pytest

import treesim
from treesim.kernels.algebra.linear import Vector
from treesim.kernels.contact.support import DEEP, GAP_PRICE, OVERLAP, TOUCHING, Choice, choose, worth

SQUARE = [(x, y) for x in (-1.0, 1.0) for y in (-1.0, 1.0)]
MIDDLE = [(0.5, 0.0), (-0.5, 0.25), (0.0, -0.5)]


def chosen(points, gaps, carried=(), rigid=True):
    """The indices of the points chosen on a plane; carried: indices of those that carried."""
    n = len(points)
    where, normal = np.column_stack([points, np.zeros(n)]), np.tile((0.0, 0.0, 1.0), (n, 1))
    pushes = np.zeros(n)
    pushes[list(carried)] = 1.0
    c = Choice(np.array(gaps, float), where, normal, pushes, np.ones(n))
    choose(c, 0, n, GAP_PRICE, rigid)
    return set(np.flatnonzero(c.active == 2).tolist())


def test_without_points_that_carried_the_widest_support_is_chosen():
    """From the deepest point on."""
    assert chosen([*MIDDLE, *SQUARE], [*3 * [0], *4 * [-1e-12]]) == {3, 4, 5, 6}


def test_points_that_carry_are_kept_however_narrow_their_support():
    assert chosen([*SQUARE, *MIDDLE], np.zeros(7), carried=(4, 5, 6)) > {4, 5, 6}
    assert chosen([*SQUARE, *MIDDLE], np.zeros(7), carried=(4, 5, 6), rigid=False) == {0, 1, 2, 3}


@pytest.mark.parametrize(("part", "kept"), [(0.9, True), (1.1, False)])
def test_points_that_carried_and_no_longer_touch_are_points_like_others(part, kept):
    gaps = [0, 0, 0, 0, *3 * [part * TOUCHING]]
    assert (chosen([*SQUARE, *MIDDLE], gaps, carried=(4, 5, 6)) > {4, 5, 6}) == kept


@pytest.mark.parametrize(("overlap", "first"), [(0.9 * OVERLAP, False), (1.1 * OVERLAP, True)])
def test_a_point_that_overlaps_comes_before_those_in_the_air_and_at_rest(overlap, first):
    """Of the fourth places, next to three points that carry."""
    found = chosen([*SQUARE, *MIDDLE, (0.0, 0.0)], [*7 * [0], -overlap], carried=(4, 5, 6))
    assert ((found - {4, 5, 6}) == {7}) == first


@pytest.mark.parametrize(("part", "first"), [(0.9, True), (1.1, False)])
def test_a_point_as_deep_as_those_that_carry_comes_before_those_in_the_air(part, first):
    """Although it widens nothing: edges that move over each other carry under new names."""
    for depth in (0, 1e-5):
        gaps = [*4 * [1e-5], *3 * [-depth], part * TOUCHING - depth]
        found = chosen([*SQUARE, *MIDDLE, (0.0, 0.0)], gaps, carried=(4, 5, 6))
        assert ((found - {4, 5, 6}) == {7}) == first


@pytest.mark.parametrize(("overlap", "first"), [(0.9 * DEEP, False), (1.1 * DEEP, True)])
def test_a_point_that_overlaps_deeply_comes_before_those_that_carry(overlap, first):
    """Overlaps count from that of the points that carry."""
    for depth in (0, 1e-4):
        gaps = [*4 * [-depth], -overlap - depth]
        assert (4 in chosen([*SQUARE, (0.0, 0.0)], gaps, carried=(0, 1, 2, 3))) == first


def test_the_fourth_point_is_the_one_farthest_outside_of_the_triangle():
    corners = [Vector(0.0, 0.0, 0.0), Vector(2.0, 0.0, 0.0), Vector(0.0, 2.0, 0.0)]
    up = Vector(0.0, 0.0, 1.0)
    for x, expected in (
        (Vector(0.5, -1.0, 0.0), 1), (Vector(-1.5, 0.5, 0.0), 1.5), (Vector(2.0, 2.0, 0.0), 2**0.5),
        (Vector(0.5, 0.5, 0.0), -0.5),
    ):  # fmt: skip
        for turn in range(3):
            three = [*corners[turn:], *corners[:turn]]
            assert worth(3, GAP_PRICE, 0.0, x, up, *three) == pytest.approx(expected, abs=1e-12)
            assert worth(3, GAP_PRICE, 0.0, x, up, *three[::-1]) == pytest.approx(expected, abs=1e-12)


def test_all_lanes_and_one_state_choose_the_same_points():
    """Of a polyhedron of many points that rocks on a plane, to the bit, in rollouts of several states and of one."""
    rng = np.random.default_rng(5)
    points = rng.normal(size=(24, 3)) * (0.2, 0.15, 0.0) + (0, 0, 0.01) * rng.normal(size=(24, 1))
    vertices = np.vstack([points, np.add(points, (0, 0, 0.1))])
    inertia = treesim.Inertia(1.0, (0, 0, 0.05), 0.01 * np.eye(3))
    collision = treesim.CollisionShape(1, treesim.Placement(), "hull", vertices=vertices, link="stone")
    stone = treesim.Tree(
        "stone", [treesim.Body("stone", 0, treesim.Joint("free", "floating"), inertia)], shapes=[collision]
    )
    world = treesim.World(stone, ground=treesim.Ground(friction=0.6))
    q = np.tile(stone.standing(stone.neutral()), (9, 1))
    v = np.zeros((9, 6))
    v[:, 3:] = 0.3 * rng.normal(size=(9, 3))
    together = treesim.rollout(world, q, v, None, 1e-3, 300)
    for k in (0, 8):
        alone = treesim.rollout(world, q[k], v[k], None, 1e-3, 300)
        assert np.array_equal(alone.q.squeeze(), together.q[k])
