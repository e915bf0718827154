"""Linked elements of a document: repeated names, cycles, joints with missing links; parsed once."""

import numpy as np
import pytest
from lxml import etree

import treesim
from treesim.urdf.document import Document, child_of, name_of, numbers, origin_of, parent_of, remove

TEXT = """<robot name="arm">
<link name="base"/><link name="arm"/><link name="tool"/><link name="paw"/><link name="tool"><inertial/></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 2 0"/></joint>
<joint name="weld" type="fixed"><origin xyz="0 0 1" rpy="0.3 -0.7 1.1"/><parent link="arm"/><child link="tool"/></joint>
<joint name="other" type="continuous"><parent link="base"/><child link="paw"/></joint>
</robot>"""
CIRCLE = """<robot name="c"><link name="a"/><link name="b"/>
<joint name="ab" type="fixed"><parent link="a"/><child link="b"/></joint>
<joint name="ba" type="fixed"><parent link="b"/><child link="a"/></joint></robot>"""


@pytest.fixture
def document():
    return Document.of_text(TEXT)


def test_links_and_joints_by_name_in_the_order_of_the_file(document):
    assert list(document.link) == ["base", "arm", "tool", "paw"] and list(document.joint) == ["hinge", "weld", "other"]
    assert len(document.links) == 5 and document.link["tool"].find("inertial") is None, "the first of a name counts"
    assert document.roots == ["base"] and document.root_link == "base"


def test_paths_groups_and_subtrees(document):
    assert [name_of(joint) for joint in document.path_to("tool")] == ["weld", "hinge"]
    assert [name_of(joint) for joint in document.fixed_path_to("tool")] == ["weld"]
    assert list(map(document.first_of_group, ("tool", "arm", "base"))) == ["arm", "arm", "base"]
    assert document.subtree("arm") == ["arm", "tool"] and document.subtree("base") == ["base", "arm", "tool", "paw"]


def test_a_cycle_of_joints_ends():
    document = Document.of_text(CIRCLE)
    assert document.roots == [] and document.root_link == ""
    assert [child_of(joint) for joint in document.path_to("a")] == ["a", "b"]


def test_a_joint_without_ends_names_none():
    (joint,) = Document.of_text("<robot><joint><parent/></joint></robot>").joints
    assert (name_of(joint), parent_of(joint), child_of(joint)) == ("", "", "")


def test_places_are_lines_of_the_innermost_element(document):
    assert document.place("joint", "hinge", "axis") == "<text>:3" and document.place("link", "none") == ""


def test_numbers_have_defaults_and_origins_are_placements(document):
    weld = document.joint["weld"]
    np.testing.assert_array_equal(numbers(document.joint["hinge"], "axis", "xyz", (1, 0, 0)), [0, 2, 0])
    np.testing.assert_array_equal(numbers(weld, "axis", "xyz", (1, 0, 0)), [1, 0, 0])
    expected = treesim.Placement.from_xyz_rpy((0, 0, 1), (0.3, -0.7, 1.1))
    np.testing.assert_allclose(origin_of(weld).matrix(), expected.matrix(), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(origin_of(document.joint["hinge"]).matrix(), np.eye(4))


def test_an_edit_and_a_removal_leave_the_original_alone(document):
    copy = document.edited(lambda root: remove(root.iter("axis")))
    assert document.place("joint", "hinge", "axis") == "<text>:3" and copy.joint["hinge"].find("axis") is None
    assert remove(copy.tagged(("origin", "joint"))) == ["1 <origin>", "3 <joint>"] and not list(copy.root.iter("joint"))


def test_a_file_is_parsed_once_to_load_and_once_to_check_it(monkeypatch):
    parsed, parse = [], etree.fromstring
    monkeypatch.setattr(etree, "fromstring", lambda *given: parsed.append(given) or parse(*given))
    text = treesim.to_urdf(treesim.load("ur5"))
    parsed.clear()
    treesim.load(text)
    assert len(parsed) == 1
    treesim.check(text)
    assert len(parsed) == 2


def test_the_place_of_what_is_missing_is_that_of_its_owner(document):
    assert document.place("joint", "weld", "origin") == "<text>:4"
    assert document.place("link", "tool", "visual", "geometry") == "<text>:2"
    assert document.place("link", "nothing") == ""
