"""Colours and materials that cannot be drawn as they are written are told, and clamped for viewers."""

import pytest

import treesim
from treesim.errors import UrdfWarning

BOX = '<geometry><box size="1 1 1"/></geometry>'


def robot(*visuals, materials=""):
    inside = "".join(f"<visual>{BOX}{visual}</visual>" for visual in visuals)
    return f'<robot name="r">{materials}<link name="l">{inside}</link></robot>'


@pytest.mark.parametrize(
    ("rgba", "drawn"),
    [("128 64 0 255", (1, 1, 0, 1)), ("1 0 0 255", (1, 0, 0, 1)), ("-0.2 0 0.5 1", (0, 0, 0.5, 1)),
     ("0.1 0.2 0.3 1.5", (0.1, 0.2, 0.3, 1)), ("1e30 0 0 0", (1, 0, 0, 0))],
)  # fmt: skip
def test_colours_out_of_range_are_clamped(rgba, drawn):
    with pytest.warns(UrdfWarning, match=r"U509.*four numbers from 0 to 1"):
        tree = treesim.load(robot(f'<material name="m"><color rgba="{rgba}"/></material>'))
    assert tree.visuals[0].color == drawn


def test_sound_materials_are_not_told():
    shared = '<material name="a"><color rgba="0 0 0 1"/></material>'
    inline = '<material name="b"><color rgba="1 1 1 0"/></material>'
    empty = '<material name="c"><color rgba="1 0 0 1"/><texture filename=""/></material>'
    tree = treesim.load(robot('<material name="a"/>', inline, '<material name="b"/>', empty, "", materials=shared))
    assert not tree.notes
    assert [visual.color for visual in tree.visuals[:3]] == [(0, 0, 0, 1), (1, 1, 1, 0), (1, 1, 1, 0)]


def test_undefined_materials_and_textures_are_told_once():
    text = robot('<material name="Gazebo/Orange"/>', '<material name="Gazebo/Orange"/>', "<material/>",
                 '<material name="t"><texture filename="t.png"/></material>', '<material name="t"/>')  # fmt: skip
    with pytest.warns(UrdfWarning):
        tree = treesim.load(text)
    undefined, textures = (note for note in tree.notes if note.code == "U510")
    assert "'Gazebo/Orange'" in undefined.message and "<color" in undefined.hint
    assert "'t.png'" in textures.message and "'t'" not in undefined.message


SQUARE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n"
RED = '<color rgba="1 0 0 1"/>'


@pytest.mark.parametrize(
    ("material", "shared", "color"),
    [
        ('<material name="a"><texture filename="a.png"/></material>', "", None),
        (f'<material name="a">{RED}<texture filename="a.png"/></material>', "", (1, 0, 0, 1)),
        ('<material name="a"/>', '<material name="a"><texture filename=" a.png "/></material>', None),
        ('<material name="a"/>', f'<material name="a">{RED}<texture filename="a.png"/></material>', (1, 0, 0, 1)),
    ],
)
def test_textures_of_meshes_are_kept(material, shared, color, tmp_path):
    for name in ("m.obj", "a.png"):
        (tmp_path / name).write_text(SQUARE)
    text = robot(material, materials=shared).replace(BOX, '<geometry><mesh filename="m.obj"/></geometry>')
    (tmp_path / "r.urdf").write_text(text)
    tree = treesim.load(tmp_path / "r.urdf")
    assert not tree.notes
    (visual,) = tree.visuals
    assert (visual.texture, visual.color) == (str(tmp_path / "a.png"), color)
    (again,) = treesim.load(treesim.to_urdf(tree, visuals=True)).visuals
    assert (again.texture, again.color, again.file) == (visual.texture, visual.color, visual.file)


def test_a_colour_of_the_visual_wins_over_a_texture_of_its_name(tmp_path):
    (tmp_path / "m.obj").write_text(SQUARE)
    text = robot(
        f'<material name="a">{RED}</material>', materials='<material name="a"><texture filename="a.png"/></material>'
    )
    (tmp_path / "r.urdf").write_text(text.replace(BOX, '<geometry><mesh filename="m.obj"/></geometry>'))
    tree = treesim.load(tmp_path / "r.urdf")
    assert tree.visuals[0].texture is None and not tree.notes


def test_a_texture_that_is_missing_is_told(tmp_path):
    (tmp_path / "m.obj").write_text(SQUARE)
    text = robot('<material name="a"><texture filename="../no.png"/></material>')
    (tmp_path / "r.urdf").write_text(text.replace(BOX, '<geometry><mesh filename="m.obj"/></geometry>'))
    with pytest.warns(UrdfWarning, match=r"U510: link 'l': texture '\.\./no\.png' not found"):
        treesim.load(tmp_path / "r.urdf")


def test_a_texture_of_a_package_leads_nowhere_outside(tmp_path):
    (tmp_path / "pkg").mkdir()
    (tmp_path / "secret.png").touch()
    (tmp_path / "pkg/m.obj").write_text(SQUARE)
    text = robot('<material name="a"><texture filename="package://pkg/../secret.png"/></material>')
    (tmp_path / "pkg/r.urdf").write_text(text.replace(BOX, '<geometry><mesh filename="m.obj"/></geometry>'))
    with pytest.warns(UrdfWarning, match=r"secret\.png' not found"):
        assert not treesim.load(tmp_path / "pkg/r.urdf").visuals[0].texture.startswith(str(tmp_path))


@pytest.mark.parametrize("kind", ["visual", "collision"])
def test_of_several_shapes_in_one_geometry_the_first_is_taken(kind):
    shapes = '<box size="1 2 3"/><sphere radius="1"/><mesh filename="a.stl"/>'
    with pytest.warns(UrdfWarning, match=f"U508: link 'l': <{kind}> has 3 shapes: <box>, the first, is taken"):
        tree = treesim.load(
            f'<robot name="r"><link name="l"><{kind}><geometry>{shapes}</geometry></{kind}></link></robot>'
        )
    (shape,) = tree.visuals if kind == "visual" else tree.shapes
    assert shape.kind == "box" and shape.size == (1, 2, 3)


@pytest.mark.parametrize("color", ["<color/>", '<color RGBA="1 0 0 1"/>'])
def test_a_colour_without_rgba_is_told_and_not_drawn(color):
    material = f'<material name="m">{color}</material>'
    for text in (robot(material), robot('<material name="m"/>', materials=material)):
        with pytest.warns(UrdfWarning, match=r"line 1: U503: <color> has no rgba .*four numbers"):
            tree = treesim.load(text)
        assert tree.visuals[0].color is None
    gazebo = robot(materials="<gazebo><sensor><color>red</color></sensor></gazebo>")
    assert not [found for found in treesim.check(gazebo).findings if found.code == "U503"]
