"""Parts of steps of many states by the code of rollouts: unconstrained motion, and contact with its points."""

from __future__ import annotations

import math
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from ..contact.contact_solve import ContactSolve
from ..contact.convex_pairs import nothing_found
from ..contact.lanes import ContactLanes, begin_lanes
from ..engine.call.batched import BatchedTables
from ..engine.call.buffer_pool import empty
from ..engine.call.evaluate import lanes_for, run_states
from ..engine.call.specialized import BatchCode
from ..kernels.contact.contact_points import POINT
from ..kernels.contact.layout import INFO, RESULT_INFO
from ..kernels.contact.simd_collision import MOST
from ..kernels.contact.simd_components import FOR_ONE
from ..kernels.contact.step_records import StepInput, StepOutput
from ..kernels.entries.status import FINE, NOT_FINITE
from ..types import Engine
from .step import StepCode


class UnconstrainedEntry(NamedTuple):
    """Entry of unconstrained steps, its constants, and the sizes of one state's inputs and results."""

    entry: Any
    constants: tuple[Any, ...]
    sizes: list[int]
    results: list[int]

    @staticmethod
    def of(code: StepCode, parameters: BatchedTables | None) -> UnconstrainedEntry:
        """Return that of steps; parameters: numbers of each state in the constants, the last input."""
        assert code.bound is not None
        shapes = code.bound.inputs, code.bound.results
        sizes, results = ([math.prod(shape) for shape in group] for group in shapes)
        own = UnconstrainedEntry(code.bound.entry, code.bound.constants, sizes, results)
        if parameters is None:
            return own
        entry, constants = parameters.taken_by(own.entry, own.constants, len(sizes) + len(results), len(sizes))
        return UnconstrainedEntry(entry, constants, [*sizes, parameters.numbers.shape[1]], results)

    def on_lanes(self, engine: str) -> BatchCode | None:
        """Return its SIMD code, None if there is none."""
        return lanes_for(*self, np.dtype(float), engine)


class UnconstrainedSteps:
    """Unconstrained steps of many states, by the same code for any number of them.

    parameters: numbers of each state in the constants.
    """

    def __init__(self, code: StepCode, parameters: BatchedTables | None, engine: Engine) -> None:
        self._parameters, self._of = parameters, UnconstrainedEntry.of(code, parameters)
        self._code = None if engine == "generic" else self._of.on_lanes(engine)

    def __call__(self, *arrays: np.ndarray) -> int:
        """Take the steps of q, v and control, and return the worst status; the other arrays are overwritten."""
        n, count = len(self._of.sizes), len(arrays[0])
        given = [x.reshape(count, -1) for x in arrays]
        if self._parameters is not None:
            given.insert(n - 1, self._parameters.numbers)
        if self._code is not None:
            return self._code.run(given, count)
        return run_states(self._of.entry, self._of.constants, given[:n], given[n:], "generic")


def lanes_with_points(code: StepCode, batched: bool) -> ContactLanes | None:
    """Return the contact solve of a step on SIMD lanes, which reports contact points; None if there is none.

    batched: whether states have model parameters of their own.
    """
    touching = code.world.touching
    if code.stage is None or touching.several or touching.counts.resists:
        return None
    return begin_lanes(code.stage, batched)


class LaneSolve:
    """Contact solve of a batch of states on SIMD lanes, as `ContactSolve.run`.

    info (count, ALL_INFO): diagnostics of the same states after an earlier step (`ContactLanes.bound`); afterwards
    those of the last call. points (count, C, POINT): contacts of the last call.
    """

    def __init__(self, lanes: ContactLanes, info: np.ndarray) -> None:
        self._lanes, self._before, self.info = lanes, info, info
        most = min(MOST, lanes.stage.touching.most_contacts)
        self.points = empty((len(info), most, POINT), float)

    def __call__(
        self, given: StepInput, result: StepOutput, batched: BatchedTables | None, kinematics: np.ndarray | None
    ) -> int:
        """Add contact to unconstrained steps; return the worst status."""
        self.info = self._before.copy()
        own = result._replace(solver_info=self.info, wrench=None, pairs=None, points=self.points)
        finite = self._lanes.bound(given, own, batched)()
        result.solver_info[...] = self.info[:, :RESULT_INFO]
        left = np.flatnonzero(self.info[:, INFO.unsolved] == FOR_ONE)
        if left.size and finite:
            found = points_one_by_one(self._lanes.stage, given, result, left, batched)
            more = max(0, found.shape[1] - self.points.shape[1])
            self.points = np.pad(self.points, ((0, 0), (0, more), (0, 0)))
            self.points[left, : found.shape[1]] = found
        return FINE if finite else NOT_FINITE


def points_one_by_one(
    stage: ContactSolve, given: StepInput, result: StepOutput, states: np.ndarray, batched: BatchedTables | None
) -> np.ndarray:
    """Return the contact points (n, C, POINT) of some states, which are solved again one by one."""
    given, part = given.mapped(itemgetter(states)), result._replace(points=None).mapped(itemgetter(states))
    given = given._replace(external_contacts=nothing_found(given.q))
    while True:
        points = np.zeros((len(states), *stage.new_points().shape))
        stage.run(given, part._replace(points=points), None if batched is None else batched.of(states))
        if points.shape[1] == len(stage.new_points()):  # memory grows with the contacts
            return points[:, : int(part.solver_info[:, INFO.contacts].max(initial=0))]
