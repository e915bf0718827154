"""Rows of contacts: points of one body at different heights above another are consistent with a rigid motion."""

from types import SimpleNamespace

import numpy as np
import pytest

from treesim.kernels.contact.constraint_rows import level_points


def contacts_of(bodies, gaps, points, normals):
    """Memory with contacts of the pairs of bodies."""
    count = len(gaps)
    found = SimpleNamespace(
        pair=np.arange(count), gap=np.array(gaps, float), point=np.array(points, float), normal=np.array(normals, float)
    )
    return SimpleNamespace(contacts=found, touch=SimpleNamespace(pair=np.array(bodies)), sigma=np.full(count, np.nan))


def strain(points, gaps):
    """What is left of closing all gaps without sliding in the best rigid motion."""
    rows, wanted = [], []
    for x, gap in zip(points, gaps, strict=True):
        spin = np.array([[0, x[2], -x[1]], [-x[2], 0, x[0]], [x[1], -x[0], 0]])
        rows.append(np.hstack([np.eye(3), spin]))
        wanted += [0, 0, -gap]
    J, wanted = np.vstack(rows), np.array(wanted)
    return np.abs(J @ np.linalg.lstsq(J, wanted, rcond=None)[0] - wanted).max()


@pytest.mark.parametrize("below", [0, 2], ids=["world", "body"])
def test_a_tilted_sole_closes_its_gaps_without_sliding(below):
    corners = np.array([(x, y, 0.0) for x in (-0.1, 0.1) for y in (-0.05, 0.04)])
    gaps = 1e-3 + 2e-3 * (corners[:, 0] + 0.1) - 1e-3 * corners[:, 1]
    heights = gaps if below == 0 else gaps / 2  # of contact points: on the body above, or midway
    points = corners + np.outer(heights, [0, 0, 1])
    m = contacts_of([(1, below)] * 4, gaps, points, [(0, 0, 1)] * 4)
    level_points(m.contacts, m.touch, m.sigma, 4)
    assert strain(points, gaps) > 1e-7 and strain(m.contacts.point, gaps) < 1e-16
    np.testing.assert_allclose(m.contacts.point[:, 2], heights.min(), rtol=0, atol=1e-18)
    np.testing.assert_array_equal(m.contacts.point[:, :2], corners[:, :2])


def test_contacts_of_other_bodies_and_planes_keep_their_points():
    points = np.random.default_rng(0).normal(size=(4, 3))
    m = contacts_of([(1, 0), (2, 0), (3, 2), (3, 2)], [1e-3, 0, 2e-3, 0], points, [(0, 0, 1)] * 3 + [(0, 1, 0)])
    level_points(m.contacts, m.touch, m.sigma, 4)
    np.testing.assert_array_equal(m.contacts.point, points)
