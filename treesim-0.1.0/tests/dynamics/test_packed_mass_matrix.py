"""The packed mass matrix: the full one's numbers, each once, where the pattern says, and enough for all it is asked."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from hypothesis import given
from hypothesis import strategies as st

import treesim
from tests import sensitivity, trees
from tests.trees import CATALOGUE, random_state
from treesim.dynamics.mass_matrix import MASS_MATRIX
from treesim.engine.call.generic import runs_compiled
from treesim.errors import ArgumentError, NonFiniteError, UnknownNameError, UnsupportedError

every_tree = pytest.mark.parametrize("name", CATALOGUE)
seeds = st.integers(0, 1000)


def configurations(robot, count):
    """Random configurations (count, nq)."""
    return np.array([random_state(robot, seed).q for seed in range(count)])


def lower_triangle(robot, packed):
    """The packed numbers as scipy's compressed sparse rows."""
    return scipy.sparse.coo_array((packed, treesim.mass_matrix_pattern(robot)), (robot.nv, robot.nv)).tocsr()


@every_tree
def test_it_holds_the_numbers_of_the_full_matrix_to_the_last_bit(name):
    robot = trees.tree(name)
    q = random_state(robot).q
    M, packed = treesim.mass_matrix(robot, q), treesim.mass_matrix(robot, q, packed=True)
    assert packed.shape == (robot.nnz,)
    assert np.array_equal(packed, M[treesim.mass_matrix_pattern(robot)])
    assert np.array_equal(treesim.unpack_mass_matrix(robot, packed), M)


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
@pytest.mark.parametrize("number", [np.float64, np.float32])
@pytest.mark.parametrize("engine", ["specialized", "generic"])
def test_batches_of_both_precisions_on_both_engines(engine, number):
    robot = trees.tree("random_14")
    q = configurations(robot, 21).astype(number).reshape(3, 7, -1)
    M, packed = (treesim.mass_matrix(robot, q, engine=engine, packed=packed) for packed in (False, True))
    assert packed.shape == (3, 7, robot.nnz) and packed.dtype == number
    rows, columns = treesim.mass_matrix_pattern(robot)
    assert np.array_equal(packed, M[..., rows, columns])
    unpacked = treesim.unpack_mass_matrix(robot, packed)
    assert np.array_equal(unpacked, M) and unpacked.dtype == number


@pytest.mark.paper("F05 section 2, compact storage")
@pytest.mark.nojit
@given(trees.random_trees(8, joint_types=("revolute", "prismatic")), seeds)
def test_the_pattern_is_that_of_what_is_not_zero(robot, seed):
    M = treesim.mass_matrix(robot, random_state(robot, seed).q)
    rows, columns = treesim.mass_matrix_pattern(robot)
    assert np.array_equal(np.nonzero(np.tril(M)), (rows, columns))


@pytest.mark.nojit
@given(trees.random_trees(8, armature=0.5), seeds)
def test_kinetic_energy_is_half_the_quadratic_form(robot, seed):
    state = random_state(robot, seed)
    rows, columns = treesim.mass_matrix_pattern(robot)
    twice = np.where(rows == columns, 1.0, 2.0)
    packed = treesim.mass_matrix(robot, state.q, packed=True)
    kinetic, _ = treesim.energy(robot, state.q, state.v)
    assert (twice * packed * state.v[rows] * state.v[columns]).sum() / 2 == pytest.approx(kinetic, rel=1e-13)


@pytest.mark.nojit
@given(trees.random_trees(6), seeds)
def test_rotors_are_replaced(robot, seed):
    q = random_state(robot, seed).q
    rotors = np.random.default_rng(seed).uniform(0, 1, robot.nv)
    packed = treesim.mass_matrix(robot, q, armature=rotors, packed=True)
    assert np.array_equal(treesim.unpack_mass_matrix(robot, packed), treesim.mass_matrix(robot, q, armature=rotors))


@every_tree
def test_scipy_takes_it_as_compressed_sparse_rows(name):
    robot = trees.tree(name)
    state = random_state(robot)
    packed = treesim.mass_matrix(robot, state.q, packed=True)
    L = lower_triangle(robot, packed)
    assert L.has_canonical_format and np.array_equal(L.data, packed)
    M = L + scipy.sparse.tril(L, -1).T
    assert np.array_equal(M.toarray(), treesim.mass_matrix(robot, state.q))
    x = scipy.sparse.linalg.spsolve(M.tocsc(), state.tau)
    expected = treesim.solve_mass_matrix(robot, state.q, state.tau)
    bound = 2 * sensitivity.of_solution(M.toarray(), np.abs(state.tau), expected)
    assert sensitivity.farthest(np.atleast_1d(x), expected) < bound


def test_lists_are_taken_and_wrong_arguments_refused():
    robot = trees.tree("tree_1")
    q = random_state(robot).q
    packed = treesim.mass_matrix(robot, q.tolist(), packed=True)
    assert np.array_equal(treesim.unpack_mass_matrix(robot, packed.tolist()), treesim.mass_matrix(robot, q))
    with pytest.raises(ArgumentError, match=r"q has shape \(6,\)"):
        treesim.mass_matrix(robot, q[:-1], packed=True)
    with pytest.raises(NonFiniteError, match=r"q\[0\] is nan"):
        treesim.mass_matrix(robot, np.nan * q, packed=True)
    with pytest.raises(ArgumentError, match=r"shape \(17,\), got float64 and shape \(7, 7\)"):
        treesim.mass_matrix(robot, q, out=np.empty((7, 7)), packed=True)
    with pytest.raises(ArgumentError, match=r"packed has shape \(7, 7\), but \(17\) or \(\.\.\., 17\) is needed"):
        treesim.unpack_mass_matrix(robot, treesim.mass_matrix(robot, q))
    with pytest.raises(NonFiniteError, match=r"packed\[0\] is nan"):
        treesim.unpack_mass_matrix(robot, np.nan * packed)


@pytest.mark.parametrize("method", sorted(set(MASS_MATRIX) - {"crba"}))
def test_other_methods_write_full_matrices_only(method):
    robot = trees.tree("tree_1")
    with pytest.raises(UnsupportedError, match=rf"method '{method}' writes full .* needs method='crba'"):
        treesim.mass_matrix(robot, np.zeros(7), method=method, packed=True)


def test_an_unknown_method_is_told_the_known_ones():
    robot = trees.tree("tree_1")
    with pytest.raises(UnknownNameError, match="did you mean 'crba'"):
        treesim.mass_matrix(robot, np.zeros(7), method="crb", packed=True)


@pytest.mark.nojit
def test_a_robot_that_cannot_move():
    rock = treesim.Tree("rock", [])
    packed = treesim.mass_matrix(rock, np.zeros((3, 0)), packed=True)
    assert packed.shape == (3, 0) and rock.nnz == 0
    assert treesim.unpack_mass_matrix(rock, packed).shape == (3, 0, 0)
    assert [x.size for x in treesim.mass_matrix_pattern(rock)] == [0, 0]
