"""Overlays of a robot: inertia ellipsoids, convex hulls of shapes, and arrows along joint axes."""

import numpy as np
import pytest
import trimesh
from treesim_meshcat.overlays import add_overlays, axis_matrix, ellipsoid, hull_mesh, overlays_of
from treesim_meshcat.scene import robot_parts, scene_message

import treesim
from treesim import Body, CollisionShape, Inertia, Joint, Placement, Tree

CORNERS = np.array(np.meshgrid([0, 1.0], [0, 2.0], [0, 3.0])).reshape(3, 8).T


@pytest.mark.parametrize("half", [(1.0, 1.0, 1.0), (0.1, 0.2, 0.5), (0.3, 0.01, 0.02)])
def test_an_ellipsoid_has_the_inertia_that_it_is_drawn_for(half):
    R = Placement.from_xyz_rpy((0, 0, 0), (0.3, -0.8, 0.5)).rotation
    squares, mass = np.square(half), 2.0
    rotational = R @ np.diag(mass / 5 * (squares.sum() - squares)) @ R.T  # of a homogeneous ellipsoid
    matrix = ellipsoid(Inertia(mass, (1, 2, 3), (rotational + rotational.T) / 2))
    np.testing.assert_allclose(matrix[:3, :3] @ matrix[:3, :3].T, R @ np.diag(squares) @ R.T, atol=1e-9)
    np.testing.assert_array_equal(matrix[:3, 3], [1, 2, 3])


def test_impossible_and_flat_inertias_have_thin_ellipsoids():
    for moments in ((1.0, 1.0, 5.0), (1.0, 1.0, 2.0), (0.0, 0.0, 0.0)):
        lengths = np.linalg.norm(ellipsoid(Inertia(1.0, rotational=np.diag(moments)))[:3, :3], axis=0)
        assert (lengths > 0).all() and np.isfinite(lengths).all()


def test_a_hull_has_the_surface_of_its_box_and_may_be_flat():
    mesh = hull_mesh(CORNERS)
    assert trimesh.Trimesh(mesh.vertices, mesh.faces).area == pytest.approx(2 * (2 + 3 + 6), rel=1e-6)
    flat = hull_mesh(CORNERS[CORNERS[:, 2] == 0])
    assert trimesh.Trimesh(flat.vertices, flat.faces).area == pytest.approx(2 * 2, rel=1e-6)


def test_an_arrow_leads_along_the_joints_axis():
    body = Body("arm", 0, Joint("hinge", "revolute", axis=(1, 2, 2)))
    np.testing.assert_allclose(axis_matrix(body, 3.0) @ [0, 0, 1, 1], [1, 2, 2, 1])


def test_all_that_a_robot_has_is_in_its_scene():
    at, inertia = Placement.from_xyz_rpy((0, 0, 0.5)), Inertia(1.0, rotational=np.eye(3))
    bodies = [
        Body("trunk", 0, Joint("root_joint", "floating"), inertia),
        Body("tip", 1, Joint("hinge", "revolute", placement=at)),
    ]
    shapes = [
        CollisionShape(1, at, "sphere", size=(0.1,)),
        CollisionShape(2, at, "hull", vertices=CORNERS),
        CollisionShape(2, at, "hull", file="nowhere.stl"),
        CollisionShape(2, at, "hull", vertices=CORNERS[:3]),
    ]
    robot = Tree("pair", bodies, shapes=shapes)
    kinds = [(overlay.kind, overlay.body) for overlay in overlays_of(robot, 1.0) if overlay.kind != "skeleton"]
    assert kinds == [("collision", 1), ("collision", 2), ("inertia", 1), ("axes", 2)], (
        "no axis, no mass, no hull: nothing"
    )
    parts = robot_parts(robot)
    message = scene_message(robot, parts, treesim.body_poses(robot, robot.neutral())[None], "pair")
    add_overlays(message, robot)
    drawn = [command["path"] for command in message["commands"] if command["type"] == "set_object"]
    details = [path for paths in message["overlays"].values() for path in paths]
    assert details == sorted(details, key=details.index) and set(details) == {
        path for path in drawn if path.startswith("/robot/")
    }
    assert len(message["overlays"]["visual"]) == len(parts)
    assert len(message["links"]) == len(message["bodies"])
