"""The configuration manifold: neutral, random, integrate and difference, on trees with every joint type."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import trees
from treesim import Body, Inertia, Joint, Tree
from treesim.model import generators as make
from treesim.model.joints import JOINT_TYPES

pytestmark = pytest.mark.nojit
seeds = st.integers(0, 10_000)


def single(joint_type: str, **limits) -> Tree:
    return Tree(joint_type, [Body("b", 0, Joint("j", joint_type, **limits), Inertia(1.0, rotational=np.eye(3)))])


def quaternion_norms(robot, q):
    parts = [q[..., robot.q_index[b.joint.name]][..., -4:] for b in robot.bodies if b.joint.nq in (4, 7)]
    return np.array([np.linalg.norm(part, axis=-1) for part in parts])


@given(trees.random_trees(max_bodies=6), seeds)
def test_difference_undoes_integrate(robot, seed):
    rng = np.random.default_rng(seed)
    q, dv = robot.random(rng), rng.uniform(-1, 1, robot.nv)  # rotations of less than half a turn
    assert np.allclose(robot.difference(q, robot.integrate(q, dv)), dv, atol=1e-12)


@given(trees.random_trees(max_bodies=6), seeds)
def test_integrate_undoes_difference(robot, seed):
    rng = np.random.default_rng(seed)
    q0, q1 = robot.random(rng), robot.random(rng)
    reached = robot.integrate(q0, robot.difference(q0, q1))
    assert np.abs(robot.difference(q1, reached)).max() < 1e-12


@given(trees.random_trees(max_bodies=6), seeds)
def test_quaternions_stay_unit(robot, seed):
    rng = np.random.default_rng(seed)
    q = robot.integrate(robot.random(rng), 10 * rng.normal(size=robot.nv))
    assert np.abs(quaternion_norms(robot, q) - 1).max(initial=0) < 1e-15


@pytest.mark.paper("J91 section 2, quasi-coordinates")
@given(trees.random_trees(max_bodies=5), seeds)
def test_small_steps_add_up(robot, seed):
    """A step of v twice half as long is the step of v: the exponential of each joint's group."""
    rng = np.random.default_rng(seed)
    q, v = robot.random(rng), rng.uniform(-1, 1, robot.nv)
    halves = robot.integrate(robot.integrate(q, v / 2), v / 2)
    assert np.abs(robot.difference(robot.integrate(q, v), halves)).max() < 1e-12


@pytest.mark.parametrize("joint_type", JOINT_TYPES)
@pytest.mark.parametrize("size", [0.0, 1e-200, 1e-12, 1e-5, 1e-3])
def test_small_and_zero_steps_lose_no_digits(joint_type, size):
    robot = single(joint_type)
    dv = size * np.linspace(0.3, 1.0, robot.nv)
    assert np.allclose(robot.difference(robot.neutral(), robot.integrate(robot.neutral(), dv)), dv, rtol=1e-12, atol=0)


def test_neutral_is_zero_with_identity_rotations():
    assert make.chain(3, ("revolute", "spherical", "floating")).neutral().tolist() == [0, *[0, 0, 0, 1], *[0] * 6, 1]


@pytest.mark.paper("J91 section 2, quasi-coordinates")
def test_velocity_of_a_floating_body_is_in_its_own_axes():
    robot = single("floating")
    half = np.sqrt(0.5)
    q = np.array([1.0, 2.0, 3.0, 0, 0, half, half])  # a quarter turn about z: body x is world y
    assert np.allclose(robot.integrate(q, np.array([0.1, 0, 0, 0, 0, 0])), [1, 2.1, 3, 0, 0, half, half])


def test_velocity_of_a_planar_body_is_in_its_own_axes_and_follows_the_arc():
    robot = single("planar")
    assert np.allclose(robot.integrate(np.array([1.0, 2.0, np.pi / 2]), np.array([0.1, 0, 0])), [1, 2.1, np.pi / 2])
    arc = robot.integrate(np.zeros(3), np.array([np.pi / 2, 0, np.pi / 2]))  # a quarter of a circle of radius 1
    assert np.allclose(arc, [1, 1, np.pi / 2])


def test_random_stays_within_limits_and_repeats():
    robot = single("revolute", lower=0.1, upper=0.2)
    draws = [robot.random(np.random.default_rng(i))[0] for i in range(50)]
    assert 0.1 <= min(draws) < max(draws) <= 0.2
    assert robot.random(np.random.default_rng(3)) == draws[3]


@pytest.mark.parametrize("limit", [1e16, 1e308, np.finfo(float).max])
def test_random_takes_limits_that_stand_for_none(limit):
    """So far away, rounding hides how a joint moves: its energy would seem to change."""
    for joint_type, reach in (("prismatic", 1.0), ("revolute", np.pi)):
        robot = single(joint_type, lower=-limit, upper=limit)
        assert 0.01 * reach < max(abs(robot.random(seed)[0]) for seed in range(5)) <= reach


def test_random_rotations_reach_everywhere():
    robot, rng = single("spherical"), np.random.default_rng(0)
    draws = np.array([robot.random(rng) for _ in range(400)])
    assert np.abs(quaternion_norms(robot, draws) - 1).max() < 1e-14
    second_moment = draws.T @ draws / len(draws)  # uniform on the sphere: 1/4 on the diagonal
    assert np.abs(second_moment - np.eye(4) / 4).max() < 0.06


@given(trees.random_trees(max_bodies=4), seeds)
def test_integrate_and_difference_broadcast(robot, seed):
    rng = np.random.default_rng(seed)
    q = np.stack([robot.random(rng) for _ in range(3)])
    dv = rng.uniform(-1, 1, (2, 3, robot.nv))
    batch = robot.integrate(q, dv)
    assert batch.shape == (2, 3, robot.nq)
    for i in np.ndindex(2, 3):
        assert np.array_equal(batch[i], robot.integrate(q[i[1]], dv[i]))
    assert np.allclose(robot.difference(q, batch), dv, atol=1e-12)


@pytest.mark.parametrize("joint_type", ["spherical", "floating"])
@given(seeds)
def test_difference_takes_the_shorter_way_round(joint_type, seed):
    robot, rng = single(joint_type), np.random.default_rng(seed)
    q0, q1 = robot.random(rng), robot.random(rng)
    turn = robot.difference(q0, q1)[-3:]
    assert np.linalg.norm(turn) <= np.pi + 1e-12
    negated = q1.copy()
    negated[-4:] *= -1  # the same rotation
    assert np.allclose(robot.difference(q0, negated)[-3:], turn, atol=1e-12)


@pytest.mark.parametrize("axis", np.eye(3))
def test_difference_of_half_a_turn(axis):
    robot = single("spherical")
    turn = robot.difference(robot.neutral(), np.array([*axis, 0.0]))
    assert np.abs(turn) == pytest.approx(np.pi * axis, abs=1e-15)


@pytest.mark.parametrize(("lower", "upper"), [(5.0, np.inf), (-np.inf, -5.0), (-1.0, np.inf), (4.0, 4.5)])
def test_random_keeps_one_sided_limits(lower, upper):
    robot = single("prismatic", lower=lower, upper=upper)
    drawn = np.array([robot.random(seed)[0] for seed in range(50)])
    assert (drawn >= lower).all() and (drawn <= upper).all() and np.ptp(drawn) > 0.3
