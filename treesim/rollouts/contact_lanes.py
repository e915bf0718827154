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
from ..engine.call.row_copies import TO_PART, TO_WHOLE, bound_copies
from ..engine.threads import lock_across_forks
from ..kernels.contact.layout import INFO
from ..kernels.contact.step_records import StepInput, StepOutput
from ..kernels.entries.status import FINE
from ..simulation.effort_limits import REPEATS, BoundLimits, BoundMeans
from ..simulation.external_forces import ExternalJointForces
from ..simulation.kinematic import EndVelocities

FEWEST = 8  # states whose steps are repeated at a time
MOST_MEMORIES, LARGEST = 8, 1 << 22  # memories that are kept for later rollouts, and bytes of impulses in one of them

# returns the function that takes the unconstrained steps from (q, v, control) to (q, v, applied controls, work)
BoundFree = Callable[[Sequence[np.ndarray]], Callable[[], int]]
# returns the computation of the mean forces from (q, v, q_new, v_new, forces at the start)
MeansOf = Callable[[Sequence[np.ndarray]], BoundMeans]


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


def few_states(count: int) -> int:
    """Return the number of states in a repeated step of at least `count`: 8, 16, 24, 32, 48, 64, 96, ..."""
    power = 1 << (count - 1).bit_length()
    between = 3 * power // 4
    return max(FEWEST, between if count <= between and between % FEWEST == 0 else power)


class FewSteps:
    """Substeps of some states of `whole`, those in its `_rows`, whose number is below that of `steps`.

    take, put: copy what a substep starts from, with model parameters, and its results, by turn.
    """

    def __init__(self, whole: LaneSteps, steps: LaneSteps, parameters: list[tuple[np.ndarray, np.ndarray]]) -> None:
        self.steps = steps
        self.take, self.put = [], []
        for turn in range(2):
            own, all_ = (each.inputs[turn] for each in (steps, whole))
            limits = zip(*(each._limits[turn].forces for each in (steps, whole)), strict=True)
            both = [(steps.control, whole.control), *limits]
            starts = zip((*steps.states[turn], own.warm_start), (*whole.states[turn], all_.warm_start), strict=True)
            given = [*both, *starts, (steps.info, whole._before), *parameters]
            if own.external is not None and all_.external is not None:
                given.append((own.external, all_.external))
            results = zip(steps.results[turn], whole.results[turn], strict=True)
            found = [*both, (steps.applied, whole.applied), *results]
            self.take.append(bound_copies(given, whole._rows, TO_PART))
            self.put.append(bound_copies([(x, y) for x, y in found if x is not None], whole._rows, TO_WHOLE))


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
        following: np.ndarray, info: np.ndarray, rows: int, mean_forces: MeansOf | None,
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
        self._rows = np.empty(count, np.int64)  # states whose step is repeated
        self._limits = [
            BoundLimits(mean_forces((*start, *end, self.applied)), self.control, self._rows)
            for start, end in (self.states, self.states[::-1])
            if mean_forces is not None
        ]
        self._solve = [touch.bound(*each, batched) for each in zip(self.inputs, self.results, strict=True)]
        self._before, self._control = np.empty_like(info), np.empty(v)  # diagnostics and control of a substep
        self._smaller: dict[int, FewSteps] = {}  # by number of states

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
        if self._limits:
            self._before[...] = self.info
        self._step(turn, q, v, velocities)
        if self._limits:
            self._keep_limits(turn, q, v, velocities)
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

    def _keep_limits(self, turn: int, q: np.ndarray, v: np.ndarray, velocities: EndVelocities | None) -> None:
        """Repeat a step with forces at their limits until no mean force is beyond one; set `applied` to the means."""
        limits = self._limits[turn]
        limits.means()
        count = limits.find()
        if count:
            self._control[...] = self.control
            for _ in range(REPEATS):
                if velocities is not None or not self._repeat(turn, count):
                    limits.saturate()
                    self.info[...] = self._before
                    self._step(turn, q, v, velocities)
                    limits.means()
                count = limits.find()
                if not count:
                    break
            self.control[...] = self._control
        self.applied[...] = limits.forces.mean

    def _repeat(self, turn: int, count: int) -> bool:
        """Repeat the step of the states in `_rows`; return False, without a step, if all are to be repeated.

        The bits of a state's step do not depend on which other states are stepped.
        """
        size = few_states(count)
        if self.few is None or 2 * size > len(self.control) or not self.finite:
            return False
        if size not in self._smaller:
            self._smaller[size] = FewSteps(self, *self.few(size))
        few = self._smaller[size]
        few.take[turn](count)
        few.steps._limits[turn].saturate()
        few.steps._step(turn, *few.steps.states[turn], None)
        if not few.steps.finite:
            return False
        few.steps._limits[turn].means()
        few.put[turn](count)
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
