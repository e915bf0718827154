"""Colours and materials that cannot be drawn as they are written are told, and clamped for viewers."""

import pytest

import treesim
from treesim.urdf import UrdfWarning

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


@pytest.mark.parametrize("kind", ["visual", "collision"])
def test_of_several_shapes_in_one_geometry_the_first_is_taken(kind):
    shapes = '<box size="1 2 3"/><sphere radius="1"/><mesh filename="a.stl"/>'
    with pytest.warns(UrdfWarning, match=f"U508: link 'l': <{kind}> has 3 shapes: <box>, the first, is taken"):
        tree = treesim.load(
            f'<robot name="r"><link name="l"><{kind}><geometry>{shapes}</geometry></{kind}></link></robot>'
        )
    (shape,) = tree.visuals if kind == "visual" else tree.shapes
    assert shape.kind == "box" and shape.size == (1, 2, 3)
