"""The tree that comes out: joints in file order, fixed joints merged exactly, every link a frame, limits kept."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treesim
from treesim.model.inertia import Inertia, Placement
from treesim.urdf import load

BALL = (
    '<inertial><origin xyz="{x} 0 0" rpy="{roll} 0.3 0"/><mass value="{m}"/>'
    '<inertia ixx="0.3" ixy="0.01" ixz="0" iyy="0.2" iyz="0" izz="0.25"/></inertial>'
)


def link(name, m=1.0, x=0.0, roll=0.0):
    return f'<link name="{name}">{BALL.format(m=m, x=x, roll=roll)}</link>'


def joint(name, kind, parent, child, origin="", more=""):
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}<origin {origin}/>{more}</joint>'


def robot(*parts):
    return f'<robot name="r">{"".join(parts)}</robot>'


def test_joints_are_ordered_depth_first_in_file_order():
    links = [link(name) for name in "zabcdefg"]
    edges = [("j3", "a", "d"), ("j1", "z", "b"), ("j9", "z", "a"), ("j4", "a", "c"), ("j2", "d", "e"), ("j0", "b", "f")]
    tree = load(robot(*links, joint("j5", "fixed", "c", "g"), *(joint(n, "continuous", p, c) for n, p, c in edges)))
    assert tree.joint_names == ("j1", "j0", "j9", "j3", "j2", "j4")
    assert tree.body_names == ("b", "f", "a", "d", "e", "c")
    assert tree.parent.tolist() == [0, 1, 0, 3, 4, 3]
    assert (tree.frame("z").body, tree.frame("g").body) == (0, 6)


def test_joints_behind_fixed_joints_keep_their_turn():
    links = [link(name) for name in "zabc"]
    tree = load(
        robot(
            *links,
            joint("f", "fixed", "z", "a"),
            joint("j1", "continuous", "a", "b"),
            joint("j2", "continuous", "z", "c"),
        )
    )
    assert tree.joint_names == ("j1", "j2")


angle = st.floats(-3, 3)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(angle, angle, angle, st.floats(-1, 1), st.floats(0.1, 5)), min_size=1, max_size=5))
def test_fixed_joints_are_merged_with_exact_placement_and_inertia(chain):
    parts, place = [link("root"), link("l0", x=0.1)], Placement()
    parts.append(joint("hinge", "continuous", "root", "l0", 'xyz="0 0 1"'))
    rotational = np.array([[0.3, 0.01, 0], [0.01, 0.2, 0], [0, 0, 0.25]])
    expected = Inertia(1.0, np.zeros(3), rotational).in_frame(Placement.from_xyz_rpy((0.1, 0, 0), (0, 0.3, 0)))
    frames = {}
    for k, (roll, pitch, yaw, x, mass) in enumerate(chain, start=1):
        parts += [link(f"l{k}", m=mass, x=x, roll=roll)]
        parts.append(
            joint(f"weld{k}", "fixed", f"l{k - 1}", f"l{k}", f'xyz="{x!r} 0.2 0" rpy="{roll!r} {pitch!r} {yaw!r}"')
        )
        place = place @ Placement.from_xyz_rpy((x, 0.2, 0), (roll, pitch, yaw))
        inertial = Placement.from_xyz_rpy((x, 0, 0), (roll, 0.3, 0))
        expected = expected + Inertia(mass, np.zeros(3), rotational).in_frame(place @ inertial)
        frames[f"l{k}"] = place
    tree = load(robot(*parts))
    (body,) = tree.bodies
    assert body.inertia.mass == pytest.approx(expected.mass, rel=1e-14)
    assert np.allclose(body.inertia.com, expected.com, rtol=0, atol=1e-13)
    assert np.allclose(body.inertia.rotational, expected.rotational, rtol=0, atol=1e-12)
    for name, frame in frames.items():
        assert tree.frame(name).body == 1
        assert np.allclose(tree.frame(name).placement.matrix(), frame.matrix(), rtol=0, atol=1e-14)


def test_what_is_fixed_to_the_world_does_not_move():
    tree = load(
        robot(
            link("world"), link("a"), link("b"), joint("f", "fixed", "world", "a"), joint("j", "continuous", "a", "b")
        )
    )
    assert tree.n_bodies == 1 and tree.mass == 1.0
    assert {name: frame.body for name, frame in tree.frames.items()} == {"b": 1, "world": 0, "a": 0}


def test_floating_base_carries_the_root_link_and_what_is_welded_to_it():
    parts = ['<link name="world"/>', link("a"), link("b"), joint("f", "fixed", "world", "a", 'xyz="0 0 2"')]
    tree = load(robot(*parts, joint("j", "continuous", "a", "b")), base="floating")
    assert tree.joint_names == ("root_joint", "j") and tree.body_names == ("world", "b")
    assert (tree.nq, tree.nv, tree.mass) == (8, 7, 2.0)
    assert tree.bodies[0].inertia.com[2] == pytest.approx(2.0)
    assert not [note for note in tree.notes if note.severity == "warning"]


@pytest.mark.parametrize(
    ("kind", "nq", "nv"),
    [
        ("revolute", 1, 1), ("continuous", 1, 1), ("prismatic", 1, 1), ("fixed", 0, 0), ("floating", 7, 6),
        ("planar", 3, 3), ("spherical", 4, 3),
    ],
)  # fmt: skip
def test_every_type_of_joint(kind, nq, nv):
    limits = '<limit lower="-1" upper="1"/>' if kind in ("revolute", "prismatic") else ""
    tree = load(robot(link("a"), link("b"), joint("j", kind, "a", "b", more=limits + '<axis xyz="0 0 1"/>')))
    assert (tree.nq, tree.nv) == (nq, nv) and not tree.notes
    assert [body.joint.type for body in tree.bodies] == ([kind] if nv else [])


def test_an_axis_does_not_matter_where_there_is_none():
    for kind in ("fixed", "floating", "spherical"):
        assert not load(robot(link("a"), link("b"), joint("j", kind, "a", "b", more='<axis xyz="0 0 0"/>'))).notes


def test_limits_damping_and_friction_are_kept():
    more = '<limit lower="-1" upper="2" effort="3" velocity="4"/><dynamics damping="5e-1" friction="6" armature="7"/>'
    tree = load(robot(link("a"), link("b"), joint("j", "revolute", "a", "b", more=more)))
    names = ("lower", "upper", "effort_limit", "velocity_limit", "damping", "joint_friction", "armature")
    assert [float(getattr(tree, name)[0]) for name in names] == [-1, 2, 3, 4, 0.5, 6, 7]


@pytest.mark.parametrize(("kind", "nq", "nv"), [("continuous", 1, 1), ("spherical", 4, 3), ("planar", 3, 3)])
def test_position_limits_of_other_joints_are_ignored_with_notice_and_the_rest_holds_per_dof(kind, nq, nv):
    more = '<limit lower="-1" upper="2" effort="3" velocity="4"/><dynamics damping="5"/>'
    tree = load(robot(link("a"), link("b"), joint("j", kind, "a", "b", more=more)))
    assert [note.code for note in tree.notes] == ["U411"]
    assert tree.lower.tolist() == [-np.inf] * nq and tree.upper.tolist() == [np.inf] * nq
    assert (tree.effort_limit.tolist(), tree.damping.tolist()) == ([3.0] * nv, [5.0] * nv)


def test_equal_limits_are_no_error():
    tree = load(robot(link("a"), link("b"), joint("j", "prismatic", "a", "b", more='<limit lower="1" upper="1"/>')))
    assert tree.lower[0] == tree.upper[0] == 1


def test_a_long_chain_does_not_exhaust_the_stack():
    n = 1500
    parts = [link(f"l{k}") for k in range(n + 1)] + [
        joint(f"j{k}", "continuous", f"l{k}", f"l{k + 1}") for k in range(n)
    ]
    assert load(robot(*parts)).topology.depth == n


def test_a_single_link_is_a_robot():
    assert load(robot(link("a"))).n_bodies == 0
    assert load(robot(link("a")), base="floating").nv == 6


def test_massless_subtree_is_noted_at_its_joints():
    parts = [
        link("a"),
        '<link name="b"/>',
        '<link name="c"/>',
        joint("j", "continuous", "a", "b"),
        joint("k", "continuous", "b", "c"),
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tree = load(robot(*parts))
    assert len(caught) == 1
    assert [note.message.split()[1] for note in tree.notes if note.code == "U310"] == ["'k'", "'j'"]


def test_armature_keeps_a_massless_leaf_regular():
    more = '<dynamics armature="0.1"/>'
    tree = load(robot(link("a"), '<link name="b"/>', joint("j", "continuous", "a", "b", more=more)))
    assert "U310" not in {note.code for note in tree.notes}


def two_hinges(more="", origin="", axis="1 0 0"):
    """Two hinges with a link without inertia between them, a part a line."""
    second = joint("k", "continuous", "b", "c", origin, f'<axis xyz="{axis}"/>')
    first = joint("j", "continuous", "a", "b", more=more)
    return "\n".join(['<robot name="r">', link("a"), '<link name="b"/>', link("c"), first, second, "</robot>"])


def test_joints_that_move_no_inertia_together_are_noted_with_the_line(noted, refusal):
    tree, message = noted(two_hinges())
    assert [(note.code, note.line) for note in tree.notes if note.severity == "warning"] == [("U311", 5)]
    assert "line 5: U311: joint 'j' and joints further out" in message
    assert "U311" in {found.code for found in refusal(two_hinges(), strict=True).findings}
    assert "U310" not in message


@pytest.mark.parametrize(
    "felt", [{"axis": "0 1 0"}, {"origin": 'xyz="0 0.3 0"'}, {"more": '<dynamics armature="0.1"/>'}]
)
def test_joints_around_a_massless_link_that_are_felt_are_nothing_to_note(felt):
    tree = load(two_hinges(**felt))
    assert "U311" not in {note.code for note in tree.notes}
    assert np.linalg.cond(treesim.mass_matrix(tree, tree.random(0))) < 1e6


def test_limits_that_stand_for_none_hide_no_inertia():
    """A slide may be so far out that the hinge's own share of the inertia about it is lost in rounding."""
    far = '<axis xyz="0 1 0"/><limit lower="-1e16" upper="1e308"/>'
    parts = [link("a"), '<link name="b"/>', '<link name="c"/>', link("d"), joint("j", "continuous", "a", "b")]
    parts += [joint("k", "prismatic", "b", "c", more=far)]
    parts += [joint("n", "prismatic", "c", "d", more='<axis xyz="0 0 1"/><limit lower="-1" upper="1"/>')]
    assert {note.code for note in load(robot(*parts)).notes} == {"U309"}
