"""Collision shapes of links: read for what touches, found at first use where they are meshes; none stops a load."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

from treesim.errors import UrdfWarning
from treesim.model.shapes import shape_links, supports
from treesim.states.support import lowest_point
from treesim.urdf import installed_robots, load

BALL = '<sphere radius="0.5"/>'
ROBOT = '<robot version="1.1"'  # which has capsules
TRIANGLES = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 0.1 0.1 0.1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.fixture
def touching(arm):
    """Return the tree of the arm with collisions in its rod and elements in the robot."""

    def tree(collisions="", in_robot=""):
        rod = f"</inertial>{collisions}<visual><geometry>{BALL}</geometry></visual>"
        return load(arm("</inertial>", rod).replace("<robot", ROBOT).replace("</robot>", f"{in_robot}</robot>"))

    return tree


@pytest.fixture
def mesh(tmp_path):
    file = tmp_path / "corner.obj"
    file.write_text(TRIANGLES)
    return file


def collision(geometry, more=""):
    return f"<collision>{more}<geometry>{geometry}</geometry></collision>"


@pytest.mark.parametrize(
    "geometry, kind, size",
    [
        ('<box size="1 2 3"/>', "box", (1, 2, 3)),
        ('<sphere radius="0.5"/>', "sphere", (0.5,)),
        ('<cylinder radius="0.5" length="2"/>', "cylinder", (0.5, 2)),
        ('<capsule radius="0.5" length="2"/>', "capsule", (0.5, 2)),
    ],
)
def test_primitive_shapes(touching, geometry, kind, size):
    tree = touching(collision(geometry, '<origin xyz="0 0 -1" rpy="0 0 1.5"/>'))
    (shape,) = tree.shapes
    assert (shape.body, shape.kind, shape.size, shape.link, shape.file) == (1, kind, size, "rod", None)
    assert shape.placement.translation.tolist() == [0, 0, -1] and shape.placement.rotation[1, 0] == np.sin(1.5)
    assert not tree.notes and [visual.kind for visual in tree.visuals] == ["sphere"]


def test_shapes_of_welded_links_sit_on_their_body_and_keep_their_link(touching):
    low = collision(BALL, '<origin xyz="0 0 -1"/>')
    foot = f'<link name="foot">{low}</link>'
    weld = '<joint name="w" type="fixed"><origin xyz="1 0 0"/><parent link="rod"/><child link="foot"/></joint>'
    tree = touching(collision(BALL), foot + weld)
    assert [(shape.body, shape.link) for shape in tree.shapes] == [(1, "rod"), (1, "foot")]
    assert tree.shapes[1].placement.translation.tolist() == [1, 0, -1] and shape_links(tree) == ("rod", "foot")


@pytest.mark.parametrize("scale, factors", [("", (1, 1, 1)), ('scale="2"', (2, 2, 2)), ('scale="1 -2 3"', (1, -2, 3))])
def test_meshes_are_read_when_their_hull_is_asked_for(touching, mesh, scale, factors):
    text = mesh.read_text()
    mesh.write_text("not read when the robot is")
    (shape,) = touching(collision(f'<mesh filename="{mesh}" {scale}/>')).shapes
    assert (shape.kind, shape.size, shape.file, shape.scale) == ("hull", (), str(mesh), factors)
    mesh.write_text(text)
    corners = {tuple(np.eye(3)[k] * factors) for k in range(3)} | {(0, 0, 0)}
    assert {tuple(vertex) for vertex in shape.vertices} == corners
    other = pickle.loads(pickle.dumps(shape))
    assert other.file == shape.file and np.array_equal(other.vertices, shape.vertices)


@pytest.mark.parametrize(
    "bad",
    [
        "<collision/>", "<collision><geometry/></collision>", collision("<mesh/>"), collision("<blob/>"),
        collision('<mesh filename=""/>'), collision('<box size="1 2"/>'), collision("<sphere/>"),
        collision('<sphere radius="-1"/>'), collision('<cylinder radius="1"/>'), collision('<sphere radius="big"/>'),
        collision('<mesh filename="a.stl" scale="1 2"/>'), collision(BALL, '<origin xyz="0 nan 0"/>'),
    ],
)  # fmt: skip
def test_unusable_collisions_are_left_out_with_a_warning(touching, bad):
    with pytest.warns(UrdfWarning, match="U505: link 'rod': .*; left out"):
        tree = touching(bad + collision(BALL))
    assert [shape.kind for shape in tree.shapes] == ["sphere"] and [note.code for note in tree.notes] == ["U505"]


def test_missing_meshes_give_one_warning_and_are_told_when_shapes_are_asked_for(touching):
    meshes = "".join(collision(f'<mesh filename="package://nobody/{i}.stl"/>') for i in range(5))
    tip = f'<link name="tip">{meshes}</link>'
    weld = '<joint name="w" type="fixed"><parent link="rod"/><child link="tip"/></joint>'
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tree = touching(meshes + collision(BALL), tip + weld)
    message = "collision mesh 'package://nobody/0.stl' not found; links that lack collision meshes: 'rod', 'tip'"
    assert len(caught) == 1 and f"U506: {message}" in str(caught[0].message)
    assert [(note.code, note.line) for note in tree.notes] == [("U506", 15)]
    assert supports(tree) == f"1 collision shape (1 sphere) on 'rod'; {message}"


def test_collisions_that_are_drawn_touch_too(arm):
    bad, good = collision('<sphere radius="-1"/>'), collision('<capsule radius="0.5" length="2"/>')
    with pytest.warns(UrdfWarning, match="U505"):
        tree = load(arm("</inertial>", f"</inertial>{bad}{good}").replace("<robot", ROBOT))
    assert [shape.kind for shape in tree.shapes] == [drawn.kind for drawn in tree.visuals] == ["capsule"]
    assert [note.code for note in tree.notes] == ["U505", "U504"]


@pytest.mark.slow
@pytest.mark.parametrize("entry", installed_robots(), ids=lambda entry: entry.name)
@pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")
def test_meshes_of_real_robots_can_be_read(entry):
    """Every robot that loads stands, but for those without a collision shape."""
    try:
        robot = load(entry.path, base="floating", mimic="free")
    except ValueError:
        pytest.skip("does not load")
    if not robot.shapes:
        pytest.skip("has no collision shapes")
    assert all(0 < len(shape.vertices) < 1000 for shape in robot.shapes if shape.kind == "hull")
    assert all(Path(shape.file).is_file() for shape in robot.shapes if shape.file)
    q = robot.standing(robot.neutral())
    assert abs(lowest_point(robot, q).gap) < 1e-12
