"""Parts of steps from many states, solved again with their contact points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..contact.unsolved import is_solved
from ..errors import ContactWarning
from ..kernels.contact.contact_points import POINT
from ..kernels.contact.layout import INFO
from ..kernels.entries.status import FINE
from ..simulation.batch_steps import LaneSolve, UnconstrainedSteps, lanes_with_points
from ..simulation.step import StepCall, StepCode, StepParameters
from ..simulation.step_result import StepResult
from ..simulation.stepper import Stepper
from ..system.user_warnings import warn
from ..types import Engine
from .contact_gradient import StepStates
from .step_parts import Motion, step_parts

SAME = 1e-13  # of the largest number of a state: rounding


class SolvedPart(NamedTuple):
    """Parts of steps from states q, v (B, n).

    given, control (B, nv): control, and that within the effort limits. before (B, n): warm start, or None. points (B,
    P, POINT): contacts, of which states have `counts` (B,). info (B, n): diagnostics on SIMD lanes
    (`simulation.batch_steps.LaneSolve`), None without. taken: motion in the step (`with_motion`). The last four are
    None in worlds without contact.
    """

    q: np.ndarray
    v: np.ndarray
    given: np.ndarray
    control: np.ndarray
    before: Any
    result: StepResult
    info: Any = None
    taken: Any = None
    points: Any = None
    counts: Any = None

    def states(self, mean: np.ndarray, end: np.ndarray, armature: np.ndarray) -> StepStates:
        """Return what derivatives in contact are those of; mean, end, armature: as there."""
        return StepStates(self.q, self.v, mean, end, armature, self.taken, self.points, self.counts, self.q)


def joined(parts: Sequence[SolvedPart]) -> SolvedPart:
    """Return the states of several parts, one after the other."""
    if parts[0].points is not None:
        widths = [x.points.shape[1] for x in parts]
        missing = [((0, 0), (0, max(widths) - width), (0, 0)) for width in widths]
        if min(widths) < max(widths):
            parts = [x._replace(points=np.pad(x.points, more)) for x, more in zip(parts, missing, strict=True)]
    found: SolvedPart = _concatenated(parts)
    return found


def _concatenated(parts: Sequence[Any]) -> Any:
    if parts[0] is None or isinstance(parts[0], np.ndarray):
        return None if parts[0] is None else np.concatenate(parts)
    return type(parts[0])(*map(_concatenated, zip(*parts, strict=True)))


def solved_part(
    code: StepCode,
    q: np.ndarray,
    v: np.ndarray,
    control: np.ndarray,
    before: np.ndarray | None,
    parameters: StepParameters | None = None,
    info: np.ndarray | None = None,
    engine: Engine = "auto",
) -> SolvedPart:
    """Take a part of a step from states q, v (B, n); raises the error of a state that fails.

    info: diagnostics of the part before, if steps are those of rollouts, on SIMD lanes where these are supported.
    """
    q, v = q.copy(), v.copy()
    call, stage = _call(code, q, v, before, parameters, info, engine), code.stage
    status, settled, points = _settled(code, call, control)
    result = call.result
    if status != FINE or not (np.isfinite(result.q).all() and np.isfinite(result.v).all()):
        bad = ~(np.isfinite(result.q).all(axis=1) & np.isfinite(result.v).all(axis=1))
        b = int(bad.argmax())
        raise code.explain(q[b], v[b], settled[b])
    found = SolvedPart(q, v, control, settled, before, result._replace(force=None, work=None, wrench=None, pairs=None))
    if stage is None:
        return found
    count = result.solver_info[:, INFO.contacts].astype(int)
    info = call.solve.info if isinstance(call.solve, LaneSolve) else None
    return found._replace(info=info, points=points[:, : int(count.max(initial=0))].copy(), counts=count)


def _call(
    code: StepCode, q: np.ndarray, v: np.ndarray, before: np.ndarray | None, parameters: StepParameters | None,
    info: np.ndarray | None, engine: Engine,
) -> StepCall:  # fmt: skip
    """Return the arguments of `solved_part` as those of a step."""
    call = code.call_of(q, v, before, code.new_result(q.shape[:-1]), None, None)
    free, batched, gains = StepParameters(None, None, None) if parameters is None else parameters
    if code.bound is not None and (info is not None or free is not None):
        call = call._replace(free=UnconstrainedSteps(code, free, engine))
    lanes = None if info is None else lanes_with_points(code, batched is not None)
    if lanes is not None and info is not None:
        call = call._replace(solve=LaneSolve(lanes, info))
    return call._replace(batched=batched, gains=gains)


def _settled(code: StepCode, call: StepCall, control: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    """Return the status of a step, the control within the effort limits, and the contact points (B, C, POINT)."""
    stage, count = code.stage, len(control)
    if stage is None or isinstance(call.solve, LaneSolve):
        found = code.settle(call, control.copy())
        return *found, call.solve.points if isinstance(call.solve, LaneSolve) else np.empty((count, 0, POINT))
    while True:
        points = np.zeros((count, *stage.new_points().shape))
        found = code.settle(call._replace(points=points), control.copy())
        if points.shape[1] == len(stage.new_points()):  # memory grows with the contacts
            return *found, points


def with_motion(stepper: Stepper, part: SolvedPart) -> SolvedPart:
    """Return a part with the velocities in the step, in worlds with contact."""
    if part.points is None:
        return part
    h = np.full((len(part.q), 1), stepper.settings.table[0])
    ends = part.result.q, part.result.v
    return part._replace(
        taken=Motion(*step_parts(stepper.robot, stepper.rule, stepper.settings.table.size).taken(part.q, *ends, h))
    )


def touches(stepper: Stepper, part: SolvedPart, mean: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return which states (B,) contacts, joint limits or joint friction act on; mean, end: unconstrained motion."""
    if stepper.world.touching.counts.frictions:
        return np.ones(len(part.q), bool)
    h = np.full((len(part.q), 1), stepper.settings.table[0])
    moved = np.hstack(step_parts(stepper.robot, stepper.rule, stepper.settings.table.size).end(part.q, mean, end, h))
    reached = np.hstack([part.result.q, part.result.v])
    largest = np.maximum(1.0, np.abs(reached).max(axis=1))
    found: np.ndarray = (part.counts > 0) | (np.abs(moved - reached).max(axis=1) > SAME * largest)
    return found


def warn_unsolved(part: SolvedPart) -> None:
    """Warn if the contact of a state was not solved."""
    if not is_solved(part.result.solver_info).all():
        warn("the contact of a step was not solved: its derivatives are those of what was found", ContactWarning)
