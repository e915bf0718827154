"""Gradients through parts of steps that are solved a second time, of many states (`midpoint_correction`).

The first solution changes the velocities by u and, without what reduces overlaps, those of positions by e. Forward
dynamics at q_h = q (+) h/2 (u + e) give another unconstrained motion. Rows at q_h give the second solution. Gradients
go backward: of the second solution, of the forward dynamics at q_h, of the motion to q_h, and of the first solution.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..kernels.contact.midpoint_correction import FAST
from ..simulation.stepper import Stepper
from .contact_gradient import ContactGradient, MotionGradient, RowParameters, StepStates
from .step_parts import Motion
from .step_pullback import Joined, StepPullback, constants

SEVERAL = (
    "impulses change a fast motion so much that the step is solved again at its midpoint; in worlds of several robots "
    "and bodies, with joint friction, or with rolling friction, its derivatives are those of the first solution: take "
    "a smaller dt, or semi-implicit Euler"
)


class Start(NamedTuple):
    """States before a part of a step, its unconstrained motion, and the last call of the forward dynamics, as there."""

    q: np.ndarray
    v: np.ndarray
    free: Motion
    tau: np.ndarray
    armature: np.ndarray
    table: np.ndarray


class MidpointTape(NamedTuple):
    """A part that is solved twice.

    mean, between: velocities from the start to the midpoint, and there, in the axes at the start. q, v, qdd: state and
    acceleration there. changes: those of mean and end velocity by the second solution.
    """

    start: Start
    first: ContactGradient
    second: ContactGradient
    mean: np.ndarray
    between: np.ndarray
    q: np.ndarray
    v: np.ndarray
    qdd: np.ndarray
    changes: list[np.ndarray]


class MidpointGradients(NamedTuple):
    """Gradients (B, K, n) in what `Start` contains, and those of both solutions."""

    q: np.ndarray
    v: np.ndarray
    free: np.ndarray
    tau: np.ndarray
    armature: np.ndarray
    robot: np.ndarray
    first: MotionGradient
    second: MotionGradient


class MidpointParts:
    """Functions of a part that is solved twice, and their gradients. h: its length [s]. own: varied robot numbers."""

    def __init__(self, free: StepPullback, h: float, own: int) -> None:
        self._free, self._h, (nq, nv, table) = free, h, free.sizes
        start = [nq, nv, nv, nv, table, nv]
        self.move = Joined([*start, nv, nv, nv], self._moved, [nv, nq, *8 * [nv]])
        self.move_back = Joined([*start, nv, nq, nv, nv, 7 * nv], self._moved_back, [*5 * [nv], own, nv])
        self.changes_back = Joined([nq, *3 * [nv], 2 * nv], self._changed_back, [nv, nv, 2 * nv])

    def _half(self, like: np.ndarray) -> np.ndarray:
        return constants(np.full(1, self._h / 2), like)

    def _moved(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, armature: np.ndarray, table: np.ndarray, mean: np.ndarray,
        after: np.ndarray, *taken: np.ndarray,
    ) -> list[np.ndarray]:  # fmt: skip
        """Return `between`, q, v, qdd and u of a tape; velocities ahead in the axes at the midpoint; and the changes.

        after: velocity after the first solution. taken: mean and end velocity. Velocities ahead are the unconstrained
        mean and end, and that at the start.
        """
        free, h, half = self._free, self._h, self._half(q)
        between = (mean + (v + after) / 2) / 2
        q_mid, v_mid = free.end(q, mean, between, half)
        qdd = free.acceleration(q_mid, v_mid, tau, armature, table)
        (a,) = free.into(q, mean, v_mid, qdd, half)
        ends = v + h / 2 * a, v + h * a
        ahead = [free.end(q, mean, x, half)[1] for x in (mean, *ends, v)]
        changes = [free.end(q, mean, x - y, half)[1] for x, y in zip(taken, ends, strict=True)]
        return [between, q_mid, v_mid, qdd, *ahead, *changes]

    def _changed_back(
        self, q: np.ndarray, mean: np.ndarray, mean_change: np.ndarray, end_change: np.ndarray, weights: np.ndarray
    ) -> list[np.ndarray]:
        """Return the gradients in q, in the mean velocity to the midpoint, and in both changes in the axes there."""
        still, half, nv, found = 0 * mean, self._half(q), mean.shape[-1], list[list[np.ndarray]]()
        for k, change in enumerate((mean_change, end_change)):
            own = weights[..., k * nv : (k + 1) * nv]
            found.append(self._free.into_back.back((still, q, mean, still, change, half), own))
        one, other = found
        return [one[0] + other[0], one[1] + other[1], np.concatenate([one[3], other[3]], axis=-1)]

    def _moved_back(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, armature: np.ndarray, table: np.ndarray, mean: np.ndarray,
        between: np.ndarray, q_mid: np.ndarray, v_mid: np.ndarray, qdd: np.ndarray, weights: np.ndarray,
    ) -> list[np.ndarray]:  # fmt: skip
        """Return the gradients in q, v, the mean velocity to the midpoint, tau, armature, the robot, and in `between`.

        weights: of the mean and end velocity in the axes at the start; of the same, of the velocity at the start and of
        the mean one to the midpoint, in the axes there; and of the configuration there.
        """
        free, h, half, still, nv = self._free, self._h, self._half(q), 0 * mean, mean.shape[-1]
        of_m, of_e, *of_ahead, in_q_mid = (weights[..., k * nv : (k + 1) * nv] for k in range(7))

        def end_back(x: np.ndarray, of_q: np.ndarray, of_v: np.ndarray) -> list[np.ndarray]:
            return free.end_back.back((still, q, mean, x, half, q_mid), np.concatenate([of_q, of_v], axis=-1))

        a = free.into(q, mean, v_mid, qdd, half)[0]
        ends = v + h / 2 * a, v + h * a, v, mean
        (q0, m0, x0, _), (q1, m1, x1, _), (q2, m2, x2, _), (q3, m3, x3, _) = (
            end_back(x, 0 * w, w) for x, w in zip(ends, of_ahead, strict=True)
        )
        of_m, of_e = of_m + x0, of_e + x1
        q4, m4, of_v_mid, of_qdd, _ = free.into_back.back((still, q, mean, v_mid, qdd, half), h / 2 * of_m + h * of_e)
        mid_q, mid_v, *in_call, in_robot = free.of_acceleration((q_mid, v_mid, tau, armature), qdd, table, of_qdd)
        q5, m5, of_between, _ = end_back(between, in_q_mid + mid_q, of_v_mid + mid_v)
        in_q, in_v = q0 + q1 + q2 + q3 + q4 + q5, x2 + of_m + of_e + of_between / 4
        return [in_q, in_v, m0 + m1 + m2 + m3 + x3 + m4 + m5 + of_between / 2, *in_call, in_robot, of_between]


@lru_cache(maxsize=16)
def midpoint_parts(free: StepPullback, h: float, own: int) -> MidpointParts:
    """Return the functions of parts of steps; equal requests return the same object, with its code."""
    return MidpointParts(free, h, own)


class MidpointPullback:
    """Gradients through parts of a robot's steps that are solved a second time."""

    def __init__(self, stepper: Stepper, free: StepPullback) -> None:
        table = stepper.settings.table
        self._stepper, self._parts = stepper, midpoint_parts(free, float(table[0]), free.sizes[2] - table.size)

    def tape(
        self, start: Start, once: StepStates, taken: Motion, points: np.ndarray, counts: np.ndarray,
        parameters: RowParameters,
    ) -> MidpointTape:  # fmt: skip
        """Take a part again; once: its first solution. taken, points, counts: of both, as of `StepStates`."""
        first = ContactGradient(self._stepper, once, parameters)
        mean = start.free.mean + first.impacts()
        given = start.q, start.v, start.tau, start.armature, start.table, mean, first.w[:, 2], *taken
        between, q, v, qdd, u, *ahead, mean_change, end_change = self._parts.move(*given)
        changes = [mean_change, end_change]
        reached = Motion(*(x + y for x, y in zip(ahead[:2], changes, strict=True)))
        states = StepStates(q, ahead[2], ahead[0], ahead[1], start.armature, reached, points, counts, start.q, u)
        second = ContactGradient(self._stepper, states, parameters)
        second.add_set(u, 0 * u)  # gaps are those at the start
        return MidpointTape(start, first, second, mean, between, q, v, qdd, changes)

    def back(self, tape: MidpointTape, weights: np.ndarray) -> MidpointGradients:
        """Return the gradients of sum(weights (B, K, 2 nv) * mean and end velocity)."""
        start, first, second, h, nv = tape.start, tape.first, tape.second, tape.first.h, weights.shape[2] // 2
        in_q, of_mean, of_changes = self._parts.changes_back.back((start.q, tape.mean, *tape.changes), weights)
        g = second.gradient(of_changes)
        of_ahead = g.mean - of_changes[..., :nv], g.end - of_changes[..., nv:], g.v, -h / 2 * g.gap
        known = *start[:2], *start[3:], *tape[3:8]
        more_q, in_v, more_mean, in_tau, in_armature, in_robot, of_between = self._parts.move_back.back(
            known, np.concatenate([weights, *of_ahead, g.q + g.gap], axis=-1)
        )
        of_mean = of_mean + more_mean
        g1 = first.gradient(np.concatenate([0 * of_between, of_between / 4, of_mean], axis=-1))
        in_q = in_q + g.start + more_q + g1.q + g1.start + g1.gap
        free = np.concatenate([of_mean + g1.mean, g1.end], axis=-1)
        return MidpointGradients(in_q, in_v + g1.v, free, in_tau, in_armature, in_robot, g1, g)


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
