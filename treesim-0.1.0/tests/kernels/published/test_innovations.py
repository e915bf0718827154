"""The triangular factor of articulated quantities is the L of LTDL, and the explicit inverse is its inverse."""

import numpy as np
import pytest

import treesim
from tests import sensitivity, trees
from treesim.engine.interpreter import run
from treesim.kernels.algebra.tables import tree_tables
from treesim.kernels.dynamics.rjk import articulated_quantities
from treesim.kernels.published import innovations as kernel


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


@pytest.mark.paper("F10 eq. 25", "F10 section 7, LTDL", "F10 section 7, patterns", "J91 Lemma 6.2", "J91 Lemma 6.3")
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


@pytest.mark.paper("J91 Lemma 6.2")
@pytest.mark.parametrize("backend", ["innovations", "explicit_inverse"])
@pytest.mark.parametrize("name", ["random_a", "free_random"])
def test_either_factor_solves_with_the_mass_matrix(name, backend):
    """M = [1 + H phi K] D [1 + H phi K]' (J91 Lemma 6.2) and M^-1 (Lemma 6.4), at rest without gravity."""
    robot = trees.tree(name)
    state = trees.random_state(robot, 3)
    a = treesim.forward_dynamics(robot, state.q, 0 * state.v, state.tau, backend=backend, gravity=(0, 0, 0))
    M = treesim.mass_matrix(robot, state.q)
    expected = np.linalg.solve(M, state.tau)
    assert sensitivity.farthest(a, expected) < 10 * sensitivity.of_solution(M, np.abs(state.tau), expected)


def eliminated(M, x):
    """The equations M qdd = x made triangular by Gauss's elimination, from the last joint to the first."""
    M, x = M.copy(), x.copy()
    for k in range(len(x) - 1, 0, -1):
        share = M[:k, k] / M[k, k]
        M[:k] -= np.outer(share, M[k])
        x[:k] -= share * x[k]
    return M, x


@pytest.mark.paper("J91 section 4, reference 6")
@pytest.mark.nojit
@pytest.mark.parametrize("name", trees.CATALOGUE)
def test_elimination_from_the_equations_of_motion_finds_the_same_triangle(name):
    """J91, section 4, of its reference 6: m_kj / m_kk are the elements of 1 + H phi K, and m_kk those of D."""
    robot = trees.tree(name)
    q, v, _, tau, _ = trees.random_state(robot, 3)
    M, x = eliminated(treesim.mass_matrix(robot, q), tau - treesim.bias_forces(robot, q, v))
    L, D = factor(robot, q, kernel.pass_by)
    scale = np.abs(L).max()
    np.testing.assert_allclose(np.diag(M), D, rtol=1e-10)
    np.testing.assert_allclose(np.tril(M) / np.diag(M)[:, None], L, rtol=0, atol=1e-11 * scale)
    assert np.abs(np.triu(M, 1)).max(initial=0.0) < 1e-11 * np.abs(M).max()
    qdd = treesim.forward_dynamics(robot, q, v, tau, backend="innovations")
    bound = sensitivity.of_forward_dynamics(robot, q, v, tau, qdd, "innovations")
    assert sensitivity.farthest(np.linalg.solve(np.tril(M), x), qdd) < 2 * bound  # both err


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
