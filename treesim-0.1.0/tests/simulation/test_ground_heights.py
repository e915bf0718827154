"""Heights of the ground: the same geometry as planes, boxes, height fields and meshes."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

import treesim

ROBOT = treesim.free_body("ball", "sphere", (0.1,), 1.0)


def heights(ground, points):
    return treesim.ground_heights(treesim.World(ROBOT, ground=ground), points)


def points(count, extent=1.0):
    return np.random.default_rng(0).uniform(-extent, extent, (count, 2))


def test_planes():
    n = np.array([0.3, -0.2, 0.9])
    found, at = heights(treesim.Ground(normal=n, height=0.5), points(50)), points(50)
    np.testing.assert_allclose(np.column_stack([at, found]) @ (n / np.linalg.norm(n)), 0.5, atol=1e-12)
    assert np.isneginf(heights(treesim.Ground(normal=(1, 0, 0)), at)).all()


@pytest.mark.parametrize("turn", [np.eye(3), Rotation.from_rotvec([0.4, -0.7, 1.1]).as_matrix()])
def test_a_box_is_its_mesh(turn):
    placement, size = treesim.Placement(turn, (0.1, -0.2, 0.3)), np.array([0.8, 0.6, 0.4])
    corners = np.array(np.meshgrid(*3 * [[-0.5, 0.5]])).reshape(3, -1).T * size
    hull = ConvexHull(corners)
    outward = [s if np.linalg.det(corners[s]) > 0 else s[::-1] for s in hull.simplices]
    box, mesh = treesim.StaticBox(size, placement), treesim.StaticMesh(corners, outward, placement)
    found = heights(box, points(2000))
    np.testing.assert_allclose(found, heights(mesh, points(2000)), atol=1e-9)
    assert np.isneginf(found).any() and np.isfinite(found).any()


def test_a_height_field_is_its_mesh():
    z = np.random.default_rng(1).uniform(0, 0.3, (7, 5))
    x, y = 0.2 * (np.arange(7) - 3), 0.3 * (np.arange(5) - 2)
    vertices = np.column_stack([*(a.ravel() for a in np.meshgrid(x, y, indexing="ij")), z.ravel()])
    k = (5 * np.arange(6)[:, None] + np.arange(4)).ravel()
    triangles = np.concatenate([np.column_stack([k, k + 5, k + 6]), np.column_stack([k, k + 6, k + 1])])
    field = treesim.HeightField(z, (0.2, 0.3))
    found = heights(field, points(2000))
    np.testing.assert_allclose(found, heights(treesim.StaticMesh(vertices, triangles), points(2000)), atol=1e-12)
    nodes = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1)
    np.testing.assert_allclose(heights(field, nodes), z, atol=1e-12)
    assert np.isneginf(found).any() and np.isfinite(found).any()


def test_the_highest_surface_counts():
    step = treesim.StaticBox((1, 1, 0.2), treesim.Placement(translation=(1, 0, 0.1)))
    assert np.array_equal(heights([treesim.Ground(), step], [[[0, 0]], [[1, 0.2]]]), [[0], [0.2]])
    assert np.isneginf(treesim.ground_heights(treesim.World(ROBOT), [0.0, 0.0]))
    with pytest.raises(treesim.ArgumentError, match=r"shape \(..., 2\), got shape \(3,\)"):
        heights(step, [0, 0, 0])
    with pytest.raises(treesim.ArgumentError, match="world must be"):
        treesim.ground_heights(ROBOT, [0.0, 0.0])
