"""The compressed tree of PV-OSIMr: which bodies are its nodes, and what that saves."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import trees
from treesim.engine.interpreter import Tally, run
from treesim.kernels.operational.pv_osim import inverse_inertia_pv_osim_states
from treesim.kernels.operational.pv_osim_r import inverse_inertia_pv_osim_r_states, number_nodes
from treesim.model import generators as make

pytestmark = pytest.mark.nojit


def nodes(parent, bodies):
    """The bodies of the compressed tree, base to tip."""
    node, where = np.empty(parent.size, np.int64), np.empty(parent.size, np.int64)
    count = number_nodes(parent, np.array(bodies), node, where)
    assert node[0] == 0 and (node[where[1 : count + 1]] == np.arange(1, count + 1)).all()
    assert np.count_nonzero(node) == count
    return where[1 : count + 1].tolist()


@pytest.mark.parametrize(
    "bodies, expected",
    [
        ([4, 7], [1, 4, 7]),
        ([4, 5], [2, 4, 5]),
        ([2, 4], [2, 4]),
        ([7, 7], [7]),
        ([0], []),
        ([4, 5, 6], [1, 2, 4, 5, 6]),
    ],
)
def test_nodes_are_where_forces_start_or_meet(bodies, expected):
    assert nodes(np.array([0, 0, 1, 1, 2, 2, 3, 3]), bodies) == expected


@given(trees.random_trees(12), st.data())
def test_there_are_fewer_than_two_nodes_a_task(robot, data):
    bodies = data.draw(st.lists(st.integers(0, robot.n_bodies), min_size=1, max_size=5))
    found = nodes(np.concatenate([[0], robot.parent]), bodies)
    assert set(bodies) - {0} <= set(found)
    assert len(found) <= max(0, 2 * len(set(bodies) - {0}) - 1)


def operations(entry, robot, number_of_tasks):
    """Multiplications for Λ^-1 of as many frames on the last body."""
    tally = Tally()
    codes = np.array([1] + [robot.n_bodies] * number_of_tasks)
    offsets = np.tile([*np.eye(3).ravel(), 0, 0, 0], number_of_tasks)
    constants = (robot.ints, robot.reals, codes, offsets)
    m = 6 * number_of_tasks
    run(entry, constants, (tally.variables(robot.neutral()),), [(m, m)], tally.number)
    return tally.operations["mul"]


def test_a_further_task_costs_the_same_however_long_the_path_is():
    """O(N + m^2), where PV-OSIM's O(N + m^2 d) grows with the path."""
    growth = {}
    for entry in (inverse_inertia_pv_osim_r_states, inverse_inertia_pv_osim_states):
        for n in (4, 8):
            robot = make.chain(n)
            growth[entry, n] = operations(entry, robot, 2) - operations(entry, robot, 1)
    assert growth[inverse_inertia_pv_osim_r_states, 8] == growth[inverse_inertia_pv_osim_r_states, 4]
    assert growth[inverse_inertia_pv_osim_states, 8] > 1.5 * growth[inverse_inertia_pv_osim_states, 4]


def test_pv_osim_r_is_pv_osim_to_forty_digits():
    robot = make.tree_1()
    q = trees.random_state(robot).q
    codes = np.array([1, 4, 7, 2])
    offsets = np.tile([*np.eye(3).ravel(), 0.1, 0.2, 0.3], 3)
    with mpmath.workdps(40):
        first, second = (
            run(entry, (robot.ints, robot.reals, codes, offsets), (q,), [(18, 18)], mpmath.mpf)[0]
            for entry in (inverse_inertia_pv_osim_states, inverse_inertia_pv_osim_r_states)
        )
        assert max(abs(x) for x in (first - second).ravel()) < 1e-35 * max(abs(x) for x in first.ravel())
