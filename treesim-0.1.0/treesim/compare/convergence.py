"""Convergence of an engine's trajectories: fitted orders of error and of Richardson extrapolation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.tree import Tree
from .report import Convergence, as_curve
from .results import Results
from .treesim_engine import TreesimModel

COARSEST, HALVINGS = 4e-3, 5  # [s] and how often it is halved: 4 ... 0.125 ms
REFERENCE, FINEST = "rk4", COARSEST / 2 ** (HALVINGS + 1)  # the accurate integrator, and its dt [s]
LONGEST, SHORTEST = 64, 4  # steps of the coarsest dt in a horizon
SLOPE, EXTRAPOLATED_SLOPE = 0.05, 0.1  # allowed deviation of fitted orders from the integrator's
EXACT = 1e-9  # [m, rad, m/s, rad/s] no order can be fitted to smaller errors


class Refinement(NamedTuple):
    """One motion at several time steps.

    order: of the integrator. runs: (steps, dt [s]) of each run. q (nq,), v (nv,): accurate final state.
    """

    order: int
    runs: tuple[tuple[int, float], ...]
    q: np.ndarray
    v: np.ndarray

    @property
    def horizon(self) -> float:
        """Duration of the motion [s]."""
        return self.runs[0][0] * self.runs[0][1]


def refinement_for(model: TreesimModel, order: int, q0: np.ndarray, v0: np.ndarray) -> Refinement | None:
    """Return the longest motion from (q0, v0) on which treesim's own runs are in the asymptotic regime.

    order: of the integrator of `model`. None if no tried length qualifies, or if the errors are at rounding level.
    Outside the asymptotic regime, as in fast whipping motions, fitted orders are meaningless.
    """
    dts = [COARSEST / 2**k for k in range(HALVINGS + 1)]
    own = [model.trajectory(q0, v0, LONGEST * 2**k, dt) for k, dt in enumerate(dts)]
    accurate = TreesimModel(model.robot, REFERENCE, "generic").trajectory(q0, v0, LONGEST * 2 ** (HALVINGS + 1), FINEST)
    steps = LONGEST
    while steps >= SHORTEST:
        runs = tuple((steps * 2**k, dt) for k, dt in enumerate(dts))
        motion = Refinement(order, runs, *(x[steps * 2 ** (HALVINGS + 1)] for x in accurate))
        ends = [(q[many], v[many]) for (q, v), (many, _) in zip(own, runs, strict=True)]
        found = _fitted(model.robot, motion, ends)
        if found.passed and min(found.errors) > EXACT:
            return motion
        steps //= 2
    return None


def convergence(robot: Tree, motion: Refinement, theirs: Results) -> Convergence:
    """Return the fitted convergence orders of an engine's final states."""
    return _fitted(robot, motion, list(zip(theirs.values["ends_q"], theirs.values["ends_v"], strict=True)))


def _fitted(robot: Tree, motion: Refinement, ends: list[tuple[np.ndarray, np.ndarray]]) -> Convergence:
    p, dts = motion.order, np.array([dt for _, dt in motion.runs])
    e = np.array([_error(robot, motion, *end) for end in ends])
    richardson = (2**p * e[1:] - e[:-1]) / (2**p - 1)
    errors, extrapolated = np.linalg.norm(e, axis=1), np.linalg.norm(richardson, axis=1)
    slope, extrapolated_slope = _slope(dts, errors), _slope(dts[1:], extrapolated)
    near = abs(slope - p) <= SLOPE and abs(extrapolated_slope - p - 1) <= EXTRAPOLATED_SLOPE  # False for NaN
    return Convergence(
        p, motion.horizon, as_curve(dts), as_curve(errors), as_curve(extrapolated),
        slope, extrapolated_slope, SLOPE, EXTRAPOLATED_SLOPE, near,
    )  # fmt: skip


def _error(robot: Tree, motion: Refinement, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the error (2 nv,) of the final configuration and velocity; NaN if a state is not finite."""
    if not (np.isfinite(q).all() and np.isfinite(motion.q).all()):
        return np.full(2 * robot.nv, np.nan)
    return np.concatenate([robot.difference(motion.q, q), v - motion.v])


def _slope(dt: np.ndarray, errors: np.ndarray) -> float:
    if not (np.isfinite(errors).all() and (errors > 0).all()):
        return float("nan")
    return float(np.polyfit(np.log(dt), np.log(errors), 1)[0])
