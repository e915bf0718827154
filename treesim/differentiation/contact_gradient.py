"""Derivatives of the motion in steps with contact (`kernels.contact.motion_gradient`), of many states."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..contact.points import with_rows
from ..engine.call.batched import BatchedTables
from ..engine.call.buffer_pool import empty
from ..engine.call.evaluate import run_states
from ..kernels.contact.contact_numbers import contact_numbers_states
from ..kernels.contact.contact_points import LAW, START
from ..kernels.contact.layout import LIMIT, SPEED
from ..kernels.contact.layout import RECOVERY as OPTION
from ..kernels.contact.motion_gradient import RESULT, impacts_states, motion_gradient_states
from ..kernels.contact.row_derivatives import (
    BOTH,
    CONTACT,
    FRICTION,
    GAP,
    IMPACTS,
    IMPULSES,
    LINEAR,
    ROLLING,
    TORSIONAL,
    configuration_gradient_states,
    contact_rows_states,
)
from ..kernels.contact.set_equations import Settings, Sizes
from ..kernels.contact.tables import Touch
from ..simulation.stepper import Stepper
from ..states.states import serving
from .added_rows import added_rows, recovery_of
from .contact_geometry import put_geometry
from .step_parts import Motion, of_states

ROUNDED = 1e-15  # of a configuration, whose change is the velocity of positions
UNLIMITED = np.inf


class StepStates(NamedTuple):
    """Parts of steps from B states.

    q (B, nq): configurations of the rows. v (B, nv): velocities at the start. mean, end (B, nv): unconstrained motion.
    armature (B, nv): diagonal that the step adds to the mass matrix. taken: motion in the step. points (B, P, POINT):
    contacts (`kernels.contact.contact_points`), of which states have `counts` (B,). start (B, nq): configurations at
    the start, of the gaps of limits. motion (B, nv): velocities along which gaps of contacts were converted to those at
    the start (`midpoint_correction.start_gaps`), if they were.
    """

    q: np.ndarray
    v: np.ndarray
    mean: np.ndarray
    end: np.ndarray
    armature: np.ndarray
    taken: Motion
    points: np.ndarray
    counts: np.ndarray
    start: np.ndarray
    motion: np.ndarray | None = None


class RowParameters(NamedTuple):
    """Model parameters of each state: numbers of the robot's table, and friction (B, P) of each pair of solids."""

    robot: BatchedTables | None
    friction: np.ndarray | None


ROBOT = RowParameters(None, None)  # parameters of all states are those of the robot and its world


class MotionGradient(NamedTuple):
    """Gradients (B, K, nv) of weighted sums, in what a part of a step depends on.

    q: configuration of the rows. start: that of the gaps of limits. v: velocity at the start. mean, end: unconstrained
    motion. gap: configuration of the gaps of contacts. z (B, K, S, nv): J' lambda - (M + D) y of each of S sets, at
    constant lambda and y. rows (B, K, S, R + nv): velocities along the rows of each set. friction (B, K, C): that of
    the contacts.
    """

    q: np.ndarray
    start: np.ndarray
    v: np.ndarray
    mean: np.ndarray
    end: np.ndarray
    gap: np.ndarray
    z: np.ndarray
    rows: np.ndarray
    friction: np.ndarray


