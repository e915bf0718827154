"""Height fields of the upper surface of triangle meshes."""

import numpy as np
import pytest

import treesim
from tests.contact.scenes import at, cube, simulate, turned
from treesim import ArgumentError, HeightField

TENT = np.array([[0, 0, 0], [1, 0, 0.5], [2, 0, 0], [0, 1, 0], [1, 1, 0.5], [2, 1, 0]], float)
ROOF = np.array([[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4]])


def test_nodes_lie_on_the_mesh_and_the_field_ends_with_it():
    field = HeightField.from_mesh((TENT, ROOF), spacing=(0.26, 0.3), friction=0.4, name="roof")
    heights = np.asarray(field.heights)
    x = np.linspace(0, 2, heights.shape[0])
    np.testing.assert_allclose(
        heights, np.repeat((0.5 - 0.5 * np.abs(x - 1))[:, None], heights.shape[1], 1), atol=1e-12
    )
    nx, ny = heights.shape
    assert np.asarray(field.spacing) * (nx - 1, ny - 1) == pytest.approx((2, 1)) and field.center == (1.0, 0.5)
    assert (nx, ny) == (9, 4) and field.friction == 0.4 and field.name == "roof"


def test_the_upper_of_several_surfaces_counts_and_walls_do_not():
    """A closed box: its floor is below its top, its walls stand on their edges."""
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 0.3)], float)
    sides = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    faces = np.array([[s[0], s[k], s[k + 1]] for s in sides for k in (1, 2)])
    assert np.asarray(HeightField.from_mesh((corners, faces)).heights) == pytest.approx(0.3)


def test_a_file_is_read(tmp_path):
    lines = [*(f"v {x} {y} {z}" for x, y, z in TENT), *(f"f {a} {b} {c}" for a, b, c in ROOF + 1)]
    (tmp_path / "roof.obj").write_text("\n".join(lines), encoding="utf-8")
    made = HeightField.from_mesh(tmp_path / "roof.obj", spacing=(0.25, 0.25))
    assert made == HeightField.from_mesh((TENT, ROOF), spacing=(0.25, 0.25))


@pytest.mark.parametrize(
    ("mesh", "text"),
    [
        ((TENT, ROOF[:3]), "no triangle at x = .*cover its bounding rectangle"), ((TENT, ROOF + 1), "1 to 6, of 6"),
        ((TENT[:, :2], ROOF), r"shape \(n, 3\)"), ((TENT, ROOF[:0]), r"shape \(m, 3\)"), (3, "a file or"),
        ((TENT * (1, 0, 1), ROOF), "no extent"),
    ],
)  # fmt: skip
def test_what_is_no_terrain_is_refused(mesh, text):
    with pytest.raises(ArgumentError, match=text):
        HeightField.from_mesh(mesh)
    with pytest.raises(ArgumentError, match="spacing"):
        HeightField.from_mesh((TENT, ROOF), spacing=(0, 1))


def test_a_cube_stays_on_the_slope_of_a_mesh_as_friction_allows():
    for mu, stays in ((0.51, True), (0.49, False)):
        field = HeightField.from_mesh((TENT, ROOF), friction=mu)
        R = turned((0, 1, 0), -np.arctan(0.5))
        start = np.array([0.5, 0.45, 0.25]) + 0.05 * R[:, 2]
        run = simulate(treesim.World(cube(), ground=field), at(start, R), duration=0.3)
        moved = np.linalg.norm(run.q[-1, :3] - start)
        assert (moved < 1e-7) if stays else (moved > 1e-3)
