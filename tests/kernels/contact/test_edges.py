"""What touches between the points of shapes: against the least distance over all edges, vertices and axes."""

import numpy as np
import pytest

import treesim
from tests.contact.scenes import at, free_body, shape, turned
from tests.kernels.contact.test_collision import contacts, from_box, random_rotation

pytestmark = pytest.mark.nojit
HALF = np.array([0.3, 0.2, 0.1])


def farthest_edge(R, axis, n, along):
    """The point of a box's edge along `axis`, of those edges the farthest along n, from the box's centre."""
    own = np.where(np.arange(3) == axis, along, np.sign(R.T @ n)) * HALF
    return R @ own


def test_edges_of_boxes_that_cross_are_as_far_apart_as_they_were_laid():
    """Boxes laid so that a point of an edge of one is at a gap from one of the other, along the normal of both edges,
    along which each box has nothing farther out: these are the nearest points of the two."""
    rng = np.random.default_rng(4)
    robot, box = free_body(1.0, 1.0, shape("box", tuple(2 * HALF))), treesim.StaticBox(2 * HALF)
    for _ in range(40):
        R, (i, j), gap = random_rotation(rng), rng.integers(3, size=2), rng.uniform(2e-4, 0.05)
        n = np.cross(R[:, i], np.eye(3)[j]) * rng.choice([-1, 1])
        n /= np.linalg.norm(n)
        s, t = rng.uniform(-0.9, 0.9, 2)
        on_box = farthest_edge(np.eye(3), j, n, t)
        x = on_box + gap * n - farthest_edge(R, i, -n, s)
        found = contacts(robot, box, at(x, R), margin=0.06)
        (k,) = np.flatnonzero(found.slot == 8)
        assert found.gap[k] == pytest.approx(gap, abs=1e-12)
        np.testing.assert_allclose(found.normal[k], n, atol=1e-9)
        np.testing.assert_allclose(found.point[k], on_box + gap * n, atol=1e-9)


@pytest.mark.parametrize("depth", [-1e-3, 1e-3])
def test_two_crossed_beams_meet_at_one_point(depth):
    """Each on its edge: the point between, the normal along the line of both centres."""
    beam = free_body(1.0, 1.0, shape("box", (0.1, 1.0, 0.1)))
    ground = treesim.StaticBox((1.0, 0.2, 0.2), treesim.Placement(rotation=turned((1, 0, 0), np.pi / 4)))
    touching = np.sqrt(2) * (0.1 + 0.05)
    found = contacts(beam, ground, at((0.1, 0.05, touching - depth), turned((0, 1, 0), np.pi / 4)))
    assert found.count == 1 and found.gap[0] == pytest.approx(-depth, abs=1e-14)
    np.testing.assert_allclose(found.normal[0], (0, 0, 1), atol=1e-14)
    np.testing.assert_allclose(found.point[0], (0.1, 0, np.sqrt(2) * 0.1 - depth), atol=1e-14)


def test_the_side_of_a_capsule_is_as_near_to_a_box_as_the_nearest_point_of_its_axis():
    rng = np.random.default_rng(5)
    robot, box = free_body(1.0, 1.0, shape("capsule", (0.05, 1.0))), treesim.StaticBox(2 * HALF)
    along, between = np.linspace(-0.5, 0.5, 20_001), 0
    for _ in range(24):
        R, x = random_rotation(rng), rng.normal(size=3)
        x *= 0.3 / np.linalg.norm(x)
        distance = from_box(x + np.outer(along, R[:, 2]), HALF) - 0.05
        found = contacts(robot, box, at(x, R), margin=0.5)
        assert -5e-5 < found.gap.min() - distance.min() < 1e-8  # the spacing of the samples; the slope at the least
        between += int(found.slot[found.gap.argmin()] >= 2)
    assert between > 8


def test_a_capsule_lies_on_both_ends_of_a_narrower_box():
    found = contacts(
        free_body(1.0, 1.0, shape("capsule", (0.05, 1.0))), treesim.StaticBox((0.2, 1, 0.2)),
        at((0.01, 0, 0.15), turned((0, 1, 0), np.pi / 2)),
    )  # fmt: skip
    np.testing.assert_allclose(np.sort(found.point[:, 0]), (-0.1, 0.1), atol=1e-4)
    np.testing.assert_allclose(found.gap, 0, atol=1e-7)
    np.testing.assert_allclose(found.normal[:, 2], 1, atol=1e-6)


@pytest.mark.parametrize("height", [0.0, 0.02])
def test_an_edge_straight_through_a_cylinder_is_no_contact_of_its_own(height):
    """An edge of a static box along the cylinder's axis passes through both of its ends: contacts are finite."""
    robot = free_body(1.0, 1.0, shape("cylinder", (0.05, 0.1)))
    box = treesim.StaticBox((0.2, 0.2, 2.0), treesim.Placement(translation=(0.1, 0.1, height)))
    found = contacts(robot, [box, treesim.Ground(height=-2.0)], at((0.0, 0.0, 0.0)))
    assert found.count > 0
    for x in (found.gap, found.point, found.normal):
        assert np.isfinite(x).all()
