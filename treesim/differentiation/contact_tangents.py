"""Derivatives of the motion in a step with contact: implicit derivatives at the rows that the solver has solved.

Three sets of impulses (`kernels.contact.contact_step`) act along rows J at the configuration q at the start. One set
changes a velocity w by y = (M + D)^-1 J' lambda; then
    (M + D) dy = J' dlambda + T dq,   T dq = d(J' lambda) - dM y   at constant lambda and y,
    dsigma = dJ w + J dw + R dlambda + dbias.
A row at rest has dsigma = 0, an open one dlambda = 0. The tangential impulses of a sliding contact are -mu lambda_n s,
s the direction of its velocity sigma_t:
    dlambda_t + mu s dlambda_n + mu lambda_n / |sigma_t| (1 - s s') dsigma_t = 0.
Rows may depend on each other. Then the impulses are those of least norm; the motion is unique.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ..contact.points import with_rows
from ..dynamics.derivatives import inverse_dynamics_derivatives
from ..dynamics.mass_matrix import mass_matrix
from ..errors import UnsupportedError
from ..kernels.contact.constraint_rows import rebound_of
from ..kernels.contact.contact_points import ANGULAR_PUSH, FORCE, LAW, PUSH, RECOVERY, START, TORQUE
from ..kernels.contact.layout import LIMIT, SPEED, SURFACE
from ..kernels.contact.layout import RECOVERY as OPTION
from ..kernels.contact.recovery import YIELD
from ..kernels.contact.rolling_friction import EQUAL
from ..simulation.stepper import Stepper
from .contact_rows import (
    Contacts,
    contacts_at,
    force_derivatives,
    turn_derivatives,
    velocity_derivatives,
    wrenches,
)
from .directional import Directional
from .free_motion import FreeMotion

CLOSED = 1e-9  # m, rad: a gap that is larger than minus this is closed by the step
NONE = 1e-11  # of the largest velocity: rounding
ROUNDED = 1e-15  # of a configuration, whose change is the velocity of positions
REDUCED = 1e-7  # m/s
PROXIMAL, REPETITIONS, UNSOLVED = 1e-9, 3, 1e-11  # of the largest element; steps; of the largest right-hand side
STILL = 1e-8  # m/s: of several contacts at one point, some may be at the bound of friction and not slide
JOINT_BOUND = 1e-6  # of the bound of joint friction, whose impulse is a difference of larger ones
AT_BOUND = 1e-9  # of the bound of friction
TURNS = [SURFACE.torsional_friction, SURFACE.rolling_friction]
SEPARATING, STICKING, SLIDING = "separating", "sticking", "sliding"


class RowSet(NamedTuple):
    """Rows of one set of impulses: of C contacts, then of D degrees of freedom, with limits or friction, at rest.

    states (C,): of the contacts. dofs (D,). impulse, sigma (3 C + D,): impulses, and velocities along the rows. mu
    (C,). bias (3 C + D, K): derivatives of what is added to the velocities. soft (3 C + D,): compliance R. alone: rows
    of recovery along which its own change of velocities is zero, and not their sum with the motion. changes (3 C + D,
    K): derivatives of the impulses, overwritten when they are solved for. turns: whether there is torsional and rolling
    friction, which recovery is without.
    """

    states: list[str]
    dofs: list[int]
    impulse: np.ndarray
    sigma: np.ndarray
    mu: np.ndarray
    bias: np.ndarray
    soft: np.ndarray
    alone: list[int]
    changes: np.ndarray
    turns: bool


class StepRows(NamedTuple):
    """Rows of a step's sets of impulses."""

    positions: RowSet
    recovery: RowSet
    velocities: RowSet


class Rates(NamedTuple):
    """Velocities (3,) along a contact's normal at the start, in the unconstrained mean and at its end; along (3, K)."""

    values: np.ndarray
    along: np.ndarray


