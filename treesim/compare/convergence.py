"""Whether an engine's motion converges as its stepping rule should: fitted orders, and Richardson's extrapolation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.tree import Tree
from .engines import Results
from .report import Convergence, as_curve
from .treesim_engine import TreesimModel

COARSEST, HALVINGS = 4e-3, 5  # [s] and how often it is halved: 4 ... 0.125 ms
REFERENCE, FINEST = "rk4", COARSEST / 2 ** (HALVINGS + 1)  # the accurate integrator, and its dt [s]
LONGEST, SHORTEST = 64, 4  # steps of the coarsest dt in a horizon
SLOPE, EXTRAPOLATED_SLOPE = 0.05, 0.1  # how far fitted orders may be from the rule's
EXACT = 1e-9  # an error below this, in m, rad, m/s, rad/s, is no measure of an order


class Refinement(NamedTuple):
    """One motion in steps of several dt: runs are their (steps, dt [s]); q (nq,), v (nv,): the accurate end."""

    order: int
    runs: tuple[tuple[int, float], ...]
    q: np.ndarray
    v: np.ndarray

    @property
    def horizon(self) -> float:
        """The length of the motion [s]."""
        return self.runs[0][0] * self.runs[0][1]


def refinement_for(model: TreesimModel, order: int, q0: np.ndarray, v0: np.ndarray) -> Refinement | None:
    """Return the longest motion from (q0, v0), of some lengths, on which treesim's own run of the rule, of this order,
    is in the asymptotic regime; None if there is none, or it is exact.

    Errors of a robot that whips are not yet powers of dt at these dt: there, an order says nothing.
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
    """Return how an engine's ends of the motion converge."""
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
    """Of the configuration and the velocity, (2 nv,); NaN where a run has one."""
    if not (np.isfinite(q).all() and np.isfinite(motion.q).all()):
        return np.full(2 * robot.nv, np.nan)
    return np.concatenate([robot.difference(motion.q, q), v - motion.v])


def _slope(dt: np.ndarray, errors: np.ndarray) -> float:
    if not (np.isfinite(errors).all() and (errors > 0).all()):
        return float("nan")
    return float(np.polyfit(np.log(dt), np.log(errors), 1)[0])
