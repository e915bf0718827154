"""Uncorrected descriptions: repeated names, cycles, joints with missing links."""

import pytest
from treesim_importers.description import describe
from treesim_importers.examples import SOUND, second_joint

from treesim.errors import UrdfError
from treesim.urdf.document import child_of, name_of

CIRCLE = """<robot name="c"><link name="a"/><link name="b"/>
<joint name="ab" type="fixed"><parent link="a"/><child link="b"/></joint>
<joint name="ba" type="fixed"><parent link="b"/><child link="a"/></joint></robot>"""


def test_links_joints_and_who_carries_whom():
    found = describe(SOUND)
    assert list(found.link) == ["base", "arm", "tool"] and found.roots == ["base"]
    assert [name_of(joint) for joint in found.path_to("tool")] == ["weld", "hinge"]
    assert sorted(found.subtree("arm")) == ["arm", "tool"]
    assert tuple(map(found.first_of_group, ("tool", "arm", "base"))) == ("arm", "arm", "base")


def test_a_circle_of_joints_ends():
    found = describe(CIRCLE)
    assert found.roots == [] and found.root_link == ""
    assert [child_of(joint) for joint in found.path_to("a")] == ["a", "b"]


def test_of_two_links_with_one_name_the_first_counts():
    found = describe(SOUND.replace("</robot>", '<link name="tool"/></robot>'))
    assert len(found.links) == 4 and found.link["tool"].find("inertial") is not None


def test_what_is_no_urdf_is_refused():
    with pytest.raises(UrdfError, match="not a URDF"):
        describe("<mujoco/>")


def test_second_joint_is_another_branch():
    ((old, new),) = second_joint()
    assert sorted(describe(SOUND.replace(old, new)).subtree("base")) == ["arm", "base", "paw", "tool"]
