"""Groups of links that fixed joints hold together: their inertia is that of the body which `load` makes of them."""

import numpy as np
import pytest
from lxml import etree

import treesim
from tests.doctor.robots import joint, robot, shape, solid
from treesim.doctor.hull import Meshes
from treesim.doctor.links import rigid_groups
from treesim.urdf.document import Document
from treesim.urdf.resolve import MeshResolver

SPHERE = '<sphere radius="0.1"/>'
TEXT = robot(
    joint("hinge", "base", "arm"),
    joint("flange", "arm", "tool", "fixed", xyz="0 0 1").replace(
        '<origin xyz="0 0 1"/>', '<origin xyz="0 0 1" rpy="0.3 0 1"/>'
    ),
    base=solid(),
    arm=solid(2.0, "0.1 0 0.5", (0.2, 0.3, 0.1)) + shape(SPHERE),
    tool=solid(0.5, "0 0.2 0.1", (0.02, 0.01, 0.015)) + shape(SPHERE, "0 0 0.5"),
)


def groups_of(text, meshes=None):
    return rigid_groups(Document(etree.fromstring(text), "<text>"), MeshResolver(None).find, meshes)


def test_inertia_of_a_group_is_that_of_its_body():
    base, arm = groups_of(TEXT)
    body = treesim.load(TEXT).bodies[0].inertia
    assert base.inertia.mass == 1.0 and len(arm.links) == 2
    assert arm.inertia.mass == pytest.approx(body.mass)
    np.testing.assert_allclose(arm.inertia.com, body.com, atol=1e-15)
    np.testing.assert_allclose(arm.inertia.rotational, body.rotational, atol=1e-14)


def test_shapes_of_a_group_stand_where_the_fixed_joint_puts_them():
    _, arm = groups_of(TEXT)
    assert arm.points[:, 2].max() == pytest.approx(1.5 * np.cos(0.3) + 1 - np.cos(0.3) + 0.1, abs=2e-3)
    assert arm.title == "link 'arm' with the 1 link fixed to it" and arm.whole and arm.comparable


@pytest.mark.parametrize(
    "text",
    [
        robot(joint("a", "x", "y", "fixed"), joint("b", "y", "x", "fixed"), x="", y=""),
        robot(joint("a", "x", "x", "fixed"), x=""),
        robot(joint("a", "x", "y", "fixed", xyz="one"), x="", y=solid()),
        robot(x='<inertial><mass value="one"/></inertial>'),
        robot(x=solid(-1.0)),
        "<robot><link/><joint/></robot>",
    ],
)
def test_what_is_wrong_elsewhere_is_passed_over(text):
    assert all(not group.comparable for group in groups_of(text))


def test_a_group_with_a_mesh_that_is_not_read_is_not_whole():
    text = robot(x=solid() + shape('<mesh filename="nowhere.stl"/>') + shape(SPHERE))
    assert [group.whole for group in groups_of(text, Meshes())] == [False]
