"""What contact does not cover is told by name when a world is made, and what it covers is not."""

import warnings

import numpy as np
import pytest

import treesim
from treesim import (
    Body,
    CollisionShape,
    Ground,
    HeightField,
    Inertia,
    Joint,
    Placement,
    ShapeWarning,
    StaticBox,
    StaticMesh,
    Tree,
)  # fmt: skip

CORNERS = np.array([[x, y, z] for x in (-0.2, 0.2) for y in (-0.2, 0.2) for z in (-0.05, 0.05)])
SHAPES = {
    "sphere": ("sphere", (0.1,), None), "capsule": ("capsule", (0.1, 0.2), None), "box": ("box", (0.1, 0.1, 0.1), None),
    "cylinder": ("cylinder", (0.1, 0.2), None), "hull": ("hull", (), CORNERS),
    "flat": ("hull", (), CORNERS[::2]),
}  # fmt: skip
POST, FIELD = StaticBox((0.1, 0.1, 0.3), name="post"), HeightField(np.zeros((5, 5)), name="hills")
MESH = StaticMesh(np.eye(3), [[0, 1, 2]], name="rock")


def body(kind):
    name, size, corners = SHAPES[kind]
    shape = CollisionShape(1, Placement(), name, size=size, vertices=corners, link=f"{kind}_link")
    return Tree(
        "thing", [Body("thing", 0, Joint("free", "floating"), Inertia(1, np.zeros(3), np.eye(3)))], shapes=[shape]
    )


def reported(robot, *surfaces, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        treesim.World(robot, ground=surfaces, **options)
    return [str(one.message) for one in caught if issubclass(one.category, ShapeWarning)]


@pytest.mark.parametrize("kind", SHAPES)
def test_of_all_shapes_only_flat_hulls_are_told_with_links_and_surfaces(kind):
    robot = body(kind)
    assert reported(robot, Ground()) == []
    for surface, name in ((POST, "'post'"), (FIELD, "'hills'"), (MESH, "'rock'")):
        found = reported(robot, Ground(), surface)
        assert len(found) == (kind == "flat")
        for text in found:
            assert name in text and "'flat_link'" in text and "thickness" in text


LINK = """<robot name="r" xmlns:drake="http://drake.mit.edu"><link name="it">{bullet}<inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="1 1 1"/></geometry>{drake}</collision></link>{gazebo}</robot>"""
WAYS = {
    "bullet": "<contact><lateral_friction value='0'/></contact>",
    "drake": "<drake:proximity_properties><drake:mu_dynamic value='0'/></drake:proximity_properties>",
    "gazebo": "<gazebo reference='it'><mu1>0.0</mu1></gazebo>",
}


@pytest.mark.parametrize("way", WAYS)
def test_friction_of_single_links_is_told_where_something_is_met(way):
    robot = treesim.load(
        LINK.format(**{name: text if name == way else "" for name, text in WAYS.items()}), base="floating"
    )
    assert reported(robot) == []
    (text,) = reported(robot, Ground())
    assert "friction of links is ignored: 'it'" in text and "surfaces={link: treesim.Surface(friction=" in text
    (note,) = (note for note in robot.notes if note.code == "U511")
    assert note.line and note.severity == "info"
    assert reported(robot, Ground(), surfaces={"it": treesim.Surface(friction=0.0)}) == []


def test_no_friction_of_links_is_not_told():
    robot = treesim.load(LINK.format(bullet="", drake="", gazebo="<gazebo><mu1>1</mu1></gazebo>"), base="floating")
    assert reported(robot, Ground()) == [] and "U511" not in {note.code for note in robot.notes}
