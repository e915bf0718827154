"""Allowed errors of computed results, from the conditioning of the problem instead of fixed numbers.

The attainable accuracy of a solution is limited by the problem. Rounding the entries of A and f once moves
the solution of A x = f by |A^-1| (|A| |x| + |f|) eps, entry by entry (Skeel 1979; Higham, Accuracy and
Stability of Numerical Algorithms, section 7.2). Bounds here are that, times the number of roundings behind
an entry. Processors differ in which of these roundings occur (fused multiplications, the order of sums),
but not in their maximum number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..dynamics.inverse_dynamics import bias_forces
from ..dynamics.mass_matrix import mass_matrix
from ..model.tree import Tree

TINY = 1e-300
ROUNDING = float(np.finfo(float).eps)
ROUNDINGS = 30  # roundings behind one result of a sweep along a robot, or one entry of a solution
COARSER = float(np.finfo(np.float32).eps) / ROUNDING
OF_A_SWEEP = ROUNDINGS * ROUNDING  # allowed error of a sweep along the robot without a linear solve


def apart(found: Sequence[np.ndarray], truth: Sequence[np.ndarray]) -> np.ndarray:
    """Return the largest relative deviation (states,) between two sets of results (states, ...).

    The scale is the largest number of each result. If the numbers of states differ, the first ones are
    compared.
    """
    states = min(len(found[0]), len(truth[0]))
    worst = np.zeros(states)
    for x, y in zip(found, truth, strict=True):
        value, true = (each[:states].reshape(states, -1) for each in (x, y))
        scale = np.abs(true).max(axis=1, initial=0.0)
        worst = np.maximum(worst, np.abs(value - true).max(axis=1, initial=0.0) / np.where(scale > 0, scale, 1.0))
    return worst


def moved_by_rounding(M: np.ndarray, forces: np.ndarray, solution: np.ndarray) -> np.ndarray:
    """Return the error (..., n) of the solution x of M x = f due to one rounding of each entry of M and f.

    M: (..., n, n). forces: absolute values (..., n) of f or of its terms. To first order |dx| <= |M^-1| (|M|
    |x| + |f|) eps, entry by entry: Skeel's condition number.
    """
    changed = np.einsum("...ij,...j->...i", np.abs(M), np.abs(solution)) + forces
    return ROUNDING * np.einsum("...ij,...j->...i", np.abs(np.linalg.inv(M)), changed)


def of_sums(parts: Sequence[np.ndarray], result: np.ndarray) -> Any:
    """Return the allowed error (see `farthest`) of sums (..., n) of terms, from the absolute values of the terms."""
    return OF_A_SWEEP * relative(sizes(parts), result)


def of_solution(A: np.ndarray, forces: np.ndarray, x: np.ndarray) -> Any:
    """Return the allowed error (see `farthest`) of x (..., n) in A x = f.

    forces: absolute values of the terms of f.
    """
    return ROUNDINGS * relative(moved_by_rounding(A, forces, x), x)


def of_forces(robot: Tree, q: np.ndarray, v: np.ndarray, tau: np.ndarray, a: np.ndarray, **options: Any) -> Any:
    """Return the allowed error (see `farthest`) of accelerations a (..., nv) that forces tau cause.

    Holds for methods as accurate as the articulated-body algorithm. options: f_ext, gravity, armature.
    """
    M = mass_matrix(robot, q, armature=options.get("armature"))
    return of_solution(M, sizes([tau, *bias_parts(robot, q, v, options)]), a)


def bias_parts(robot: Tree, q: np.ndarray, v: np.ndarray, options: Mapping[str, Any]) -> list[np.ndarray]:
    """Return the joint forces (..., nv) for gravity, velocities and wrenches, each separately."""
    f_ext, gravity, weightless, still = options.get("f_ext"), options.get("gravity"), (0.0, 0.0, 0.0), np.zeros_like(v)
    weights = bias_forces(robot, q, still, gravity=gravity)
    turning = bias_forces(robot, q, v, gravity=weightless)
    pushes = [] if f_ext is None else [bias_forces(robot, q, still, f_ext=f_ext, gravity=weightless)]
    return [weights, turning, *pushes]


def of_inverse_inertia(M: np.ndarray, J: np.ndarray) -> float:
    """Return the allowed error (see `farthest`) of J M^-1 J'.

    It is |J| |M^-1| |M| |M^-1| |J|' for a rounding of each entry of M, and 2 |J| |M^-1| |J|' for one of each of
    J.
    """
    A, rows = np.abs(np.linalg.inv(M)), np.abs(J)
    moved = rows @ (A @ np.abs(M) @ A + 2 * A) @ rows.T
    return float(OF_A_SWEEP * relative(moved.ravel(), (J @ np.linalg.solve(M, J.T)).ravel()))


def of_constrained(
    M: np.ndarray, J: np.ndarray, forces: np.ndarray, rates: np.ndarray, a: np.ndarray, f: np.ndarray
) -> list[float]:
    """Return the allowed errors (see `farthest`) of a and f in [M -J'; J 0] [a; f] = [forces; rates]."""
    system = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
    moved = moved_by_rounding(system, np.abs(np.concatenate([forces, rates])), np.concatenate([a, f]))
    return [ROUNDINGS * relative(part, x) for part, x in zip(np.split(moved, [len(M)]), (a, f), strict=True)]


def sizes(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the sum of absolute values of the parts."""
    return np.asarray(sum(np.abs(part) for part in parts))


def relative(moved: np.ndarray, x: np.ndarray) -> Any:
    """Return the largest of `moved` (..., n), relative to the largest number of x (..., n)."""
    return moved.max(axis=-1, initial=0.0) / np.abs(x).max(axis=-1, initial=TINY)
