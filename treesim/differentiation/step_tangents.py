"""Derivatives of steps along directions of the state and the control, by the chain rule over their equal parts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..contact.contact_solve import ContactSolve
from ..contact.unsolved import is_solved
from ..errors import ContactWarning
from ..kernels.contact.layout import INFO
from ..kernels.contact.midpoint_correction import FAST
from ..kernels.entries.status import FINE
from ..simulation.step import StepCode
from ..simulation.step_result import StepResult
from ..simulation.stepper import Stepper
from ..system.user_warnings import warn
from .contact_tangents import ContactDerivatives
from .free_motion import Directions, FreeMotion, end_of_step, free_motion
from .midpoint_tangents import corrected
from .step_gradient import Row, rows_of_part
from .step_parts import step_parts

SEVERAL = (
    "impulses change a fast motion so much that the step is solved again at its midpoint; in worlds of several robots "
    "and bodies, with joint friction, or with rolling friction, its derivatives are those of the first solution: take "
    "a smaller dt, or semi-implicit Euler"
)


class StepTangents:
    """A step from states q, v (B, n) under controls (B, nv), and its derivatives.

    along: those of the state at the end, along the directions (B, K, nv) of the start. rows: by state, functions that
    return what was differentiated in contact. Raises the errors of a step that fails.
    """

    def __init__(self, stepper: Stepper, q: np.ndarray, v: np.ndarray, control: np.ndarray, along: Directions) -> None:
        self.stepper, self.q, self.v, self.along = stepper, q, v, along
        self.rows: list[list[Callable[[], list[Row]]]] = [[] for _ in q]
        self._impulses: list[np.ndarray | None] = [None] * len(q)
        for part in range(stepper.substeps if v.size else 0):
            self._advance(part, control)

    def _advance(self, part: int, control: np.ndarray) -> None:
        """Take one of the equal parts of the step."""
        code = self.stepper.code
        if (stage := code.stage) is None:
            status, result, control = code.settled(self.q, self.v, control, None)
            self._check(status, result, control)
            free = free_motion(self.stepper, self.q, self.v, control, self.along)
            self._put(result.q, result.v, (free.mean, free.end), free.along)
            return
        ends, motions, along = [], [], []
        for i in range(len(self.q)):
            end, motion, change = self._in_contact(stage, i, part, control[i])
            ends.append(end)
            motions.append(motion)
            along.append(change)
        q, v = (np.stack(x) for x in zip(*ends, strict=True))
        self._put(q, v, tuple(np.stack(motions, axis=1)), np.stack(along, axis=1))

    def _in_contact(self, stage: ContactSolve, i: int, part: int, u: np.ndarray) -> Any:
        """Return the state i at the end of a part, its motion (2, nv), and that motion's derivatives (2, K, nv)."""
        stepper, own = self.stepper, slice(i, i + 1)
        touching = stepper.world.touching
        result, points, settled = self._solved(stepper.code, i, u)
        directions = Directions(*(x[own] for x in self.along))
        free = free_motion(stepper, self.q[own], self.v[own], settled[None], directions)
        taken = self._motion(self.q[own], result)
        if not len(points) and self._is_free(free, self.q[own], result):
            self._impulses[i] = result.warm_start
            return (result.q, result.v), np.concatenate([free.mean, free.end]), free.along[:, 0]
        once, found, touched = taken, result, points
        if stage.corrects:
            found, touched, _ = self._solved(stepper._first_solutions, i, u)
            once = self._motion(self.q[own], found)
        contact = ContactDerivatives(stepper, self.q[i], self.v[i], free, once, touched)
        along, rows = contact.along(directions.q[0].T, directions.v[0].T)
        if stage.corrects and contact.h * np.abs(contact.y[2]).max() * np.abs(free.end).max() > FAST:
            if touching.several or touching.counts.resists or touching.counts.frictions:
                warn(SEVERAL, ContactWarning)
            else:
                along, contact, rows = corrected(stepper, contact, rows, along, taken, points, directions)
        if not is_solved(result.solver_info):
            warn("the contact of a step was not solved: its derivatives are those of what was found", ContactWarning)
        self._impulses[i] = result.warm_start
        self.rows[i].append(partial(rows_of_part, touching, contact, rows, part))
        return (result.q, result.v), taken, np.swapaxes(along, 1, 2)

    def _solved(self, code: StepCode, i: int, u: np.ndarray) -> Any:
        """Take a part of the step from state i; return its results, contacts, and control within the effort limits."""
        stage: Any = code.stage
        while True:
            points, start = stage.new_points(), (self.q[i].copy(), self.v[i].copy(), u.copy(), self._impulses[i])
            status, result, settled = code.settled(*start, points)
            if len(points) == len(stage.new_points()):  # memory grows with the contacts, as does that of points
                break
        self._check(status, result, settled)
        return result, points[: int(result.solver_info[INFO.contacts])], settled

    def _motion(self, q: np.ndarray, result: StepResult) -> np.ndarray:
        """Return mean and end velocity (2, nv) of a part from q (1, nq)."""
        parts, h = step_parts(self.stepper.robot, self.stepper.rule), self.stepper.settings.table[None, :1]
        return np.concatenate(parts.taken(q, result.q[None], result.v[None], h))

    def _is_free(self, free: FreeMotion, q: np.ndarray, result: StepResult) -> bool:
        """Return whether a step without contacts is the unconstrained one: no joint is at a limit or has friction."""
        touching = self.stepper.world.touching
        if touching.counts.frictions:
            return False
        end = step_parts(self.stepper.robot, self.stepper.rule).end
        table = self.stepper.settings.table[None, :1]
        moved = np.concatenate([x[0] for x in end(q, free.mean, free.end, table)])
        reached = np.concatenate([result.q, result.v])
        return bool(np.abs(moved - reached).max() <= 1e-13 * max(1.0, float(np.abs(reached).max())))

    def _put(self, q: np.ndarray, v: np.ndarray, motion: Any, along: np.ndarray) -> None:
        """Make the end of a part the start of the next."""
        _, (in_q, in_v) = end_of_step(self.stepper, self.q, motion, self.along.q, along)
        self.q, self.v, self.along = q, v, Directions(in_q, in_v, self.along.control)

    def _check(self, status: int, result: StepResult, control: np.ndarray) -> None:
        if status == FINE and np.isfinite(result.q).all() and np.isfinite(result.v).all():
            return
        raise self.stepper.code.explain(self.q[0], self.v[0], np.atleast_2d(control)[0])
