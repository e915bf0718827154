"""Errors relative to physical scales, and distance and validity of trajectories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model.tree import Tree

CHAOS = 1e-10  # beyond this divergence of a run and its perturbed copy trajectories are not comparable
PERTURBATION = 1e-15  # relative change of v0 that makes the perturbed run


@dataclass(frozen=True)
class Scales:
    """Physical scales below which numbers of the robot count as zero.

    length [m], mass [kg], inertia [kg m^2], force [N m], acceleration [m/s^2, rad/s^2].
    """

    length: float
    mass: float
    inertia: float
    force: float
    acceleration: float

    @classmethod
    def of(cls, robot: Tree) -> Scales:
        """Return the scales of a robot, from its longest link offset, its mass, and gravity."""
        offsets = [body.joint.placement.translation for body in robot.bodies]
        offsets += [body.inertia.com for body in robot.bodies]
        length = max((float(np.linalg.norm(offset)) for offset in offsets), default=0.0) or 1.0
        gravity = float(np.linalg.norm(robot.gravity)) or 1.0
        mass = robot.mass or 1.0
        return cls(length, mass, mass * length**2, mass * gravity * length, gravity)


def errors(ours: np.ndarray, theirs: np.ndarray, scale: float | np.ndarray) -> np.ndarray:
    """Return the error of each leading entry, max|d| / max(scale, max|reference|); NaN if either array contains NaN.

    Raises ValueError if the shapes differ.
    """
    if ours.shape != theirs.shape:
        raise ValueError(f"shapes differ: {ours.shape} here, {theirs.shape} there")
    if ours.size == 0:
        return np.zeros(len(ours))
    return entry_sizes(ours - theirs) / np.maximum(scale, entry_sizes(theirs))


def entry_sizes(values: np.ndarray) -> np.ndarray:
    """Return max|x| of each leading entry."""
    return np.abs(values).reshape(len(values), -1).max(axis=1)


def worst(values: np.ndarray) -> int:
    """Return the index of the largest value; NaN counts as the largest."""
    return int(np.argmax(np.where(np.isnan(values), np.inf, values)))


def distance(robot: Tree, q: np.ndarray, v: np.ndarray, q_other: np.ndarray, v_other: np.ndarray) -> np.ndarray:
    """Return the distance (K,) between two runs (K, nq), (K, nv) at each step; NaN if a run is not finite.

    It is the largest coordinate of the difference on the configuration manifold and of the velocities. Velocities are
    relative to the largest speed of the step if that exceeds 1.
    """
    finite = np.isfinite(q).all(axis=1) & np.isfinite(q_other).all(axis=1)
    apart = np.full(len(q), np.nan)
    for k in np.flatnonzero(finite):
        apart[k] = np.abs(robot.difference(q[k], q_other[k])).max()
    speed = np.maximum(1.0, np.abs(v_other).max(axis=1))
    return np.maximum(apart, np.abs(v - v_other).max(axis=1) / speed)


def valid_steps(divergence: np.ndarray) -> int:
    """Return the number of initial steps over which a run and its perturbed copy stay within CHAOS.

    NaN does not end them: a run that breaks down has failed, not become chaotic.
    """
    beyond = np.flatnonzero(divergence >= CHAOS)
    return int(beyond[0]) if len(beyond) else len(divergence)
