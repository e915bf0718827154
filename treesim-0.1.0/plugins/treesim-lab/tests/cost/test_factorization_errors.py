"""Errors of sparse and dense factors: correctly measured, within their bounds, and as the paper claims."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from treesim_lab.cost.factorization_errors import (
    NAMES,
    ROUNDING,
    ExactSolver,
    Factors,
    factorization_errors,
    factorizations,
    median_errors,
    residual,
)

import treesim
from tests import golden, trees
from treesim.model import generators as make


def test_solutions_are_exact():
    """With integers, x is exact, and one more unit in one element is an error of known size."""
    H, x = golden.load("integer_ltdl")["H"].astype(float), np.arange(1.0, 8.0)
    solver = ExactSolver(H)
    exact = solver.solve(H @ x)
    assert solver.error(x, exact) < 1e-30
    assert solver.error(x + np.eye(7)[2], exact) == pytest.approx(1 / np.linalg.norm(x), rel=1e-15)


def test_residuals_are_exact():
    """Half an ulp of one entry, which double precision cannot resolve."""
    third = np.array([[1.0, 0.0], [2.0**-27, 1.0]])  # its square is 1 + 2^-54, which rounds to 1
    H = np.array([[1.0, 2.0**-27], [2.0**-27, 1.0]])
    assert residual(Factors(third, np.ones(2), np.copy), H) == 2.0**-54 / np.linalg.norm(H)
    assert residual(Factors(np.eye(2), np.array([1.0, 2.0]), np.copy), np.diag([1.0, 2.0])) == 0


@given(trees.random_trees(), st.integers(0, 1000))
def test_every_factorization_is_one(robot, seed):
    H = treesim.mass_matrix(robot, robot.random(seed))
    x = np.random.default_rng(seed).normal(size=robot.nv)
    for L, D, solve in factorizations(robot.topology, H):
        assert np.linalg.norm(L.T @ np.diag(D) @ L - H) < 1e-13 * np.linalg.norm(H)
        assert np.allclose(H @ solve(x), x, rtol=0, atol=1e-12 * np.linalg.cond(H))


@given(trees.random_trees(), st.integers(0, 1000))
def test_errors_keep_their_bounds(robot, seed):
    """Sums of n terms are rounded n times: |L' D L - H| < γ(n) |L'| D |L|, which H's trace bounds."""
    H = treesim.mass_matrix(robot, robot.random(np.random.default_rng(seed)))
    n, trace = robot.nv, np.trace(H)
    solved = 2 * (3 * n + 1) * ROUNDING * trace * np.linalg.norm(np.linalg.inv(H), 2)
    for found in factorization_errors(robot, np.random.default_rng(seed)).values():
        assert found.factors < (n + 3) * ROUNDING * trace / np.linalg.norm(H)
        assert max(found.driven, found.prescribed) < solved


def ratios(errors, other):
    """Return the errors of solves by LTL and LTDL over those of another factorization."""
    return [
        getattr(errors[name], m) / getattr(errors[other], m) for name in NAMES[:2] for m in ("driven", "prescribed")
    ]


@pytest.mark.paper("F05 section 2, accuracy, dense")
def test_the_claim_on_dense_matrices():
    """F05 section 2: slightly less accurate with little or no sparsity; of the same order."""
    found = ratios(median_errors(make.chain(20), 12), "same loops")
    assert np.exp(np.mean(np.log(found))) > 1 and max(found) < 10


@pytest.mark.paper("F05 section 2, accuracy, sparse")
def test_the_claim_on_sparse_matrices():
    """F05 section 2: slightly more accurate with much sparsity; of the same order. Here 69 % are zeros."""
    errors = median_errors(make.square_grid(6), 12)
    for other in ("cholesky", "same loops"):
        found = ratios(errors, other)
        assert np.exp(np.mean(np.log(found))) < 1 and min(found) > 0.1
