"""Attributes that stand at an element to which they do not belong are told, with where they belong."""

import pytest

import treesim
from treesim.errors import UrdfError, UrdfWarning
from treesim.urdf import load

MISPLACED = [
    ('<joint name="hinge" type="revolute">', '<joint name="hinge" type="revolute" axis="0 0 1">', '<axis xyz="..."/>'),
    ('<joint name="hinge" type="revolute">', '<joint name="hinge" type="revolute" xyz="0 0 1">', '<axis xyz="..."/>'),
    ('<joint name="hinge" type="revolute">', '<joint name="hinge" type="revolute" damping="3">', "<dynamics damping"),
    ('<joint name="hinge" type="revolute">', '<joint name="hinge" type="revolute" effort="3">', "<limit effort"),
    ('<joint name="hinge" type="revolute">', '<joint name="hinge" type="revolute" multiplier="-1">', "<mimic multi"),
    ('<joint name="hinge" type="revolute">', '<joint name="hinge" type="revolute" rpy="0 1 0">', "<origin rpy"),
    ("<inertial>", '<inertial mass="2">', '<mass value="..."/>'),
    ("<inertial>", '<inertial ixx="2">', '<inertia ixx="..."/>'),
    ("<inertial>", '<inertial xyz="1 0 0">', '<origin xyz="..."/>'),
    ('<mass value="2"/>', '<mass value="2" ixx="1"/>', '<inertia ixx="..."/>'),
    ('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0" damping="1"/>', '<dynamics damping="..."/>'),
    ('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0" rpy="0 1 0"/>', '<origin rpy="..."/>'),
    ('velocity="3"/>', 'velocity="3" friction="2"/>', '<dynamics friction="..."/>'),
    ('velocity="3"/>', 'velocity="3" stiction="2"/>', '<dynamics friction="..."/>'),
    ('<link name="rod">', '<link name="rod" mass="2">', '<inertial><mass value="..."/>'),
    ('<link name="rod">', '<link name="rod" izz="2">', '<inertial><inertia izz="..."/>'),
    ('<link name="rod">', '<link name="rod" roll="2">', '<inertial><origin rpy="..."/> or <visual><origin rpy'),
    ('<link name="rod">', '<link name="rod" radius="2">', '<visual><geometry><sphere radius="..."/> or <visual>'),
    ('<link name="rod">', '<link name="rod" filename="a">', '<visual><geometry><mesh filename="..."/> or <collision>'),
    ('<link name="rod">', '<link name="rod" rgba="1 0 0 1">', '<visual><material><color rgba="..."/>'),
    ("<inertial>", '<inertial pitch="2">', '<origin rpy="..."/>'),
    ('type="revolute">', 'type="revolute" quat_xyzw="0 0 0 1">', '<origin quat_xyzw="..."/>'),
    ('type="revolute">', 'type="revolute" jerk="2">', '<limit jerk="..."/>'),
    ('type="revolute">', 'type="revolute" mass="2">', '<link><inertial><mass value="..."/>'),
    ('<robot name="arm">', '<robot name="arm" armature="2">', '<joint><dynamics armature="..."/>'),
]  # fmt: skip
MISSPELT = [
    ('rpy="0 0 0"', 'rpy="0 0 0" roll="1"', "rpy"),
    ('rpy="0 0 0"', 'rpy="0 0 0" rp="0 0 1"', "rpy"),
    ('rpy="0 0 0"', 'rpy="0 0 0" xzy="0 0 1"', "xyz"),
    ('rpy="0 0 0"', 'rpy="0 0 0" quat="0 0 0 1"', "quat_xyzw"),
    ('rpy="0 0 0"', 'rpy="0 0 0" quat_wxyz="0 0 0 1"', "quat_xyzw"),
    ('velocity="3"/>', 'velocity="3"/><dynamics stiction="2"/>', "friction"),
    ('velocity="3"/>', 'velocity="3" jrk="2"/>', "jerk"),
    ('velocity="3"/>', 'velocity="3" accelaration="2"/>', "acceleration"),
]
UNKNOWN = [
    ('velocity="3"/>', 'velocity="3" stiffness="2"/>'), ('rpy="0 0 0"', 'rpy="0 0 0" rpy_deg="0 0 90"'),
    ('type="revolute">', 'type="revolute" soft="1">'), ("<mass ", '<mass unit="kg" '),
]  # fmt: skip


@pytest.mark.parametrize(("right", "wrong", "place"), MISPLACED)
def test_an_attribute_at_the_wrong_element_warns_with_where_it_belongs(arm, right, wrong, place):
    with pytest.warns(UrdfWarning, match="U215"):
        tree = treesim.load(arm(right, wrong))
    (note,) = (note for note in tree.notes if note.code == "U215")
    assert place in note.hint and note.line == arm()[: arm().index(right)].count("\n") + 1
    assert (tree.reals == load(arm()).reals).all(), "it is ignored"
    with pytest.raises(UrdfError, match="U215"):
        load(arm(right, wrong), strict=True)


@pytest.mark.parametrize(("right", "wrong", "known"), MISSPELT)
def test_a_misspelt_attribute_warns_with_the_known_name(arm, right, wrong, known):
    with pytest.warns(UrdfWarning, match="U211"):
        tree = treesim.load(arm(right, wrong))
    assert [note.hint for note in tree.notes] == [f"did you mean {known!r}?"]


@pytest.mark.parametrize(("right", "wrong"), UNKNOWN)
def test_an_unknown_attribute_warns_with_the_known_ones(arm, right, wrong):
    with pytest.warns(UrdfWarning, match="U216"):
        tree = treesim.load(arm(right, wrong))
    assert "has the attributes" in tree.notes[0].hint


@pytest.mark.parametrize("kind", ["visual", "collision"])
@pytest.mark.parametrize(
    ("attributes", "inside", "place"),
    [
        ('xyz="0 0 1"', '<geometry><box size="1 1 1"/></geometry>', '<origin xyz="..."/>'),
        ("", '<geometry size="2 2 2"><box size="1 1 1"/></geometry>', '<box size="..."/>'),
        ("", '<geometry><box size="1 1 1" rpy="1 0 0"/></geometry>', ""),
        ('filename="a.stl"', '<geometry><box size="1 1 1"/></geometry>', '<geometry><mesh filename="..."/>'),
        ('scale="2"', '<geometry><mesh filename="a.stl"/></geometry>', '<geometry><mesh scale="..."/>'),
    ],
)
def test_shapes_are_looked_through_too(kind, attributes, inside, place):
    text = f'<robot name="r"><link name="l"><{kind} {attributes}>{inside}</{kind}></link></robot>'
    found = [finding for finding in treesim.check(text).findings if finding.code == "U215"]
    assert [place in finding.hint for finding in found] == ([True] if place else [])


def test_zeros_at_the_wrong_element_would_do_nothing_elsewhere(arm):
    tree = load(arm('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0" rpy="0 0.0 0"/>'))
    assert [note.code for note in tree.notes] == ["U212"]
