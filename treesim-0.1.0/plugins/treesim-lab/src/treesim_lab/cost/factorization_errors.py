"""Errors of sparse and dense factors of a mass matrix, against 40 digits: a claim of Featherstone 2005.

Section 2 claims that LTL and LTDL tend to be slightly more accurate than a library's Cholesky factorization
on matrices with much sparsity, and slightly less on those with little. Two things differ from that
library's: zeros are left out, and elimination goes from the tips to the base. "Same loops" is Cholesky from
the base by the loops of LTL.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from treesim.dynamics.factorization import ltdl, ltl
from treesim.dynamics.mass_matrix import mass_matrix
from treesim.model.topology import Topology
from treesim.model.tree import Tree

from .error_growth import DIGITS, require_mpmath

ROUNDING = 2.0**-53
FRACTION_BITS = 200  # of fixed-point numbers: far below the last digit of any entry of a mass matrix


class Factors(NamedTuple):
    """Factors of one matrix, H = L' D L.

    L (n, n); D (n,), ones except for LTDL; solve: b to x = H⁻¹ b (n,).
    """

    L: np.ndarray
    D: np.ndarray
    solve: Callable[[np.ndarray], np.ndarray]


NAMES = ("ltl", "ltdl", "cholesky", "same loops")


def factorizations(tree: Topology, H: np.ndarray) -> list[Factors]:
    """Return the factors of H (n, n) by LTL, LTDL, LAPACK's Cholesky, and Cholesky in LTL's loops, as in `NAMES`.

    Cholesky's are upper triangular. Raises SingularInertiaError with the degree of freedom.
    """
    from scipy.linalg.lapack import dpotrf, dpotrs

    one, sparse, unit = np.ones(len(H)), ltl(tree.dof_parent, H), ltdl(tree.dof_parent, H)
    cholesky = dpotrf(np.asfortranarray(H), lower=1, clean=1)[0]
    loops = ltl(range(len(H)), H[::-1, ::-1])  # the reversed matrix, dense: from the base to the tips
    return [
        Factors(sparse.L, one, sparse.solve),
        Factors(unit.L, unit.D, unit.solve),
        Factors(cholesky.T, one, lambda b: dpotrs(cholesky, b, lower=1)[0]),
        Factors(loops.L[::-1, ::-1], one, lambda b: loops.solve(b[::-1])[::-1]),
    ]


def residual(factors: Factors, H: np.ndarray) -> float:
    """Return |L' D L - H| / |H| in the Frobenius norm, the products computed exactly."""
    L, D = _fixed_point(factors.L), _fixed_point(factors.D)
    difference = L.T @ (D[:, None] * L) - (_fixed_point(H) << 2 * FRACTION_BITS)  # three factors: 3 times the bits
    entries = [math.ldexp(x >> 2 * FRACTION_BITS, -FRACTION_BITS) for x in difference.flat]
    return math.hypot(*entries) / float(np.linalg.norm(H))


def _fixed_point(x: np.ndarray) -> np.ndarray:
    """Return numbers as Python integers in units of 2^-FRACTION_BITS, whose sums and products are exact."""
    numbers = [int(math.ldexp(value, FRACTION_BITS)) for value in x.ravel().tolist()]
    return np.array(numbers, dtype=object).reshape(x.shape)


class ExactSolver:
    """Solver of H x = b with 40 digits, by mpmath's LU factorization; raises ArgumentError without mpmath."""

    def __init__(self, H: np.ndarray) -> None:
        self._mp = require_mpmath()
        with self._mp.workdps(DIGITS):
            self._factors, self._swaps = self._mp.LU_decomp(self._mp.matrix(H.tolist()))

    def solve(self, b: np.ndarray) -> Any:
        """Return H⁻¹ b (n, 1), an mpmath matrix."""
        with self._mp.workdps(DIGITS):
            y = self._mp.L_solve(self._factors, self._mp.matrix(b.tolist()), self._swaps)
            return self._mp.U_solve(self._factors, y)

    def error(self, x: np.ndarray, exact: Any) -> float:
        """Return |x - exact| / |exact| of a solution (n,), `exact` as `solve` returns it."""
        with self._mp.workdps(DIGITS):
            return float(self._mp.norm(self._mp.matrix(x.tolist()) - exact) / self._mp.norm(exact))


class Errors(NamedTuple):
    """Relative errors of one factorization.

    factors: |L' D L - H|. driven: |x - H⁻¹ b| with b random, as for a force-driven robot. prescribed: with b =
    H a, a random, as for prescribed motion.
    """

    factors: float
    driven: float
    prescribed: float


def factorization_errors(robot: Tree, rng: np.random.Generator) -> dict[str, Errors]:
    """Return the errors of every factorization of the mass matrix at one random state, by name.

    Raises ArgumentError without mpmath. Takes about 0.1 s for n = 63, and grows as n³.
    """
    H = mass_matrix(robot, robot.random(rng))
    random, motion = rng.normal(size=(2, robot.nv))
    solver, right = ExactSolver(H), (random, H @ motion)
    exact = [solver.solve(b) for b in right]
    return {
        name: Errors(residual(factors, H), *map(solver.error, map(factors.solve, right), exact))
        for name, factors in zip(NAMES, factorizations(robot.topology, H), strict=True)
    }


def median_errors(robot: Tree, states: int) -> dict[str, Errors]:
    """Return the median errors over random states, in units of the rounding of one number, 2^-53."""
    rng = np.random.default_rng(0)
    found = [factorization_errors(robot, rng) for _ in range(states)]
    return {name: Errors(*(np.median([one[name] for one in found], axis=0) / ROUNDING).tolist()) for name in NAMES}
