"""Energy of rollouts, and its comparison with the work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..dynamics.energy import energy
from ..dynamics.springs import coordinates_of
from ..engine.call.evaluate import specialized_first
from ..errors import EnergyWarning
from ..model.quaternions import of_unit_length
from ..model.tree import Tree
from ..simulation.energy_balance import ROUNDING, TOLERATED, energy_range, off_by, remedy_of
from ..simulation.sensors import LARGEST
from ..simulation.step_settings import simple_joints
from ..states.physics import Numbers
from ..system.user_warnings import warn

RECORDS = 32  # of a rollout, at most, at which its energy is checked, including the last,
STEPS = 50  # and one for this many steps: an energy costs as much as a few steps
STATES = 8192  # processed together, to limit the memory

ROUNDING_SINGLE = 1e-3  # of kinetic energy, in single precision: a smaller energy range counts as none


class Balance(NamedTuple):
    """Energy balance of B rollouts, all arrays (B,).

    start: energy at the start [J]. error: largest energy error [J], NaN if a state has no energy. record: the
    record with this error. energy_range: energy range [J].
    """

    start: np.ndarray
    error: np.ndarray
    record: np.ndarray
    energy_range: np.ndarray


class BatchedRobots(NamedTuple):
    """Model parameters of B rollouts' robots.

    numbers: entries of the robot's table. mass [kg]. gravity: its magnitude [m/s^2]. springs: stiffness and rest
    position (B, 2, nv) of joint springs, if they are not the robot's.
    """

    numbers: Numbers
    mass: np.ndarray
    gravity: np.ndarray
    springs: np.ndarray | None = None

    def of(self, rows: slice | np.ndarray) -> BatchedRobots:
        """Return the model parameters of some rollouts."""
        return BatchedRobots(
            Numbers(self.numbers.places, self.numbers.values[rows]), self.mass[rows], self.gravity[rows],
            None if self.springs is None else self.springs[rows],
        )  # fmt: skip

    def of_states(self) -> dict[str, Any]:
        """Return the model parameters as arguments of `energy_range`, for states (B, K, n)."""
        physics = Numbers(self.numbers.places, self.numbers.values[:, None]) if self.numbers.places.size else None
        return {"gravity": self.gravity[:, None], "mass": self.mass, "model_parameters": physics}


NOTHING = Balance(np.empty(0), np.empty(0), np.empty(0, int), np.empty(0))


def total_energy(
    robot: Tree, q: np.ndarray, v: np.ndarray, done: np.ndarray, own: BatchedRobots | None = None
) -> np.ndarray:
    """Return the energy (B, K) [J] of states q (B, K, nq), v (B, K, nv) in double precision.

    done (B,): number of computed states of each rollout. NaN where a state was not computed, is not finite, or
    its energy overflows. Cost O(N) each.
    """
    total = np.full(q.shape[:2], np.nan)
    records = max(1, min(STATES, q.shape[1]))
    for rows in _parts(q.shape[0], STATES // records):
        for columns in _parts(q.shape[1], records):
            known = np.arange(q.shape[1])[columns] < done[rows, None]
            part = None if own is None else own.of(rows)
            total[rows, columns] = _energies(robot, q[rows, columns], v[rows, columns], known, part).sum(axis=0)
    return total


def balance(
    robot: Tree,
    starts: tuple[np.ndarray, np.ndarray],
    q: np.ndarray,
    v: np.ndarray,
    work: np.ndarray,
    steps: int,
    own: BatchedRobots | None = None,
) -> Balance:
    """Compare the energy of rollouts with their work (B, K, 2) at a few of K records.

    starts: q0 (B, nq), v0 (B, nv). steps: number of steps of a rollout. own: model parameters of each. Cost
    O(N) per state.
    """
    records = q.shape[1]
    wanted = min(records, RECORDS, 1 + steps // STEPS)
    picked = np.unique(np.linspace(records - 1, 0, wanted).round().astype(int))
    rounding = ROUNDING_SINGLE if q.dtype == np.float32 else ROUNDING
    found = [NOTHING]
    for rows in _parts(len(q), STATES // (1 + len(picked))):
        some_q, some_v = (
            np.concatenate([x0[rows, None], x[rows][:, picked]], axis=1) for x0, x in zip(starts, (q, v), strict=True)
        )
        some_work = work[rows][:, picked].sum(axis=-1, dtype=float)
        part = None if own is None else own.of(rows)
        found.append(_balance(robot, some_q, some_v, some_work, picked, rounding, part))
    start, error, worst, most = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Balance(start, error, worst, most)


def _balance(
    robot: Tree,
    q: np.ndarray,
    v: np.ndarray,
    work: np.ndarray,
    picked: np.ndarray,
    rounding: float,
    own: BatchedRobots | None,
) -> Balance:
    """Compare the energy of some rollouts with their work (B, K).

    q, v: the initial state and K records (B, 1 + K, n). picked: indices of these records.
    """
    kinetic, potential = _energies(robot, q, v, np.ones(q.shape[:2], bool), own)
    total = kinetic + potential
    errors = np.concatenate([np.zeros((len(q), 1)), total[:, 1:] - total[:, :1] - work], axis=1)
    good, worst = np.isfinite(errors).all(axis=1), np.argmax(np.abs(errors), axis=1)
    error, most = np.where(good, errors[np.arange(len(q)), worst], np.nan), np.full(len(q), np.nan)
    if good.any():
        states = q[good], v[good], kinetic[good], potential[good]
        physics = {} if own is None else own.of(good).of_states()
        most[good] = energy_range(robot, *states, rounding=rounding, **physics)
    return Balance(total[:, 0], error, np.concatenate([[0], picked])[worst], most)


def warn_of_errors(robot: Tree, found: Balance, finite: np.ndarray, t: np.ndarray, dt: float, integrator: str) -> None:
    """Warn once of rollouts whose energy error exceeds 1 % of their energy range.

    finite (B,): rollouts that are complete and finite. t (K,): times of records [s].
    """
    parts = np.abs(found.error) / found.energy_range
    parts[finite & np.isnan(parts)] = np.inf
    wrong = int(np.count_nonzero(parts > TOLERATED))
    if not wrong:
        return
    b = int(np.nanargmax(parts))
    measured = off_by(found.error[b], t[found.record[b]], found.energy_range[b])
    details = measured if np.isfinite(parts[b]) else "the energy is too large for a number"
    warn(
        f"the energy of {wrong} of {len(parts)} rollouts is off by more than {TOLERATED:.0%} of the energy range; "
        f"in number {b} {details}: {remedy_of(robot, dt, integrator)}",
        EnergyWarning,
    )


def _energies(robot: Tree, q: np.ndarray, v: np.ndarray, known: np.ndarray, own: BatchedRobots | None) -> np.ndarray:
    """Return kinetic and potential energies (2, B, K); NaN where `known` (B, K) is False or there is no energy."""
    found = _without_own_springs(robot, q, v, known, None if own is None else own.numbers)
    if own is not None and own.springs is not None:
        found[1] += _additional_spring_energy(robot, q.astype(float, copy=False), own.springs)
    return found


@np.errstate(all="ignore")  # of states without an energy
def _additional_spring_energy(robot: Tree, q: np.ndarray, springs: np.ndarray) -> np.ndarray:
    """Return the energy (B, K) of springs (B, 2, nv) at q (B, K, nq), minus that of the robot's own springs."""
    v = np.flatnonzero(simple_joints(robot))
    x, (stiffness, rest) = q[..., coordinates_of(robot, v)], springs[:, :, None, v].swapaxes(0, 1)
    own = robot.stiffness[v] * (x - robot.rest[v]) ** 2
    difference: np.ndarray = (stiffness * (x - rest) ** 2 - own).sum(axis=-1) / 2
    return difference


