"""Gradients through parts of steps that are solved a second time, of many states (`midpoint_correction`).

The first solution changes the velocities by u and, without what reduces overlaps, those of positions by e. Forward
dynamics at q_h = q (+) h/2 (u + e) give another unconstrained motion. Rows at q_h give the second solution. Gradients
go backward: of the second solution, of the forward dynamics at q_h, of the motion to q_h, and of the first solution.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels.contact.midpoint_correction import FAST
from ..kernels.contact.row_derivatives import IMPULSES, LINEAR, SETS
from ..simulation.stepper import Stepper
from .contact_gradient import ContactGradient, MotionGradient, RowParameters, StepStates
from .solved_part import SolvedPart
from .step_parts import Motion
from .step_pullback import StepPullback

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

    def of(self, states: Any) -> Start:
        """Return those of some states."""
        (q, v, free), others = self[:3], (x[states] for x in self[3:])
        return Start(q[states], v[states], Motion(*(x[states] for x in free)), *others)


class Impacts(NamedTuple):
    """Change y (B, nv) of the velocities of positions by impacts (`midpoint_correction.motion_of_impacts`).

    push (B, C, 3): position impulses, of which a part (B, C) acts. clipped, opposite (B, nv): joints whose position
    impulses are those of velocities, or none. contacts (B, C, CONTACT): with the impulses that act.
    """

    y: np.ndarray
    W: np.ndarray
    push: np.ndarray
    part: np.ndarray
    clipped: np.ndarray
    opposite: np.ndarray
    contacts: np.ndarray


class MidpointTape(NamedTuple):
    """A part that is solved twice.

    mean, between: velocities from the start to the midpoint, and there, in the axes at the start. q, v, qdd: state and
    acceleration there. a: the acceleration in the axes at the start. u (B, nv): `mean` in the axes at the midpoint.
    changes: those of mean and end velocity by the second solution.
    """

    start: Start
    first: ContactGradient
    second: ContactGradient
    impacts: Impacts
    u: np.ndarray
    mean: np.ndarray
    between: np.ndarray
    q: np.ndarray
    v: np.ndarray
    qdd: np.ndarray
    changes: list[np.ndarray]

    def of(self, states: slice) -> MidpointTape:
        """Return those of successive states."""
        u, mean, between, q, v, qdd = (x[states] for x in self[4:10])
        impacts, changes = Impacts(*(x[states] for x in self.impacts)), [x[states] for x in self.changes]
        solutions = self.first.of(states), self.second.of(states)
        return MidpointTape(self.start.of(states), *solutions, impacts, u, mean, between, q, v, qdd, changes)


class MidpointGradients(NamedTuple):
    """Gradients (B, K, n) in what `Start` contains; those of both solutions; inertia: z of z' (M + D) y of impacts."""

    q: np.ndarray
    v: np.ndarray
    free: np.ndarray
    tau: np.ndarray
    armature: np.ndarray
    robot: np.ndarray
    first: MotionGradient
    second: MotionGradient
    inertia: np.ndarray


