"""Sparse operations of Featherstone 2010 against dense ones."""

import numpy as np
import pytest

import treesim
from tests import sensitivity, trees
from tests.trees import random_state, relative_error

NAMES = ("tree_1", "chain_mixed", "random_b", "free_random", "asimo")
every_tree = pytest.mark.parametrize("name", NAMES)
FACTORS = {"ltdl": treesim.ltdl, "ltl": treesim.ltl}


def frames_of(robot):
    names = robot.body_names
    return [names[-1], names[0], names[len(names) // 2], names[-1]]


@pytest.mark.paper(
    "F10 eq. 12",
    "F10 eq. 17, 18, 19",
    "F10 section 6, pattern of Y",
    "F10 Figure 5",
    "F10 Figure 6",
    "F10 section 8, other uses",
    "F10 eq. 30",
    "F10 Figure 10",
    cases={"F10 eq. 20, 21": "ltl", "F10 eq. 22, 23": "ltdl", "F10 Figure 8": "ltl", "F10 Figure 9": "ltdl"},
)
@every_tree
@pytest.mark.parametrize("factors", FACTORS)
def test_products_and_quotients_are_the_dense_ones(name, factors):
    robot = trees.tree(name)
    q = random_state(robot, 1).q
    J = treesim.sparse_jacobian(robot, q, frames_of(robot))
    full = np.concatenate([treesim.frame_jacobian(robot, q, frame) for frame in frames_of(robot)])
    np.testing.assert_array_equal(J.dense(), full)
    rng = np.random.default_rng(0)
    for x in (rng.normal(size=robot.nv), rng.normal(size=(robot.nv, 3))):
        assert relative_error(J.multiply(x), full @ x) < 1e-14
    for x in (rng.normal(size=24), rng.normal(size=(24, 3))):
        assert relative_error(J.multiply_transposed(x), full.T @ x) < 1e-14
    F = FACTORS[factors](robot.dof_parent, treesim.mass_matrix(robot, q))
    Y_D, Y_d = J.divide(F)
    for found, row in zip(Y_d.dense(), full, strict=True):
        expected = np.linalg.solve(F.L.T, row)
        assert sensitivity.farthest(found, expected) <= 2 * sensitivity.of_solution(F.L.T, np.abs(row), expected)
    np.testing.assert_allclose(Y_D.dense(), Y_d.dense() / F.D, rtol=1e-15)
    inverse = treesim.inverse_operational_inertia(robot, q, frames_of(robot))
    bound = 2 * sensitivity.of_inverse_inertia(treesim.mass_matrix(robot, q), full)
    assert sensitivity.farthest(Y_D.multiply_rows(Y_d), inverse) < bound


@pytest.mark.paper("F10 section 8, other uses", "F10 eq. 32, 33", "F10 section 8, N")
@pytest.mark.parametrize("factors", FACTORS)
def test_the_papers_sequence_gives_what_operational_space_gives(factors):
    robot = trees.tree("asimo")
    state = random_state(robot, 2)
    frames = [robot.body_names[-1], robot.body_names[5]]
    J = treesim.sparse_jacobian(robot, state.q, frames)
    F = FACTORS[factors](robot.dof_parent, treesim.mass_matrix(robot, state.q))
    Y_D, Y_d = J.divide(F)
    inertia = np.linalg.inv(Y_D.multiply_rows(Y_d))
    jbar = F.solve_lower(Y_D.multiply_transposed(inertia))
    space = treesim.operational_space(robot, state.q, state.v, frames)
    assert relative_error(jbar, space.jbar) < 1e-10
    assert relative_error(J.null_space(jbar), space.nullspace) < 1e-10


def test_factors_of_a_batch_are_refused():
    robot = trees.tree("random_b")
    q = trees.random_state(robot).q
    J = treesim.sparse_jacobian(robot, q, robot.body_names[-1:])
    with pytest.raises(treesim.ArgumentError, match=r"one matrix, got a batch \(2,\)"):
        J.divide(treesim.ltdl(robot.dof_parent, np.stack([treesim.mass_matrix(robot, q)] * 2)))


def test_what_does_not_fit_is_refused():
    robot = trees.tree("tree_1")
    J = treesim.sparse_jacobian(robot, robot.neutral(), "body_7")
    with pytest.raises(treesim.ArgumentError, match="does not move"):
        treesim.SparseJacobian(robot.topology, [1], np.ones((1, robot.nv)))
    with pytest.raises(treesim.ArgumentError, match="last"):
        treesim.SparseJacobian(robot.topology, [robot.nv + 1], np.ones((1, robot.nv)))
    with pytest.raises(treesim.ArgumentError, match="shape"):
        J.multiply(np.ones(robot.nv + 1))
    other = treesim.ltdl([0, 1], np.eye(2))
    with pytest.raises(treesim.ArgumentError, match="another tree"):
        J.divide(other)
    with pytest.raises(treesim.ArgumentError, match="same paths"):
        J.multiply_rows(treesim.sparse_jacobian(robot, robot.neutral(), "body_1"))


def test_rows_that_nothing_moves():
    robot = treesim.Tree("with_bench", trees.tree("tree_1").bodies, frames=[treesim.Frame("bench", 0)])
    J = treesim.sparse_jacobian(robot, robot.neutral(), ["bench", "body_4"])
    assert not J.dense()[:6].any() and not J.multiply(np.ones(robot.nv))[:6].any()
    F = treesim.ltdl(robot.dof_parent, treesim.mass_matrix(robot, robot.neutral()))
    inverse = treesim.inverse_operational_inertia(robot, robot.neutral(), ["bench", "body_4"])
    assert relative_error(np.matmul(J.divide(F)[0].dense(), J.divide(F)[1].dense().T), inverse) < 1e-12
