"""Visuals and mesh files: right size, pose and colour; and each geometry once."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from PIL import Image
from treesim_meshcat.scene import robot_parts, scene_message
from treesim_meshcat.shapes import capsule, material_of, shapes_of

from treesim import Body, Inertia, Joint, Placement, Tree, Visual
from treesim.viewing.meshes import TriangleMesh, read_meshes

RED_AND_BLUE = """mtllib colors.mtl
v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 1
usemtl red
f 1 2 3
usemtl blue
f 1 2 4
"""
MATERIALS = "newmtl red\nKd 1 0 0\nnewmtl blue\nKd 0 0 1\n"


def visual(kind: str, size: tuple[float, ...], **rest: object) -> Visual:
    return Visual(1, Placement(), kind, size, **rest)


def robot_with(*visuals: Visual) -> Tree:
    return Tree("rod", [Body("rod", 0, Joint("pin", "revolute"), Inertia(1.0, np.array([0, 0, 1.0])))], visuals=visuals)


def extent(shown: Visual) -> np.ndarray:
    (shape,) = shapes_of(shown)
    return np.ptp(shape.corners(), axis=0)


def mesh_in(file: object) -> TriangleMesh:
    (mesh,) = read_meshes(str(file)).meshes
    return mesh


@pytest.mark.parametrize(
    ("kind", "size", "box"),
    [
        ("box", (1.0, 2.0, 3.0), (1.0, 2.0, 3.0)),
        ("sphere", (0.5,), (1.0, 1.0, 1.0)),
        ("cylinder", (0.5, 3.0), (1.0, 1.0, 3.0)),
        ("capsule", (0.5, 3.0), (1.0, 1.0, 4.0)),
    ],
)
def test_shapes_stand_along_z(kind, size, box):
    np.testing.assert_allclose(extent(visual(kind, size)), box, atol=1e-6)


def test_capsule_is_closed_and_faces_outward():
    mesh = capsule(0.5, 3.0)
    solid = trimesh.Trimesh(mesh.vertices, mesh.faces)
    solid.merge_vertices()
    solid.update_faces(solid.nondegenerate_faces())  # the poles
    assert solid.is_watertight
    assert solid.volume == pytest.approx(np.pi * 0.5**2 * 3 + 4 / 3 * np.pi * 0.5**3, rel=0.03)


def test_stl_is_merged_and_scaled(tmp_path):
    file = str(tmp_path / "box.stl")
    trimesh.creation.box((1, 2, 3)).export(file)
    assert mesh_in(file).vertices.shape == (8, 3)
    assert mesh_in(file).colors is None
    np.testing.assert_allclose(extent(visual("mesh", (0.1, 0.1, -0.2), file=file)), (0.1, 0.2, 0.6), atol=1e-6)


def test_materials_of_a_file_become_vertex_colours(tmp_path):
    (tmp_path / "colors.mtl").write_text(MATERIALS)
    (tmp_path / "two.obj").write_text(RED_AND_BLUE)
    mesh = mesh_in(tmp_path / "two.obj")
    colors = mesh.colors[mesh.faces]
    assert (colors == colors[:, :1]).all()
    assert sorted(map(tuple, colors[:, 0].tolist())) == [(0, 0, 255), (255, 0, 0)]


def test_collada_unit_counts_and_its_transparency_does_not(tmp_path):
    box = trimesh.creation.box((100, 200, 300))
    box.visual.face_colors = [0, 255, 0, 255]
    text = trimesh.exchange.dae.export_collada(box).decode()
    text = text.replace("<up_axis>", '<unit meter="0.001" name="millimetre"/><up_axis>')
    text = text.replace("<transparency>\n              <float>1.0", "<transparency>\n              <float>0.0")
    assert 'meter="0.001"' in text and "<float>0.0</float>\n            </transparency>" in text
    file = tmp_path / "box.dae"
    file.write_text(text)
    shown = visual("mesh", (1.0, 1.0, 1.0), file=str(file))
    np.testing.assert_allclose(extent(shown), (0.1, 0.2, 0.3), atol=1e-6)
    assert material_of(shown, shapes_of(shown)[0]).opacity == 1.0
    assert (mesh_in(file).colors == (0, 255, 0)).all()


def test_colour_of_a_visual():
    shown = visual("sphere", (1.0,), color=(1.0, 0.5, 0.0, 0.25))
    material = material_of(shown, shapes_of(shown)[0])
    assert (material.color, material.opacity) == (0xFF8000, 0.25)


def test_a_file_is_read_and_sent_once(tmp_path):
    file = str(tmp_path / "box.stl")
    trimesh.creation.box().export(file)
    twice = [visual("mesh", (1.0, 1.0, 1.0), file=file, color=(c, 0.0, 0.0, 1.0)) for c in (0.0, 1.0)]
    robot = robot_with(*twice)
    scene = scene_message(robot, robot_parts(robot), np.tile(np.eye(4), (1, 2, 1, 1)), "rod")
    drawn = [command for command in scene["commands"] if command["type"] == "set_object"]
    assert len(scene["geometries"]) == 1
    assert [command["object"]["materials"][0]["color"] for command in drawn] == [0x000000, 0xFF0000]


BOARD = "mtllib board.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n"
SQUARE = "f 1/1 2/2 3/3\nf 1/1 3/3 4/4\n"


@pytest.fixture
def board(tmp_path):
    """Return a mesh file of a square with an image, one with another image, and one with a colour."""
    for name, color in (("a.png", (250, 10, 10)), ("b.png", (10, 250, 10))):
        Image.new("RGB", (8, 8), color).save(tmp_path / name)
    (tmp_path / "board.mtl").write_text("newmtl a\nmap_Kd a.png\nnewmtl b\nmap_Kd b.png\nnewmtl c\nKd 0 0 1\n")
    (tmp_path / "board.obj").write_text(BOARD + "".join(f"usemtl {name}\n{SQUARE}" for name in "abc"))
    return str(tmp_path / "board.obj")


def test_images_are_in_a_scene_once(board):
    scales = ((1.0, 1.0, 1.0), (-1.0, 1.0, 1.0))
    robot = robot_with(*(visual("mesh", scale, file=board, color=(0.5, 0.5, 0.5, 0.5)) for scale in scales))
    scene = scene_message(robot, robot_parts(robot), np.tile(np.eye(4), (1, 2, 1, 1)), "rod")
    drawn = [command for command in scene["commands"] if command["type"] == "set_object"]
    assert len(drawn) == 6 and len({command["path"] for command in drawn}) == 6
    assert len(scene["images"]) == 2 and all(
        url.startswith("data:image/png;base64,") for url in scene["images"].values()
    )
    used = [command["image"] for command in drawn if "image" in command]
    assert set(used) == set(scene["images"]) and len(used) == 4
    for command in drawn:
        (material,), (name,) = command["object"]["materials"], command["object"]["geometries"]
        attributes = scene["geometries"][name]["data"]["attributes"]
        assert ("uv" in attributes) == ("image" in command) != bool(material["vertexColors"])
        assert (material["color"], material["opacity"]) == (0xFFFFFF, 1.0)


@pytest.mark.parametrize("content", [None, b"", b"solid nonsense"])
def test_unreadable_meshes_warn_once_and_leave_sticks(tmp_path, content):
    files = [tmp_path / name for name in ("one.stl", "two.stl")]
    for file in files:
        if content is not None:
            file.write_bytes(content)
    robot = robot_with(*(visual("mesh", (1.0, 1.0, 1.0), file=str(file)) for file in files))
    with pytest.warns(UserWarning, match="2 of 2 mesh files of 'rod' cannot be read") as caught:
        parts = robot_parts(robot)
    assert len(caught) == 1
    assert sorted(part.visual.kind for part in parts) == ["cylinder", "sphere"]
