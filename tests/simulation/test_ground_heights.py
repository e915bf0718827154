"""Heights of the ground: the same geometry as planes, boxes, height fields and meshes."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

import treesim
from tests.contact.meshes import of_box, of_field, together

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
    with pytest.raises(treesim.ArgumentError, match=r"shape \(..., 2\), or .*, got shape \(4,\)"):
        heights(step, [0, 0, 0, 0])
    with pytest.raises(treesim.ArgumentError, match="world must be"):
        treesim.ground_heights(ROBOT, [0.0, 0.0])


def of_boxes(*boxes):
    """Grounds of boxes about the z axis with these lowest and highest z: as boxes, as one mesh, and as several."""
    places = [((2, 2, high - low), (0, 0, (low + high) / 2)) for low, high in boxes]
    solids = [treesim.StaticBox(size, treesim.Placement(translation=place)) for size, place in places]
    meshes = [of_box(size, place) for size, place in places]
    return solids, [treesim.StaticMesh(*together(*meshes))], [treesim.StaticMesh(*mesh) for mesh in meshes]


@pytest.mark.parametrize("kind", [0, 1, 2], ids=["boxes", "mesh", "meshes"])
def test_points_with_z_see_what_is_below_them(kind):
    """On the floor 0, a step, under a table, in it, on it; above two boxes, one on the other."""
    robot = treesim.free_body("ball", "sphere", (0.1,), 1.0)
    table = treesim.World(robot, ground=[treesim.Ground(), *of_boxes((0.7, 0.75))[kind]])
    points = [[0.1, 0.2, z] for z in (0.3, 0.69, 0.71, 0.75, 0.8, -0.1)] + [[3, 0, 0.3]]
    assert np.allclose(treesim.ground_heights(table, points), [0, 0, 0.75, 0.75, 0.75, 0, 0], atol=1e-12)
    assert np.allclose(treesim.ground_heights(table, np.array(points)[:, :2]), [*[0.75] * 6, 0], atol=1e-12)
    stacked = treesim.World(robot, ground=of_boxes((-1, 0.25), (0.25, 0.5), (0.9, 1.0))[kind])
    found = treesim.ground_heights(stacked, [[[0.1, 0.2, z] for z in (-2, -0.5, 0.3, 0.6, 0.95, 2)]])
    assert np.allclose(found, [[-np.inf, 0.5, 0.5, 0.5, 1, 1]], atol=1e-12) and found.shape == (1, 6)


def test_sheets_are_solid_below():
    mesh = of_field(treesim.HeightField(np.full((3, 3), 0.5), (1.0, 1.0)))
    world = treesim.World(treesim.load("ur5"), ground=treesim.StaticMesh(*mesh))
    assert treesim.ground_heights(world, [[0.1, 0.2, -3], [0.1, 0.2, 3]]).tolist() == [0.5, 0.5]
