"""<mimic>: joints that follow others, those that it holds still, what is refused, and the way out and back."""

import numpy as np
import pytest

import treesim
from treesim import Mimic
from treesim.urdf import load, to_urdf

END = "</robot>"
MASSIVE = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def link(name):
    return f'<link name="{name}">{MASSIVE}</link>'


def joint(name, child, more, kind="continuous", parent="rod"):
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{more}</joint>'


@pytest.fixture
def with_followers(arm):
    """Return the arm's text with links that follow by <mimic>s, and what else they have: {name: (text, type)}."""

    def text(**lines):
        parts = [link(f"{name}_link") + joint(name, f"{name}_link", *line) for name, line in lines.items()]
        return arm(END, "".join(parts) + END)

    return text


def mimic(mimicked="hinge", **numbers):
    words = "".join(f' {label}="{value}"' for label, value in numbers.items())
    return f'<mimic joint="{mimicked}"{words}/>'


def test_followers_follow(with_followers, noted):
    text = with_followers(b=[mimic(multiplier=-2, offset=0.5)], c=[mimic("b")], d=[""])
    tree = load(text)
    assert (tree.mimic_joints, tree.dof_names) == (("b", "c"), ("hinge", "d"))
    assert tree.joint("b").mimic == Mimic("hinge", -2, 0.5) and tree.joint("c").mimic == Mimic("b", 1, 0)
    np.testing.assert_array_equal(tree.expand([0.25, 1]), [0.25, 0, 0, 1])
    free, message = noted(text, mimic="free")
    assert free.nv == 4 and not free.mimic_joints and "U409" in message and "'b' mimics 'hinge'" in message


def test_what_comes_out_comes_back(with_followers):
    limits = '<limit lower="-0.9" upper="3" effort="4" velocity="1"/>'
    tree = load(
        with_followers(b=[mimic(multiplier=-0.1, offset=0.1) + limits, "revolute"], c=[mimic("b", multiplier=3)])
    )
    again = load(to_urdf(tree))
    assert again.mimic_map.lines() == tree.mimic_map.lines()
    for x, y in zip(again.spanning_tables(), tree.spanning_tables(), strict=True):
        np.testing.assert_array_equal(x, y)
    for label in ("lower", "upper", "effort_limit", "velocity_limit"):
        np.testing.assert_array_equal(getattr(again, label), getattr(tree, label))


HELD = {
    "by a multiplier of zero": {"b": [mimic(multiplier=0, offset=0.6)]},
    "by a fixed joint": {"a": ["", "fixed"], "b": [mimic("a", multiplier=3, offset=0.6)]},
    "through another": {"a": [mimic(multiplier=0, offset=0.2)], "b": [mimic("a", multiplier=3)]},
}


@pytest.mark.parametrize("kind", ["continuous", "prismatic"])
@pytest.mark.parametrize("how", HELD)
def test_what_is_held_still_is_fixed_where_it_is(with_followers, how, kind):
    lines = dict(HELD[how])
    limits = '<limit lower="-1" upper="1"/>' if kind == "prismatic" else ""
    lines["b"] = [*lines["b"], kind] if not limits else [lines["b"][0] + limits, kind]
    tree = load(with_followers(**lines))
    assert not tree.mimic_joints and "b" not in tree.joint_names
    details = [note.message for note in tree.notes if note.code == "U413"]
    assert any("joint 'b' is held at 0.6" in message for message in details)
    free = load_quietly(with_followers(**lines))
    q = free.configuration({name: at for name, at in (("b", 0.6), ("a", 0.2)) if name in free.joint_names})
    np.testing.assert_allclose(
        treesim.frame_pose(tree, tree.neutral(), "b_link"), treesim.frame_pose(free, q, "b_link"), atol=1e-15
    )


def load_quietly(text):
    with pytest.warns(treesim.UrdfWarning):
        return load(text, mimic="free")


REFUSED = {
    "a joint of several degrees of freedom": (
        {"ball": ["", "spherical"], "b": [mimic("ball")]},
        "a spherical joint of 3 degrees of freedom",
    ),
    "limits that leave no position": (
        {"b": [mimic(offset=9) + '<limit lower="-1" upper="1"/>', "revolute"]},
        "'b': its limits leave no position to 'hinge', which it mimics",
    ),
    "limits that meet nowhere": (
        {
            "b": [mimic(offset=-1.5) + '<limit lower="0" upper="9"/>', "revolute"],
            "c": [mimic(multiplier=-1) + '<limit lower="0" upper="9"/>', "revolute"],
        },
        "'c': its limits leave no position to 'hinge'",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_followed_may_be_left_free(with_followers, refusal, what):
    lines, message = REFUSED[what]
    (finding,) = refusal(with_followers(**lines)).findings
    assert finding.code == "U408" and message in finding.message and 'mimic="free"' in finding.hint
    assert load_quietly(with_followers(**lines)).nv >= 2


def test_followers_without_inertia_are_noted_where_their_leader_has_none_either(arm, noted):
    line = '<link name="x"/>' + joint("b", "x", mimic(multiplier=2))
    text = arm(END, line + END)
    tree = load(text)  # the follower is on the rod, whose inertia its leader moves
    alone = load(arm())
    assert tree.mimic_joints == ("b",) and "U310" not in [note.code for note in tree.notes]
    found, expected = (treesim.forward_dynamics(one, [0.1], [0.2], [0.3]) for one in (tree, alone))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    weightless = text.replace('<mass value="2"/>', '<mass value="0"/>').replace('"0.2"', '"0"').replace('"0.01"', '"0"')
    tree, message = noted(weightless)
    assert "U310" in message and any("joint 'b' moves nothing that has inertia" in str(note) for note in tree.notes)
    tree = load(weightless.replace("</joint>", '<dynamics armature="0.1"/></joint>', 1))
    assert np.isfinite(treesim.forward_dynamics(tree, [0.1], [0.2], [0.3])).all()
