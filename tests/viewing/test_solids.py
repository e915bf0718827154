"""Every visual and surface as triangles: where they are, and how large."""

import numpy as np
import pytest

from treesim import Ground, HeightField, Placement, StaticBox, StaticMesh, Visual
from treesim.viewing.solids import surface_triangles, triangles_of
from treesim.viewing.surfaces import floor_height

SIZES = {"box": (0.1, 0.2, 0.4), "sphere": (0.1,), "cylinder": (0.1, 0.4), "capsule": (0.1, 0.4)}
HALVES = {"box": (0.05, 0.1, 0.2), "sphere": (0.1,) * 3, "cylinder": (0.1, 0.1, 0.2), "capsule": (0.1, 0.1, 0.3)}


@pytest.mark.parametrize("kind", SIZES)
def test_solids_are_about_their_middle_and_stand_along_z(kind):
    (mesh,) = triangles_of(Visual(1, Placement(), kind, SIZES[kind]))
    vertices = mesh.vertices
    np.testing.assert_allclose(
        [vertices.min(axis=0), vertices.max(axis=0)], [np.negative(HALVES[kind]), HALVES[kind]], atol=1e-9
    )


@pytest.mark.parametrize(
    "surface",
    [
        Ground(normal=(0, 0.6, 0.8), height=0.3),
        StaticBox((1, 2, 0.6)),
        HeightField(np.full((3, 3), 0.3)),
        StaticMesh(np.eye(3), [[0, 1, 2]], Placement(translation=(0, 0, -0.7))),
    ],
)
def test_surfaces_are_in_their_place(surface):
    mesh, pose = surface_triangles(surface, np.zeros(3), 5.0)
    n = np.asarray(surface.normal) if isinstance(surface, Ground) else np.array([0, 0, 1.0])
    heights = (mesh.vertices @ pose[:3, :3].T + pose[:3, 3]) @ n
    assert heights.max() == pytest.approx(0.3, abs=1e-6)


@pytest.mark.parametrize(("slope", "height"), [(0.95e-9, 0.3), (1.05e-9, None)])
def test_the_grid_lies_on_a_level_plane(slope, height):
    assert floor_height([Ground(normal=(slope, 0, 1), height=0.3)]) == height