def _without_own_springs(
    robot: Tree, q: np.ndarray, v: np.ndarray, known: np.ndarray, own: Numbers | None
) -> np.ndarray:
    """Return `_energies` with the springs of the robot; own: entries of the robot's table of each of B robots."""
    q, v = (x.astype(float, copy=False) for x in (q, v))
    good = known & (np.abs(q) < LARGEST).all(axis=-1) & (np.abs(v) < LARGEST).all(axis=-1)  # False for NaN
    if own is not None and not own.places.size:
        own = None
    physics = None if own is None else np.broadcast_to(own.values[:, None], (*good.shape, own.places.size))
    if not good.all():
        q, v, physics = q[good], v[good], None if physics is None else physics[good]

    def of(q: np.ndarray, v: np.ndarray, physics: np.ndarray | None) -> np.ndarray:
        if own is None or physics is None:
            return np.array(specialized_first(energy, robot, q, v))
        return np.array(energy(robot, q, v, model_parameters=Numbers(own.places, physics)))

    found, some = np.full((2, *good.shape), np.nan), of_unit_length(robot, q)
    if some.all() and good.all():
        return of(q, v, physics)
    good[good] = some.reshape(-1)
    if good.any():
        found[:, good] = of(q[some], v[some], None if physics is None else physics[some])
    return found


def _parts(count: int, size: int) -> Iterator[slice]:
    """Return slices of `size` entries, the last one shorter."""
    size = max(1, size)
    return (slice(first, min(first + size, count)) for first in range(0, count, size))
