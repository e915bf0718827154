"""Collision shapes of links: read for what touches, found at first use where they are meshes; none stops a load."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

from tests.contact.meshes import of_box, together
from treesim.errors import UrdfWarning
from treesim.model.shapes import shape_links, supports
from treesim.states.support import lowest_point
from treesim.urdf import installed_robots, load, to_urdf

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


def test_meshes_are_replaced_by_their_convex_parts(arm, mesh, tmp_path, monkeypatch):
    """Here without coacd, as the parts are convex; what is convex, or has no parts, stays."""
    pytest.importorskip("coacd")
    monkeypatch.setenv("TREESIM_CACHE_DIR", str(tmp_path / "cache"))
    vertices, triangles = together(of_box((1, 1, 1)), of_box((1, 2, 1), (3, 0, 0)))
    lines = [*(f"v {x} {y} {z}" for x, y, z in vertices), *(f"f {a} {b} {c}" for a, b, c in triangles + 1)]
    (tmp_path / "two.obj").write_text("\n".join(lines))
    (tmp_path / "bad.obj").write_text("v 0 0 0\n")
    at = '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>'
    files = [(tmp_path / "two.obj", "0.5 -0.5 1"), (mesh, "1 1 1"), (tmp_path / "bad.obj", "1 1 1")]
    elements = [collision(f'<mesh filename="{file}" scale="{scale}"/>', at) for file, scale in files]
    text = arm("</inertial>", f"</inertial>{''.join(elements)}{collision(BALL)}")
    whole = load(text)
    with pytest.warns(
        UrdfWarning, match="U513: link 'rod': mesh '.*bad.obj' cannot be read: .* no triangles; the hull"
    ):
        tree = load(text, convex_parts=True)
    one, other, *rest = tree.shapes
    assert [shape.file for shape in rest] == [shape.file for shape in whole.shapes[1:]]
    for shape in (one, other):
        assert (shape.body, shape.link, shape.scale) == (whole.shapes[0].body, "rod", (0.5, -0.5, 1.0))
        assert np.array_equal(shape.placement.matrix(), whole.shapes[0].placement.matrix())
    corners = np.concatenate([one.vertices, other.vertices])
    assert np.array_equal(np.unique(corners, axis=0), np.unique(vertices * (0.5, -0.5, 1.0), axis=0))
    notes = [(note.code, note.link) for note in tree.notes if note.code > "U511"]
    assert notes == [("U512", "rod"), ("U512", "rod"), ("U513", "rod")]
    assert "two.obj' has 2 convex parts, volume error 0 %, distance error 0 m" in tree.notes[-3].message
    for again in (pickle.loads(pickle.dumps(tree)), load(to_urdf(tree))):
        assert [shape.file for shape in again.shapes] == [shape.file for shape in tree.shapes]
        assert np.array_equal(again.shapes[0].vertices, one.vertices)
    (tmp_path / "file").touch()
    monkeypatch.setenv("TREESIM_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.warns(UrdfWarning, match="U513"):
        unstored = load(text, convex_parts=True).shapes[0]
    assert unstored.file is None and np.array_equal(unstored.vertices[[2, 3, 0, 1, 6, 7, 4, 5]], one.vertices)


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