class ContactDerivatives:
    """Derivatives of a step with contact from one state.

    stepper: a step is one part. q (nq,): configuration of the rows, by default at the start; v (nv,): velocity at the
    start. free: the unconstrained motion. taken (2, nv): the mean velocity, and that at the end. points: contacts
    (`kernels.contact.contact_points`). start (nq,): configuration at the start, of the gaps of limits.
    """

    def __init__(
        self,
        stepper: Stepper,
        q: np.ndarray,
        v: np.ndarray,
        free: FreeMotion,
        taken: np.ndarray,
        points: np.ndarray,
        start: np.ndarray | None = None,
    ) -> None:
        self.robot, self.q, self.v, self.points, self.free = stepper.robot, q, v, points, free
        self.h, self.theta = float(stepper.settings.table[0]), stepper.rule.theta
        self.touch, rows = with_rows(stepper.world.touching, points)
        self.contacts: Contacts = contacts_at(self.robot, q, self.touch, rows)
        self.gap, self.surface = points[:, START], self.touch.surface[rows[:, LAW].astype(int)]
        self.turning = turning_groups(self.contacts, self.surface)
        self.J = np.vstack([self.contacts.J.reshape(-1, self.robot.nv), *self._of_turning(self.contacts.turns)])
        self.armature = np.maximum(free.armature[0], 0.0)
        self.M = mass_matrix(self.robot, q, armature=self.armature)
        self.W = np.linalg.inv(self.M)
        # of positions, recovery and velocities: impulses of the contacts, changes of velocities, and velocities after
        recovery = np.zeros((len(points), 3))
        recovery[:, 2] = points[:, RECOVERY]
        push, force, torque = (
            np.einsum("cji,cj->ci", self.contacts.axes, points[:, k : k + 3]) for k in (ANGULAR_PUSH, FORCE, TORQUE)
        )
        self.impulses = [points[:, PUSH : PUSH + 3], recovery, self.h * force]
        self.angular = [push, 0 * push, self.h * torque]
        self._rounding = ROUNDED * max(1.0, float(np.abs(q).max())) / self.h  # of the mean velocity
        self._uncertain = 0.0  # of the recovery impulses of limits
        self.limits = self.touch.limit.tolist()
        at = (q if start is None else start)[self.touch.limit[:, LIMIT.coordinate]]
        gaps = self.touch.limit[:, LIMIT.side] * (at - self.touch.bound)
        self._limit_gaps = {(d, side): gap for (d, _, side), gap in zip(self.limits, gaps.tolist(), strict=True)}
        of_contacts = self.J.T @ self._row_impulses(1)
        self.on_limits = self._recovery_of_limits(taken[0], of_contacts)
        opened = self.W @ (of_contacts + self.on_limits)
        self.w = np.stack([taken[0] - opened, *taken])
        self.y = np.stack([self.w[0] - free.mean[0], opened, taken[1] - free.end[0]])

    def along(
        self, dq: np.ndarray, dv: np.ndarray, in_gap: np.ndarray | None = None, at_start: np.ndarray | None = None
    ) -> tuple[np.ndarray, StepRows]:
        """Return the derivatives (2, nv, K) of mean and end velocity along directions dq, dv (nv, K), and the rows.

        in_gap (C, K): derivatives of the gaps, by default J dq. at_start (nv, K): directions of q at the start.
        """
        self.in_gap = self.contacts.J[:, 2] @ dq if in_gap is None else in_gap
        self.at_start = dq if at_start is None else at_start
        mean, end = np.swapaxes(self.free.along[:, 0], 1, 2)
        changing = self._of_rates(dq, np.stack([dv, mean, end]))
        rows = StepRows(self._positions(dq, changing), self._recovery(dq), self._velocities(dq, changing))
        impulses = list(zip(self.impulses, self.angular, strict=True))
        forces = np.stack([wrenches(self.contacts, *each) for each in impulses])
        in_q = self._inertia_derivatives(self.y, f_ext=forces)
        dJ = velocity_derivatives(self.contacts, self.w)
        if self.turning:
            of_turning = self._of_turning(lambda: np.moveaxis(turn_derivatives(self.contacts, self.w), 0, 2))
            dJ = np.concatenate([dJ, np.moveaxis(np.vstack(of_turning), 1, 0)], axis=1)
        T = [force_derivatives(self.contacts, *each) - x for each, x in zip(impulses, in_q, strict=True)]
        opened = moved = self._changed(rows.positions, mean, T[0], dJ[0], dq)
        if self.y[1].any():
            opened = self._changed(rows.recovery, moved, T[1], dJ[1], dq, dJ[0] @ dq + self.J @ moved)
        return np.stack([opened, self._changed(rows.velocities, end, T[2], dJ[2], dq)]), rows

    def response(
        self, impulses: np.ndarray, forces: np.ndarray, in_impulses: np.ndarray, in_forces: np.ndarray, dq: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return y = (M + D)^-1 (J' lambda + f) (nv,), and its derivatives (K, nv).

        impulses (C, 3), forces (nv,): lambda and f. in_impulses (3 C, K), in_forces (nv, K): their derivatives.
        """
        y = self.W @ (self.J.T @ impulses.ravel() + forces)
        in_q = self._inertia_derivatives(y, f_ext=wrenches(self.contacts, impulses, 0 * impulses))
        T = force_derivatives(self.contacts, impulses, 0 * impulses) - in_q
        return y, (self.W @ (self.J.T @ in_impulses + in_forces + T @ dq)).T

    def _of_turning(self, of_contacts: Callable[[], np.ndarray]) -> list[np.ndarray]:
        """Return the rows of torsional and rolling friction from an array (C, 3, ...), one array for each group."""
        if not self.turning:
            return []
        found = of_contacts()
        return [found[group.contacts[0], group.axes] for group in self.turning]

    def _row_impulses(self, k: int) -> np.ndarray:
        """Return the impulses of all rows of a set."""
        return np.concatenate([self.impulses[k].ravel(), *self._of_turning(lambda: self.angular[k])])

    def _inertia_derivatives(self, y: np.ndarray, **options: Any) -> np.ndarray:
        """Return the derivatives (..., nv, nv) in q of (M + D) y, less the forces of `f_ext`."""
        still, none = np.zeros(self.robot.nv), np.zeros(3)
        given = self.robot, self.q, still, y
        return inverse_dynamics_derivatives(*given, gravity=none, armature=self.armature, **options).dtau_dq

    def _of_rates(self, dq: np.ndarray, along: np.ndarray) -> dict[int, Rates]:
        """Return the velocities along the normals of contacts that are soft or bounce; along: of the three motions."""
        special = np.flatnonzero((self.surface[:, SURFACE.stiffness] > 0) | (self.surface[:, SURFACE.restitution] > 0))
        if not special.size:
            return {}
        motions = np.stack([self.v, self.free.mean[0], self.free.end[0]])
        J = self.J[: 3 * len(self.gap)]
        rates, changes = motions @ J.T, velocity_derivatives(self.contacts, motions) @ dq + J @ along
        return {c: Rates(rates[:, 3 * c + 2], changes[:, 3 * c + 2]) for c in special.tolist()}

    # ---- rows

    def _positions(self, dq: np.ndarray, changing: dict[int, Rates]) -> RowSet:
        """Return the rows of position impulses, which leave no gap negative, and let no overlap grow."""
        dofs, forces = self._at_rest(0)
        n, closing = len(self.J), self.gap > -CLOSED
        linear = 3 * len(self.gap)
        bias, soft = np.zeros((n + len(dofs), dq.shape[1])), np.zeros(n + len(dofs))
        bias[2:linear:3][closing] = self.in_gap[closing] / self.h
        for c, rates in changing.items():
            r = 3 * c + 2
            if self.surface[c, SURFACE.stiffness] > 0:
                bias[r], soft[r] = self._damped(c) * self.in_gap[c], self._compliance(c)
            elif (bounce := self._rebound(c, rates)) is not None:
                bias[r] = bounce[0].along
        for k, (d, force) in enumerate(zip(dofs, forces, strict=True), n):
            if abs(force) > self.friction(0).get(d, 0.0) and self.limit_gap(d, force) > -CLOSED:
                bias[k] = self.at_start[d] / self.h
        return self._rows(0, dofs, forces, bias)._replace(soft=soft)

    def _velocities(self, dq: np.ndarray, changing: dict[int, Rates]) -> RowSet:
        """Return the rows of velocity impulses."""
        dofs, forces = self._at_rest(2)
        bias, soft = np.zeros((len(self.J) + len(dofs), dq.shape[1])), np.zeros(len(self.J) + len(dofs))
        for c, (_, along) in changing.items():
            r = 3 * c + 2
            if self.surface[c, SURFACE.stiffness] > 0:
                bias[r] = (along[1] + self._damped(c) * self.in_gap[c]) / self.theta - along[2]
                soft[r] = self._compliance(c)
            elif (bounce := self._rebound(c, changing[c])) is not None:
                bias[r] = -bounce[1].along
                self._refuse_reduced(c, float(self.J[r] @ self.w[2] - bounce[1].value))
        return self._rows(2, dofs, forces, bias)._replace(soft=soft)

    def _damped(self, c: int) -> float:
        """Return 1 / (theta h + t_d) of a soft contact (`constraint_rows.soft_bias`)."""
        lasting = self.surface[c, SURFACE.dissipation_time] if self.gap[c] <= 0 else 0.0
        return float(1 / (self.theta * self.h + lasting))

    def _compliance(self, c: int) -> float:
        """Return the compliance of a soft contact (`constraint_rows.compliance`)."""
        return float(self._damped(c) / (self.theta * self.h * self.surface[c, SURFACE.stiffness]))

    def _rebound(self, c: int, rates: Rates) -> tuple[Directional, Directional] | None:
        """Return position bias and end velocity (`constraint_rows.rebound_of`) of a contact that bounces, else None."""
        start, mean, end = (Directional(*each) for each in zip(rates.values.tolist(), rates.along, strict=True))
        contact = SimpleNamespace(pair=[0], gap=[Directional(float(self.gap[c]), self.in_gap[c])])
        touch = SimpleNamespace(surface=self.surface[c : c + 1], option=self.touch.option)
        along = [[None, None, x] for x in (start, mean, end)]
        m = SimpleNamespace(touch=touch, contacts=contact, start_rate=along[0], mean_rate=along[1], end_rate=along[2])
        position, velocity = rebound_of(m, 0, self.h, self.theta)
        return (position, velocity) if isinstance(velocity, Directional) and velocity > 0 else None

    def _refuse_reduced(self, c: int, missed: float) -> None:
        """Raise UnsupportedError if a contact's restitution was reduced."""
        if abs(missed) > REDUCED and self.impulses[2][c, 2] > 0:
            raise UnsupportedError(
                "restitution was reduced in the step, since it would have added energy: such steps have no derivatives"
            )

    def _recovery(self, dq: np.ndarray) -> RowSet:
        """Return the rows of recovery impulses: compliant rows of overlaps, and gaps that these would close."""
        dofs = [int(d) for d in np.flatnonzero(self.on_limits)]
        n, moved, alone = len(self.J), self.J @ self.w[0], []
        bias, soft = np.zeros((n + len(dofs), dq.shape[1])), np.zeros(n + len(dofs))
        for c in np.flatnonzero(self.points[:, RECOVERY] > 0).tolist():
            r = 3 * c + 2
            if -self.touch.option[OPTION.allowed_overlap] <= self.gap[c] < min(-self.h * moved[r], 0.0):
                alone.append(r)  # an overlap that is left, which recovery does not change
                continue
            in_G = 2 * velocity_derivatives(self.contacts, (self.W @ self.J[r])[None])[0, r] @ dq
            gap = Directional(self.gap[c], self.in_gap[c])
            bias[r], soft[r] = self._compliant(self.J[r], gap, self.points[c, RECOVERY], in_G, dq)
        for k, d in enumerate(dofs, n):
            side, unit = np.sign(self.on_limits[d]), np.eye(self.robot.nv)[d]
            gap = Directional(self.limit_gap(d, side), side * self.at_start[d])
            if self._opening(gap.value)[0] == 0:
                alone.append(k)
                continue
            bias[k], soft[k] = self._compliant(side * unit, gap, abs(self.on_limits[d]), 0.0, dq)
            bias[k] *= side
        return self._rows(1, dofs, self.on_limits[dofs], bias)._replace(soft=soft, alone=alone)

    def _compliant(
        self, J: np.ndarray, gap: Directional, impulse: float, in_G: Any, dq: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Return the derivatives (K,) of a recovery row's bias, and its compliance; in_G: 2 dJ y, y = (M + D)^-1 J'."""
        b, db = self._opening(gap.value)
        if b == 0:  # a gap, which closes
            return gap.along / self.h, 0.0
        y = self.W @ J
        in_G = in_G - (y @ self._inertia_derivatives(y)) @ dq  # of G = J y
        fastest, G = self.touch.option[OPTION.fastest], J @ y
        in_R = YIELD / fastest * (b * in_G + G * db * gap.along)
        return in_R * impulse - db * gap.along, YIELD * G * b / fastest

    def _opening(self, gap: float) -> tuple[float, float]:
        """Return the speed at which an overlap opens, and its derivative in the gap."""
        fraction, fastest, allowed = (
            self.touch.option[k] for k in (OPTION.fraction, OPTION.fastest, OPTION.allowed_overlap)
        )
        b = fraction * max(-gap - allowed, 0.0) / self.h
        return (min(b, fastest), -fraction / self.h if 0 < b < fastest else 0.0)

    def _recovery_of_limits(self, mean: np.ndarray, of_contacts: np.ndarray) -> np.ndarray:
        """Return the recovery impulses (nv,) of limits: of joints beyond them, and of those that would be pushed there.

        mean: velocity of the step. of_contacts: recovery impulses of contacts, as forces (nv,).
        """
        found, closed = np.zeros(self.robot.nv), []
        for (d, side), gap in self._limit_gaps.items():
            b, _ = self._opening(gap)
            if b > 0:
                soft = YIELD * self.W[d, d] * b / self.touch.option[OPTION.fastest]
                found[d] += side * max((b - side * mean[d]) / soft, 0.0)
                self._uncertain = max(self._uncertain, self._rounding / soft)
            elif gap + self.h * side * mean[d] <= CLOSED:
                closed.append((d, side))
        held: list[int] = []
        while found.any() or of_contacts.any():
            y = self.W @ (of_contacts + found)
            closing = [d for d, side in closed if d not in held and side * y[d] < -NONE * np.abs(y).max()]
            if not closing:
                break
            held += closing
            found[held] -= np.linalg.solve(self.W[np.ix_(held, held)], y[held])
        return found

    def limit_gap(self, d: int, side: float) -> float:
        """Return the distance of degree of freedom d from its lower (side > 0) or upper limit; infinite without."""
        return self._limit_gaps.get((d, 1 if side > 0 else -1), np.inf)

    def friction(self, k: int) -> dict[int, float]:
        """Return the bounds of joint friction by degree of freedom."""
        part = self.theta if k == 0 else 1.0
        return dict(zip(self.touch.friction.tolist(), (part * self.h * self.touch.rough).tolist(), strict=True))

    def _at_rest(self, k: int) -> tuple[list[int], np.ndarray]:
        """Return the degrees of freedom at limits, or held by friction, and their impulses."""
        of_contacts = self.J.T @ self._row_impulses(k)
        forces, rough = self.M @ self.y[k] - of_contacts, self.friction(k)
        moved = NONE * np.abs([*self.y, *self.w]).max(axis=0) + self._rounding
        rounding = np.abs(self.M) @ moved + self._uncertain
        limited = {*self.touch.limit[:, LIMIT.dof].tolist(), *self.touch.speed[:, SPEED.dof].tolist()}
        at_rest = [
            d
            for d in sorted({*limited, *rough})
            if (not self._slides(k, d, forces[d], rough[d]) if d in rough else abs(forces[d]) > rounding[d])
        ]
        return at_rest, forces[at_rest]

    def _slides(self, k: int, d: int, force: float, bound: float) -> bool:
        """Return whether a joint with friction moves, and nothing else acts on it."""
        return abs(abs(force) - bound) <= JOINT_BOUND * bound and abs(self.w[k][d]) > STILL

    def _rows(self, k: int, dofs: list[int], forces: np.ndarray, bias: np.ndarray) -> RowSet:
        w, impulses, mu = self.w[k], self.impulses[k], (k != 1) * self.surface[:, SURFACE.friction]
        velocities, impulse, states = self.J @ w, self._row_impulses(k), []
        sigma = velocities[: 3 * len(mu)].reshape(-1, 3)
        for own, velocity, friction in zip(impulses, sigma, mu, strict=True):
            held = np.hypot(*own[:2]) < (1 - AT_BOUND) * friction * own[2] or (friction > 0 and still(velocity[:2]))
            states.append(SEPARATING if own[2] <= 0 else STICKING if held else SLIDING)
        impulse, velocity = np.concatenate([impulse, forces]), np.concatenate([velocities, w[dofs]])
        return RowSet(states, dofs, impulse, velocity, mu, bias, np.zeros(len(bias)), [], np.zeros(bias.shape), k != 1)

    # ---- implicit derivatives

    def _changed(
        self, rows: RowSet, before: np.ndarray, T: np.ndarray, dJ: np.ndarray, dq: np.ndarray, moved: Any = None
    ) -> np.ndarray:
        """Return the derivatives (nv, K) of w from those before the impulses; moved (3 C, K): of what `alone` omits."""
        J = np.vstack([self.J, np.eye(self.robot.nv)[rows.dofs]])
        unforced = before + self.W @ (T @ dq)
        if not len(J):
            return unforced
        at_rest = rows.bias + J @ unforced  # dsigma at constant impulses
        at_rest[: len(dJ)] += dJ @ dq
        if rows.alone:
            at_rest[rows.alone] -= np.vstack([moved, before[rows.dofs]])[rows.alone]
        G = J @ self.W @ J.T + np.diag(rows.soft)
        A, b = np.eye(len(J)), np.zeros((len(J), dq.shape[1]))
        for c, state in enumerate(rows.states):
            if state != SEPARATING:
                A[3 * c : 3 * c + 3], b[3 * c : 3 * c + 3] = G[3 * c : 3 * c + 3], -at_rest[3 * c : 3 * c + 3]
            if state == SLIDING:
                t, n = np.arange(3 * c, 3 * c + 2), np.array([3 * c + 2])
                _put_friction(rows, t, n, rows.mu[c], G, at_rest, A, b)
        first = 3 * len(self.gap)
        for group in self.turning if rows.turns else ():
            t, n = np.arange(first, first := first + len(group.axes)), 3 * np.array(group.contacts) + 2
            bound = group.coefficient * rows.impulse[n].sum()
            if bound > 0 and (np.hypot.reduce(rows.impulse[t]) < (1 - AT_BOUND) * bound or still(rows.sigma[t])):
                A[t], b[t] = G[t], -at_rest[t]
            elif bound > 0:
                _put_friction(rows, t, n, group.coefficient, G, at_rest, A, b)
        A[len(dJ) :], b[len(dJ) :] = G[len(dJ) :], -at_rest[len(dJ) :]
        rows.changes[...] = _solved(A, b)
        found: np.ndarray = unforced + self.W @ (J.T @ rows.changes)
        return found


class Turning(NamedTuple):
    """Rows of torsional or rolling friction of contacts of the same bodies with one normal.

    contacts: their numbers, whose normal impulses bound the angular impulse. axes: numbers of the first contact's axes.
    """

    contacts: list[int]
    axes: list[int]
    coefficient: float


def turning_groups(contacts: Contacts, surface: np.ndarray) -> list[Turning]:
    """Return the groups of contacts with rolling friction, then with torsional (`kernels.contact.rolling_friction`)."""
    normals, ends, found = contacts.axes[..., 2], contacts.ends, []
    for column, axes in ((SURFACE.rolling_friction, [0, 1]), (SURFACE.torsional_friction, [2])):
        groups: list[list[int]] = []
        for c in np.flatnonzero(surface[:, column] > 0).tolist():
            for group in groups:
                g = group[0]
                alike = (ends[:, g] == ends[:, c]).all() and (surface[g, TURNS] == surface[c, TURNS]).all()
                if alike and np.linalg.norm(normals[g] - normals[c]) < EQUAL:
                    group.append(c)
                    break
            else:
                groups.append([c])
        found += [Turning(group, axes, float(surface[group[0], column])) for group in groups]
    return found


def _put_friction(
    rows: RowSet,
    t: np.ndarray,
    n: np.ndarray,
    mu: float,
    G: np.ndarray,
    at_rest: np.ndarray,
    A: np.ndarray,
    b: np.ndarray,
) -> None:
    """Write the equations of impulses in rows t that slide, in units of velocities; n: rows of the normal impulses."""
    speed, mobility = float(np.linalg.norm(rows.sigma[t])), float(G[t, t].sum() / len(t))
    A[t], b[t] = 0.0, 0.0
    A[t, t] = mobility
    if mu > 0 and speed > 0:
        s = rows.sigma[t] / speed
        across = mobility * mu * rows.impulse[n].sum() / speed * (np.eye(len(t)) - np.outer(s, s))
        A[t] += across @ G[t]
        A[np.ix_(t, n)] += mobility * mu * s[:, None]
        b[t] = -across @ at_rest[t]


def still(velocity: np.ndarray) -> bool:
    """Return whether a contact does not slide, though its friction may be at its bound."""
    return bool(np.linalg.norm(velocity) < STILL)


def _solved(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a solution x of A x = b for a matrix that may be singular, by proximal steps (A + rho) dx = b - A x.

    Where they do not converge, as for equations that contradict each other, it is the least-squares solution.
    """
    rho = PROXIMAL * max(float(np.abs(A.diagonal()).max()), float(np.abs(A).max()))
    inverse = np.linalg.inv(A + rho * np.eye(len(A)))
    x = inverse @ b
    for _ in range(REPETITIONS):
        x += inverse @ (b - A @ x)
    missed = np.abs(b - A @ x).max(initial=0.0)
    if missed > UNSOLVED * np.abs(b).max(initial=0.0):
        x = np.linalg.lstsq(A, b, rcond=1e-12)[0]
    return x
