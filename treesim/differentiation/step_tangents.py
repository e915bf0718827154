"""Derivatives of steps along directions of the state and the control, by the chain rule over their equal parts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..errors import ContactWarning
from ..simulation.stepper import Stepper
from ..system.user_warnings import warn
from .contact_gradient import ContactGradient
from .free_motion import Directions, FreeMotion, end_of_step, free_motion
from .midpoint_tangents import SEVERAL, can_correct, corrected, is_fast
from .solved_part import SolvedPart, solved_part, touches, warn_unsolved
from .step_gradient import Row, rows_of_part


class StepTangents:
    """A step from states q, v (B, n) under controls (B, nv), and its derivatives.

    along: those of the state at the end, along the directions (B, K, nv) of the start. rows: by state, functions that
    return what was differentiated in contact. Raises the errors of a step that fails.
    """

    def __init__(self, stepper: Stepper, q: np.ndarray, v: np.ndarray, control: np.ndarray, along: Directions) -> None:
        self.stepper, self.q, self.v, self.along = stepper, q, v, along
        self.rows: list[list[Callable[[], list[Row]]]] = [[] for _ in q]
        before = None
        for part in range(stepper.substeps if v.size else 0):
            solved = solved_part(stepper, stepper.code, self.q, self.v, control, before)
            before = solved.result.warm_start
            self._advance(part, solved)

    def _advance(self, part: int, solved: SolvedPart) -> None:
        """Take one of the equal parts of the step."""
        stepper = self.stepper
        free = free_motion(stepper, self.q, self.v, solved.control, self.along)
        motion, along = np.stack([free.mean, free.end]), free.along
        if stepper.code.stage is not None:
            touching = touches(stepper, solved, free.mean, free.end)
            motion[:, touching] = solved.taken[:, touching]
            if touching.any():
                along = along.copy()
                along[:, touching] = self._in_contact(part, np.flatnonzero(touching), solved, free)
        _, (in_q, in_v) = end_of_step(stepper, self.q, (motion[0], motion[1]), self.along.q, along)
        self.q, self.v, self.along = solved.result.q, solved.result.v, Directions(in_q, in_v, self.along.control)

    def _in_contact(self, part: int, states: np.ndarray, solved: SolvedPart, free: FreeMotion) -> np.ndarray:
        """Return the derivatives (2, n, K, nv) of the motion of the n `states` in contact."""
        stepper, solved, free, v = self.stepper, solved.of(states), free.of(states), self.v[states]
        stage: Any = stepper.code.stage
        directions, again, first = Directions(*(x[states] for x in self.along)), stage.corrects, solved
        if again:
            first = solved_part(stepper, stepper._first_solutions, solved.q, v, solved.given, solved.before)
        contact = ContactGradient(stepper, first.states(v, free.mean, free.end, free.armature))
        found = contact.along(directions, free.along)
        fast = is_fast(contact.h, contact.y[:, 2], contact.given.end) & again
        for k, b in enumerate(states.tolist()):
            rows, one = partial(rows_of_part, contact, k, part), slice(k, k + 1)
            if fast[k] and can_correct(stepper):
                given = stepper, first.of(one), solved.of(one), v[one], free.of(one)
                found[:, one], second = corrected(*given, Directions(*(x[one] for x in directions)), found[:, one])
                rows = partial(rows_of_part, second, 0, part)
            elif fast[k]:
                warn(SEVERAL, ContactWarning)
            self.rows[b].append(rows)
        warn_unsolved(solved)
        return found
