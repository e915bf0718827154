"""M^-1 x without M."""

import numpy as np
import pytest

import treesim
from tests import sensitivity, trees
from tests.trees import CATALOGUE, random_state


@pytest.mark.parametrize("name", CATALOGUE)
def test_it_is_what_the_mass_matrix_says(name):
    robot = trees.tree(name)
    q, v, *_ = random_state(robot)
    M = treesim.mass_matrix(robot, q)
    expected = np.linalg.solve(M, v)
    bound = 2 * sensitivity.of_solution(M, np.abs(v), expected)  # both err
    assert sensitivity.farthest(treesim.solve_mass_matrix(robot, q, v), expected) < bound
    batch = treesim.solve_mass_matrix(robot, q, np.array([v, 2 * v]).tolist())
    assert sensitivity.farthest(batch[1], 2 * expected) < bound


def test_what_cannot_be_solved_is_named():
    bodies = [treesim.Body("ghost", 0, treesim.Joint("hinge", "revolute", axis=(0, 0, 1)))]
    with pytest.raises(treesim.SingularInertiaError, match="hinge"):
        treesim.solve_mass_matrix(treesim.Tree("haunted", bodies), np.zeros(1), np.ones(1))
    robot = trees.tree("tree_1")
    with pytest.raises(treesim.ArgumentError, match="x"):
        treesim.solve_mass_matrix(robot, robot.neutral(), np.zeros(robot.nv + 1))
    with pytest.raises(treesim.NonFiniteError, match="x"):
        treesim.solve_mass_matrix(robot, robot.neutral(), np.full(robot.nv, np.nan))
    rock = treesim.Tree("rock", [])
    assert treesim.solve_mass_matrix(rock, [], []).shape == (0,)


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_inverse_is_that_of_the_mass_matrix(name):
    robot = trees.tree(name)
    q, *_ = random_state(robot)
    M, inverse = treesim.mass_matrix(robot, q), treesim.inverse_mass_matrix(robot, q)
    assert np.array_equal(inverse, inverse.T)
    for column, unit in zip(inverse.T, np.eye(robot.nv), strict=True):
        expected = np.linalg.solve(M, unit)
        assert sensitivity.farthest(column, expected) < 2 * sensitivity.of_solution(M, unit, expected)
    out = np.empty((2, robot.nv, robot.nv))
    assert treesim.inverse_mass_matrix(robot, [q, q], out=out) is out and np.array_equal(out[1], out[0])


def test_a_mass_matrix_without_inverse_is_named():
    bodies = [treesim.Body("ghost", 0, treesim.Joint("hinge", "revolute", axis=(0, 0, 1)))]
    haunted = treesim.Tree("haunted", bodies)
    for inverse in (treesim.Dynamics(haunted).inverse_mass_matrix, lambda q: treesim.inverse_mass_matrix(haunted, q)):
        with pytest.raises(treesim.SingularInertiaError, match="hinge"):
            inverse(np.zeros(1))
