"""The worked cases on Tree 1: an exact integer factorization, and dynamics with a revolute and a floating root."""

import numpy as np
import pytest

import treesim
from tests import golden

pytestmark = pytest.mark.nojit
PRINTED = 6e-10  # half a unit of the last printed digit, and a little

CASES = [("revolute", "tree_1_revolute"), ("floating", "tree_1_free")]


def worked_state(first_joint):
    """The tree, the case's values with linear part first, and q, v, tau."""
    robot = golden.worked_tree_1(first_joint)
    expected = golden.load("tree_1_revolute" if first_joint == "revolute" else "tree_1_free")
    swap = golden.swap_halves if first_joint == "floating" else np.asarray
    q = robot.neutral()
    q[-6:] = 0.1 * np.arange(2, 8)
    if first_joint == "revolute":
        q[0] = 0.1
    return robot, {key: swap(expected[key]) for key in ("H", "C", "qdd")}, q, swap(expected["qd"]), expected["tau"]


@pytest.mark.parametrize("first_joint, case", CASES)
def test_connectivity(first_joint, case):
    expected, robot = golden.load(case), golden.worked_tree_1(first_joint)
    assert robot.parent.tolist() == expected["lam"]
    assert robot.dof_parent.tolist() == expected["lam_e"]


@pytest.mark.parametrize("first_joint, case", CASES)
def test_mass_matrix_and_bias(first_joint, case):
    robot, expected, q, v, _ = worked_state(first_joint)
    assert np.abs(treesim.mass_matrix(robot, q) - expected["H"]).max() < PRINTED
    assert np.abs(treesim.bias_forces(robot, q, v) - expected["C"]).max() < 10 * PRINTED


@pytest.mark.parametrize("backend", treesim.available("dynamics"))
@pytest.mark.parametrize("first_joint, case", CASES)
def test_forward_dynamics(first_joint, case, backend):
    robot, expected, q, v, tau = worked_state(first_joint)
    assert np.abs(treesim.forward_dynamics(robot, q, v, tau, backend=backend) - expected["qdd"]).max() < PRINTED


@pytest.mark.parametrize("first_joint, case", CASES)
def test_pivots_of_the_factorization(first_joint, case):
    expected, robot = golden.load(case), golden.worked_tree_1(first_joint)
    D = treesim.ltdl(robot.dof_parent, expected["H"]).D  # the case's own order of coordinates
    assert np.abs(D - expected["D"]).max() < 1e-8
