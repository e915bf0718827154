"""Convex hulls of meshes: the vertices that none of the points lies outside of, few of them, and what is no mesh."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from treesim.errors import ModelError
from treesim.model import hulls
from treesim.model.hulls import distinct, hull_of_file, hull_vertices, reduced

CUBE = np.array([[x, y, z] for x in (0.0, 1) for y in (0.0, 1) for z in (0.0, 1)])
TIPS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
RNG = np.random.default_rng(3)

TETRAHEDRON = """solid
facet normal 0 0 -1\nouter loop\nvertex 0 0 0\nvertex 0 1 0\nvertex 1 0 0\nendloop\nendfacet
facet normal -1 0 0\nouter loop\nvertex 0 0 0\nvertex 0 0 1\nvertex 0 1 0\nendloop\nendfacet
facet normal 0 -1 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 0 1\nendloop\nendfacet
facet normal 1 1 1\nouter loop\nvertex 1 0 0\nvertex 0 1 0\nvertex 0 0 1\nendloop\nendfacet
endsolid
"""


def as_set(points):
    return {tuple(point) for point in points.tolist()}


def test_points_inside_are_no_vertices():
    inside = RNG.uniform(0.1, 0.9, (200, 3))
    assert as_set(hull_vertices(np.concatenate([inside, CUBE, CUBE]))) == as_set(CUBE)


def test_distinct_points_are_those_of_numpy():
    points = np.random.default_rng(0).integers(-2, 3, (500, 3)).astype(float)  # many of them twice, and zeros
    np.testing.assert_array_equal(distinct(points), np.unique(points, axis=0))


def test_the_hull_reaches_as_far_as_its_points_in_every_direction():
    points, directions = RNG.normal(size=(300, 3)), RNG.normal(size=(500, 3))
    vertices = hull_vertices(points)
    assert len(vertices) < len(points)
    assert np.array_equal((vertices @ directions.T).max(axis=0), (points @ directions.T).max(axis=0))


@pytest.mark.parametrize(
    "points, vertices",
    [
        ([[1, 2, 3]] * 4, [[1, 2, 3]]),
        ([[k, 2 * k, -k] for k in range(5)], [[0, 0, 0], [4, 8, -4]]),
        ([[x, y, x + y] for x in range(3) for y in range(3)], [[0, 0, 0], [0, 2, 2], [2, 0, 2], [2, 2, 4]]),
    ],
    ids=["point", "line", "plane"],
)
def test_flat_hulls(points, vertices):
    assert as_set(hull_vertices(np.array(points, float))) == as_set(np.array(vertices, float))


def polygon(sides):
    turn = np.arange(sides) * 2 * np.pi / sides
    return np.concatenate([np.stack([np.cos(turn), np.full(sides, y), np.sin(turn)], axis=1) for y in (-0.2, 0.2)])


def ball(count):
    points = RNG.normal(size=(count, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


SHAPES = {
    "wheel": polygon(512),
    "ball": ball(3000),
    "egg": ball(3000) * (1.0, 0.3, 2.0),
    "rod": ball(2000) * (0.01, 0.02, 1.0),
    "plate": ball(2000) * (1.0, 1.0, 1e-3),
    "crumbs": RNG.normal(size=(500, 3)),
    "box": CUBE,
}


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("name", SHAPES)
def test_few_vertices_stand_for_many_to_a_thousandth_of_the_size(name, size):
    """None that is left out is beyond a face by more, whatever the size and place of the whole."""
    points = hull_vertices(size * (SHAPES[name] + (3.0, -2.0, 1.0)))
    kept = reduced(points)
    assert as_set(kept) <= as_set(points) and len(as_set(kept)) == len(kept) <= len(points)
    faces = ConvexHull(kept).equations
    beyond = (points @ faces[:, :3].T + faces[:, 3]).max()
    assert beyond <= 1.001e-3 * np.linalg.norm(np.ptp(points, axis=0))
    if name in ("wheel", "ball", "egg"):
        assert 16 < len(kept) < 0.7 * len(points)


def test_what_has_few_corners_keeps_them_all():
    for points in (CUBE, polygon(64)):
        assert as_set(reduced(hull_vertices(points))) == as_set(points)


@pytest.mark.parametrize(
    "points", [CUBE[:1], CUBE[:2], CUBE[:4], polygon(40)[:40]], ids=["point", "line", "square", "disc"]
)
def test_flat_hulls_stay_whole(points):
    assert as_set(reduced(hull_vertices(points))) == as_set(points)


def test_a_file_is_read_once_and_scaled(tmp_path):
    file = tmp_path / "tetrahedron.stl"
    file.write_text(TETRAHEDRON)
    found = hull_of_file(str(file), (1.0, -2.0, 3.0))
    assert as_set(found) == {(0, 0, 0), (1, 0, 0), (0, -2, 0), (0, 0, 3)} and not found.flags.writeable
    file.unlink()
    assert hull_of_file(str(file), (1.0, -2.0, 3.0)) is found


@pytest.mark.parametrize(
    "name, text", [("a.stl", ""), ("b.dae", "<COLLADA/>"), ("c.obj", "v 0 0 nan\n"), ("d.xyz", "")]
)
def test_what_is_no_mesh_is_told(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(ModelError, match=rf"mesh '.*{name}' (cannot be read|has no points)"):
        hull_of_file(str(tmp_path / name), (1.0, 1.0, 1.0))
    with pytest.raises(ModelError, match="cannot be read"):
        hull_of_file(str(tmp_path / "nothing.stl"), (1.0, 1.0, 1.0))


def test_vertices_are_left_out_up_to_a_thousandth_of_the_diagonal():
    """Of a rhombic dodecahedron, whose diagonal is 4 sqrt(3): a vertex above the middle of a face."""
    corners = 2 * CUBE - 1
    ends = np.concatenate([2 * np.eye(3), -2 * np.eye(3)])
    for above, count in ((6.75e-3, 14), (7.1e-3, 15)):
        middle = np.array([1.0, 1.0, 0.0]) * (1 + above / np.sqrt(2))
        assert len(reduced(np.concatenate([corners, ends, [middle]]))) == count


def test_meshes_reach_a_billion_metres(tmp_path):
    path = tmp_path / "tetrahedron.stl"
    path.write_text(TETRAHEDRON)
    assert hull_of_file(str(path), (1.0, 1.0, -0.97e9)).min() == -0.97e9
    with pytest.raises(ModelError, match="reaches beyond 1e\\+09 m"):
        hull_of_file(str(path), (1.0, 1.0, -1.03e9))


def test_points_are_flat_below_a_billionth_of_their_width():
    assert len(hull_vertices(CUBE * [1.0, 1.0, 1.04e-9])) == 8
    assert len(hull_vertices(CUBE * [1.0, 1.0, 0.96e-9])) == 4


def test_a_file_is_read_once_whatever_the_scales_of_its_shapes(tmp_path, monkeypatch):
    path, read = str(tmp_path / "t.stl"), []
    (tmp_path / "t.stl").write_text(TETRAHEDRON)
    points = hulls.mesh_points
    monkeypatch.setattr(hulls, "mesh_points", lambda file: read.append(file) or points(file))
    for scale in (1.0, 0.5, -2.0, 1e-3):
        assert as_set(hull_of_file(path, (scale, 1.0, 1.0))) == as_set(TIPS * (scale, 1, 1))
    assert read == [path]
