"""Derivatives of steps that are solved a second time at their midpoint (`kernels.contact.midpoint_correction`).

The first solution changes the velocities by u and, without what reduces overlaps, those of positions by e. Forward
dynamics at q_h = q (+) h/2 (u + e) give another unconstrained motion. Rows at q_h give the second solution, whose
derivatives are those of `contact_tangents` at q_h, along the directions in which q_h moves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..simulation.stepper import Stepper
from .contact_rows import velocity_derivatives
from .contact_tangents import ContactDerivatives, StepRows
from .free_motion import Directions, FreeMotion, acceleration, end_of_step
from .step_parts import step_parts


class Moving(NamedTuple):
    """Vector (nv,), and its derivatives (K, nv)."""

    value: np.ndarray
    along: np.ndarray

    def plus(self, other: Moving, factor: float = 1.0) -> Moving:
        """Return the sum with a multiple of another one."""
        return Moving(self.value + factor * other.value, self.along + factor * other.along)


class Corrected(NamedTuple):
    """Second solution: derivatives (2, nv, K) of the motion of the whole step, and its rows at the midpoint."""

    along: np.ndarray
    contact: ContactDerivatives
    rows: StepRows


def corrected(
    stepper: Stepper,
    first: ContactDerivatives,
    rows: StepRows,
    along: np.ndarray,
    taken: np.ndarray,
    points: np.ndarray,
    directions: Directions,
) -> Corrected:
    """Return the second solution of a step of one state.

    first, rows, along (2, nv, K): the first solution. taken (2, nv): motion of the whole step. points: contacts at the
    midpoint. directions: of the start (1, K, nv).
    """
    h, v = first.h, Moving(first.v, directions.v[0])
    free = [
        Moving(x, dx) for x, dx in zip((first.free.mean[0], first.free.end[0]), first.free.along[:, 0], strict=True)
    ]
    change = Moving(first.y[2], along[1].T - free[1].along)
    mean = free[0].plus(_motion_of_impacts(first, rows, directions.q[0].T))
    between = _halved(mean.plus(_halved(v.plus(free[1]).plus(change))))
    there = _Midpoint(stepper, first, directions.q, mean)
    q, dq, v_mid = there.moved(between)
    tau = Moving(first.free.tau[0], first.free.tau_along[0])
    given = [x[None] for x in (q, v_mid.value, tau.value, first.free.armature[0])]
    qdd, in_qdd = acceleration(stepper, given, [x[None] for x in (dq, v_mid.along, tau.along)])
    a = there.into_start_axes(v_mid, Moving(qdd[0], in_qdd[0]))
    free = [v.plus(a, h / 2), v.plus(a, h)]
    q, dq, u = there.moved(mean)
    ahead = [there.moved(x)[2] for x in (*free, v)]  # along the axes at the midpoint
    changes = [there.moved(Moving(x - y.value, 0 * y.along))[2].value for x, y in zip(taken, free, strict=True)]
    motion = FreeMotion(
        ahead[0].value[None], ahead[1].value[None], np.stack([x.along[None] for x in ahead[:2]]),
        first.free.armature, first.free.tau, first.free.tau_along,
    )  # fmt: skip
    reached = np.stack([x.value + y for x, y in zip(ahead[:2], changes, strict=True)])
    second = ContactDerivatives(stepper, q, ahead[2].value, motion, reached, points, first.q)
    rate = velocity_derivatives(second.contacts, u.value[None])[0] @ dq.T + second.J @ u.along.T
    in_gap = second.contacts.J[:, 2] @ dq.T - h / 2 * rate[2::3]
    found, rows = second.along(dq.T, ahead[2].along.T, in_gap, directions.q[0].T)
    ends = []
    for x, y, value, total in zip(free, ahead, changes, found, strict=False):
        added = there.into_start_axes(Moving(0 * value, 0 * y.along), Moving(value, total.T - y.along))
        ends.append((x.along + added.along).T)
    return Corrected(np.stack(ends), second, rows)


class _Midpoint:
    """Midpoint q_h of a step; displacement (1, K, nv): directions of q. mean: velocity from q to q_h."""

    def __init__(self, stepper: Stepper, first: ContactDerivatives, displacement: np.ndarray, mean: Moving) -> None:
        self.stepper, self.q, self.half = stepper, first.q, first.h / 2
        self.displacement, self.mean = displacement, mean

    def moved(self, x: Moving) -> tuple[np.ndarray, np.ndarray, Moving]:
        """Return q_h, its derivatives (K, nv), and a velocity x along the axes there."""
        motion, along = (self.mean.value[None], x.value[None]), (self.mean.along[None], x.along[None])
        (q, v), (dq, dv) = end_of_step(self.stepper, self.q[None], motion, self.displacement, along, self.half)
        return q[0], dq[0], Moving(v[0], dv[0])

    def into_start_axes(self, v: Moving, a: Moving) -> Moving:
        """Return an acceleration a at q_h, where the velocity is v, along the axes at the start."""
        part = step_parts(self.stepper.robot, self.stepper.rule).into_start_axes
        given = [self.q[None], self.mean.value[None], v.value[None], a.value[None], np.full((1, 1), self.half)]
        (found,), along = part(*given), (x.along[None] for x in (self.mean, v, a))
        return Moving(found[0], part.along(given, (), self.displacement, *along)[0, 0])


def _halved(x: Moving) -> Moving:
    return Moving(x.value / 2, x.along / 2)


def _motion_of_impacts(first: ContactDerivatives, rows: StepRows, dq: np.ndarray) -> Moving:
    """Return the changes of velocities that move positions (`midpoint_correction.motion_of_impacts`)."""
    n, nv, K = len(first.J), first.robot.nv, dq.shape[1]
    sets = rows.positions, rows.velocities
    (push, in_push), (impulse, in_impulse) = ((x.impulse[:n].copy(), x.changes[:n].copy()) for x in sets)
    for c in range(n // 3):
        own, r = slice(3 * c, 3 * c + 3), 3 * c + 2
        if push[r] > impulse[r]:
            part = impulse[r] / push[r]
            in_part = (in_impulse[r] - part * in_push[r]) / push[r]
            in_push[own] = part * in_push[own] + np.outer(push[own], in_part)
            push[own] *= part
    forces, in_forces = np.zeros((2, nv)), np.zeros((2, nv, K))
    for k, x in enumerate(sets):
        forces[k, x.dofs], in_forces[k, x.dofs] = x.impulse[n:], x.changes[n:]
    low, high = np.minimum(forces[1], 0), np.maximum(forces[1], 0)
    clamped = np.clip(forces[0], low, high)
    in_clamped = np.where(((forces[0] < low) | (forces[0] > high))[:, None], in_forces[1], in_forces[0])
    in_clamped[(forces[0] * forces[1] < 0)] = 0.0
    return Moving(*first.response(push.reshape(-1, 3), clamped, in_push, in_clamped, dq))
