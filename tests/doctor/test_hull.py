"""Hulls of shapes: volumes in closed form, distances from faces, and points that span nothing."""

import numpy as np
import pytest

from treesim.doctor.hull import Hull, Meshes, points_of
from treesim.urdf.geometry import Geometry

VOLUMES = {
    "box": ((2.0, 3.0, 4.0), 24.0),
    "sphere": ((0.5,), 4 / 3 * np.pi * 0.5**3),
    "cylinder": ((0.5, 2.0), np.pi * 0.5**2 * 2.0),
    "capsule": ((0.5, 2.0), np.pi * 0.5**2 * 2.0 + 4 / 3 * np.pi * 0.5**3),
}


@pytest.mark.parametrize("kind", VOLUMES)
def test_volume_of_a_shape(kind):
    """Polygons of 24 sides have 1.1 % less area than circles; spheres are inscribed in two such turns."""
    size, volume = VOLUMES[kind]
    hull = Hull(points_of(Geometry(kind, size, None)))
    assert 0.97 * volume < hull.volume <= volume * (1 + 1e-12)


def test_distance_from_the_faces_of_a_box():
    hull = Hull(points_of(Geometry("box", (2.0, 2.0, 2.0), None)))
    assert hull.outside(np.array([0.0, 0.0, 1.5])) == pytest.approx(0.5, abs=1e-12)
    assert hull.outside(np.zeros(3)) == pytest.approx(-1.0, abs=1e-12)
    assert hull.diameter == pytest.approx(np.sqrt(12))
    assert hull.widths(np.array([[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]])) == pytest.approx([2.0, 4.0])


@pytest.mark.parametrize(
    "points", [np.zeros((0, 3)), np.ones((5, 3)), np.eye(3), np.random.default_rng(0).normal(size=(9, 3)) * [1, 1, 0]]
)
def test_what_is_flat_has_no_volume_and_nothing_outside(points):
    hull = Hull(points)
    assert hull.volume == 0 and hull.outside(np.full(3, 9.0)) == -np.inf


def test_a_mesh_is_read_once_and_what_cannot_be_read_is_told(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    good, bad = tmp_path / "box.stl", tmp_path / "bad.stl"
    trimesh.creation.box((1, 2, 3)).export(good)
    bad.write_text("version https://git-lfs.github.com/spec/v1\n")
    meshes = Meshes()
    assert Hull(meshes.vertices(str(good))).volume == pytest.approx(6.0)
    good.unlink()
    assert len(meshes.vertices(str(good))) == 8
    assert meshes.vertices(str(bad)) is None and list(meshes.unreadable) == [str(bad)]
