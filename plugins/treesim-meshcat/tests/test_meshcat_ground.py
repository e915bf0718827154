"""Ground in recordings and on the live page: the right surfaces at the right poses."""

from __future__ import annotations

import numpy as np
import pytest
from treesim_meshcat import MeshcatViewer
from treesim_meshcat.ground import ground_shapes
from treesim_meshcat.recording import recording_html

from treesim import Ground, HeightField, Placement, StaticBox, StaticMesh
from treesim.contact.description import described
from treesim.errors import ArgumentError
from treesim.viewing.protocols import GroundViewer
from treesim.viewing.solids import surface_triangles

SLOPE = Ground(normal=(0.6, 0.0, 0.8), height=0.3)
BOX = StaticBox((1, 2, 0.1), Placement.from_xyz_rpy((1, 2, 3), (0.1, 0.2, 0.3)))
MESH = StaticMesh(np.eye(3), [[0, 1, 2]], BOX.placement)


def drawn(scene):
    """Return the pose (4, 4) of each drawn surface of the ground, by path."""
    poses = {c["path"]: np.reshape(c["matrix"], (4, 4)).T for c in scene["commands"] if c["type"] == "set_transform"}
    return {path: pose for path, pose in poses.items() if path.startswith("/ground/")}


def grid(scene):
    """Return whether the grid is visible."""
    (command,) = (c for c in scene["commands"] if c["path"] == "/Grid" and c["type"] == "set_property")
    return command["value"]


def test_a_plane_is_drawn_where_it_is():
    center = np.array([1.0, 2.0, 3.0])
    (shape,) = ground_shapes([SLOPE], center, 5.0)
    corners = shape.geometry.mesh.vertices @ shape.pose[:3, :3].T + shape.pose[:3, 3]
    np.testing.assert_allclose(corners @ SLOPE.normal, 0.3, atol=1e-6)
    np.testing.assert_allclose(np.cross(corners.mean(axis=0) - center, SLOPE.normal), 0, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(corners - corners.mean(axis=0), axis=1), 5 * np.sqrt(2), rtol=1e-6)


def test_a_height_field_is_drawn_as_it_is_met():
    rng = np.random.default_rng(0)
    field = HeightField(rng.normal(size=(3, 4)), (0.1, 0.2), (1.0, 2.0))
    mesh, _ = surface_triangles(field, np.zeros(3), 1.0)
    grid = mesh.vertices.reshape(3, 4, 3)
    np.testing.assert_allclose(grid[..., 2], field.heights, rtol=1e-6)
    np.testing.assert_allclose(grid[:, 0, 0], [0.9, 1.0, 1.1], rtol=1e-6)
    np.testing.assert_allclose(grid[0, :, 1], [1.7, 1.9, 2.1, 2.3], rtol=1e-6)
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    areas = np.cross(b - a, c - a)[:, 2] / 2
    np.testing.assert_allclose(areas, 0.01, rtol=1e-4)  # all face up, none is left out
    assert len(areas) == 2 * 2 * 3
    shared = [set(one) & set(other) for one, other in zip(mesh.faces[:6], mesh.faces[6:], strict=True)]
    assert shared[0] == {0, 5}, "the diagonal is that from the corner of least x and y"


@pytest.mark.parametrize(
    ("ground", "shown"), [((), True), ((SLOPE, BOX), False), ((Ground(height=0.2), BOX, MESH), True)]
)
def test_recordings_show_the_ground_of_the_trajectory(robot, motion, scene_in, ground, shown):
    trajectory = motion(robot).with_metadata(ground=[described(surface) for surface in ground])
    scene = scene_in(recording_html(robot, trajectory))
    assert [path.split()[1] for path in drawn(scene)] == [type(surface).__name__ for surface in ground]
    assert grid(scene) is shown
    if BOX in ground:
        np.testing.assert_allclose(drawn(scene)["/ground/1 StaticBox"], BOX.placement.matrix(), atol=1e-12)
    if MESH in ground:
        np.testing.assert_allclose(drawn(scene)["/ground/2 StaticMesh"], BOX.placement.matrix(), atol=1e-12)
    if shown and ground:
        assert scene["view"]["floor"] == 0.2


def test_the_ground_of_the_live_page(robot):
    viewer = MeshcatViewer()
    assert isinstance(viewer, GroundViewer)
    with pytest.raises(ArgumentError, match="call show"):
        viewer.show_ground([SLOPE])
    viewer.show(robot, robot.neutral())
    viewer.show_ground([SLOPE])
    viewer.close()


def test_level_planes_and_the_grid_move_along_with_the_robot(robot, watch):
    viewer = MeshcatViewer()
    try:
        viewer.show(robot, robot.neutral())
        viewer.show_ground([Ground(), SLOPE, BOX])
        watched = watch(viewer.url)
        watched.wait("stage.bodies.length > 0 && stage.planes.length === 1 && element('follow').checked")
        places = "[...stage.find('ground').children, stage.find('Grid')].map((object) => object.position.toArray())"
        before, cell = np.array(watched.page.evaluate(places)), watched.page.evaluate("stage.cell")
        q = robot.neutral()
        q[:2] = 7.35, -2.15
        viewer.update(q)
        watched.wait("stage.find('Grid').position.x > 6")
        moved = np.array(watched.page.evaluate(places)) - before
        np.testing.assert_allclose(moved[1:3], 0)
        np.testing.assert_allclose(moved[[0, 3]], [cell * np.round([7.35 / cell, -2.15 / cell, 0])] * 2, atol=1e-9)
        assert watched.errors == []
    finally:
        viewer.close()