class ContactGradient:
    """Derivatives of parts of steps with contact.

    J (B, R, nv), M (B, nv, nv): rows, and mass matrix. w, y (B, S, nv): velocities after each set of impulses, and
    their changes. forces (B, 2, nv): impulses of joints, if there are impacts. shown (B, 2, C + nv, 3): what acts,
    under position and velocity impulses (`kernels.contact.motion_gradient.put_shown`), of the last gradient. Raises
    UnsupportedError for contacts and steps that have no derivatives.
    """

    def __init__(self, stepper: Stepper, given: StepStates, parameters: RowParameters = ROBOT) -> None:
        self.stepper, self.given, self.robot, self.parameters = stepper, given, stepper.robot, parameters
        self.armature = np.maximum(given.armature, 0.0)
        self.h, self.theta = float(stepper.settings.table[0]), stepper.rule.theta
        self.touch, points, self.pair = points_of(stepper, given)
        self.contacts, lowest = self._numbers_of(points)
        turning = self.touch.resists and self.contacts[..., [ROLLING, TORSIONAL]].any()
        self.axes = BOTH if turning else LINEAR  # rows of a contact
        largest = np.maximum(1.0, np.abs(given.q).max(axis=1, initial=0.0))
        self.rounding = np.stack([ROUNDED * largest / self.h, np.zeros(len(largest))], axis=1)
        self.gaps = self._gaps_of_limits()
        mean, end = given.taken
        recovers = self._recovers()
        self.w = np.stack([mean, mean, end], axis=1)
        self.y = np.stack([mean - given.mean, 0 * mean, end - given.end], axis=1)
        self.on_limits = np.zeros(mean.shape)  # recovery impulses of limits
        B, C = self.pair.shape
        nv = self.robot.nv
        self.J, self.M = (empty((B, rows, nv), float) for rows in (C * self.axes, nv))
        self._run_on_rows(contact_rows_states, slice(None), (), [self.contacts], [self.J, self.M])
        if C:
            self._put_motions_of_points(points, lowest)
        for b in np.flatnonzero(recovers).tolist():
            self.on_limits[b], opened = recovery_of(self, b)
            self.w[b, 0] -= opened
            self.y[b] = np.stack([self.w[b, 0] - given.mean[b], opened, self.y[b, 2]])
        self.added, self.overlaps = added_rows(self, recovers)
        self.forces = np.empty((B, 0, nv))

    def impacts(self) -> np.ndarray:
        """Return the motion (B, nv) of impacts, which become a set, and the last weights (`motion_of_impacts`)."""
        (B, C, _), nv = self.contacts.shape, self.robot.nv
        forces, acting, motion = (np.empty((B, *shape)) for shape in ((2, nv), (C, LINEAR), (nv,)))
        _run(impacts_states, self._tables(1), self._arrays, [forces, acting, motion])
        first = IMPULSES + 6 * IMPACTS
        self.contacts[..., first : first + LINEAR] = acting
        self.add_set(0 * motion, motion)
        self.forces = forces
        return motion

    def add_set(self, w: np.ndarray, y: np.ndarray) -> None:
        """Add a set with the velocity w (B, nv) and the change y; without impacts, w moves contacts to their gaps."""
        self.w, self.y = (np.concatenate([x, own[:, None]], axis=1) for x, own in ((self.w, w), (self.y, y)))

    def of(self, states: slice) -> ContactGradient:
        """Return those of successive states."""
        found = copy(self)
        arrays = "contacts", "pair", "rounding", "gaps", "w", "y", "armature", "J", "M", "added", "forces"
        for name in ("given", "parameters", *arrays):
            setattr(found, name, of_states(getattr(self, name), states))
        overlaps = [x for x in self.overlaps if states.start <= x.b < states.stop]
        found.overlaps = [x._replace(b=x.b - states.start) for x in overlaps]
        return found

    def in_configuration(
        self, states: Any, w: np.ndarray, y: np.ndarray, rho: np.ndarray, z: np.ndarray, contacts: np.ndarray
    ) -> np.ndarray:
        """Return the gradients (B, K, nv) of sums of rho' J w + z' (J' lambda - M y) in the configuration of the rows.

        w, y (B, S, nv), rho (B, K, S, R or more), z (B, K, S, nv), contacts (B, C, CONTACT): of some states.
        """
        found = np.empty((len(w), z.shape[1], self.robot.nv))
        self._run_on_rows(configuration_gradient_states, states, rho.shape[1:], [contacts, w, y, rho, z], [found])
        return found

    def _run_on_rows(
        self, kernel: Any, states: Any, sizes: Sequence[int], given: list[np.ndarray], results: list[np.ndarray]
    ) -> None:
        """Run a kernel of `row_derivatives` on some states; sizes: behind those of contacts."""
        robot, batched = self.robot, of_states(self.parameters.robot, states)
        counts = _integers(given[0].shape[1], self.axes, *sizes)
        entry, constants = serving(kernel, robot, (robot.ints, robot.reals, counts))
        given = [self.given.q[states], *given]
        if batched is not None:
            entry, constants = batched.taken_by(entry, constants, len(given) + len(results), len(given))
            given.append(batched.numbers)
        _run(entry, constants, given, results)

    def gradient(self, weights: np.ndarray) -> MotionGradient:
        """Return the gradients of sums with `weights` (B, K, 2 nv) of mean and end velocity.

        Weights (B, K, 3 nv) are also those of the motion of impacts.
        """
        (B, C, _), (_, S, nv), K = self.contacts.shape, self.w.shape, weights.shape[1]
        shapes = (K, len(RESULT), nv), (K, S, nv), (K, S, C * self.axes + nv), (K, C), (2, C + nv, 3)
        found, z, rows, _, self.shown = results = [np.empty((B, *shape)) for shape in shapes]
        _run(motion_gradient_states, self._tables(K), [*self._arrays, self.forces, weights], results)
        found[:, :, RESULT.q] += self.in_configuration(slice(None), self.w, self.y, rows, z, self.contacts)
        return MotionGradient(*np.moveaxis(found, 2, 0), *results[1:4])

    def _numbers_of(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return contacts (B, C, CONTACT), and those (B, C) to whose height their points were moved."""
        (B, C), touch, robot = self.pair.shape, self.touch, self.robot
        contacts, lowest = empty((B, C, CONTACT), float), np.empty((B, C))
        if C:
            tables = _integers(C, points.shape[1]), _table(touch.pair.ravel(), np.int64)
            reals = (_table(x, float) for x in (touch.surface.ravel(), [self.h, *touch.point[:, 3]]))
            given = [points, self.given.counts.astype(float)]
            _run(contact_numbers_states, (robot.ints, robot.reals, *tables, *reals), given, [contacts, lowest])
            if self.parameters.friction is not None:
                own = np.take_along_axis(self.parameters.friction, self.pair, axis=1)
                contacts[..., FRICTION] = np.where(self.pair < 0, 0.0, own)
        return contacts, lowest

    def _put_motions_of_points(self, points: np.ndarray, lowest: np.ndarray) -> None:
        """Write how contact points and normals move; for points at a lower one's height, by the gaps where they are."""
        motion, C = self.given.motion, self.pair.shape[1]
        if motion is not None:  # the points have gaps at the start, not at the configuration of the rows
            start, points = self.contacts[..., GAP].copy(), points.copy()
            points[:, :C, START] += self.h / 2 * np.einsum("bck,bk->bc", self.normals, motion)
            self.contacts, lowest = self._numbers_of(points)
            self.contacts[..., GAP] = start
        put_geometry(self.touch, points, self.pair, lowest.astype(int), self.robot, self.given.q, self.contacts)

    @property
    def _arrays(self) -> list[np.ndarray]:
        """Arrays of kernels of `motion_gradient`."""
        rows = self.J, self.M, np.empty((len(self.w), 0)) if self.added is None else self.added
        return [self.rounding, self.w, self.y, self.armature, self.gaps, self.contacts, *rows]

    def _tables(self, K: int) -> tuple[np.ndarray, ...]:
        """Return the tables of the robot, and sizes."""
        more = self.w.shape[1], self.forces.shape[1] // 2, int(self.added is not None)
        sizes = Sizes(self.contacts.shape[1], self.axes, self.robot.nv, K, *more)
        return self.robot.ints, self.robot.reals, _integers(*sizes), self._settings

    @property
    def normals(self) -> np.ndarray:
        """Rows J (B, C, nv) of the contacts' normals."""
        return self.J[:, 2 :: self.axes]

    @cached_property
    def _settings(self) -> np.ndarray:
        """Table `settings` of the kernel."""
        rough, limited = np.full(self.robot.nv, -1.0), np.zeros(self.robot.nv)
        rough[self.touch.friction] = self.touch.rough
        limited[self.touch.limit[:, LIMIT.dof]] = limited[self.touch.speed[:, SPEED.dof]] = 1.0
        return _table([*Settings(self.h, self.theta), *rough, *limited], float)

    def _gaps_of_limits(self) -> np.ndarray:
        """Return the distances (B, 2, nv) of joints from their lower and upper limits."""
        dof, coordinate, side = self.touch.limit.T
        found = np.full((len(self.given.q), 2, self.robot.nv), UNLIMITED)
        found[:, np.where(side > 0, 0, 1), dof] = side * (self.given.start[:, coordinate] - self.touch.bound)
        return found

    def _recovers(self) -> np.ndarray:
        """Return whether states (B,) have overlaps that their steps reduce, of shapes or at joint limits."""
        of_contacts = self.contacts[..., IMPULSES + 6 + 2].any(axis=1)
        found: np.ndarray = of_contacts | (
            self.gaps.min(axis=(1, 2), initial=0.0) < -self.touch.option[OPTION.allowed_overlap]
        )
        return found


def points_of(stepper: Stepper, given: StepStates) -> tuple[Touch, np.ndarray, np.ndarray]:
    """Return the contact tables, contact points (B, P, POINT) of states, and pairs (B, C), -1 behind the last point."""
    C = int(given.counts.max(initial=0))
    valid = np.arange(C) < given.counts[:, None]
    touching, points = stepper.world.touching, given.points
    touch = touching.touch
    if touching.counts.shapes:
        points = points[:, :C].copy()
        touch, points[valid] = with_rows(touching, points[valid])
    return touch, points, np.where(valid, points[:, :C, LAW], -1).astype(int)


def _table(numbers: Sequence[Any], kind: Any) -> np.ndarray:
    """Return a table of a kernel: kernels take read-only ones."""
    found = np.array(numbers, kind)
    found.setflags(write=False)
    return found


@lru_cache(maxsize=64)
def _integers(*numbers: int) -> np.ndarray:
    return _table(numbers, np.int64)


def _run(entry: Any, constants: Sequence[Any], given: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
    """Run a kernel on B states."""
    flat, found = ([x.reshape(len(x), -1) for x in arrays] for arrays in (given, results))
    run_states(entry, constants, flat, found, "generic")
