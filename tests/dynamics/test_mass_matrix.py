"""The mass matrix by the three methods of Jain 1991, section 3: one matrix, at three prices."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treesim
from tests import trees
from tests.sensitivity import OF_A_SWEEP, ROUNDING
from tests.trees import CATALOGUE, random_state, relative_error
from treesim import Body, Tree
from treesim.dynamics.mass_matrix import MASS_MATRIX
from treesim.engine.interpreter import Tally, run
from treesim.errors import NonFiniteError, UnknownNameError
from treesim.kernels.dynamics import crba
from treesim.kernels.published.mass_matrix_direct import mass_matrix_direct_states
from treesim.kernels.published.mass_matrix_symmetric import mass_matrix_symmetric_states
from treesim.model import generators as make

EXACT = 2 * OF_A_SWEEP  # both err
ENTRIES = {
    "crba": crba.mass_matrix_full_states,
    "direct": mass_matrix_direct_states,
    "symmetry": mass_matrix_symmetric_states,
}
every_method = pytest.mark.parametrize("method", MASS_MATRIX)


@pytest.mark.paper("F05 section 5, CRBA", "J91 section 3, symmetry", "J91 eq. 28")
@every_method
@pytest.mark.parametrize("name", CATALOGUE)
def test_every_method_gives_one_matrix_symmetric_with_the_trees_pattern(name, method):
    robot = trees.tree(name)
    q = random_state(robot).q
    M = treesim.mass_matrix(robot, q, method=method)
    assert relative_error(M, treesim.mass_matrix(robot, q)) < EXACT
    assert (M == M.T).all()
    assert not M[~robot.topology.sparsity()].any()


def forked_line(first: int, fork: int, second: int) -> Tree:
    """A chain of `first` bodies with another of `second` on its body `fork`: two long lines, joints of every type."""
    bodies = make.chain(first + second, trees.MIXED).bodies
    moved = [Body(b.name, fork if i == first else b.parent, b.joint, b.inertia) for i, b in enumerate(bodies)]
    return Tree("forked_line", moved)


@pytest.mark.parametrize("robot", [make.chain(150), forked_line(30, 4, 16)], ids=["chain_150", "forked_line"])
def test_rows_of_long_lines_are_those_of_another_method(robot):
    q = random_state(robot).q
    direct = treesim.mass_matrix(robot, q, method="direct")
    sums = robot.n_bodies * ROUNDING  # an addition for every body beyond
    assert relative_error(treesim.mass_matrix(robot, q), direct) < EXACT + 2 * sums


@pytest.mark.nojit
def test_rows_that_go_together_are_rows_one_by_one(monkeypatch):
    """In the interpreter, where nothing makes vectors: the same sums in the same order, so the same digits."""
    robot = forked_line(20, 4, 17)
    q = random_state(robot, 3).q
    results = []
    for together in (False, True):
        monkeypatch.setattr(crba, "in_vectors", lambda together=together: together)
        shape = [(robot.nv, robot.nv)]
        results += run(crba.mass_matrix_full_states, (robot.ints, robot.reals), (q,), shape, float)
    assert np.array_equal(*results)


@pytest.mark.paper("F05 eq. 5", "F05 section 5, CRBA", "F10 eq. 2", "J91 eq. 23", "J91 eq. 24, 25")
@pytest.mark.nojit
@given(trees.random_trees(6, armature=0.5), st.integers(0, 1000), st.sampled_from(sorted(MASS_MATRIX)))
def test_a_column_is_the_force_of_a_unit_acceleration_rotors_included(robot, seed, method):
    q = random_state(robot, seed).q
    rotors = np.random.default_rng(seed).uniform(0, 1, robot.nv)
    at_rest = np.zeros(robot.nv)
    columns = treesim.inverse_dynamics(robot, q, at_rest, np.eye(robot.nv), gravity=(0, 0, 0), armature=rotors)
    assert relative_error(treesim.mass_matrix(robot, q, armature=rotors, method=method), columns) < EXACT


def operations(method, robot, q):
    """Operations of all kinds that one mass matrix takes."""
    tally = Tally()
    variables = tally.variables(q)
    run(ENTRIES[method], (robot.ints, robot.reals), (variables,), [(robot.nv, robot.nv)], tally.number)
    return tally.operations.total()


@pytest.mark.paper("J91 section 3, symmetry", "J91 eq. 28")
@pytest.mark.parametrize("robot", [trees.random_tree(4, 14), trees.tree("asimo")], ids=["random", "asimo"])
def test_composite_bodies_take_less_arithmetic_than_subtrees_and_these_less_than_the_whole_tree(robot):
    q = random_state(robot).q
    crba, symmetry, direct = (operations(method, robot, q) for method in ("crba", "symmetry", "direct"))
    assert 2.5 * crba < symmetry and 1.1 * symmetry < direct  # products with a unit acceleration's zeros are free


@pytest.mark.paper("F05 eq. 14")
@pytest.mark.nojit
@pytest.mark.parametrize("name", ["tree_1", "binary_4"])
def test_composite_bodies_transform_as_often_as_is_printed(name, monkeypatch):
    """F05 eq. 14: D0 inertias are transformed and added, D1 vectors transformed, of joints of one degree of freedom."""
    robot = trees.tree(name)
    calls = Counter()

    def counted(function):
        def counting(*arguments):
            calls[function.__name__] += 1
            return function(*arguments)

        return counting

    for function in (crba.rigid_add, crba.rigid_to_parent, crba.force_to_parent):
        monkeypatch.setattr(crba, function.__name__, counted(function))
    n = robot.nv
    run(crba.mass_matrix_full_states, (robot.ints, robot.reals), (random_state(robot).q,), [(n, n)], float)
    D0 = np.count_nonzero(robot.parent)
    assert calls == {"rigid_add": D0, "rigid_to_parent": D0, "force_to_parent": robot.topology.D1}


@every_method
def test_what_is_not_finite_is_refused(method):
    robot = trees.tree("tree_1")
    with pytest.raises(NonFiniteError, match="q"):
        treesim.mass_matrix(robot, np.full(7, np.nan), method=method)


def test_an_unknown_method_is_told_the_known_ones():
    robot = trees.tree("tree_1")
    with pytest.raises(UnknownNameError, match=r"mass matrix 'directt': did you mean 'direct'.*crba, direct, symmetry"):
        treesim.mass_matrix(robot, np.zeros(7), method="directt")
