"""The triangular factor of articulated quantities is the L of LTDL, and the explicit inverse is its inverse."""

import numpy as np
import pytest

import treesim
from tests import trees
from treesim.engine.python import run
from treesim.kernels import innovations as kernel
from treesim.kernels.rjk import articulated_quantities
from treesim.kernels.tables import tree_tables


def factor(robot, q, passage):
    """The factor that `passage` makes, full, with ones on its diagonal, and D."""
    tree = tree_tables(robot.ints, robot.reals)
    B, nv = robot.n_bodies + 1, robot.nv
    X, P, U, D_inv, L = (np.zeros(shape) for shape in ((B, 12), (B, 21), (nv, 6), nv, tree.nnz))
    articulated_quantities(tree, q, X, P, U, D_inv)
    full = np.eye(nv)
    for i in range(1, B):
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            kernel.factor_row(tree, i, k, X, U, D_inv, L, passage)
            j = tree.dof_parent[k]
            while j >= 0:
                full[k, j] = L[tree.row_start[k] + tree.dof_depth[j]]
                j = tree.dof_parent[j]
    return full, 1 / D_inv


@pytest.mark.nojit
@pytest.mark.parametrize("name", trees.CATALOGUE)
def test_factor_is_that_of_ltdl_and_the_other_its_inverse(name):
    robot = trees.tree(name)
    q = trees.random_state(robot, 3).q
    L, D = factor(robot, q, kernel.pass_by)
    W, _ = factor(robot, q, kernel.pass_through)
    sparse = treesim.ltdl(robot.dof_parent, treesim.mass_matrix(robot, q))
    scale = np.abs(sparse.L).max()
    np.testing.assert_allclose(L, sparse.L, rtol=0, atol=1e-11 * scale)
    np.testing.assert_allclose(D, sparse.D, rtol=1e-10)
    np.testing.assert_allclose(W @ L, np.eye(robot.nv), rtol=0, atol=1e-11 * scale)


def test_sizes_that_do_not_fit_are_refused():
    robot = trees.tree("random_a")
    with pytest.raises(treesim.ArgumentError):
        run(
            kernel.forward_dynamics_innovations_states,
            (robot.ints, robot.reals),
            (np.zeros(robot.nq), np.zeros(robot.nv + 1), np.zeros(robot.nv), np.empty(0)),
            [(robot.nv,)],
            float,
        )
