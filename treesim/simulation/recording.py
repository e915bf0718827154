"""Recording of a simulation's states, from which the trajectory is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..contact.history import ContactHistory, no_contact
from ..contact.points import no_points
from ..contact.report import ContactReport
from ..contact.tables import Touching
from ..kernels.stepping.external_forces import WRENCHES
from ..model.tree import Tree
from .energy_balance import energies, work_of
from .readings import NO_READINGS, Readings
from .sensors import Sensor, Steps, read, readings_of
from .trajectory import Trajectory

BLOCK = 256  # states whose contact pairs are compressed together


class Recording:
    """Preallocated arrays of the states of a run."""

    def __init__(
        self, robot: Tree, capacity: int, touching: Touching | None = None, contact_points: bool = False
    ) -> None:
        """Allocate memory for `capacity` states.

        touching: the pairs that may touch, None without contact. contact_points: whether to keep those of each step.
        """
        self._keeps_points, self._points = contact_points, list[np.ndarray]()
        self.robot, self.count, self._touching = robot, 0, touching
        self.t = np.empty(capacity)
        self.q = np.empty((capacity, robot.nq))
        self.v = np.empty((capacity, robot.nv))
        self.tau = np.empty((capacity, robot.nv))
        self.work = np.empty((capacity, 2))
        self._bodies = np.array([] if touching is None else touching.bodies, int)
        kept = 0 if touching is None else capacity
        self._tables: list[np.ndarray | None] = []  # of external forces in each step
        self._on_welds: list[np.ndarray | None] = []  # and the parts of these on welded links
        self.wrench, self.solver_info = np.zeros((kept, len(self._bodies), 6)), no_contact(kept)
        self._latest: list[tuple[int, np.ndarray]] = []  # states, and wrenches (P, 12) of all pairs
        self._met: list[tuple[list[int], np.ndarray, np.ndarray]] = []  # states, pairs that touch, (states, pairs, 12)

    def add(self, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray | None, work: np.ndarray) -> None:
        """Record one state, its torque (None if unknown) and the work up to it."""
        k = self.count
        self.t[k], self.q[k], self.v[k] = t, q, v
        self.tau[k] = 0.0 if tau is None else tau
        self.work[k] = work
        self.count = k + 1

    def add_contact(self, contact: ContactReport) -> None:
        """Record the contact report of the step that starts at the last state."""
        if self._touching is not None:
            k = self.count - 1
            contact.wrench_array.take(self._bodies, axis=0, out=self.wrench[k], mode="clip")  # faster than "raise"
            self.solver_info[k] = contact.solver_info
            if self._keeps_points:
                self._points.append(contact.points)
            self._latest.append((k, contact.pair_wrench_array))
            if len(self._latest) == BLOCK:
                self._keep_what_touched()

    def add_forces(self, table: np.ndarray | None, on_welds: np.ndarray | None) -> None:
        """Record the table (21 N,) of the external forces in the step that starts at the last state; None for none.

        on_welds (21 W,): the part of it on welded links.
        """
        self._tables.append(table)
        self._on_welds.append(on_welds)

    def readings(
        self, sensors: Sequence[Sensor], gravity: np.ndarray, errors: Callable[[list[np.ndarray]], list[np.ndarray]]
    ) -> Readings:
        """Return the readings of sensors in all steps so far; errors: returns them from the exact readings."""
        robot, n = self.robot, max(self.count - 1, 0)
        if not sensors:
            return NO_READINGS
        wrench = np.zeros((n, robot.n_bodies + 1, 6))
        if self._touching is not None:
            wrench[:, self._bodies] = self.wrench[:n]
        tables = _stacked(self._tables[:n], robot.n_bodies), _stacked(self._on_welds[:n], len(robot.welds))
        states = self.q[:n], self.v[:n], self.q[1 : n + 1], self.v[1 : n + 1], self.tau[:n]
        steps = Steps(robot, gravity, np.diff(self.t[: n + 1]), *states, wrench, *tables)
        return readings_of(sensors, robot, errors(read(sensors, steps)), self.count)

    def _keep_what_touched(self) -> None:
        """Compress the wrenches of the latest block of states: only pairs that touched are stored.

        There may be hundreds of pairs.
        """
        if self._latest:
            wrench = np.stack([pairs for _, pairs in self._latest])
            met = np.flatnonzero(wrench.any(axis=(0, 2)))
            self._met.append(([k for k, _ in self._latest], met, wrench[:, met]))
            self._latest = []

    def fastest_joint(self) -> str:
        """Return the degree of freedom with the highest speed in the last state."""
        if not self.count or not self.robot.nv:
            return "(none)"
        return self.robot.dof_name(int(np.argmax(np.abs(self.v[self.count - 1]))))

    def trajectory(self, gravity: np.ndarray | None, metadata: dict[str, Any], counted: bool) -> Trajectory:
        """Return the trajectory of the states so far, with their energies.

        gravity: (3,), the robot's if None. counted: whether the integrator recorded the work; otherwise it is
        computed from the torques.
        """
        n = self.count
        t, q, v, tau = self.t[:n], self.q[:n], self.v[:n], self.tau[:n]
        found = energies(self.robot, q, v, gravity)
        work = self.work[:n] if counted else work_of(self.robot, t, v, tau, self.work[0])
        facts = {**metadata, "energy_range": found.energy_range}
        total = found.kinetic + found.potential
        return Trajectory.of(self.robot, t, q, v, tau, total, facts, work, self._contact())

    def _contact(self) -> ContactHistory | None:
        """Return the contact history of the states so far, for all pairs that ever touched."""
        if self._touching is None:
            return None
        self._keep_what_touched()
        names = tuple(self.robot.body_names[i - 1] for i in self._bodies)
        ever = sorted({int(g) for _, met, _ in self._met for g in met})
        wrench = np.zeros((self.count, len(ever), 12))
        for numbers, met, given in self._met:
            wrench[np.array(numbers)[:, None], np.searchsorted(ever, met)] = given
        pairs = tuple(self._touching.groups[g] for g in ever)
        states = self.wrench[: self.count], self.solver_info[: self.count]
        made = ContactHistory(names, *states, self._touching.surfaces, pairs, wrench)
        if not self._keeps_points:
            return made
        every = [*self._points[: self.count], *[no_points(self._touching)] * (self.count - len(self._points))]
        first = np.cumsum([0, *map(len, every)])
        return replace(made, points=np.concatenate(every), first_point=first)


def _stacked(tables: Sequence[np.ndarray | None], rows: int) -> np.ndarray | None:
    """Return the tables (K, 21 rows) of external forces of K steps; None if no step has any."""
    if all(table is None for table in tables):
        return None
    return np.array([np.zeros(WRENCHES * rows) if table is None else table for table in tables])
