"""The shapes that every viewer draws: a robot's visuals, or sticks and joints in their place."""

import numpy as np
import pytest
from hypothesis import given

from tests.meshes import files
from tests.trees import random_trees
from treesim import Body, Inertia, Joint, Placement, Tree, Visual, body_poses
from treesim.viewing.protocols import drawables, skeleton

BOX = Visual(1, Placement(), "box", (0.1, 0.1, 0.1))


def arm(*visuals: Visual) -> Tree:
    tip = Inertia(1.0, np.array([0.0, 0.0, 0.5]))
    bodies = [
        Body("upper", 0, Joint("shoulder", "revolute"), Inertia(1.0)),
        Body("lower", 1, Joint("elbow", "revolute", placement=Placement.from_xyz_rpy((0.3, 0.0, 0.4))), tip),
    ]
    return Tree("arm", bodies, visuals=visuals)


def mesh(body: int, file: str) -> Visual:
    return Visual(body, Placement(), "mesh", (1.0, 1.0, 1.0), file=file)


def ends(stick: Visual) -> np.ndarray:
    """(2, 3) end points of a cylinder's axis in its body's frame."""
    half = stick.placement.rotation[:, 2] * stick.size[1] / 2
    return np.array([stick.placement.translation - half, stick.placement.translation + half])


def test_sticks_lead_to_the_next_joint_or_to_the_centre_of_mass():
    sticks = [shape for shape in skeleton(arm()) if shape.kind == "cylinder"]
    assert [stick.body for stick in sticks] == [1, 2]
    np.testing.assert_allclose(ends(sticks[0]), [[0, 0, 0], [0.3, 0, 0.4]], atol=1e-15)
    np.testing.assert_allclose(ends(sticks[1]), [[0, 0, 0], [0, 0, 0.5]], atol=1e-15)


@given(random_trees())
def test_a_skeleton_hangs_together(robot):
    shapes = skeleton(robot)
    assert sorted(shape.body for shape in shapes if shape.kind == "sphere") == list(range(1, robot.n_bodies + 1))
    poses = body_poses(robot, robot.neutral())
    origins = poses[:, :3, 3]
    for stick in (shape for shape in shapes if shape.kind == "cylinder"):
        start, end = ends(stick) @ poses[stick.body, :3, :3].T + origins[stick.body]
        com = poses[stick.body] @ [*robot.bodies[stick.body - 1].inertia.com, 1.0] if stick.body else origins[0]
        children = [i + 1 for i, body in enumerate(robot.bodies) if body.parent == stick.body]
        targets = np.array([*(origins[i] for i in children), com[:3]])
        np.testing.assert_allclose(start, origins[stick.body], atol=1e-9)
        assert np.linalg.norm(targets - end, axis=1).min() < 1e-9


def test_a_floating_base_is_not_tied_to_the_world():
    root = Joint("root_joint", "floating", placement=Placement.from_xyz_rpy((0, 0, 1)))
    robot = Tree("ball", [Body("ball", 0, root, Inertia(1.0))])
    assert [(shape.body, shape.kind) for shape in skeleton(robot)] == [(1, "sphere")]


def test_visuals_are_drawn_when_there_are_any(recwarn):
    assert drawables(arm(BOX)) == (BOX,)
    assert drawables(arm())[0].kind == "cylinder"
    assert not recwarn.list


def test_missing_meshes_warn_once_and_leave_sticks(tmp_path):
    there = tmp_path / "there.stl"
    there.write_text(files.STL.format(x=1))
    found, lost = mesh(1, str(there)), [mesh(2, "gone.stl"), mesh(2, "also gone.stl"), mesh(1, "gone.stl")]
    with pytest.warns(UserWarning, match="2 of 3 mesh files of 'arm'.* 'also gone.stl'") as caught:
        shapes = drawables(arm(found, *lost))
    assert len(caught) == 1
    assert [(shape.body, shape.kind) for shape in shapes] == [(1, "mesh"), (2, "cylinder"), (2, "sphere")]


def test_a_viewer_says_which_meshes_it_can_read(recwarn):
    visuals = (mesh(1, "virtual.stl"),)
    assert drawables(arm(*visuals), readable=lambda file: file == "virtual.stl") == visuals
    assert not recwarn.list
