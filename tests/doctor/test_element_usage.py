"""The ledger tells the truth: what is honoured acts on the robot or is told of, what is ignored does neither."""

import warnings
from collections import Counter

import numpy as np
import pytest
from lxml import etree

import treesim
from tests.doctor.examples import GOOD
from treesim.errors import UrdfError
from treesim.model.joints import VECTORS

MORE = """<gazebo><mu1>1</mu1></gazebo>
  <link name="flag"/>
  <joint name="pole" type="fixed">
    <parent link="base"/><child link="flag"/><axis xyz="0 0 1"/><limit effort="1"/>
  </joint>
  <link name="wheel">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <joint name="axle" type="continuous">
    <parent link="base"/><child link="wheel"/><axis xyz="0 0 2"/><limit lower="-1" upper="1" effort="5"/>
  </joint>
  <loop_joint name="pin" type="revolute">
    <link1 link="wheel" xyz="0 0 1" rpy="0 0 0"/><link2 link="left_finger"/><axis xyz="0 0 1"/>
  </loop_joint>
</robot>"""
FULL = (
    GOOD.replace('version="1.1">', 'version="1.1" xmlns:a="b"><a:extra/><material name="grey"/>')
    .replace('<link name="base">', '<link name="base" type="x"><self_collision><deep/></self_collision>')
    .replace("</robot>", MORE)
)


def entries(text):
    return {(entry.path, entry.fate): entry for entry in treesim.check(text).element_usage}


def test_every_element_and_attribute_is_counted_once():
    details = sum(entry.count + entry.inside for entry in treesim.check(FULL).element_usage)
    assert details == sum(1 + len(one.attrib) for one in etree.fromstring(FULL).iter("*"))


@pytest.mark.parametrize(
    "path",
    [
        "link@type", "link/self_collision", "gazebo", "extra", "joint/axis", "joint/limit",
        "joint/limit@lower", "joint/limit@upper",
    ],
)  # fmt: skip
def test_ignored(path):
    assert (path, "ignored") in entries(FULL)


def test_features_of_later_versions_are_honoured():
    text = FULL.replace("1.1", "1.2").replace('rpy="0 0 0"', 'quat_xyzw="0 0 0 1"', 1)
    found = entries(text.replace("<limit ", '<limit acceleration="2" deceleration="1" jerk="9" ', 1))
    for path in ("origin@quat_xyzw", "limit@acceleration", "limit@deceleration", "limit@jerk"):
        assert found[f"joint/{path}", "honoured"].count == 1
    assert found["robot@version", "honoured"].count == 1


def test_altered():
    found = entries(FULL)
    assert found["joint/axis@xyz", "altered"].count == 1 and found["joint/axis@xyz", "honoured"].count == 3


def test_a_shape_that_cannot_be_used_is_ignored_with_all_that_it_holds():
    text = GOOD.replace('<capsule radius="0.03" length="0.34"/>', "<blob/>")
    entry = entries(text)["link/collision", "ignored"]
    assert (entry.count, entry.inside, entry.lines) == (1, 4, (29,))


@pytest.mark.parametrize(("filename", "fate"), [("missing.stl", "ignored"), ("there.stl", "honoured")])
def test_a_collision_without_its_mesh_is_ignored(filename, fate, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.stl").touch()
    text = GOOD.replace('<capsule radius="0.03" length="0.34"/>', f'<mesh filename="{filename}"/>')
    element_usage = treesim.check(text, meshes=False).element_usage
    assert [entry.fate for entry in element_usage if 29 in entry.lines and entry.path == "link/collision"] == [fate]


def test_a_mimic_that_is_left_free_is_ignored():
    element_usage = treesim.check(GOOD, mimic="free").element_usage
    assert {entry.fate for entry in element_usage if entry.path == "joint/mimic"} == {"ignored"}


def outcome(text):
    """What a program can see of a robot, and what is said of it; None where it is refused."""
    with warnings.catch_warnings(action="ignore"):
        try:
            robot = treesim.load(text, base="floating")
        except UrdfError:
            return None
    bodies = [(body.name, body.parent, body.joint, body.joint.placement, body.inertia) for body in robot.bodies]
    numbers = [getattr(body.joint, label) for body in robot.bodies for label in VECTORS]
    inertias = [(body.inertia.rotational, body.inertia.com, body.joint.placement.matrix()) for body in robot.bodies]
    looks = [(shape.kind, shape.size, shape.color, shape.placement.matrix()) for shape in robot.visuals]
    touch = [(shape.kind, shape.size, shape.placement.matrix()) for shape in robot.shapes]
    loops = [(repr(loop), loop.axis, robot.frame(loop.first).placement.matrix()) for loop in robot.loops]
    codes = Counter(note.code for note in robot.notes)
    return str([robot.name, bodies, numbers, inertias, looks, touch, loops, robot.frame_names, sorted(codes.items())])


def place_of(element):
    """Where an element stands, as entries tell it."""
    tags = [element.tag, *(above.tag for above in element.iterancestors())]
    return "/".join(tag.rpartition("}")[2] for tag in reversed(tags[:-1])) or "robot"


def changed(root, element, name):
    """The text with one attribute's value changed to another one of its kind."""
    value = element.get(name)
    numbers = value.split()
    try:
        new = " ".join(f"{float(word) * 1.25 + 0.001:.12g}" for word in numbers)
    except ValueError:
        new = f"{value}_x"
    element.set(name, new)
    text = etree.tostring(root, encoding="unicode")
    element.set(name, value)
    return text


def test_what_is_honoured_acts_and_what_is_ignored_does_not():
    """Each attribute of the document is changed in turn; names of materials and fixed joints act only in that others
    may refer to them, or not be called so, and what else a fixed joint holds is another entry's."""
    root = etree.fromstring(FULL)
    with np.printoptions(precision=17, threshold=10**6):
        before, fates = outcome(FULL), treesim.check(FULL).element_usage
        for element in root.xpath("//*[not(parent::joint[@type='fixed'])]"):
            for name in element.attrib:
                text = changed(root, element, name)
                path = place_of(element)
                fate = {entry.fate for entry in fates if entry.path == f"{path}@{name}"}
                if fate == {"ignored"}:
                    assert outcome(text) == before, (path, name)
                elif fate == {"honoured"} and not (element.tag == "material" or element.get("type") == "fixed"):
                    assert outcome(text) != before, (path, name)
