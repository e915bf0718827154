"""Parts of steps from many states, solved again with their contact points."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..contact.unsolved import is_solved
from ..errors import ContactWarning
from ..kernels.contact.contact_points import POINT
from ..kernels.contact.layout import INFO
from ..kernels.entries.status import FINE
from ..simulation.step import StepCode, StepParameters
from ..simulation.step_result import StepResult
from ..simulation.stepper import Stepper
from ..system.user_warnings import warn
from .contact_gradient import StepStates
from .step_parts import step_parts

SAME = 1e-13  # of the largest number of a state: rounding


class SolvedPart(NamedTuple):
    """Parts of steps from states q (B, nq).

    given, control (B, nv): control, and that within the effort limits. before (B, n): warm start, or None. taken (2, B,
    nv): mean and end velocity, in the joints' axes at the start. points (B, P, POINT): contacts, of which states have
    `counts` (B,). The last three are None in worlds without contact.
    """

    q: np.ndarray
    given: np.ndarray
    control: np.ndarray
    before: Any
    result: StepResult
    taken: Any
    points: Any
    counts: Any

    def of(self, states: Any) -> SolvedPart:
        """Return those of some states."""
        result = StepResult(*(None if x is None else x[states] for x in self.result))
        before = None if self.before is None else self.before[states]
        own = self.q[states], self.given[states], self.control[states], before, result
        return SolvedPart(*own, self.taken[:, states], self.points[states], self.counts[states])

    def states(self, v: np.ndarray, mean: np.ndarray, end: np.ndarray, armature: np.ndarray) -> StepStates:
        """Return what derivatives in contact are those of; v: velocities at the start; the others as there."""
        return StepStates(self.q, v, mean, end, armature, self.taken, self.points, self.counts, self.q)


def solved_part(
    stepper: Stepper,
    code: StepCode,
    q: np.ndarray,
    v: np.ndarray,
    control: np.ndarray,
    before: np.ndarray | None,
    parameters: StepParameters | None = None,
) -> SolvedPart:
    """Take a part of a step from states q, v (B, n); raises the error of a state that fails."""
    stage: Any = code.stage
    while True:
        points = None if stage is None else np.zeros((len(q), *stage.new_points().shape))
        status, result, settled = code.settled(q.copy(), v.copy(), control.copy(), before, points, parameters)
        if points is None or points.shape[1] == len(stage.new_points()):  # memory grows with the contacts
            break
    if status != FINE or not (np.isfinite(result.q).all() and np.isfinite(result.v).all()):
        bad = ~(np.isfinite(result.q).all(axis=1) & np.isfinite(result.v).all(axis=1))
        b = int(bad.argmax())
        raise code.explain(q[b], v[b], settled[b])
    if points is None:
        return SolvedPart(q, control, settled, before, result, None, None, None)
    h = np.full((len(q), 1), stepper.settings.table[0])
    taken = np.stack(step_parts(stepper.robot, stepper.rule).taken(q, result.q, result.v, h))
    count = result.solver_info[:, INFO.contacts].astype(int)
    largest = int(count.max(initial=0))
    return SolvedPart(q, control, settled, before, result, taken, points[:, :largest].reshape(len(q), -1, POINT), count)


def touches(stepper: Stepper, part: SolvedPart, mean: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return which states (B,) contacts, joint limits or joint friction act on; mean, end: unconstrained motion."""
    if stepper.world.touching.counts.frictions:
        return np.ones(len(part.q), bool)
    h = np.full((len(part.q), 1), stepper.settings.table[0])
    moved = np.hstack(step_parts(stepper.robot, stepper.rule).end(part.q, mean, end, h))
    reached = np.hstack([part.result.q, part.result.v])
    largest = np.maximum(1.0, np.abs(reached).max(axis=1))
    found: np.ndarray = (part.counts > 0) | (np.abs(moved - reached).max(axis=1) > SAME * largest)
    return found


def warn_unsolved(part: SolvedPart) -> None:
    """Warn if the contact of a state was not solved."""
    if not is_solved(part.result.solver_info).all():
        warn("the contact of a step was not solved: its derivatives are those of what was found", ContactWarning)
