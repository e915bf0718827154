"""What to_urdf writes loads to the same tree: bodies, joints, frames and limits, to the last digits."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treesim.errors import ModelError, UnknownNameError, UnsupportedError, UrdfError, UrdfWarning
from treesim.model.inertia import Inertia, Placement
from treesim.model.joints import MOTION_LIMITS, VECTORS, Joint
from treesim.model.matrices import rotation_from_rpy
from treesim.model.shapes import CollisionShape
from treesim.model.tree import Body, Frame, Tree, Visual
from treesim.urdf import installed_robots, load, to_urdf
from treesim.urdf.origins import rpy_from_rotation

FEW = [
    entry for entry in installed_robots()
    if entry.name in ("talos_full_v2", "simple_humanoid", "anymal_c", "humanoid", "kuka_iiwa", "pr2", "centauro")
]  # fmt: skip


def quietly(source, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UrdfWarning)
        return load(source, **options)


def close(a, b, tolerance=1e-13):
    a, b = np.asarray(a), np.asarray(b)
    finite = np.isfinite(b)
    assert a.shape == b.shape and np.array_equal(a[~finite], b[~finite])
    assert np.abs(a[finite] - b[finite]).max(initial=0) <= tolerance * max(1.0, np.abs(b[finite]).max(initial=0))


def same(a, b, tolerance=1e-13):
    """Two trees agree in everything that matters for dynamics, and in their frames."""
    assert (a.name, a.joint_names, a.body_names) == (b.name, b.joint_names, b.body_names)
    assert a.parent.tolist() == b.parent.tolist() and set(a.frame_names) >= set(b.frame_names)
    for left, right in zip(a.bodies, b.bodies, strict=True):
        assert left.joint.kind.code == right.joint.kind.code
        close(left.joint.placement.matrix(), right.joint.placement.matrix(), tolerance)
        if left.joint.kind.has_axis:
            close(left.joint.axis, right.joint.axis, tolerance)
        assert left.inertia.mass == right.inertia.mass
        close(left.inertia.com, right.inertia.com, tolerance)
        close(left.inertia.rotational, right.inertia.rotational, tolerance)
    for name in VECTORS:
        close(getattr(a, name), getattr(b, name), 0)
    for name, frame in b.frames.items():
        assert a.frame(name).body == frame.body
        close(a.frame(name).placement.matrix(), frame.placement.matrix(), tolerance)


@pytest.mark.parametrize("principal", [False, True])
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("entry", FEW, ids=lambda entry: entry.name)
def test_real_robots_survive_the_round_trip(entry, base, principal):
    tree = quietly(entry.path, base=base, mimic="free")
    text = to_urdf(tree, principal=principal)
    same(quietly(text, base=base), tree)
    if principal:
        assert 'ixy="0.0" ixz="0.0"' in text and text.count("ixy=") == text.count('ixy="0.0"')


WELDED = ("talos_reduced", "anymal_c", "kuka_iiwa", "go2", "ur5", "panda", "g1_29dof_with_hand_rev_1_0", "hyq")
NEARLY = ("icub", "icub_reduced")  # rpy="0 1.5708 6.12e-17": no nearby angles have the same bits


def inertia_bits(inertia):
    return None if inertia is None else (inertia.mass, inertia.com.tolist(), inertia.rotational.tolist())


def all_links(robot):
    """Inertias of all links alone, and the names of the joints on either side of welds, in order."""
    bodies = [(body.name, inertia_bits(body.own), inertia_bits(body.inertia)) for body in robot.bodies]
    return bodies, [(x.link, x.joint, x.parent, x.joints, inertia_bits(x.inertia)) for x in robot.welds]


def check_equal_after_round_trip(source, base, exact=True):
    robot = quietly(source, base=base)
    again = quietly(to_urdf(robot, shapes=False), base=base)
    assert all_links(again)[1] == all_links(robot)[1]
    assert [row[:2] for row in all_links(again)[0]] == [row[:2] for row in all_links(robot)[0]]
    assert list(again.frames) == list(robot.frames) and again.joint_names == robot.joint_names
    tables = [(again.spanning.reals, robot.spanning.reals)]
    tables += [(again.frame(name).placement.matrix(), frame.placement.matrix()) for name, frame in robot.frames.items()]
    for found, expected in tables:
        np.testing.assert_allclose(found, expected, rtol=0, atol=0 if exact else 1e-15)


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("entry", [e for e in installed_robots() if e.name in WELDED], ids=lambda entry: entry.name)
def test_welds_and_tables_come_back_to_the_bit(entry, base):
    check_equal_after_round_trip(entry.path, base)


@pytest.mark.nightly
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("entry", installed_robots(), ids=lambda entry: entry.name)
def test_every_robot_comes_back_to_the_bit(entry, base):
    try:
        quietly(entry.path, base=base)
    except (ModelError, UrdfError):
        return
    check_equal_after_round_trip(entry.path, base, exact=entry.name not in NEARLY)


def test_without_welds_bodies_have_all_mass_and_welded_links_none():
    robot = quietly("talos_reduced", base="floating")
    again = quietly(to_urdf(robot, welds=False), base="floating")
    same(again, robot)
    assert {weld.inertia.mass for weld in again.welds} == {0.0} and len(again.welds) == len(robot.welds)
    assert {weld.parent for weld in again.welds} <= {*again.body_names}


def test_a_body_whose_inertia_was_replaced_is_written_with_it():
    robot = quietly("talos_reduced", base="floating")
    heavy = [replace(body, inertia=replace(body.inertia, mass=2 * body.inertia.mass)) for body in robot.bodies]
    again = quietly(to_urdf(robot._with(bodies=heavy)), base="floating")
    assert [b.inertia.mass for b in again.bodies] == [b.inertia.mass for b in heavy]
    assert {weld.inertia.mass for weld in again.welds} == {0.0} and len(again.welds) == len(robot.welds)


triple = st.tuples(st.floats(-2, 2), st.floats(-2, 2), st.floats(-2, 2))


@st.composite
def trees(draw):
    """Trees with every type of joint anywhere, numbered depth-first, with frames on bodies and the base."""
    bodies, path = [], [0]
    for i in range(draw(st.integers(1, 6))):
        depth = draw(st.integers(1, len(path)))
        kind = draw(st.sampled_from(["revolute", "continuous", "prismatic", "planar", "spherical", "floating"]))
        axis = draw(triple.filter(lambda a: np.linalg.norm(a) > 0.1))
        limits = (
            {"lower": -draw(st.floats(0, 3)), "upper": draw(st.floats(0, 3))}
            if kind in ("revolute", "prismatic")
            else {}
        )
        resistance = {
            name: draw(st.floats(0, 9))
            for name in ("damping", "joint_friction", "armature", "effort_limit", "velocity_limit")
        } | {name: draw(st.floats(0, 9) | st.just(np.inf)) for name in MOTION_LIMITS}
        place = Placement.from_xyz_rpy(draw(triple), draw(triple))
        a, b, c = (draw(st.floats(0.1, 1)) for _ in range(3))  # A + B >= C for these moments
        turn = rotation_from_rpy(draw(triple))
        inertia = Inertia(
            draw(st.floats(0.1, 9)), np.array(draw(triple)), turn @ np.diag([a + b, b + c, a + c]) @ turn.T
        )
        bodies.append(
            Body(
                f"b{i}",
                path[depth - 1],
                Joint(f"j{i}", kind, placement=place, axis=axis, **limits, **resistance),
                inertia,
            )
        )
        path = [*path[:depth], i + 1]
    n = len(bodies)
    frames = [
        Frame(f"f{k}", draw(st.integers(0, n)), Placement.from_xyz_rpy(draw(triple), draw(triple))) for k in range(2)
    ]
    return Tree("t & <co>", bodies, frames=frames)


@settings(max_examples=60, deadline=None)
@given(trees(), st.booleans())
def test_any_tree_survives_the_round_trip(tree, principal):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(load(to_urdf(tree, principal=principal)), tree)


def test_the_lowest_version_is_declared(arm):
    capsule = "</inertial><collision><geometry><capsule radius='1' length='2'/></geometry></collision>"
    limited = [arm('velocity="3"', f'velocity="3" {name}="5"') for name in ("acceleration", "deceleration", "jerk")]
    for text, version in ((arm(), "1.0"), (arm("</inertial>", capsule), "1.1"), *((text, "1.2") for text in limited)):
        robot = quietly(text)
        written = to_urdf(robot, visuals=True)
        declared = [] if version == "1.0" else [f'version="{version}">']
        assert load(to_urdf(robot)).nv == 1 and re.findall("version=.*>", written) == declared
        assert re.findall("version=.*>", to_urdf(robot, shapes=False)) == (declared if version == "1.2" else [])
        for other in ("1.0", "1.1", "1.2"):
            again = to_urdf(robot, visuals=True, version=other)
            assert again.partition("\n")[2] == written.partition("\n")[2], "only the version differs"
            same(quietly(again), robot)
            assert ("U416" in {note.code for note in quietly(again).notes}) == (other < version)
    for wrong in ("1", "1.3", 1.1):
        with pytest.raises(UnknownNameError, match="version"):
            to_urdf(robot, version=wrong)


def test_quaternions_are_written_as_angles(arm):
    robot = quietly(arm('rpy="0 0 0"', 'quat_xyzw="0 0 0.6 0.8"'))
    text = to_urdf(robot)
    assert "quat" not in text and "version" not in text.partition("\n")[0]
    same(load(text), robot, 1e-15)


@settings(deadline=None)
@given(triple, st.sampled_from([0.0, 1e-5, 1e-9, 1e-13, 1e-16]), st.sampled_from([-1, 0, 1]))
def test_rpy_gives_back_the_rotation_however_near_the_singularity(angles, distance, side):
    roll, pitch, yaw = angles
    rotation = rotation_from_rpy((roll, side * (np.pi / 2 - distance) if side else pitch, yaw))
    assert np.abs(rotation_from_rpy(rpy_from_rotation(rotation)) - rotation).max() < 1e-15


def test_numbers_come_back_exactly(arm):
    third = 1 / 3
    text = arm('xyz="0 0 1"', f'xyz="0 {third!r} 1e-17"').replace('value="2"', f'value="{third!r}"')
    again = load(to_urdf(load(text)))
    assert again.mass == third and again.bodies[0].joint.placement.translation.tolist() == [0, third, 1e-17]
    assert to_urdf(again) == to_urdf(load(text))


@pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")  # these robots stand for their joints
def test_the_floating_joint_is_left_out(arm):
    text = to_urdf(load(arm(), base="floating"))
    assert "root_joint" not in text and text == to_urdf(load(text, base="floating"))
    assert load(text).joint_names == ("hinge",)


@pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")  # these robots stand for their joints
def test_a_floating_joint_that_load_would_not_make_is_written():
    tree = Tree(
        "t", [Body("a", 0, Joint("root_joint", "floating", placement=Placement.from_xyz_rpy((0, 0, 1))), Inertia(1.0))]
    )
    assert 'name="root_joint" type="floating"' in to_urdf(tree)
    same(load(to_urdf(tree)), tree)


def test_the_base_is_called_as_it_was_or_world(arm):
    assert to_urdf(load(arm())).splitlines()[1] == '  <link name="base">'
    alone = Tree("t", [Body("world", 0, Joint("j", "continuous"), Inertia(1.0, rotational=np.eye(3)))])
    assert load(to_urdf(alone)).frame_names == ("world", "world_")


def test_unlimited_revolute_joints_are_continuous():
    tree = Tree("t", [Body("a", 0, Joint("j", "revolute"), Inertia(1.0, rotational=np.eye(3)))])
    assert 'type="continuous"' in to_urdf(tree)


INFINITE = {"lower": -np.inf, "upper": np.inf, "effort_limit": np.inf, "velocity_limit": np.inf}
LIMITED = [
    (kind, limits)
    for kind in ("revolute", "prismatic", "continuous")
    for limits in ({}, {"velocity_limit": 3.0}, {"lower": -1.0}, {"upper": 2.0, "effort_limit": 5.0})
    if kind != "continuous" or not {"lower", "upper"} & limits.keys()
]


def with_limits(kind, limits):
    joint = Joint("j", kind, **limits)
    return to_urdf(Tree("t", [Body("a", 0, joint, Inertia(1.0, rotational=np.eye(3)))]))


@pytest.mark.parametrize(("kind", "limits"), LIMITED)
def test_limits_have_every_attribute_and_are_read_back(kind, limits):
    text = with_limits(kind, limits)
    again = load(text)
    for name, value in (INFINITE | limits).items():
        assert getattr(again, name).tolist() == [value]
    bounds = [] if 'type="continuous"' in text else ["lower", "upper"]
    for limit in re.findall("<limit.*>", text):
        assert re.findall(r"(\w+)=", limit) == [*bounds, "effort", "velocity"]


def test_other_parsers_accept_limits_that_are_partly_infinite():
    """That of Pinocchio refuses a limit without effort or velocity."""
    pinocchio = pytest.importorskip("pinocchio")
    for kind, limits in LIMITED:
        assert pinocchio.buildModelFromXML(with_limits(kind, limits)).nv == 1


def test_collision_shapes_survive_with_their_links(arm, tmp_path):
    mesh = tmp_path / "a & b.stl"
    mesh.write_text("")
    kinds = '<sphere radius="0.1"/>', '<capsule radius="0.1" length="0.3"/>', '<cylinder radius="0.2" length="0.3"/>'
    more = '<box size="0.1 0.2 0.3"/>', f'<mesh filename="{mesh}" scale="1 -2 3"/>'.replace("&", "&amp;")
    place = '<origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/>'
    shapes = "".join(f"<collision>{place}<geometry>{kind}</geometry></collision>" for kind in (*kinds, *more))
    weld = f'<joint name="w" type="fixed">{place}<parent link="rod"/><child link="tip"/></joint>'
    tip = f'<link name="tip">{shapes}</link>{weld}'
    text = arm("</inertial>", f"</inertial>{shapes}").replace("</robot>", f"{tip}</robot>")
    for base in ("fixed", "floating"):
        tree = quietly(text.replace('<link name="base"/>', f'<link name="base">{shapes}</link>'), base=base)
        again = quietly(to_urdf(tree), base=base)
        assert len(again.shapes) == 15
        for left, right in zip(sorted(again.shapes, key=order), sorted(tree.shapes, key=order), strict=True):
            assert order(left) == order(right) and left.size == right.size
            close(left.placement.matrix(), right.placement.matrix())
    assert quietly(to_urdf(tree, shapes=False)).shapes == ()


def order(shape):
    return shape.body, shape.link, shape.kind, shape.file, shape.scale


def test_hulls_of_vertices_are_refused_unless_shapes_are_left_out():
    hull = CollisionShape(1, Placement(), "hull", vertices=np.eye(3), link="a")
    body = Body("a", 0, Joint("j", "continuous"), Inertia(1.0, rotational=np.eye(3)))
    tree = Tree("t", [body], shapes=[hull])
    with pytest.raises(UnsupportedError, match=r"link 'a' has.*to_urdf\(tree, shapes=False\)"):
        to_urdf(tree)
    same(load(to_urdf(tree, shapes=False)), tree)


def test_what_urdf_cannot_say_is_refused():
    tree = Tree("t", [Body("a", 0, Joint("j", "spherical", damping=(1, 2, 3)), Inertia(1.0, rotational=np.eye(3)))])
    with pytest.raises(UnsupportedError, match=r"one damping per joint, but joint 'j' has \[1.0, 2.0, 3.0\]"):
        to_urdf(tree)


def drawn():
    """A link with a coloured shape of every kind that URDF has."""
    body = Body("arm", 0, Joint("elbow", "revolute"), Inertia(1.0, (0, 0, 0), np.eye(3)))
    place = Placement(rotation_from_rpy((0.1, -0.2, 0.3)), (1, 2, 3))
    kinds = {"box": (1.0, 2.0, 3.0), "sphere": (0.5,), "cylinder": (0.1, 0.7)}
    shapes = [Visual(1, place, kind, size, color=(1.0, 0.5, 0.25, 1.0)) for kind, size in kinds.items()]
    return Tree("drawn", [body], visuals=shapes)


@pytest.mark.parametrize("make", [drawn, lambda: quietly("ur5")], ids=["shapes", "meshes"])
def test_visuals_are_written_when_asked_for(make):
    robot = make()
    assert "<visual>" not in to_urdf(robot)
    again = quietly(to_urdf(robot, visuals=True))
    found, wanted = (sorted(tree.visuals, key=lambda visual: visual.body) for tree in (again, robot))
    assert len(found) == len(wanted) > 0
    for one, other in zip(found, wanted, strict=True):
        for label in ("body", "kind", "size", "file", "color"):
            assert getattr(one, label) == getattr(other, label)
        np.testing.assert_allclose(one.placement.matrix(), other.placement.matrix(), atol=1e-15)


@pytest.mark.parametrize("name", ["a%41.stl", "a b.stl", "a#b.stl", "a?b.stl", "á.stl"])
def test_files_with_any_names_are_found_again(name, tmp_path):
    """In a URL some characters stand for others: `a%41.stl` is the file `aA.stl`."""
    for file in (name, "aA.stl"):
        (tmp_path / file).write_bytes(b"")
    body = Body("arm", 0, Joint("elbow", "revolute"), Inertia(1.0, (0, 0, 0), np.eye(3)))
    mesh = Visual(1, Placement(), "mesh", (1.0, 1.0, 1.0), file=str(tmp_path / name))
    text = to_urdf(Tree("drawn", [body], visuals=[mesh]), visuals=True)
    url = (tmp_path / name).as_uri()
    assert url in text and quietly(text).visuals[0].file == mesh.file


def test_a_name_with_a_character_that_xml_has_not_is_refused():
    assert 'name="a&lt;"' in to_urdf(Tree("a<", []))
    with pytest.raises(UnsupportedError, match=r"cannot hold the character '\\x01', which ends '<robot name=.*rename"):
        to_urdf(Tree("a\x01", []))
