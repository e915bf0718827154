"""Inverse dynamics by composite bodies (Jain 1991, eq. 29) against recursive Newton-Euler."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treesim
from tests import sensitivity, trees
from tests.trees import CATALOGUE, random_state
from treesim.errors import NonFiniteError, UnknownNameError


def assert_one_force(robot, q, v, a, **settings):
    """Both methods give the same force, as far as rounding its terms lets them."""
    expected = treesim.inverse_dynamics(robot, q, v, a, **settings)
    found = treesim.inverse_dynamics(robot, q, v, a, **settings, method="composite")
    bound = 2 * sensitivity.of_inverse_dynamics(robot, q, v, a, expected, **settings)
    assert sensitivity.farthest(found, expected) < bound


@pytest.mark.paper("J91 eq. 29")
@pytest.mark.parametrize("name", CATALOGUE)
def test_both_methods_give_one_force(name):
    robot = trees.tree(name)
    for seed in range(5):
        q, v, a, _, f_ext = random_state(robot, seed)
        for forces in (None, f_ext):
            assert_one_force(robot, q, v, a, f_ext=forces)


@pytest.mark.paper("J91 eq. 29")
@pytest.mark.nojit
@given(trees.random_trees(6, armature=0.5), st.integers(0, 1000))
def test_both_methods_give_one_force_whatever_gravity_and_rotors(robot, seed):
    q, v, a, tau, f_ext = random_state(robot, seed)
    assert_one_force(robot, q, v, a, f_ext=f_ext, gravity=a[:3], armature=np.abs(tau))


def test_what_is_not_finite_is_refused():
    robot = trees.tree("tree_1")
    with pytest.raises(NonFiniteError, match="v"):
        treesim.inverse_dynamics(robot, np.zeros(7), np.full(7, np.inf), np.zeros(7), method="composite")


def test_an_unknown_method_is_told_the_known_ones():
    robot = trees.tree("tree_1")
    with pytest.raises(UnknownNameError, match=r"inverse dynamics 'crb'.*rnea, composite"):
        treesim.inverse_dynamics(robot, np.zeros(7), np.zeros(7), np.zeros(7), method="crb")
