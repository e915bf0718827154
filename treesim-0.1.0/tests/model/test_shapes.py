"""Collision shapes of a tree: what they are made of, what is refused, and what pickles and copies keep."""

import copy
import pickle

import numpy as np
import pytest

import treesim
from treesim import Body, CollisionShape, Inertia, Joint, Placement, Tree
from treesim.errors import ModelError
from treesim.model.shapes import shape_counts, shape_links, supports

CORNER = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3.0]])
PLACE = Placement.from_xyz_rpy((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
SHAPES = (
    CollisionShape(1, PLACE, "hull", vertices=CORNER, link="hand"),
    CollisionShape(1, PLACE, "sphere", size=(0.5,), link="hand"),
    CollisionShape(0, PLACE, "hull", link="floor", file="floor.stl", scale=(1, 2, 3)),
    CollisionShape(1, PLACE, "sphere", size=[1], link="tip"),
)
ARM = Tree("arm", [Body("hand", 0, Joint("hinge", "revolute"), Inertia(1.0))], shapes=list(SHAPES))


def test_vertices_are_a_copy_that_stays_as_it_is():
    given = CORNER.copy()
    shape = CollisionShape(1, PLACE, "hull", vertices=given)
    given[...] = 7
    assert np.array_equal(shape.vertices, CORNER) and not shape.vertices.flags.writeable
    assert SHAPES[1].vertices.shape == (0, 3) and SHAPES[3].size == (1.0,)


@pytest.mark.parametrize("way", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy, copy.copy])
def test_shapes_go_with_their_robot(way):
    for robot in (way(ARM), way(ARM.with_name("other"))):
        assert [repr(shape) for shape in robot.shapes] == [repr(shape) for shape in SHAPES]
        assert np.array_equal(robot.shapes[0].vertices, CORNER)
        assert not robot.shapes[0].vertices.flags.writeable
        assert (robot.shapes[2].file, robot.shapes[2].scale) == ("floor.stl", (1, 2, 3))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((1, PLACE, "cone", (1,)), "kind of a collision shape must be sphere, capsule, .* got 'cone'"),
        ((1, PLACE, "sphere", (1, 2)), "size of a sphere must be 1 lengths"),
        ((1, PLACE, "box", (1, -2, 3)), "size of a box must be 3 lengths"),
        ((1, PLACE, "box", (1, np.nan, 3)), "size of a box must be 3 lengths"),
        (("one", PLACE, "sphere", (1,)), "body of a sphere must be the number of a body"),
        ((1, PLACE, "hull"), "a hull is made of vertices or a file"),
        ((1, PLACE, "hull", (), CORNER, "", "a.stl"), "a hull is made of vertices or a file"),
        ((1, PLACE, "sphere", (1,), CORNER), "a sphere is made of its size alone"),
        ((1, PLACE, "sphere", (1,), None, "", "a.stl"), "a sphere is made of its size alone"),
        ((1, PLACE, "hull", (), [[0, 0]]), "vertices of a hull must be finite"),
        ((1, PLACE, "hull", (), [[0, 0, np.inf]]), "vertices of a hull must be finite"),
    ],
)
def test_what_is_no_shape_is_refused(arguments, message):
    with pytest.raises(ModelError, match=message):
        CollisionShape(*arguments[:3], **dict(zip(("size", "vertices", "link", "file"), arguments[3:], strict=False)))


def test_a_shape_on_a_body_that_is_not_there_is_refused():
    with pytest.raises(ModelError, match="a sphere sits on body 2, but there are 1"):
        Tree("arm", ARM.bodies, shapes=[CollisionShape(2, PLACE, "sphere", size=(1,))])


def test_what_a_robot_touches_with_is_told():
    assert shape_counts(ARM) == {"sphere": 2, "hull": 2} and shape_links(ARM) == ("hand", "floor", "tip")
    assert supports(ARM) == "4 collision shapes (2 sphere, 2 hull) on 'hand', 'floor', 'tip'"
    assert supports(treesim.Tree("bare", ARM.bodies)) == "no collision shapes (no link has a usable <collision>)"
