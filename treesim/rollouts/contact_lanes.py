"""Substeps of many rollouts by SIMD code, for the unconstrained motion and for contact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from ..contact.lanes import ContactLanes, begin_info, clear_info, clear_warm_start
from ..contact.unsolved import worst_residual
from ..engine.call.batched import BatchedTables
from ..engine.call.buffer_pool import is_unused
from ..engine.threads import lock_across_forks
from ..kernels.contact.layout import INFO
from ..kernels.contact.step_records import StepInput, StepOutput
from ..kernels.entries.status import FINE
from ..simulation.effort_limits import REPEATS, MeanForces
from ..simulation.external_forces import ExternalJointForces
from ..simulation.kinematic import EndVelocities

FEWEST = 8  # states whose steps are repeated at a time
MOST_MEMORIES, LARGEST = 8, 1 << 22  # memories that are kept for later rollouts, and bytes of impulses in one of them

# returns the function that takes the unconstrained steps from (q, v, control) to (q, v, applied controls, work)
BoundFree = Callable[[Sequence[np.ndarray]], Callable[[], int]]
# returns the function that computes the mean forces from (q, v, q_new, v_new, forces at the start)
BoundMeans = Callable[[Sequence[np.ndarray]], Callable[[], MeanForces]]


class LaneResult(NamedTuple):
    """Result of a substep: states (count, ...) at its end, mean forces of the controls, and wrenches on bodies."""

    q: np.ndarray
    v: np.ndarray
    force: np.ndarray
    wrench: np.ndarray | None


class LaneMemory:
    """Memory of `count` rollouts on lanes: impulses for the warm start, diagnostics, and the substeps of parts of them.

    code: SIMD code of the unconstrained steps. wrenches: whether those on bodies are requested. kept, following, info,
    parts: see `LaneSteps`. complete: whether no step was interrupted. exchanged: whether `kept` and `following` had
    exchanged their roles when parts were made.
    """

    def __init__(self, touch: ContactLanes, code: Any, wrenches: bool, count: int) -> None:
        self.of, self.complete, self.exchanged = (touch, code, wrenches, count), True, False
        self.kept, self.following = np.zeros((2, count, touch.stage.touching.warm_start_size))
        self.info = begin_info(count)
        self.parts: dict[tuple[int, int], LaneSteps] = {}

    def restart(self) -> None:
        """Prepare for the first step of other rollouts."""
        clear_warm_start(self.kept, self.of[0].stage.touching.scalar_rows)
        clear_info(self.info)
        for part in self.parts.values():
            part.turn, part.finite = 0, True


_memories: list[LaneMemory] = []  # least recently used first
_lock = lock_across_forks()


def begin_memory(touch: ContactLanes, code: Any, wrenches: bool, count: int) -> LaneMemory:
    """Return memory of rollouts before their first step, that of earlier ones which is no longer used if there is any.

    Short rollouts are called repeatedly: new memory and calls would take as long as a few of their steps.
    """
    with _lock:
        for k in range(len(_memories)):
            if _memories[k].of == (touch, code, wrenches, count) and is_unused(_memories, k):
                found = _memories.pop(k)
                break
        else:
            found = None
        if found is None or not found.complete or found.exchanged:
            found = LaneMemory(touch, code, wrenches, count)
        else:
            found.restart()
        if found.kept.nbytes <= LARGEST:
            _memories.append(found)
            del _memories[:-MOST_MEMORIES]
    return found


class LaneSteps:
    """Substeps of some rollouts, in arrays that exist for all of them: each call from Python serves all rollouts.

    q, v: shapes of the states. kept: impulses (count, n) for the warm start. following: memory for those of the next
    substep; after an odd number of substeps these two have exchanged their roles. info: diagnostics of the states
    (`ContactLanes.bound`), overwritten. rows: number of constrained rows. mean_forces: those of implicit gains, whose
    effort limits are kept. forces: of external forces, whose table is `table` in the next substeps. batched: model
    parameters of the contact solve. wrenches: whether those on bodies (N + 1, 6) are requested. few: returns substeps
    of a number of states, and pairs of arrays: of their model parameters, and of those of all states; None without.
    """

    few: Callable[[int], tuple[LaneSteps, list[tuple[np.ndarray, np.ndarray]]]] | None = None

    def __init__(
        self, free: BoundFree, touch: ContactLanes, q: tuple[int, ...], v: tuple[int, ...], kept: np.ndarray,
        following: np.ndarray, info: np.ndarray, rows: int, mean_forces: BoundMeans | None,
        forces: ExternalJointForces | None, batched: BatchedTables | None, wrenches: bool,
    ) -> None:  # fmt: skip
        self.touch, self.turn, self.finite, count = touch, 0, True, len(kept)
        self.states = [(np.empty(q), np.empty(v)) for _ in range(2)]
        self.control, self.work, self.forces = np.empty(v), np.empty((count, 2)), forces
        self.table, self.batched = np.empty((count, 0)), batched
        self.wrench = np.empty((count, touch.stage.robot.n_bodies + 1, 6)) if wrenches else None
        external = None if forces is None else np.empty(v)
        q_free, v_free, self.applied, done = np.empty(q), np.empty(v), np.empty(v), np.empty((count, 2))
        impulses = kept, following
        self.inputs = [
            StepInput(*state, q_free, v_free, self.applied, external, done, before, None)
            for state, before in zip(self.states, impulses, strict=True)
        ]
        self.results = [
            StepOutput(*state, after, self.wrench, None, info, self.work)
            for state, after in zip(self.states[::-1], impulses[::-1], strict=True)
        ]
        unread = np.empty((2, count, rows)) if rows else ()  # impulses and gaps of constrained rows
        external_forces = () if external is None else (external,)
        ends = q_free, v_free, self.applied, done
        self._free = [free((*state, self.control, *external_forces, *ends, *unread)) for state in self.states]
        self.info = info
        self._means = [
            mean_forces((*start, *end, self.applied))
            for start, end in (self.states, self.states[::-1])
            if mean_forces is not None
        ]
        self._solve = [touch.bound(*each, batched) for each in zip(self.inputs, self.results, strict=True)]
        self._smaller: dict[int, tuple[LaneSteps, list[tuple[np.ndarray, np.ndarray]]]] = {}  # by number of states

    @property
    def residuals(self) -> np.ndarray:
        """Larger residuals (count,) of velocities and positions in the last substep."""
        return worst_residual(self.info)

    def step(
        self,
        q: np.ndarray,
        v: np.ndarray,
        velocities: EndVelocities | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Take a substep under `control`; return q and v, valid until the second substep from now.

        velocities: of kinematic bodies, if they differ from v. `work`, `finite`, `wrench`: those of the substep. States
        that are not finite keep the unconstrained step.
        """
        turn = self.turn
        self.turn = 1 - turn
        if self.forces is not None:
            self.forces(q, v, self.table, self.inputs[turn].external)
        before = self.info.copy() if self._means else None
        self._step(turn, q, v, velocities)
        if before is not None:
            self._keep_limits(turn, q, v, velocities, before)
        return self.states[1 - turn]

    def _step(self, turn: int, q: np.ndarray, v: np.ndarray, velocities: EndVelocities | None) -> None:
        """Step from (q, v) to the other states than those of `turn`."""
        own = self.states[turn]
        if own[0] is not q:
            own[0][...] = q
        if own[1] is not v:
            own[1][...] = v
        status = self._free[turn]()
        if velocities is not None:
            velocities.put(own[1], self.inputs[turn].v_free)
        if status == FINE:
            self.finite = self._solve[turn]()
        else:
            self.finite = False
            self._step_finite(self.inputs[turn], self.results[turn])

    def _keep_limits(
        self, turn: int, q: np.ndarray, v: np.ndarray, velocities: EndVelocities | None, info: np.ndarray
    ) -> None:
        """Repeat a step with forces at their limits until no mean force exceeds its limit; set `applied` to the means.

        info: diagnostics before the step.
        """
        forces, control = self._means[turn](), None
        for _ in range(REPEATS):
            rows = np.flatnonzero((forces.beyond > 0).any(axis=1))
            beyond = MeanForces(forces.mean[rows], forces.beyond[rows])
            changed = beyond.saturated(self.control[rows])
            if changed is None:
                break
            control = self.control.copy() if control is None else control
            self.control[rows] = changed
            if velocities is not None or not self._repeat(turn, rows, info, forces):
                self.info[...] = info
                self._step(turn, q, v, velocities)
                forces = self._means[turn]()
        if control is not None:
            self.control[...] = control
        self.applied[...] = forces.mean

    def _repeat(self, turn: int, rows: np.ndarray, info: np.ndarray, forces: MeanForces) -> bool:
        """Repeat the step of some states under `control`; return False, without a step, if all are to be repeated.

        The bits of a state's step do not depend on which other states are stepped. info: diagnostics before the step.
        forces: mean forces of all states, overwritten for those.
        """
        size = max(FEWEST, 1 << (rows.size - 1).bit_length())
        if self.few is None or 2 * size > len(self.control) or not self.finite:
            return False
        if size not in self._smaller:
            self._smaller[size] = self.few(size)
        steps, parameters = self._smaller[size]
        rows = np.append(rows, np.full(size - rows.size, rows[-1]))  # the rest are copies of the last one
        given, own = self.inputs[turn], steps.inputs[turn]
        pairs = [(steps.control, self.control), (steps.info, info), (own.warm_start, given.warm_start), *parameters]
        pairs += zip(steps.states[turn], self.states[turn], strict=True)
        if given.external is not None and own.external is not None:
            pairs.append((own.external, given.external))
        for part, whole in pairs:
            np.take(whole, rows, axis=0, out=part, mode="clip")  # without a copy, as other modes make
        steps._step(turn, *steps.states[turn], None)
        if not steps.finite:
            return False
        self.applied[rows] = steps.applied
        for whole, part in zip(forces, steps._means[turn](), strict=True):
            whole[rows] = part
        for whole, part in zip(self.results[turn], steps.results[turn], strict=True):
            if whole is not None and part is not None:
                whole[rows] = part
        return True

    def _step_finite(self, given: StepInput, result: StepOutput) -> None:
        """Add contact to the unconstrained steps that are finite."""
        good = np.isfinite(given.q_free).all(axis=1) & np.isfinite(given.v_free).all(axis=1)
        result.q[...], result.v[...], result.work[...] = given.q_free, given.v_free, given.work_free
        result.warm_start[...] = 0.0
        if result.wrench is not None:
            result.wrench[...] = 0.0
        own = result.mapped(itemgetter(good))
        self.touch.bound(given.mapped(itemgetter(good)), own, None if self.batched is None else self.batched.of(good))()
        self.info[:, [INFO.residual, INFO.position_residual]] = 0.0
        for x, part in zip(result, own, strict=True):
            if x is not None:
                x[good] = part
