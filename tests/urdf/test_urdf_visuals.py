"""Shapes for viewers: placed with their body, coloured, meshes found; none of them stops a load."""

import os
import warnings

import numpy as np
import pytest

from tests.fuzz.mutators import FILES, NUMBERS
from treesim.errors import UrdfWarning
from treesim.urdf import load


@pytest.fixture
def shapes(arm):
    """Return the tree of the arm with some elements in its rod and some in the robot."""

    def tree(in_rod, in_robot="", source=lambda text: text):
        text = arm("</inertial>", f"</inertial>{in_rod}").replace("</robot>", f"{in_robot}</robot>")
        return load(source(text.replace("<robot", '<robot version="1.1"')))  # which has capsules

    return tree


def visual(geometry, more=""):
    return f"<visual>{more}<geometry>{geometry}</geometry></visual>"


@pytest.mark.parametrize(
    ("geometry", "kind", "size"),
    [
        ('<box size="1 2 3"/>', "box", (1, 2, 3)),
        ('<sphere radius="0.5"/>', "sphere", (0.5,)),
        ('<cylinder radius="0.5" length="2"/>', "cylinder", (0.5, 2)),
        ('<capsule radius="0.5" length="2"/>', "capsule", (0.5, 2)),
    ],
)
def test_primitive_shapes(shapes, geometry, kind, size):
    first = visual('<sphere radius="1"/>')
    tree = shapes(first + visual(geometry, '<origin xyz="0 0 -1" rpy="0 0 1.5"/>'))
    shape = tree.visuals[1]
    assert (shape.body, shape.kind, shape.size, shape.file) == (1, kind, size, None)
    assert np.allclose(shape.placement.translation, [0, 0, -1]) and shape.placement.rotation[1, 0] == pytest.approx(
        np.sin(1.5)
    )
    assert tree.visuals[0].kind == "sphere" and not tree.notes


def test_shapes_of_welded_links_sit_on_their_body(shapes):
    tip = '<link name="tip"><visual><origin xyz="0 0 -1"/><geometry><sphere radius="1"/></geometry></visual></link>'
    weld = '<joint name="w" type="fixed"><origin xyz="1 0 0"/><parent link="rod"/><child link="tip"/></joint>'
    (shape,) = shapes("", tip + weld).visuals
    assert shape.body == 1 and np.allclose(shape.placement.translation, [1, 0, -1])


RED, BLUE = '<color rgba="1 0 0 1"/>', '<color rgba="0 0 1 0.5"/>'


def test_colours_inline_global_and_by_name(shapes):
    ball = '<sphere radius="1"/>'
    materials = [
        f'<material name="x">{RED}</material>',
        '<material name="x"/>',
        '<material name="sea"/>',
        f"<material>{RED}</material>",
    ]
    tree = shapes("".join(visual(ball, m) for m in materials) + visual(ball), f'<material name="sea">{BLUE}</material>')
    assert [shape.color for shape in tree.visuals] == [(1, 0, 0, 1), (1, 0, 0, 1), (0, 0, 1, 0.5), (1, 0, 0, 1), None]


@pytest.mark.parametrize(
    "bad",
    [
        "<visual/>", "<visual><geometry/></visual>", visual("<mesh/>"), visual('<mesh filename=""/>'),
        visual("<blob/>"), visual('<box size="1 2"/>'), visual("<sphere/>"), visual('<sphere radius="big"/>'),
        visual('<cylinder radius="1"/>'), visual('<mesh filename="a.stl" scale="1 2"/>'),
        visual('<sphere radius="1"/>', '<origin xyz="0 nan 0"/>'),
    ],
)  # fmt: skip
def test_unusable_shapes_are_left_out_with_a_warning(shapes, bad):
    with pytest.warns(UrdfWarning, match="U501: link 'rod': .*; not drawn"):
        tree = shapes(bad + visual('<sphere radius="1"/>'))
    assert [shape.kind for shape in tree.visuals] == ["sphere"] and tree.nv == 1


def test_unusable_shapes_do_not_stop_a_strict_load(arm):
    with pytest.warns(UrdfWarning, match="U501"):
        assert load(arm("</inertial>", "</inertial><visual/>"), strict=True).nv == 1


@pytest.mark.parametrize("rgba", ["1 0 0", "red", ""])
def test_unusable_colours_are_dropped_with_a_warning(shapes, rgba):
    with pytest.warns(UrdfWarning, match="U503"):
        tree = shapes(visual('<sphere radius="1"/>', f'<material name="m"><color rgba="{rgba}"/></material>'))
    assert tree.visuals[0].color is None


# every attribute of a shape, with a place for a nasty value
ATTRIBUTES = {
    "box": visual('<box size="{}"/>'), "sphere": visual('<sphere radius="{}"/>'),
    "cylinder's radius": visual('<cylinder radius="{}" length="1"/>'),
    "cylinder's length": visual('<cylinder radius="1" length="{}"/>'),
    "capsule": visual('<capsule radius="{}" length="{}"/>'), "scale": visual('<mesh filename="a" scale="{}"/>'),
    "place": visual('<sphere radius="1"/>', '<origin xyz="{}"/>'),
    "attitude": visual('<sphere radius="1"/>', '<origin rpy="{}"/>'),
    "colour": visual('<sphere radius="1"/>', '<material name="m"><color rgba="{}"/></material>'),
    "mesh": visual('<mesh filename="{}"/>'),
    "texture": visual('<sphere radius="1"/>', '<material><texture filename="{}"/></material>'),
    "names": visual('<sphere radius="1"/>', '<material name="{}"/>').replace("<visual", '<visual name="{}"'),
}  # fmt: skip
IN_XML = [value for value in (*NUMBERS, *FILES) if value.isprintable() and "$" not in value]