class MidpointPullback:
    """Gradients through parts of a robot's steps that are solved a second time."""

    def __init__(self, stepper: Stepper, free: StepPullback) -> None:
        self._stepper, self._free = stepper, free

    def tape(self, start: Start, once: SolvedPart, whole: SolvedPart, parameters: RowParameters) -> MidpointTape:
        """Take a part again; once: its first solution. whole: both."""
        stepper, q, v, armature = self._stepper, start.q, start.v, start.armature
        first = ContactGradient(stepper, once.states(*start.free, armature), parameters)
        impacts, h = impacts_of(first), first.h
        mean = start.free.mean + impacts.y
        between = (mean + (v + first.w[:, 2]) / 2) / 2
        half = np.full((len(q), 1), h / 2)
        q_mid, v_mid = self._free.end(q, mean, between, half)
        qdd = self._free.acceleration(q_mid, v_mid, start.tau, armature, start.table)
        (a,) = self._free.into(q, mean, v_mid, qdd, half)
        ends = v + h / 2 * a, v + h * a
        _, u = self._free.end(q, mean, mean, half)
        ahead = [self._free.end(q, mean, x, half)[1] for x in (*ends, v)]
        changes = [self._free.end(q, mean, x - y, half)[1] for x, y in zip(whole.taken, ends, strict=True)]
        reached = np.stack([x + y for x, y in zip(ahead[:2], changes, strict=True)])
        states = StepStates(q_mid, ahead[2], ahead[0], ahead[1], armature, reached, whole.points, whole.counts, start=q)
        second = ContactGradient(stepper, states, parameters)
        return MidpointTape(start, first, second, impacts, u, mean, between, q_mid, v_mid, qdd, changes)

    def back(self, tape: MidpointTape, weights: np.ndarray) -> MidpointGradients:
        """Return the gradients of sum(weights (B, K, 2 nv) * mean and end velocity)."""
        start, first, second, h, nv = tape.start, tape.first, tape.second, tape.first.h, weights.shape[2] // 2
        still, half = 0 * start.v, np.full((len(weights), 1), h / 2)
        of_ends, of_changes = [weights[..., :nv], weights[..., nv:]], []
        in_q, of_mean = np.zeros((2, *of_ends[0].shape))
        for w, change in zip(of_ends, tape.changes, strict=True):
            more_q, more_mean, _, of_change, _ = self._free.into_back.back(
                (still, start.q, tape.mean, still, change, half), w
            )
            in_q, of_mean = in_q + more_q, of_mean + more_mean
            of_changes.append(of_change)
        g = second.gradient(np.concatenate(of_changes, axis=-1))
        of_gap = g.gap @ second.normals
        in_q_mid, in_q = g.q + of_gap + _in_speeds(second, tape.u, -h / 2 * g.gap), in_q + g.start
        of_ahead = [g.mean - of_changes[0], g.end - of_changes[1], g.v, -h / 2 * of_gap]
        a = self._free.into(start.q, tape.mean, tape.v, tape.qdd, half)[0]
        ends, found = [start.v + h / 2 * a, start.v + h * a, start.v, tape.mean], []
        for x, w in zip(ends, of_ahead, strict=True):
            more_q, more_mean, of_x = self._moved_back(tape, x, 0 * w, w)
            in_q, of_mean = in_q + more_q, of_mean + more_mean
            found.append(of_x)
        of_m, of_e = (x + y for x, y in zip(found[:2], of_ends, strict=True))
        in_v, of_mean = found[2] + of_m + of_e, of_mean + found[3]
        given = still, start.q, tape.mean, tape.v, tape.qdd, half
        more_q, more_mean, in_v_mid, of_qdd, _ = self._free.into_back.back(given, h / 2 * of_m + h * of_e)
        in_q, of_mean = in_q + more_q, of_mean + more_mean
        call = tape.q, tape.v, start.tau, start.armature
        mid_q, mid_v, in_tau, in_armature, in_robot = self._free.of_acceleration(call, tape.qdd, start.table, of_qdd)
        more_q, more_mean, of_between = self._moved_back(tape, tape.between, in_q_mid + mid_q, in_v_mid + mid_v)
        in_q, of_mean = in_q + more_q, of_mean + more_mean + of_between / 2
        in_v = in_v + of_between / 4
        z, more_q, of_impulses = _impacts_back(tape, of_mean)
        g1 = first.gradient(np.concatenate([0 * of_between, of_between / 4], axis=-1), of_impulses)
        in_q = in_q + more_q + g1.q + g1.start + g1.gap @ first.normals
        free = np.concatenate([of_mean + g1.mean, g1.end], axis=-1)
        return MidpointGradients(in_q, in_v + g1.v, free, in_tau, in_armature, in_robot, g1, g, z)

    def _moved_back(
        self, tape: MidpointTape, x: np.ndarray, of_q: np.ndarray, of_v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the gradients in q, in the mean velocity and in x, from those in the midpoint and in x there."""
        given = 0 * x, tape.start.q, tape.mean, x, np.full((len(x), 1), tape.first.h / 2), tape.q
        in_q, of_mean, of_x, _ = self._free.end_back.back(given, np.concatenate([of_q, of_v], axis=-1))
        return in_q, of_mean, of_x


def impacts_of(first: ContactGradient) -> Impacts:
    """Return the impacts of a first solution."""
    (B, C, _), nv = first.contacts.shape, first.robot.nv
    first.gradient(np.zeros((B, 1, 2 * nv)))  # for what it shows
    forces = first.shown[:, :, C:, 0] * first.shown[:, :, C:, 1]
    low, high = np.minimum(forces[:, 1], 0), np.maximum(forces[:, 1], 0)
    push, impulse = first.contacts[..., IMPULSES : IMPULSES + 3], first.contacts[..., IMPULSES + 14]
    larger = push[..., 2] > impulse
    part = np.divide(impulse, push[..., 2], out=np.ones(larger.shape), where=larger)
    diagonal = np.maximum(first.given.armature, 0.0)[:, :, None] * np.eye(nv)
    W = np.linalg.inv(first.M + diagonal)
    acting, force = part[..., None] * push, np.clip(forces[:, 0], low, high)
    along = (acting.reshape(B, 1, 3 * C) @ first.J)[:, 0]
    y = (W @ (along + force)[..., None])[..., 0]
    contacts = first.contacts.copy()
    contacts[..., IMPULSES : IMPULSES + 18] = 0.0
    contacts[..., IMPULSES : IMPULSES + 3] = acting
    clipped = (forces[:, 0] < low) | (forces[:, 0] > high)
    return Impacts(y, W, push, part, clipped, forces[:, 0] * forces[:, 1] < 0, contacts)


def _impacts_back(tape: MidpointTape, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return z = W weights, and the gradients in q and in the impulses of the first solution."""
    impacts, (B, C, _), K = tape.impacts, tape.first.contacts.shape, weights.shape[1]
    z = weights @ impacts.W
    of_acting = (z @ np.swapaxes(tape.first.J, 1, 2)).reshape(B, K, C, LINEAR)
    part, push = impacts.part[:, None], impacts.push[:, None]
    larger = np.broadcast_to(part < 1, (B, K, C))
    of_part = np.divide((of_acting * push).sum(axis=-1), push[..., 2], out=np.zeros((B, K, C)), where=larger)
    of_impulses = np.zeros((B, K, 2, 3 * C + z.shape[2]))
    pushes, impulses = part[..., None] * of_acting, np.zeros((B, K, C, 3))
    pushes[..., 2] -= of_part * part
    impulses[..., 2] = of_part
    for s, x in enumerate((pushes, impulses)):
        of_impulses[:, :, s, : 3 * C] = x.reshape(B, K, 3 * C)
    clipped, opposite = impacts.clipped[:, None], impacts.opposite[:, None]
    of_impulses[:, :, 0, 3 * C :] = np.where(clipped | opposite, 0.0, z)
    of_impulses[:, :, 1, 3 * C :] = np.where(clipped & ~opposite, z, 0.0)
    still, y, of_y = (np.zeros((B, *n, z.shape[2])) for n in ((SETS,), (SETS,), (K, SETS)))
    y[:, 0], of_y[:, :, 0] = impacts.y, z
    rho = np.zeros((B, K, SETS, 3 * C))
    return z, tape.first.in_configuration(slice(None), still, y, rho, of_y, impacts.contacts), of_impulses


def _in_speeds(contact: ContactGradient, w: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the gradients in the configuration of weighted (B, K, C) speeds of gaps under motions w (B, nv)."""
    (B, K, _), motions = weights.shape, np.zeros(contact.w.shape)
    motions[:, 0] = w
    rho, z = np.zeros((B, K, SETS, contact.J.shape[1])), np.zeros((B, K, SETS, w.shape[1]))
    rho[:, :, 0, 2 :: contact.axes] = weights
    return contact.in_configuration(slice(None), motions, 0 * motions, rho, z, contact.contacts)


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
