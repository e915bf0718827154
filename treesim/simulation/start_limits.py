"""Warning of initial states in which joints are beyond their position limits."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..dynamics.energy import energy
from ..errors import LimitWarning, quoted
from ..model.tree import Tree
from ..system.user_warnings import warn
from .world import World

ROUNDING = {4: 1e-5, 8: 1e-9}  # rad, m: tolerance of limits, by the bytes of a number
LARGE = 10_000  # numbers of a batch whose excess is not worth its memory if all are within the limits


class PositionLimits(NamedTuple):
    """Position limits of the L joints with one coordinate.

    coordinate, dof: index (L,) in q and in v. lower, upper: limits (..., L) [rad, m].
    """

    coordinate: np.ndarray
    dof: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def excess(self, q: np.ndarray) -> np.ndarray:
        """Return by how much coordinates of q (..., nq) exceed their limits (..., L); negative within them."""
        x = q[..., self.coordinate]
        return np.maximum(x - self.upper, self.lower - x)


@lru_cache(maxsize=64)
def position_limits(robot: Tree) -> PositionLimits:
    """Return the position limits of a robot's joints."""
    single = ((name, at.start) for name, at in robot.q_index.items() if at.stop - at.start == 1)
    found = [(start, robot.v_index[name].start) for name, start in single]
    coordinate, dof = np.array(found, int).reshape(-1, 2).T
    return PositionLimits(coordinate, dof, robot.lower[coordinate], robot.upper[coordinate])


def warn_of_start(
    world: World,
    q: np.ndarray,
    gravity: np.ndarray | None = None,
    own: tuple[np.ndarray, np.ndarray] | None = None,
) -> bool:
    """Warn if joints of a state or a batch q (..., nq) start beyond their limits; return whether they do.

    gravity: (3,) [m/s^2], the robot's by default. own: lower and upper limits (..., nv) of each state, the
    robot's by default. The warning names the joint with the largest excess, its limit, the change of potential
    energy, and what to do.
    """
    if not world.use_limits or not q.size:
        return False
    limits, tolerance = position_limits(world.robot), ROUNDING[q.dtype.itemsize]
    if own is None and q.size > LARGE and not _largest_excess(limits, q) > tolerance:
        return False
    if own is not None:
        lower, upper = (x[..., limits.dof] for x in own)
        limits = limits._replace(lower=lower, upper=upper)
    excess = limits.excess(q)
    if not excess.max(initial=0.0) > tolerance:
        return False
    warn(_message(world, q, excess, limits, gravity), LimitWarning)
    return True


def _largest_excess(limits: PositionLimits, q: np.ndarray) -> float:
    """Return the largest excess of all coordinates of a batch q (..., nq), without an array of all."""
    states = q.reshape(-1, q.shape[-1])
    return float(max(limits.excess(f(states, axis=0)).max(initial=0.0) for f in (np.max, np.min)))


def _message(
    world: World, q: np.ndarray, excess: np.ndarray, limits: PositionLimits, gravity: np.ndarray | None
) -> str:
    """Return the text of the warning."""
    robot, wrong = world.robot, excess > ROUNDING[q.dtype.itemsize]
    *state, k = (int(i) for i in np.unravel_index(int(excess.argmax()), excess.shape))
    lower, upper = (np.broadcast_to(x, excess.shape)[(*state, k)] for x in (limits.lower, limits.upper))
    start, others = q[tuple(state)].astype(float), int(wrong[tuple(state)].sum()) - 1
    x, is_above = start[limits.coordinate[k]], q[tuple(state)][limits.coordinate[k]] > upper
    joint = robot.dof_joint(int(limits.dof[k]))
    unit = "m" if robot.joint(joint).type == "prismatic" else "rad"
    side, bound = ("above its upper", upper) if is_above else ("below its lower", lower)
    whose = f"{int(wrong.any(axis=-1).sum())} of {len(q)} states of " if state else ""
    which = f" (state {state[0]})" if state else ""
    more = f", and {others} more joint{'s' * (others > 1)} {'are' if others > 1 else 'is'} beyond theirs" * bool(others)
    clamped = f"{'world.robot' if world.bodies else 'robot'}.clamp(q0)"
    clamped = f"world.close({clamped})" if world.m else clamped
    return (
        f"{whose}{quoted(robot.name)} start{'' if state else 's'} beyond position limits: joint {quoted(joint)} at "
        f"{x:.4g} {unit}{which} is {excess.max():.3g} {unit} {side} limit of {bound:.4g} {unit}{more}. The first steps "
        f"move it back to its limit, which alone changes the potential energy by "
        f"{_change(robot, start, limits, tuple(state), gravity):+.3g} J: start from {clamped}, or leave limits out, "
        "with World(robot, use_limits=False)"
    )


def _change(
    robot: Tree, q: np.ndarray, limits: PositionLimits, state: tuple[int, ...], gravity: np.ndarray | None
) -> float:
    """Return the change of potential energy [J] when the joints of one state q (nq,) move to their limits."""
    lower, upper = (x[state] if x.ndim > 1 else x for x in (limits.lower, limits.upper))
    within = q.copy()
    within[limits.coordinate] = np.clip(q[limits.coordinate], lower, upper)
    before, after = energy(robot, np.stack([q, within]), np.zeros(robot.nv), gravity=gravity, engine="generic")[1]
    return float(after - before)
