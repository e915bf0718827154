"""Results of a step, and the loop over the equal parts of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..kernels.contact.step_records import StepOutput
from ..kernels.entries.status import FINE
from ..validation.arrays import in_layout
from .effort_limits import REPEATS

if TYPE_CHECKING:
    from .actuator_memory import StepCommands
    from .kinematic import StepMotion
    from .step import StepCode


class StepResult(NamedTuple):
    """Results of a step of one state or a batch (...), which the step overwrites; or the arrays' shapes.

    q (..., nq), v (..., nv): state at the end. force (..., nv): applied controls [N, N m]. work (..., 2): work of the
    controls, and of all passive forces [J]. constraint_impulses, constraint_residual (..., m): impulses [N s, N m s]
    and gaps [m, rad] of constrained rows; None without such rows. The others are those of the contact solve
    (`StepOutput`), None without contact.
    """

    q: Any
    v: Any
    force: Any
    work: Any
    constraint_impulses: Any
    constraint_residual: Any
    warm_start: Any
    wrench: Any
    pairs: Any
    solver_info: Any

    def constraint_rows(self) -> tuple[np.ndarray, ...]:
        """Return the arrays of constrained rows that a step's kernel takes; none without such rows."""
        if self.constraint_impulses is None:
            return ()
        return self.constraint_impulses, self.constraint_residual

    def contact_output(self) -> StepOutput:
        """Return the arrays that the contact solve overwrites."""
        return StepOutput(self.q, self.v, self.warm_start, self.wrench, self.pairs, self.solver_info, self.work)


def substeps(
    code: StepCode,
    q: np.ndarray,
    v: np.ndarray,
    warm_start: np.ndarray | None,
    count: int,
    control: np.ndarray | Callable[[int, np.ndarray, np.ndarray], np.ndarray],
    failed: Callable[[np.ndarray, np.ndarray, np.ndarray], object] | None = None,
    at_once: bool = True,
    points: list[np.ndarray] | None = None,
    motion: StepMotion | None = None,
    again: Callable[[np.ndarray], np.ndarray | None] | None = None,
    commands: StepCommands | None = None,
) -> tuple[int, Sequence[Any]]:
    """Take the `count` equal parts of a step of one state or a batch; return the worst status, and each part's results.

    Here, arrays of one state get the layout that compiled code takes. The results have the attributes of `StepResult`.
    warm_start (..., R): contact impulses of the step before; None for zeros. control: constant (..., nv), control(k, q,
    v) of the k-th part, which starts at (q, v). failed(q, v, control): called for a
    part whose status is not FINE, to raise. at_once: False if parts under constant control
    cannot be taken by one call. points: list to which the contact points of each part of a step of one state are
    appended. motion: that of kinematic bodies. again(force): returns the control of a part that is taken again because
    of the mean forces in it, else None. commands: of actuators with memory, which continue after each part.
    """
    batch, constant = q.shape[:-1], isinstance(control, np.ndarray)
    if not batch:
        q, v, warm_start, u = in_layout(q, v, warm_start, control if constant else None)
        control = u if constant else control
    if constant and at_once and not batch and points is None and motion is None:
        parts = code.sequence(count).run(q, v, control, warm_start)
        if parts is not None:
            return FINE, parts
    worst, results = FINE, []
    for k in range(count):
        u = control if isinstance(control, np.ndarray) else control(k, q, v)
        velocities = None
        if motion is not None:
            velocities = motion.end_velocities(k, v)
            q, v = motion.begin(k, q, v)
        known = batch or velocities is not None or (constant and count == 1)  # that there is no such call
        for _ in range(REPEATS + 1):
            part = None if known else code.sequence(1).run(q, v, u, warm_start)
            result = code.new_result(batch) if part is None else part[0]
            status = code.run(q, v, u, warm_start, result, velocities=velocities) if part is None else FINE
            changed = None if again is None else again(result.force)
            if changed is None:
                break
            u = changed
        if status != FINE:
            worst = max(worst, status)
            if failed is not None:
                failed(q, v, u)
        if points is not None:
            points.append(code.contact_points(q, v, u, warm_start, velocities=velocities))
        if motion is not None:
            motion.end(k, result.q)
        if commands is not None:
            commands.end(result.force)
        results.append(result)
        q, v, warm_start = result.q, result.v, result.warm_start
    return worst, results


def points_again(code: StepCode, *start: Any, **how: Any) -> list[np.ndarray]:
    """Take a step of one state again; return the contact points of each part.

    start, how: arguments of `substeps` up to the control, and others by name.
    """
    points: list[np.ndarray] = []
    q, v, warm_start, count, control = start
    substeps(code, q, v, warm_start, count, control, points=points, **how)
    return points


def shapes_of_result(nq: int, nv: int, rows: int, contact: StepOutput | None) -> StepResult:
    """Return the shapes of a step's results for one state, with `rows` constrained rows; contact: its shapes."""
    held = (rows,) if rows else None
    touched: Any = (None,) * 4
    if contact is not None:
        touched = contact.warm_start, contact.wrench, contact.pairs, contact.solver_info
    return StepResult((nq,), (nv,), (nv,), (2,), held, held, *touched)
