"""Mimic joints in a tree: coordinates, limits, what acts on their leaders, names, copies, and what is refused."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treesim
from tests import trees
from tests.coupled import coupled, state, with_mimics
from treesim import Body, Inertia, Joint, Mimic, ModelError, Tree, UnknownNameError, UnsupportedError
from treesim.model.joints import MOTION_LIMITS, displacement

HAND = Tree(
    "hand",
    [
        Body("thumb", 0, Joint("a", "revolute", lower=-1, upper=2, velocity_limit=3, effort_limit=5,
                               joint_friction=0.1, damping=0.2, armature=0.3), Inertia(1)),
        Body("b", 1, Joint("b", "prismatic", lower=-1.5, upper=3.5, velocity_limit=2, effort_limit=7,
                           joint_friction=0.4, damping=0.5, armature=0.6, mimic=Mimic("a", -2, 0.5)), Inertia(1)),
        Body("c", 2, Joint("c", "continuous", mimic=Mimic("b", 3, 1)), Inertia(1)),
        Body("d", 0, Joint("d", "spherical"), Inertia(1)),
    ],
)  # fmt: skip


def test_followers_have_no_coordinates():
    assert (HAND.nq, HAND.nv, HAND.mimic_joints, HAND.joint_names) == (5, 4, ("b", "c"), ("a", "b", "c", "d"))
    assert HAND.q_index["d"] == slice(1, 5) and HAND.dof_names == ("a", "d[0]", "d[1]", "d[2]")
    with pytest.raises(UnknownNameError, match="'c' mimics 'a' and has no independent coordinate"):
        HAND.q_index["c"]
    assert HAND.spanning.nv == 6 and HAND.spanning.spanning is HAND.spanning and not HAND.spanning.mimic_joints
    assert trees.tree("tree_1").spanning is trees.tree("tree_1")


def test_chains_lead_to_the_joint_that_follows_none():
    assert HAND.mimic_map.lines() == {"b": ("a", -2.0, 0.5), "c": ("a", -6.0, 2.5)}
    q = np.array([0.25, 0, 0, 0, 1])
    np.testing.assert_array_equal(HAND.expand(q), [0.25, 0.0, 1.0, 0, 0, 0, 1])
    np.testing.assert_array_equal(HAND.expand_velocity([1, 2, 3, 4]), [1, -2, -6, 2, 3, 4])
    assert HAND.expand(np.tile(q, (2, 3, 1))).shape == (2, 3, 7)


def test_what_acts_on_followers_acts_on_their_leader():
    place = HAND.v_index["a"]
    assert HAND.lower[0] == -1 and HAND.upper[0] == 1  # (3.5 - 0.5) / -2 < -1, (-1.5 - 0.5) / -2 = 1
    assert HAND.velocity_limit[place] == 1 and HAND.effort_limit[place] == np.inf
    np.testing.assert_allclose(HAND.joint_friction[place], 0.1 + 2 * 0.4, rtol=1e-15)
    np.testing.assert_allclose(HAND.damping[place], 0.2 + 4 * 0.5, rtol=1e-15)
    np.testing.assert_allclose(HAND.armature[place], 0.3 + 4 * 0.6, rtol=1e-15)


def test_limits_of_motion_are_the_least_of_the_mimicked_joint_and_its_mimic_joints():
    limits = {"a": (10, 3, np.inf), "b": (8, 8, 6), "c": (18, np.inf, 24), "d": ()}  # b moves -2 a, c moves -6 a
    bodies = [
        replace(body, joint=replace(body.joint, **dict(zip(MOTION_LIMITS, limits[body.joint.name], strict=False))))
        for body in HAND.bodies
    ]
    robot = Tree("hand", bodies)
    assert [getattr(robot, name)[0] for name in MOTION_LIMITS] == [3, 3, 3]
    assert robot.spanning.acceleration_limit[:3].tolist() == [10, 8, 18] and np.isinf(robot.jerk_limit[1:]).all()


def test_effort_limits_add_up():
    followed = with_mimics(HAND.spanning, {"b": Mimic("a", -2)})
    assert followed.effort_limit[0] == 5 + 2 * 7


@given(seed=st.integers(0, 20))
def test_random_configurations_are_within_the_followers_limits(seed):
    robot, rng = coupled(seed), np.random.default_rng(seed)
    whole = robot.spanning
    assert robot.nv == whole.nv - len(robot.mimic_joints)
    q = robot.expand(robot.random(rng))
    assert (q >= whole.lower - 1e-12).all() and (q <= whole.upper + 1e-12).all()
    v = rng.normal(size=robot.nv)
    np.testing.assert_allclose(robot.mimic_map.A @ robot.expand_velocity(v), 0, atol=1e-14)
    np.testing.assert_array_equal(robot.mimic_map.G @ v, robot.expand_velocity(v))


def test_limits_of_several_followers_meet():
    arm = [Joint("a", "revolute"), Joint("b", "revolute", lower=-1, upper=1), Joint("c", "revolute", lower=0, upper=3)]
    bodies = [Body(joint.name, 0, joint, Inertia(1)) for joint in arm]
    robot = with_mimics(Tree("three", bodies), {"b": Mimic("a", 0.5, 0.5), "c": Mimic("a", -1)})
    assert (robot.lower.tolist(), robot.upper.tolist()) == ([-3], [0])


def test_configurations_by_name_are_those_of_leaders():
    np.testing.assert_array_equal(HAND.configuration({"a": 0.5}), [0.5, 0, 0, 0, 1])
    with pytest.raises(UnknownNameError, match="'b' mimics 'a'"):
        HAND.configuration({"b": 0.5})


@given(seed=st.integers(0, 10))
def test_displacements_are_those_of_the_spanning_tree(seed):
    robot = coupled(seed)
    q, v, _, _ = state(robot, seed)
    there = robot.integrate(q, 0.1 * v)
    expected = robot.spanning.integrate(robot.expand(q), 0.1 * robot.expand_velocity(v))
    np.testing.assert_allclose(robot.expand(there), expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(robot.difference(q, there), 0.1 * v, rtol=0, atol=1e-13)


def test_rotors_are_shared_without_a_change_of_the_whole():
    robot = coupled(3)
    shared = robot.mimic_map.shared(robot.armature)
    G = robot.mimic_map.G
    np.testing.assert_allclose(G.T @ np.diag(shared) @ G, np.diag(robot.armature), rtol=1e-15, atol=1e-16)
    np.testing.assert_allclose(robot.with_shared_rotors().armature, shared, rtol=1e-15)


def test_the_mass_matrix_may_differ_from_zero_where_the_pattern_says():
    for seed in range(8):
        robot = coupled(seed)
        q = state(robot)[0]
        M = treesim.mass_matrix(robot, q)
        assert not M[~robot.sparsity()].any() and robot.nnz == np.tril(robot.sparsity()).sum()
        packed = treesim.mass_matrix(robot, q, packed=True)
        np.testing.assert_array_equal(treesim.unpack_mass_matrix(robot, packed), M)


def test_copies_and_pickles_follow():
    again = pickle.loads(pickle.dumps(HAND))
    assert copy.deepcopy(HAND) is HAND and again.mimic_joints == HAND.mimic_joints
    assert all(np.array_equal(x, y) for x, y in zip(again.spanning_tables(), HAND.spanning_tables(), strict=True))
    assert "follows b" in HAND._repr_html_() and "follows 'a'" in repr(HAND.joint("b"))


def test_tables_are_withheld_from_what_does_not_know_of_followers():
    for table in (HAND.ints, HAND.reals):
        for read in (lambda x: x[0], np.sum, list, lambda x: x + 1, lambda x: x.copy()):
            with pytest.raises(UnsupportedError, match=r"'b', 'c' of 'hand'.*mimic='free'"):
                read(table)


def test_the_reduced_matrix_has_a_tree_of_its_own():
    """Two fingers on a palm: the first one's tip follows the palm, so that all it couples with is the palm's."""
    assert HAND.dof_parent.tolist() == [0, 0, 2, 3] and HAND.parent.tolist() == [0, 1, 2, 0]
    parents = {"palm": 0, "first": 1, "first tip": 2, "second": 1, "second tip": 4}
    bodies = [Body(name, parent, Joint(name, "revolute"), Inertia(1)) for name, parent in parents.items()]
    assert Tree("hand", bodies).dof_parent.tolist() == [0, 1, 2, 1, 4]
    tied = with_mimics(Tree("hand", bodies), {"second": Mimic("first")})
    assert tied.dof_parent.tolist() == [0, 1, 2, 2]  # the tips meet in what was two fingers
    assert with_mimics(tied.spanning, {"first tip": Mimic("palm")}).dof_parent.tolist() == [0, 1, 1, 3]


WRONG = {
    "itself": ({"a": Mimic("a")}, "in a cycle: 'a' -> 'a'"),
    "each other": ({"a": Mimic("b"), "b": Mimic("a")}, "in a cycle"),
    "nobody": ({"a": Mimic("ghost")}, "'a' mimics 'ghost', which is not a joint"),
    "several degrees of freedom": ({"a": Mimic("d")}, "'d', a spherical joint of 3 degrees of freedom"),
    "no position": ({"a": Mimic("c"), "b": Mimic("c", 1, 9)}, "limits of joints that mimic it leave no position"),
}


@pytest.mark.parametrize("what", WRONG)
def test_followers_that_cannot_be(what):
    lines, message = WRONG[what]
    with pytest.raises(ModelError, match=message):
        with_mimics(HAND.spanning, lines)


def test_lines_that_cannot_be():
    with pytest.raises(ModelError, match="multiplier 0 locks it"):
        Mimic("a", 0)
    with pytest.raises(ModelError, match="offset inf"):
        Mimic("a", 1, np.inf)
    with pytest.raises(ModelError, match="'ball': a spherical joint cannot mimic"):
        Joint("ball", "spherical", mimic=Mimic("a"))


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_displacement_is_where_the_joint_puts_its_body(kind):
    joint = Joint("j", kind, axis=(1, -2, 0.5))
    robot = Tree("one", [Body("one", 0, joint, Inertia(1))])
    np.testing.assert_allclose(displacement(joint, 0.7).matrix(), treesim.frame_pose(robot, [0.7], "one"), atol=1e-15)
