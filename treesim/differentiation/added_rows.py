"""Rows of steps with recovery, soft contacts and restitution: what the kernel `motion_gradient` adds for them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ..errors import UnsupportedError
from ..kernels.contact.constraint_rows import rebound_of
from ..kernels.contact.layout import RECOVERY as OPTION
from ..kernels.contact.layout import SURFACE
from ..kernels.contact.motion_gradient import CLOSED
from ..kernels.contact.recovery import YIELD
from ..kernels.contact.row_derivatives import GAP, IMPULSES, SETS
from ..kernels.contact.set_equations import ADDED, POSITIONS, RECOVERY, VELOCITIES, Added
from .directional import Directional

NONE = 1e-11  # of the largest velocity: rounding
REDUCED = 1e-7  # m/s
PRESSED = IMPULSES + 2  # place of the normal impulse of the first set


class Overlap(NamedTuple):
    """An overlap that a state b reduces: its row r, the side of a joint limit, y = W J', and the factor of d(J y)."""

    b: int
    r: int
    side: float
    y: np.ndarray
    factor: float


def recovery_of(of: Any, b: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the recovery impulses (nv,) of joint limits in state b, and the change of velocities by all of recovery.

    of: `ContactGradient`. Joints beyond their limits have impulses, and those that would be pushed there.
    """
    option, h, W = of.touch.option, of.h, inverse(of, b)
    of_contacts, mean = of.contacts[b, :, PRESSED + 6] @ of.normals[b], of.given.taken[0][b]
    sides, speeds = np.array([[1.0], [-1.0]]), _opening(option, of.gaps[b], h)[0]
    found, closed = np.zeros(len(W)), (speeds == 0) & (of.gaps[b] + h * sides * mean <= CLOSED)
    for k, d in np.argwhere(speeds > 0).tolist():
        side, soft = sides[k, 0], YIELD * W[d, d] * speeds[k, d] / option[OPTION.fastest]
        found[d] += side * max((speeds[k, d] - side * mean[d]) / soft, 0.0)
        of.rounding[b, 1] = max(of.rounding[b, 1], of.rounding[b, 0] / soft)
    held: list[int] = []
    while found.any() or of_contacts.any():
        y = W @ (of_contacts + found)
        closing = np.unique(np.nonzero(closed & (sides * y < -NONE * np.abs(y).max()))[1]).tolist()
        closing = [d for d in closing if d not in held]
        if not closing:
            break
        held += closing
        found[held] -= np.linalg.solve(W[np.ix_(held, held)], y[held])
    return found, W @ (of_contacts + found)


def added_rows(of: Any, recovers: np.ndarray) -> tuple[np.ndarray | None, list[Overlap]]:
    """Return numbers of the rows of all sets (B, SETS, R + nv, len(Added) + nv), and overlaps; None if there are none.

    recovers (B,): whether states reduce overlaps. Raises UnsupportedError if restitution was reduced.
    """
    table = of.touch.surface
    special = (table[:, SURFACE.stiffness] > 0) | (table[:, SURFACE.restitution] > 0)
    special = np.append(special, False)[of.pair]  # empty contacts have the pair -1
    states = recovers | special.any(axis=1)
    if not states.any():
        return None, []
    B, nv = len(states), of.robot.nv
    found = np.zeros((B, SETS, of.J.shape[1] + nv, len(Added._fields) + nv))
    overlaps = [x for b in np.flatnonzero(recovers).tolist() for x in _put_recovery(of, b, found[b, RECOVERY])]
    if overlaps:
        in_q = _mobility_derivatives(of, overlaps)
        for x, row in zip(overlaps, in_q, strict=True):
            found[x.b, RECOVERY, x.r, len(Added._fields) :] = x.side * x.factor * row
    for b in np.flatnonzero(states).tolist():
        contacts = np.flatnonzero(special[b]).tolist()
        if contacts:
            motions = np.stack([of.given.v[b], of.given.mean[b], of.given.end[b]])
            for c in contacts:
                r = of.axes * c + 2
                rates, in_q = motions @ of.J[b, r], _rate_derivatives(of, b, r, motions)
                both = found[b, POSITIONS, r], found[b, VELOCITIES, r]
                (_put_soft if table[of.pair[b, c], SURFACE.stiffness] > 0 else _put_bounce)(of, b, c, rates, in_q, both)
    return found, overlaps


def _put(row: np.ndarray, in_gap: float, of_rates: Any, in_q: np.ndarray, soft: float = 0.0) -> None:
    """Write the derivatives of a bias in the gap, in the rates (3,) of three motions, whose own are in_q (3, nv)."""
    row[ADDED.in_start : ADDED.in_end + 1], row[ADDED.in_gap], row[ADDED.soft] = of_rates, in_gap, soft
    row[len(Added._fields) :] = np.asarray(of_rates) @ in_q


def _closing(of: Any, b: int, c: int) -> float:
    """Return the derivative in the gap that the kernel adds itself."""
    return 1 / of.h if of.contacts[b, c, GAP] > -CLOSED else 0.0


def _put_soft(of: Any, b: int, c: int, rates: np.ndarray, in_q: np.ndarray, both: Any) -> None:
    """Write the rows of a soft contact (`constraint_rows.soft_bias`, `compliance`, `velocity_problem`)."""
    surface, time = of.touch.surface[of.pair[b, c]], of.theta * of.h
    damped = 1 / (time + (surface[SURFACE.dissipation_time] if of.contacts[b, c, GAP] <= 0 else 0.0))
    soft = damped / (time * surface[SURFACE.stiffness])
    _put(both[0], damped - _closing(of, b, c), [0.0, 0.0, 0.0], in_q, soft)
    _put(both[1], damped / of.theta, [0.0, 1 / of.theta, -1.0], in_q, soft)


def _put_bounce(of: Any, b: int, c: int, rates: np.ndarray, in_q: np.ndarray, both: Any) -> None:
    """Write the rows of a contact that bounces (`constraint_rows.rebound_of`)."""
    gap, start, mean, end = (
        Directional(float(x), unit) for x, unit in zip([of.contacts[b, c, GAP], *rates], np.eye(4), strict=True)
    )
    m = SimpleNamespace(
        touch=SimpleNamespace(surface=of.touch.surface[of.pair[b, c : c + 1]], option=of.touch.option),
        contacts=SimpleNamespace(pair=[0], gap=[gap]),
        start_rate=[None, None, start], mean_rate=[None, None, mean], end_rate=[None, None, end],
    )  # fmt: skip
    position, velocity = rebound_of(m, 0, of.h, of.theta)
    if not (isinstance(velocity, Directional) and velocity > 0):
        return
    missed = of.J[b, of.axes * c + 2] @ of.w[b, VELOCITIES] - velocity.value
    if abs(missed) > REDUCED and of.contacts[b, c, PRESSED + 6 * VELOCITIES] > 0:
        raise UnsupportedError(
            "restitution was reduced in the step, since it would have added energy: such steps have no derivatives"
        )
    _put(both[0], position.along[0] - _closing(of, b, c), position.along[1:], in_q)
    _put(both[1], -velocity.along[0], -velocity.along[1:], in_q)


def _put_recovery(of: Any, b: int, rows: np.ndarray) -> list[Overlap]:
    """Write the rows of recovery impulses: compliant rows of overlaps, and gaps that these would close.

    Returns the overlaps, whose rows have derivatives in q besides (`_mobility_derivatives`).
    """
    option, h, W = of.touch.option, of.h, inverse(of, b)
    J, nv = of.J[b], len(W)
    overlaps = list[tuple[int, float, np.ndarray, float, float]]()  # row, side, its J, gap and impulse
    for c in np.flatnonzero(of.contacts[b, :, PRESSED + 6] > 0).tolist():
        r, gap = of.axes * c + 2, float(of.contacts[b, c, GAP])
        if -option[OPTION.allowed_overlap] <= gap < min(-h * float(J[r] @ of.w[b, 0]), 0.0):
            rows[r, ADDED.alone] = 1.0  # an overlap that is left, which recovery does not change
        else:
            overlaps.append((r, 1.0, J[r], gap, of.contacts[b, c, PRESSED + 6]))
    for d in np.flatnonzero(of.on_limits[b]).tolist():
        side, r = np.sign(of.on_limits[b, d]), len(J) + d
        gap = of.gaps[b, 0 if side > 0 else 1, d]
        rows[r, ADDED.held] = of.on_limits[b, d]
        if _opening(option, gap, h)[0] == 0:
            rows[r, ADDED.alone] = 1.0
        else:
            overlaps.append((r, side, side * np.eye(nv)[d], gap, abs(of.on_limits[b, d])))
    found = list[Overlap]()
    for r, side, own, gap, impulse in overlaps:
        b0, db = _opening(option, gap, h)
        if b0 == 0:  # a gap, which closes
            rows[r, ADDED.in_gap] = 1 / h
            continue
        y = W @ own
        G, part = own @ y, YIELD / option[OPTION.fastest]
        rows[r, ADDED.in_gap], rows[r, ADDED.soft] = part * G * db * impulse - db, part * G * b0
        found.append(Overlap(b, r, side, y, part * b0 * impulse))
    return found


def _mobility_derivatives(of: Any, overlaps: list[Overlap]) -> np.ndarray:
    """Return the derivatives (n, nv) of J y, y = W J', of the rows of overlaps: 2 dJ y - y' dM y."""
    states, y = [x.b for x in overlaps], np.stack([x.y for x in overlaps])
    w, rho = np.zeros((len(y), SETS, y.shape[1])), np.zeros((len(y), SETS, of.J.shape[1]))
    w[:, 0] = y
    for k, x in enumerate(overlaps):
        if x.r < rho.shape[2]:
            rho[k, 0, x.r] = 2.0
    found: np.ndarray = of.in_configuration(states, w, w, rho[:, None], w[:, None], _without_impulses(of, states))
    return found[:, 0]


def _rate_derivatives(of: Any, b: int, r: int, motions: np.ndarray) -> np.ndarray:
    """Return the derivatives (SETS, nv) of the velocities along row r of state b under SETS motions (SETS, nv)."""
    rho, still = np.zeros((1, SETS, SETS, of.J.shape[1])), np.zeros((1, *motions.shape))
    rho[0, range(SETS), range(SETS), r] = 1.0
    z = np.zeros((1, SETS, *motions.shape))
    found: np.ndarray = of.in_configuration([b], motions[None], still, rho, z, _without_impulses(of, [b]))
    return found[0]


def _without_impulses(of: Any, states: list[int]) -> np.ndarray:
    """Return the contacts of some states with impulses of zero."""
    contacts: np.ndarray = of.contacts[states]
    contacts[..., IMPULSES : IMPULSES + 6 * SETS] = 0.0
    return contacts


def inverse(of: Any, b: int) -> np.ndarray:
    """Return (M + D)^-1 of state b."""
    return np.linalg.inv(of.M[b] + np.diag(np.maximum(of.given.armature[b], 0.0)))


def _opening(option: np.ndarray, gap: Any, h: float) -> tuple[Any, Any]:
    """Return the speeds at which overlaps open (`recovery.opening`), and their derivatives in the gaps."""
    fastest = option[OPTION.fastest]
    b = option[OPTION.fraction] * np.maximum(-gap - option[OPTION.allowed_overlap], 0.0) / h
    return np.minimum(b, fastest), np.where((b > 0) & (b < fastest), -option[OPTION.fraction] / h, 0.0)
