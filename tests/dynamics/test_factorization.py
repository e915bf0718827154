"""Sparse factors of the mass matrix, H = Lᵀ D L and H = Lᵀ L: exact integers, dense linear algebra, and the pattern."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treesim
from tests import golden, trees
from treesim.errors import ArgumentError, NonFiniteError, SingularInertiaError

pytestmark = pytest.mark.nojit
both = pytest.mark.parametrize("factorize", [treesim.ltdl, treesim.ltl], ids=["ltdl", "ltl"])


def random_member(tree, seed):
    """A random symmetric positive definite matrix with the tree's pattern, as L' L of a random L of the tree."""
    rng, n = np.random.default_rng(seed), tree.nv
    L = np.where(np.tril(tree.topology.sparsity()), rng.uniform(-1, 1, (n, n)), 0.0) + 2 * np.eye(n)
    return L.T @ L


@pytest.mark.paper("F05 appendix, LTDL")
def test_integer_case_is_exact():
    case = golden.load("integer_ltdl")
    F = treesim.ltdl(golden.TREE_1, case["H"])
    x = np.arange(1.0, 8.0)
    assert (case["L"] == F.L).all() and (case["D"] == F.D).all()
    assert F.multiply(x).tolist() == case["Lx"].tolist()
    assert F.multiply_transposed(x).tolist() == case["LTx"].tolist()
    assert F.solve_lower(x).tolist() == case["Linvx"].tolist()
    assert F.solve_lower_transposed(x).tolist() == case["LinvTx"].tolist()
    assert np.allclose(F.solve(x), case["Hinvx"], rtol=1e-12)


@pytest.mark.paper("F05 section 2, optimal factors", "F05 section 2, LTL algorithm", "F05 section 2, proof")
@given(trees.random_trees(), st.integers(0, 1000))
def test_ltl_and_ltdl_rebuild_the_matrix_within_its_pattern(tree, seed):
    H = random_member(tree, seed)
    ltdl, ltl = treesim.ltdl(tree.dof_parent, H), treesim.ltl(tree.dof_parent, H)
    inside = np.tril(tree.topology.sparsity())
    assert np.allclose(ltdl.L.T @ np.diag(ltdl.D) @ ltdl.L, H, atol=1e-12)
    assert np.allclose(ltl.L.T @ ltl.L, H, atol=1e-12)
    assert (np.diag(ltdl.L) == 1).all() and (np.diag(ltl.L) > 0).all()
    assert not ltdl.L[~inside].any() and not ltl.L[~inside].any()


@both
def test_rows_of_a_line_that_go_together_give_what_they_give_one_by_one(factorize):
    """Two chains numbered one after the other are lines; numbered by turns, the same chains are none."""
    chain = np.arange(11)
    lines = np.concatenate([chain, np.where(chain > 0, chain + 11, 0)])
    turns = np.maximum(np.arange(22) - 1, 0)
    by_turns = np.stack([chain, chain + 11], axis=1).reshape(-1)  # which row of the lines is row k by turns
    rng, x = np.random.default_rng(0), np.arange(22.0)
    L = np.kron(np.eye(2), np.tril(rng.uniform(-1, 1, (11, 11)))) + 2 * np.eye(22)
    H = L.T @ L
    together, single = factorize(lines, H), factorize(turns, H[np.ix_(by_turns, by_turns)])
    assert np.allclose(together.L[np.ix_(by_turns, by_turns)], single.L, rtol=1e-13, atol=1e-15)
    assert np.allclose(together.solve(x)[by_turns], single.solve(x[by_turns]), rtol=1e-13)


@pytest.mark.paper("F05 appendix, y = L x", "F05 appendix, y = L'x", "F05 appendix, x = L⁻¹x", "F05 appendix, x = L⁻ᵀx")
@both
@given(trees.random_trees(), st.integers(0, 1000))
def test_products_and_solves_are_those_of_the_dense_factor(factorize, tree, seed):
    H = random_member(tree, seed)
    F, x = factorize(tree.dof_parent, H), np.random.default_rng(seed).normal(size=tree.nv)
    for value, expected in [
        (F.multiply(x), F.L @ x),
        (F.multiply_transposed(x), F.L.T @ x),
        (F.solve_lower(x), np.linalg.solve(F.L, x)),
        (F.solve_lower_transposed(x), np.linalg.solve(F.L.T, x)),
        (F.solve(x), np.linalg.solve(H, x)),
    ]:
        assert np.allclose(value, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.paper("F05 Figure 3", "F05 section 3, reordering")
def test_ltl_is_the_cholesky_factor_of_the_reversed_matrix():
    tree = trees.tree("humanoid_2005")
    H = random_member(tree, 3)
    G = np.linalg.cholesky(H[::-1, ::-1])
    assert np.allclose(treesim.ltl(tree.dof_parent, H).L, G[::-1, ::-1].T, atol=1e-12)


@pytest.mark.paper("F05 appendix, matrices")
@both
@pytest.mark.parametrize("count", [1, 3])
def test_columns_of_a_matrix_are_treated_one_by_one(factorize, count):
    """To the bit, also where SIMD lanes hold a column each, in groups that the columns fill or not."""
    tree, rng = trees.tree("random_a"), np.random.default_rng(3)
    factors = factorize(tree.dof_parent, np.array([random_member(tree, seed) for seed in range(count)]))
    for operation in ("multiply", "multiply_transposed", "solve_lower", "solve_lower_transposed", "solve"):
        apply = getattr(factors, operation)
        for columns in (1, 2, 3, 8, 9, 17):
            X = rng.normal(size=(count, tree.nv, columns))
            one_by_one = np.stack([apply(x) for x in np.moveaxis(X, -1, 0)], axis=-1)
            np.testing.assert_array_equal(apply(X), one_by_one)
            X[-1, -1, -1] = np.nan
            with pytest.raises(NonFiniteError, match="x"):
                apply(X)


@pytest.mark.paper("F05 section 2, condition on H")
@both
def test_matrices_of_another_tree_are_refused(factorize):
    with pytest.raises(ArgumentError, match=r"H\[2, 3\]"):
        factorize((0, 1, 1), np.array([[4.0, 1, 1], [1, 3, 1], [1, 1, 2]]))  # couples two branches


@both
def test_a_matrix_that_is_not_positive_definite_is_refused(factorize):
    with pytest.raises(SingularInertiaError, match="degree of freedom 2"):
        factorize((0, 1), np.array([[1.0, 0.0], [0.0, -1.0]]))
    with pytest.raises(SingularInertiaError, match="degree of freedom 1"):
        factorize((0, 1), np.array([[1.0, 2.0], [2.0, 4.0]]))


@both
def test_arguments_that_do_not_fit_are_refused(factorize):
    F = factorize((0, 1), np.eye(2))
    with pytest.raises(ArgumentError, match=r"x has shape \(3,\)"):
        F.multiply(np.zeros(3))
    with pytest.raises(ArgumentError, match=r"H has shape \(3, 3\)"):
        factorize((0, 1), np.eye(3))
    with pytest.raises(ArgumentError, match="NaN"):
        factorize((0, 1), np.diag([1.0, np.nan]))


@both
def test_batches_of_matrices_are_factored_one_by_one(factorize):
    tree, rng = trees.tree("random_a"), np.random.default_rng(1)
    H = np.stack([random_member(tree, seed) for seed in range(6)]).reshape(2, 3, tree.nv, tree.nv)
    F = factorize(tree.dof_parent, H)
    x, columns = rng.normal(size=(2, 3, tree.nv)), rng.normal(size=(2, 3, tree.nv, 4))
    J = rng.normal(size=(2, 3, 5, tree.nv))
    assert np.allclose(F.log_det, np.linalg.slogdet(H)[1], rtol=1e-12)
    assert np.allclose(F.inverse_inertia(J), J @ np.linalg.solve(H, np.swapaxes(J, -1, -2)), rtol=1e-9, atol=1e-9)
    assert np.allclose(np.swapaxes(F.L, -1, -2) * F.D[..., None, :] @ F.L, H, atol=1e-12)
    for i, j in np.ndindex(2, 3):
        one = factorize(tree.dof_parent, H[i, j])
        assert np.array_equal(F.L[i, j], one.L) and np.array_equal(F.D[i, j], one.D)
        assert np.array_equal(F.solve(x)[i, j], one.solve(x[i, j]))
        assert np.array_equal(F.solve_lower(columns)[i, j], one.solve_lower(columns[i, j]))
    assert F.sample(rng, (2,)).shape == (2, 2, 3, tree.nv)
    single = factorize(tree.dof_parent, H.astype(np.float32))
    assert single.solve(x).dtype == single.L.dtype == single.D.dtype == single.log_det.dtype == np.float32
    H[1, 2, 0, 0] = -1.0
    with pytest.raises(SingularInertiaError, match=r"H\[1, 2\] is not positive definite.* degree of freedom 1"):
        factorize(tree.dof_parent, H)
    with pytest.raises(ArgumentError, match=r"J has shape \(3, 2\), but \(2, 3, m, \d+\) is needed"):
        F.inverse_inertia(np.zeros((3, 2)))


def test_an_array_and_other_forms_of_a_matrix_have_the_same_factors():
    robot = trees.tree("tree_1")
    H = treesim.mass_matrix(robot, robot.neutral())
    for factor in (treesim.ltdl, treesim.ltl):
        made = factor(robot.dof_parent, H)
        for other in (H.tolist(), np.asfortranarray(H), H[None]):
            found = factor(robot.dof_parent.tolist(), other)
            np.testing.assert_array_equal(found.L.reshape(made.L.shape), made.L)
            np.testing.assert_array_equal(found.D.ravel(), made.D)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("factor", [treesim.ltdl, treesim.ltl])
def test_what_is_not_finite_is_found_wherever_it_stands(factor, wrong):
    """In both triangles, on paths and off them: the upper one is read for this alone."""
    parents, whole = np.array([0, 1, 1]), np.array([[4.0, 1, 1], [1, 2, 0], [1, 0, 2]])
    for place in np.ndindex(3, 3):
        H = whole.copy()
        H[place] = wrong
        with pytest.raises(ArgumentError, match="NaN or infinity"):
            factor(parents, H)
