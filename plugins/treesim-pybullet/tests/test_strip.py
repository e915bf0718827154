"""Removed parts of a file for Bullet, and unchanged physics."""

import numpy as np
import pytest
from lxml import etree
from treesim_pybullet.strip import strip

import treesim
from treesim.errors import UnsupportedError


def robot(*parts: str) -> str:
    return f'<robot name="r">{"".join(parts)}</robot>'


def link(name: str, mass: float | None = None, origin: str = "") -> str:
    if mass is None:
        return f'<link name="{name}"/>'
    inertia = '<inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.2" iyz="0" izz="0.2"/>'
    return f'<link name="{name}"><inertial>{origin}<mass value="{mass}"/>{inertia}</inertial></link>'


def joint(kind: str, parent: str, child: str, inside: str = "") -> str:
    return (
        f'<joint name="{parent}-{child}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'
    )


def test_limits_go_and_drawing_goes():
    visual = '<visual><geometry><mesh filename="package://nowhere/x.stl"/></geometry></visual>'
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/><dynamics damping="0.1"/>'
    text = robot(
        link("a", 1), link("b", 1).replace("</link>", visual + "</link>"), link("c", 1),
        joint("revolute", "a", "b", limit), joint("prismatic", "b", "c", limit),
    )  # fmt: skip
    stripped = strip(text, floating=False)
    tree = etree.fromstring(stripped.urdf)
    assert [j.get("type") for j in tree.findall("joint")] == ["continuous", "prismatic"]
    assert [float(tree.find(".//limit").get(side)) for side in ("lower", "upper")] == [1, -1]
    assert tree.find(".//visual") is None and tree.find(".//dynamics") is None
    assert any("1 <visual>" in change for change in stripped.changes)
    assert any("limits" in change for change in stripped.changes)


def test_limits_of_spherical_joints_go():
    """One file of pybullet_data has them, and Bullet would enforce them."""
    limit = '<limit effort="1000" lower="0.2" upper="0.8" twist="0.3"/>'
    stripped = strip(robot(link("a", 1), link("b", 1), joint("spherical", "a", "b", limit)), floating=False)
    tree = etree.fromstring(stripped.urdf)
    assert tree.find("joint").get("type") == "spherical" and tree.find(".//limit") is None
    assert any("limits" in change for change in stripped.changes)


def test_a_massless_root_takes_the_mass_of_what_is_fixed_to_it():
    text = robot(
        link("a"), link("b"), link("sensor"), joint("fixed", "a", "sensor"),
        link("c", 2.0, '<origin xyz="0.1 0 0" rpy="0.3 0 0.2"/>'),
        joint("fixed", "a", "b", '<origin xyz="0 0 1" rpy="0.1 0.2 0.3"/>'),
        joint("fixed", "b", "c", '<origin xyz="0 0.5 0" rpy="0 -0.4 0"/>'),
    )  # fmt: skip
    stripped = strip(text, floating=True)
    before, after = (treesim.load(t, base="floating").bodies[0].inertia for t in (text, stripped.urdf))
    assert after.mass == before.mass
    np.testing.assert_allclose(after.com, before.com, atol=1e-15)
    np.testing.assert_allclose(after.rotational, before.rotational, atol=1e-15)
    root = etree.fromstring(stripped.urdf).find("link[@name='a']")
    assert float(root.find("inertial/mass").get("value")) == 2.0
    assert any("'c'" in change and "'a'" in change for change in stripped.changes)


def test_a_massless_root_without_a_fixed_child_is_refused():
    text = robot(link("a"), link("b", 1), joint("continuous", "a", "b"))
    with pytest.raises(UnsupportedError, match="'a'"):
        strip(text, floating=True)
    assert "continuous" in strip(text, floating=False).urdf


def test_a_floating_root_joint_makes_way():
    text = robot(link("world"), link("a", 1), link("b", 1), joint("floating", "world", "a"), joint("fixed", "a", "b"))
    stripped = strip(text, floating=True)
    tree = etree.fromstring(stripped.urdf)
    assert [part.get("name") for part in tree.findall("link")] == ["a", "b"]
    assert [part.get("type") for part in tree.findall("joint")] == ["fixed"]


def test_axes_get_unit_length():
    text = robot(
        link("a", 1), link("b", 1), link("c", 1),
        joint("continuous", "a", "b", '<axis xyz="3 0 -4"/>'), joint("fixed", "b", "c", '<axis xyz="0 0 0"/>'),
    )  # fmt: skip
    stripped = strip(text, floating=False)
    assert [axis.get("xyz") for axis in etree.fromstring(stripped.urdf).iter("axis")] == ["0.6 0.0 -0.8", "0 0 0"]
    assert "axes normalised: 1" in stripped.changes


def test_products_of_inertia_go_and_the_body_stays():
    text = robot(link("a", 1), link("b", 2.0, '<origin xyz="0.1 0 0" rpy="0.3 -1 0.2"/>'), joint("fixed", "a", "b"))
    stripped = strip(text, floating=True)
    assert all(
        float(entries.get(key)) == 0
        for entries in etree.fromstring(stripped.urdf).iter("inertia")
        for key in ("ixy", "ixz", "iyz")
    )
    before, after = (treesim.load(t, base="floating").bodies[0].inertia for t in (text, stripped.urdf))
    np.testing.assert_allclose(after.rotational, before.rotational, atol=1e-15)
    assert "inertias turned to their principal axes: 2" in stripped.changes


def test_moments_that_bullet_drops_are_remembered():
    text = robot(link("a", 1), link("b", 1).replace('iyy="0.2"', 'iyy="0.9"'), joint("fixed", "a", "b"))
    stripped = strip(text, floating=False)
    assert list(stripped.moments) == ["b"] and max(stripped.moments["b"]) == pytest.approx(0.9, abs=1e-3)
    assert any("put back" in change and "b" in change for change in stripped.changes)


@pytest.mark.parametrize("joints, refused", [(127, False), (128, True)])
def test_more_joints_than_bullet_tells_of_are_refused(joints, refused):
    fan = [link("hub", 1)]
    for k in range(joints):
        fan += [link(f"blade{k}", 1), joint("fixed", "hub", f"blade{k}").replace('name="', f'name="{k}_')]
    if refused:
        with pytest.raises(UnsupportedError, match="128 joints, fixed ones too: 127 at most"):
            strip(robot(*fan), floating=False)
    else:
        assert strip(robot(*fan), floating=False).urdf
