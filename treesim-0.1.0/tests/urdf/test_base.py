"""The base that "auto" selects, and `Tree.base`."""

import pytest

import treesim
from treesim.urdf import installed_robots

INERTIA = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
LINK = f'<link name="{{}}"><inertial><mass value="{{}}"/>{INERTIA}</inertial></link>'
JOINT = '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/><axis xyz="0 0 1"/></joint>'


def robot(root="base", mass=2.0, joints=(("left", "continuous", "base"), ("right", "continuous", "base"))):
    """A root link with joints (name, type, parent), each of which has a child link called after it."""
    links = [
        LINK.format(root, mass) if mass else f'<link name="{root}"/>',
        *(LINK.format(f"{j[0]}_link", 1) for j in joints),
    ]
    made = [JOINT.format(name, kind, parent.replace("base", root), f"{name}_link") for name, kind, parent in joints]
    return f"<robot name='r'>{''.join([*links, *made])}</robot>"


LEFT, RIGHT = ("left", "continuous", "base"), ("right", "continuous", "base")
FIXED = {
    "called world": robot("world"),
    "without mass": robot(mass=0),
    "one joint": robot(joints=(LEFT,)),
    "one joint of all fixed links": robot(joints=(("plate", "fixed", "base"), ("left", "continuous", "plate_link"))),
    "its own floating base": robot(joints=(("root_joint", "floating", "base"), RIGHT)),
}
FLOATING = {
    "two limbs": robot(),
    "no joint": robot(joints=()),
    "limbs on fixed links": robot(joints=(("plate", "fixed", "base"), ("left", "continuous", "plate_link"), RIGHT)),
    "mass on a fixed link only": robot(mass=0, joints=(("plate", "fixed", "base"), LEFT, RIGHT)),
}


@pytest.mark.parametrize(
    ("text", "base"),
    [(text, base) for base, texts in (("fixed", FIXED), ("floating", FLOATING)) for text in texts.values()],
    ids=[*FIXED, *FLOATING],
)
def test_auto_is_floating_unless_the_file_bolts_the_root(text, base):
    found = treesim.load(text, base="auto")
    named = treesim.load(text, base=base)
    assert (found.base, found.nq, found.joint_names) == (named.base, named.nq, named.joint_names)
    assert found.joint_names == treesim.check(text, base="auto", meshes=False).robot.joint_names
    assert (found.nq - treesim.load(text).nq == 7) == (base == "floating")


@pytest.mark.skipif("talos" not in {entry.name for entry in installed_robots()}, reason="needs example-robot-data")
def test_bases_of_installed_robots():
    found = {name: treesim.load(name, base="auto").base for name in ("ur5", "panda", "go2", "g1", "talos")}
    assert found == {"ur5": "fixed", "panda": "fixed", "go2": "floating", "g1": "floating", "talos": "floating"}
    assert treesim.load("go2").base == "fixed", "Python's default"


def test_another_base_is_refused():
    with pytest.raises(treesim.ArgumentError, match="base must be 'fixed' or 'floating' or 'auto', got 'free'"):
        treesim.load(robot(), base="free")
