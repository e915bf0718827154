"""Derivatives of steps that are solved a second time at their midpoint (`kernels.contact.midpoint_correction`).

The first solution changes the velocities by u and, without what reduces overlaps, those of positions by e. Forward
dynamics at q_h = q (+) h/2 (u + e) give another unconstrained motion. Rows at q_h give the second solution, whose
derivatives are those of `contact_gradient` at q_h, along the directions in which q_h moves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels.contact.midpoint_correction import FAST
from ..kernels.contact.row_derivatives import IMPULSES
from ..simulation.stepper import Stepper
from .added_rows import inverse
from .contact_gradient import ContactGradient, Second, StepStates
from .free_motion import Directions, FreeMotion, acceleration, end_of_step
from .solved_part import SolvedPart
from .step_parts import step_parts

SEVERAL = (
    "impulses change a fast motion so much that the step is solved again at its midpoint; in worlds of several robots "
    "and bodies, with joint friction, or with rolling friction, its derivatives are those of the first solution: take "
    "a smaller dt, or semi-implicit Euler"
)


class Moving(NamedTuple):
    """Vector (nv,), and its derivatives (K, nv)."""

    value: np.ndarray
    along: np.ndarray

    def plus(self, other: Moving, factor: float = 1.0) -> Moving:
        """Return the sum with a multiple of another one."""
        return Moving(self.value + factor * other.value, self.along + factor * other.along)


def is_fast(h: float, change: np.ndarray, end: np.ndarray, fraction: float = 1.0) -> np.ndarray:
    """Return whether impulses change a fast motion so much that steps (B,) are solved again at their midpoint.

    change (B, nv): of the unconstrained velocity `end`. fraction: of the limit.
    """
    largest = (np.abs(x).max(axis=1, initial=0.0) for x in (change, end))
    found: np.ndarray = h * np.prod([*largest], axis=0) > fraction * FAST
    return found


def can_correct(stepper: Stepper) -> bool:
    """Return whether second solutions of a world have derivatives."""
    touching = stepper.world.touching
    return not (touching.several or touching.counts.resists or touching.counts.frictions)


def corrected(
    stepper: Stepper,
    once: SolvedPart,
    whole: SolvedPart,
    v: np.ndarray,
    free: FreeMotion,
    directions: Directions,
    along: np.ndarray,
) -> tuple[np.ndarray, ContactGradient]:
    """Return the derivatives (2, 1, K, nv) of the motion of a step of one state, and its rows at the midpoint.

    once, along (2, 1, K, nv): first solution. whole: the step. v (1, nv): velocity at the start. free: unconstrained
    motion. directions (1, K, nv): of the start.
    """
    first = ContactGradient(stepper, once.states(v, free.mean, free.end, free.armature))
    h, start = first.h, Moving(v[0], directions.v[0])
    unconstrained = [Moving(x[0], dx[0]) for x, dx in zip((free.mean, free.end), free.along, strict=True)]
    change = Moving(first.y[0, 2], along[1, 0] - unconstrained[1].along)
    mean = unconstrained[0].plus(_motion_of_impacts(first, directions, free.along))
    between = _halved(mean.plus(_halved(start.plus(unconstrained[1]).plus(change))))
    there = _Midpoint(stepper, once.q[0], h, directions.q, mean)
    q, dq, v_mid = there.moved(between)
    given = [q[None], v_mid.value[None], free.tau, free.armature]
    qdd, in_qdd = acceleration(stepper, given, [dq[None], v_mid.along[None], free.tau_along])
    a = there.into_start_axes(v_mid, Moving(qdd[0], in_qdd[0]))
    ends = [start.plus(a, h / 2), start.plus(a, h)]
    q, dq, u = there.moved(mean)
    ahead = [there.moved(x)[2] for x in (*ends, start)]  # along the axes at the midpoint
    changes = [
        there.moved(Moving(x - y.value, 0 * y.along))[2].value for x, y in zip(whole.taken[:, 0], ends, strict=True)
    ]
    reached = np.stack([x.value + y for x, y in zip(ahead[:2], changes, strict=True)])[:, None]
    motion = ahead[2].value[None], ahead[0].value[None], ahead[1].value[None]
    states = StepStates(q[None], *motion, free.armature, reached, whole.points, whole.counts, once.q)
    second = ContactGradient(stepper, states)
    moved = second.rows_of(slice(None), np.broadcast_to(u.value, second.w.shape), 0 * second.y)
    normals = slice(2, None, second.axes)
    rate = dq @ moved.dJ[0, 0, normals].T + u.along @ moved.J[0, normals].T
    in_gap = dq @ moved.J[0, normals].T - h / 2 * rate
    there_directions = Directions(dq[None], ahead[2].along[None], directions.control)
    unforced = np.stack([x.along for x in ahead[:2]])[:, None]
    found = second.along(there_directions, unforced, Second(directions.q, in_gap[None]))
    results = []
    for x, y, value, total in zip(ends, ahead, changes, found[:, 0], strict=False):
        added = there.into_start_axes(Moving(0 * value, 0 * y.along), Moving(value, total - y.along))
        results.append(x.along + added.along)
    return np.stack(results)[:, None], second


class _Midpoint:
    """Midpoint of a step of length h from q; displacement (1, K, nv): directions of q. mean: velocity up to there."""

    def __init__(self, stepper: Stepper, q: np.ndarray, h: float, displacement: np.ndarray, mean: Moving) -> None:
        self.stepper, self.q, self.half, self.displacement, self.mean = stepper, q, h / 2, displacement, mean

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


def _motion_of_impacts(first: ContactGradient, directions: Directions, free: np.ndarray) -> Moving:
    """Return the changes of velocities that move positions (`midpoint_correction.motion_of_impacts`)."""
    C, n = first.contacts.shape[1], first.rows.J.shape[1]
    found = first.impulses_along(directions, free)
    in_push, in_impulse = found[0], found[1]
    contacts = first.contacts[0]
    push, impulse = contacts[:, IMPULSES : IMPULSES + 3].copy(), contacts[:, IMPULSES + 12 : IMPULSES + 15]
    for c in range(C):
        own, r = slice(3 * c, 3 * c + 3), 3 * c + 2
        if push[c, 2] > impulse[c, 2]:
            part = impulse[c, 2] / push[c, 2]
            in_part = (in_impulse[r] - part * in_push[r]) / push[c, 2]
            in_push[own] = part * in_push[own] + np.outer(push[c], in_part)
            push[c] *= part
    forces, in_forces = first.shown[0, :, C:, 0] * first.shown[0, :, C:, 1], [in_push[n:], in_impulse[n:]]
    low, high = np.minimum(forces[1], 0), np.maximum(forces[1], 0)
    clamped = np.clip(forces[0], low, high)
    in_clamped = np.where(((forces[0] < low) | (forces[0] > high))[:, None], in_forces[1], in_forces[0])
    in_clamped[forces[0] * forces[1] < 0] = 0.0
    moved = contacts.copy()
    moved[:, IMPULSES : IMPULSES + 18] = 0.0
    moved[:, IMPULSES : IMPULSES + 3] = push
    W, J = inverse(first, 0, first.rows.T[0]), first.rows.J[0]
    y = W @ (J.T @ push.ravel() + clamped)
    T = first.rows_of(slice(None), 0 * first.w, np.broadcast_to(y, first.w.shape), moved[None]).T[0, :, 0]
    return Moving(y, (W @ (J.T @ in_push[:n] + in_clamped + T @ directions.q[0].T)).T)
