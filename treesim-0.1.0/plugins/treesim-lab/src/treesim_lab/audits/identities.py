"""Identities of mechanics for one state with 40 digits, between independent kernels.

A common error would have to be the same in both kernels. What remains is the rounding of 40 digits, and the
error of a difference quotient.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from treesim.dynamics.operational.frames import frame_codes
from treesim.kernels.kinematics.bodies import frame_pose_states
from treesim.kernels.kinematics.center_of_mass import center_of_mass_states
from treesim.kernels.kinematics.frame_motion import ACCELERATION, NUMBERS, frame_motions_states
from treesim.kernels.kinematics.jacobians import frame_velocity_states

from ..cost.error_growth import require_mpmath
from ..cost.robot import REFERENCE, limb_tips
from .exact import ExactState, largest, numbers
from .report import Row

GROUP = "identities"
BOUND = 1e-18  # far below float precision, far above the error of 40 digits for cond(M) up to 1e15


def identities(exact: ExactState) -> Iterator[Row]:
    """Yield a row for every identity at one state; to be called within `exact.many_digits`."""
    yield _row("M is symmetric", exact.M - exact.M.T, exact.M)
    yield _definite(exact)
    yield _row("articulated bodies solve M a = tau - b", exact.articulated() - exact.a, exact.a)
    undone = exact.inverse_dynamics(exact.articulated())
    yield _row("Newton and Euler undo articulated bodies", undone - exact.tau, exact.tau)
    yield _power(exact)
    if _floats(exact):
        yield _momentum(exact)
    yield _task(exact)


def _row(name: str, missed: Any, scale: Any, note: str = "") -> Row:
    return Row(GROUP, name, largest(missed) / (largest(scale) or 1.0), BOUND, note=note)


def _definite(exact: ExactState) -> Row:
    """Check that M has a Cholesky factor: all pivots are positive."""
    mp = require_mpmath()
    try:
        mp.cholesky(mp.matrix(exact.M.tolist()))
    except ValueError as error:
        return Row(GROUP, "M is positive definite", float("inf"), BOUND, note=str(error))
    return Row(GROUP, "M is positive definite", 0.0, BOUND)


def _power(exact: ExactState) -> Row:
    """Check d(T + V)/dt = v . tau: the power of the forces of inverse dynamics is the rate of the energy."""
    terms = numbers(exact.v) * exact.tau
    return _row("d(T + V)/dt = v . tau", exact.rate(exact.energy) - terms.sum(), terms)


def _floats(exact: ExactState) -> bool:
    """Return whether the whole robot is connected to the world by one floating joint."""
    roots = [body for body in exact.robot.bodies if body.parent == 0]
    return [body.joint.type for body in roots] == ["floating"]


def _momentum(exact: ExactState) -> Row:
    """Check that gravity and the wrench of the base's joint are the rate of momentum about the world's origin."""
    robot, q = exact.robot, exact.q
    root = robot.bodies[0]
    still = np.zeros(robot.nv)
    center = exact.of(center_of_mass_states, (q, still, still), (9,))[:3]
    pose = exact.of(frame_pose_states, (q,), (4, 4), frame_codes(robot, (root.name,), REFERENCE))
    force, moment = (pose[:3, :3] @ part for part in np.split(exact.tau[robot.v_index[root.joint.name]], 2))
    weight = sum(numbers(np.array([body.inertia.mass for body in robot.bodies]))) * robot.gravity
    acting = np.concatenate([weight + force, _cross(center, weight) + _cross(pose[:3, 3], force) + moment])
    return _row("d(momentum)/dt = weights + base wrench", exact.rate(exact.momentum) - acting, acting)


def _task(exact: ExactState) -> Row:
    """Check that the rate of a limb's velocity J v is its acceleration J a + Jdot v."""
    robot = exact.robot
    codes = frame_codes(robot, (robot.body_names[limb_tips(robot.topology)[0] - 1],), REFERENCE)
    of_frame = exact.of(frame_motions_states, (exact.q, exact.v, exact.a), (1, NUMBERS), codes)[0, ACCELERATION:]
    rate = exact.rate(lambda q, v: exact.of(frame_velocity_states, (q, v), (6,), codes))
    return _row("d(J v)/dt = J a + Jdot v", rate - of_frame, of_frame)


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]], dtype=object)
