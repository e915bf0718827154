"""The advice, and the backend that follows it."""

import gc
import weakref

import numpy as np
import pytest

import treesim
from tests import trees
from treesim import plugins
from treesim.dynamics.advice import LONGEST_FACTORED, advise
from treesim.model import generators as make

LONG, SHORT = make.chain(LONGEST_FACTORED + 1), make.chain(LONGEST_FACTORED)


@pytest.mark.parametrize("name", trees.CATALOGUE)
def test_the_advised_backend_exists_and_says_why(name):
    robot = trees.tree(name)
    for purpose in ("speed", "mass_matrix"):
        advice = advise(robot, purpose)
        assert advice.name in treesim.available("dynamics")
        assert str(int(robot.topology.dof_depth.max())) in advice.reason


def test_factors_are_not_advised_where_they_lose_digits():
    assert advise(SHORT, "mass_matrix").name == "crba_ltdl"
    assert advise(LONG, "mass_matrix").name == advise(LONG).name == "aba"
    assert "ill-conditioned" in advise(LONG).reason


def test_an_unknown_purpose_is_named():
    with pytest.raises(treesim.UnknownNameError, match="did you mean 'speed'"):
        advise(SHORT, "sped")


def test_auto_gives_what_the_advised_backend_gives():
    robot = trees.tree("random_a")
    state = trees.random_state(robot)
    given = treesim.forward_dynamics(robot, state.q, state.v, state.tau, backend="auto")
    advised = treesim.forward_dynamics(robot, state.q, state.v, state.tau, backend=advise(robot).name)
    np.testing.assert_array_equal(given, advised)
    simulation = treesim.Simulation(robot, backend="auto")
    assert simulation.run(0.002).q.shape == (3, robot.nq)


def test_auto_chooses_once_and_keeps_no_tree_alive():
    backend = plugins.get("dynamics", "auto")
    robot = trees.random_tree(11, 4)
    assert backend.taken(robot) is backend.taken(robot) is plugins.get("dynamics", advise(robot).name)
    gone = weakref.ref(robot)
    del robot
    gc.collect()
    assert gone() is None
