"""Gaussian elimination of matrices that need not be symmetric."""

import numpy as np
import pytest

from treesim.kernels.algebra.elimination import solve_general

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize("n", [0, 1, 2, 7, 20])
def test_solutions_are_those_of_lapack(n):
    rng = np.random.default_rng(n)
    A, b = rng.normal(size=(n, n)), rng.normal(size=n)
    expected = np.linalg.solve(A, b)
    solve_general(A, b)
    np.testing.assert_allclose(b, expected, rtol=0, atol=1e-15 * n * 1e3 * (1 + np.abs(expected).max(initial=0)))


def test_a_matrix_that_cannot_be_solved_without_exchanges():
    A, b = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [4.0, 0.0, 0.0]]), np.array([1.0, 2.0, 3.0])
    solve_general(A, b)
    assert b.tolist() == [0.75, 1.0, 1.0]


def test_small_pivots_are_not_taken():
    """Without exchanges 1 / 1e-20 swallows the second equation, and x = 0."""
    A, b = np.array([[1e-20, 1.0], [1.0, 1.0]]), np.array([1.0, 2.0])
    solve_general(A, b)
    np.testing.assert_allclose(b, 1.0, rtol=1e-15)
