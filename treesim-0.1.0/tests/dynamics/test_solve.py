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
