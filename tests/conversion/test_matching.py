"""States of edited robots: links keep their poses and velocities, or are named."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treesim
from tests.model.test_editing import tree_of
from treesim import Joint, Placement, match_state
from treesim.errors import ArgumentError, ModelError

pytestmark = pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")
ARM = treesim.load("ur5")


def check_links(old, q, v, new, q_new, v_new):
    for name in {*old.frames} & {*new.frames}:
        a, b = treesim.frame_pose(old, q, name), treesim.frame_pose(new, q_new, name)
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-12)
        a, b = treesim.frame_velocity(old, q, v, name), treesim.frame_velocity(new, q_new, v_new, name)
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-11)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_states_of_reduced_trees_are_found_and_come_back(seed, floating):
    old = tree_of(seed, floating=floating)
    rng = np.random.default_rng(seed)
    q, v = np.stack([old.random(rng) for _ in range(3)]), rng.normal(size=(3, old.nv))
    locked = [*old.q_index][-2:]
    for name in locked:
        q[:, old.q_index[name]], v[:, old.v_index[name]] = q[0, old.q_index[name]], 0.0
    new = old.reduced({name: q[0, old.q_index[name]] for name in locked})
    found = match_state(old, q, v, new)
    assert found[0].shape == (3, new.nq)
    check_links(old, q, v, new, *found)
    back = match_state(new, *found, old)
    check_links(new, *found, old, *back)


def test_attached_parts_rest_at_their_neutral_positions():
    robot = ARM.attach(treesim.load("panda").subtree("panda_hand"), at="tool0", prefix="hand_")
    q, v = np.full(6, 8.0), np.ones(6)
    found_q, found_v = match_state(ARM, q, v, robot)
    np.testing.assert_allclose(found_q[:6], q, atol=1e-12)  # with their whole turns
    np.testing.assert_allclose(found_v[:6], v, atol=1e-12)
    assert found_q[6:].tolist() == [0.0] and found_v[6:].tolist() == [0.0]
    np.testing.assert_allclose(match_state(robot, found_q, found_v, ARM)[0], q, atol=1e-12)


def test_links_that_cannot_move_alike_are_named():
    rigid = ARM.reduced({"elbow_joint": 0.5})
    q = np.full(6, 0.5)
    with pytest.raises(ModelError, match=r"no state of 'ur5' moves 'wrist_1_link' as .* velocity by 0.29"):
        match_state(ARM, q, np.ones(6), rigid)
    with pytest.raises(ModelError, match="no state of 'ur5' moves 'wrist_1_link'"):
        match_state(ARM, q + 0.1, np.zeros(6), rigid)
    with pytest.raises(ModelError, match="have no link or frame of the same name"):
        match_state(ARM, q, q, treesim.Tree("ball", [treesim.Body("ball", 0, Joint("free", "floating"))]))
    with pytest.raises(ArgumentError, match="q"):
        match_state(ARM, q[1:], q, rigid)
    moved = ARM.with_base_pose(Placement(translation=(0, 0, 1)))
    with pytest.raises(ModelError, match="its pose would be off by 1,"):
        match_state(ARM, q, q, moved)