@pytest.mark.parametrize("values", [IN_XML[::3], pytest.param(IN_XML, marks=pytest.mark.slow)], ids=["some", "all"])
@pytest.mark.parametrize("attribute", ATTRIBUTES)
@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::treesim.UrdfWarning")
def test_nothing_that_a_shape_holds_changes_the_physics(shapes, attribute, values):
    """Shapes are drawn, told of and left out, or left to the viewer; in collisions as in visuals."""
    plain = shapes("")
    for value in values:
        text = ATTRIBUTES[attribute].format(value, value)
        for tree in (shapes(text), shapes(text.replace("visual", "collision"))):
            assert np.array_equal(tree.reals, plain.reals) and tree.mass == 2
            assert all(np.isfinite([*drawn.size, *drawn.placement.matrix().flat]).all() for drawn in tree.visuals)
            if len(tree.visuals) != 1 or (tree.visuals[0].kind == "mesh" and not os.path.isfile(tree.visuals[0].file)):
                assert {note.code for note in tree.notes} & {"U501", "U502", "U505"}


@pytest.mark.parametrize("shape", ["box", "sphere", "cylinder's radius", "cylinder's length", "capsule"])
def test_negative_sizes_are_left_out_with_a_warning(shapes, shape):
    with pytest.warns(UrdfWarning, match="U501: link 'rod': .* is negative; not drawn"):
        assert not shapes(ATTRIBUTES[shape].format("1 1 -1" if shape == "box" else "-1", "-1")).visuals
    assert len(shapes(ATTRIBUTES[shape].format("0 0 0" if shape == "box" else "0", "0")).visuals) == 1


@pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")
def test_meshes_may_be_mirrored(shapes):
    assert shapes(visual('<mesh filename="a" scale="-1 1 1"/>')).visuals[0].size == (-1, 1, 1)


@pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_what_is_no_file_is_no_mesh(shapes, tmp_path):
    """Pipes, folders, links in a circle, and what lies below a file."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for name in ("pipe", "circle", ".", "circle/x.stl"):
        tree = shapes(visual(f'<mesh filename="{tmp_path / name}"/>'))
        assert [note.code for note in tree.notes] == ["U502"]


@pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")
def test_a_working_directory_that_is_gone_does_not_matter(shapes, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    tree = shapes(visual('<mesh filename="a.stl"/>') + visual('<mesh filename="package://a/b.stl"/>'))
    assert tree.nv == 1 and [note.code for note in tree.notes] == ["U502"]


@pytest.fixture
def package(tmp_path):
    """A package with a robot folder and a mesh folder, as ROS lays them out."""
    for folder in ("ws/arm_pkg/urdf", "ws/arm_pkg/meshes", "elsewhere/other_pkg"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "ws/arm_pkg/meshes/rod.stl").write_text("")
    (tmp_path / "elsewhere/other_pkg/far.stl").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    "name",
    ["package://arm_pkg/meshes/rod.stl", "../meshes/rod.stl", "{root}/ws/arm_pkg/meshes/rod.stl",
     "file://{root}/ws/arm_pkg/meshes/rod.stl", "package://renamed_pkg/meshes/rod.stl", "model://arm_pkg/meshes/rod.stl"],
)  # fmt: skip
def test_mesh_names_lead_to_files(shapes, package, name):
    path = package / "ws/arm_pkg/urdf/arm.urdf"

    def source(text):
        path.write_text(text)
        return path

    mesh = f'<mesh filename="{name.format(root=package)}" scale="2 2 3"/>'
    (shape,) = shapes(visual(mesh), source=source).visuals
    assert shape.kind == "mesh" and shape.size == (2, 2, 3)
    assert (package / "ws/arm_pkg/meshes/rod.stl").samefile(shape.file)


@pytest.mark.parametrize(
    ("variable", "value"), [("ROS_PACKAGE_PATH", "elsewhere"), ("ROS_PACKAGE_PATH", "elsewhere/other_pkg")]
)
def test_ros_package_path_is_honoured(shapes, package, monkeypatch, variable, value):
    monkeypatch.setenv(variable, f"{package / 'nowhere'}:{package / value}")
    (shape,) = shapes(visual('<mesh filename="package://other_pkg/far.stl"/>')).visuals
    assert (package / "elsewhere/other_pkg/far.stl").samefile(shape.file) and shape.size == (1, 1, 1)


def test_missing_meshes_give_one_warning_and_keep_their_place(shapes):
    meshes = "".join(visual(f'<mesh filename="package://nobody/{i}.stl"/>') for i in range(5)) * 2
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tree = shapes(meshes)
    assert len(caught) == 1 and "and 4 more not found" in str(caught[0].message)
    assert len(tree.visuals) == 10 and tree.visuals[0].file == "package://nobody/0.stl"
    assert [(note.code, note.line) for note in tree.notes] == [("U502", 10)]


def collision(geometry):
    return visual(geometry).replace("visual", "collision")


def test_collision_shapes_stand_in_where_there_is_no_visual(shapes):
    tree = shapes(collision('<capsule radius="0.5" length="2"/>'))
    assert [shape.kind for shape in tree.visuals] == ["capsule"]
    assert [note.code for note in tree.notes] == ["U504"]


def test_collision_shapes_are_not_drawn_beside_visuals(shapes):
    tree = shapes(visual('<sphere radius="1"/>') + collision('<box size="1 2 3"/>'))
    assert [shape.kind for shape in tree.visuals] == ["sphere"]


def test_a_few_collision_shapes_are_not_a_robot():
    load_few = load("simple_humanoid")
    assert load_few.visuals == () and "U504" not in [note.code for note in load_few.notes]
