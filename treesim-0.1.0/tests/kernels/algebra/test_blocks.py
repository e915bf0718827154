"""Dense blocks against numpy."""

import numpy as np
import pytest

from treesim.engine.interpreter import Tally
from treesim.kernels.algebra import blocks
from treesim.kernels.algebra.linear import Matrix, Vector
from treesim.kernels.algebra.rotations import GENERAL, Transform

pytestmark = pytest.mark.nojit


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def positive_definite(rng, n):
    B = rng.normal(size=(n, n))
    return B @ B.T + n * np.eye(n)


@pytest.mark.parametrize("n", [1, 3, 6, 15])
def test_solves_and_inverse_from_the_factor(n, rng):
    A, B = positive_definite(rng, n), rng.normal(size=(n, 4))
    L, x, X, inverse = A.copy(), B[:, 0].copy(), B.copy(), np.empty((n, n))
    blocks.factorize(L, n)
    assert blocks.is_definite(A, L, n, 1e-6)
    lower = np.tril(L, -1) + np.eye(n)
    np.testing.assert_allclose(lower @ np.diag(1 / np.diag(L)) @ lower.T, A, rtol=1e-13)
    blocks.solve(L, n, x)
    blocks.solve_columns(L, n, X, 4)
    blocks.invert(L, n, inverse)
    np.testing.assert_allclose(A @ x, B[:, 0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(A @ X, B, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(A @ inverse, np.eye(n), atol=1e-13)
    assert (inverse == inverse.T).all()


def is_definite(A):
    L = A.copy()
    with np.errstate(all="ignore"):
        blocks.factorize(L, len(A))
    return blocks.is_definite(A, L, len(A), 1e-12)


def test_a_matrix_that_is_not_positive_definite_is_told(rng):
    A = positive_definite(rng, 6)
    A[:, 4] = A[4, :] = A[2, :] + A[3, :]  # a combination of two others
    A[4, 4] = A[2, 4] + A[3, 4] + 1e-3
    assert is_definite(A)
    A[4, 4] -= 1e-3
    assert not is_definite(A)
    A[4, 4] -= 1
    assert not is_definite(A)
    assert not is_definite(np.zeros((3, 3)))


def test_products(rng):
    A, B, C, x, y = (rng.normal(size=shape) for shape in ((4, 6), (6, 3), (4, 3), 6, 4))
    product, vector = C.copy(), y.copy()
    blocks.subtract_product(A, B, 4, 6, 3, product)
    blocks.subtract_apply(A, 4, 6, x, vector)
    np.testing.assert_allclose(product, C - A @ B, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(vector, y - A @ x, rtol=1e-13, atol=1e-14)
    product, vector = B.copy(), x.copy()
    blocks.subtract_transposed_product(A, C, 6, 4, 3, product)
    blocks.subtract_transposed_apply(A, 4, 6, y, vector)
    np.testing.assert_allclose(product, B - A.T @ C, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(vector, x - A.T @ y, rtol=1e-13, atol=1e-14)
    blocks.apply(A, 4, 6, x, vector[:4])
    np.testing.assert_allclose(vector[:4], A @ x, rtol=1e-13, atol=1e-14)


def test_transform_is_the_congruence_with_the_motion_transform(rng):
    E, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    R, p = E.T, rng.normal(size=3)
    px = np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])
    motion = np.block([[E, np.zeros((3, 3))], [-E @ px, E]])
    B = rng.normal(size=(6, 6))
    moved = B.copy()
    blocks.transform(Transform(GENERAL, Matrix(*R.ravel()), Vector(*p)), moved)
    np.testing.assert_allclose(moved, motion @ B @ motion.T, rtol=1e-12, atol=1e-13)


def test_padding_costs_nothing():
    tally = Tally()
    A = np.empty((6, 6), dtype=object)
    blocks.put_identity(A, 6)
    A[:] = [[tally.number(x) for x in row] for row in A]
    for r, c, value in ((1, 1, 4.0), (4, 4, 5.0), (1, 4, 1.0), (4, 1, 1.0)):
        A[r, c] = tally.variable(value)
    blocks.factorize(A, 6)
    assert tally.operations["mul"] == 2 and tally.operations["add"] == 1
