"""Contact solve of many states at once, in the SIMD lanes of a processor."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from operator import itemgetter

import numpy as np

from ..engine.call.batched import BatchedTables
from ..engine.call.generic import bound_call, compiled, compiled_soon, runs_compiled
from ..kernels.contact.each_collision import EACH_STATE
from ..kernels.contact.lane_parameters import HEAD
from ..kernels.contact.layout import ALL_INFO, COUNT, INFO, PAIR, RESULT_INFO, pair_table
from ..kernels.contact.pgs import solve_pgs
from ..kernels.contact.signed_distance import SMOOTH
from ..kernels.contact.simd_collision import SMOOTH_SOLIDS, Finder, capacity_of
from ..kernels.contact.simd_components import FOR_ONE
from ..kernels.contact.simd_groups import LaneVariant, contact_step_on_lanes, put_histories
from ..kernels.contact.step_records import StepInput, StepOutput
from ..kernels.entries.status import FINE, NOT_FINITE
from ..model.frozen import frozen
from .contact_solve import ContactSolve
from .convex_pairs import nothing_found
from .deep_overlaps import deepest_bodies
from .tables import Touching

NO_MIMIC_JOINTS = frozen([], np.int64), frozen([])  # in the place of their tables
AddContact = Callable[[], bool]  # returns whether all states are finite


class ContactLanes:
    """Compiled contact solve of a batch on SIMD lanes.

    States that SIMD code does not solve are solved one by one. A state's result does not depend, to the bit, on the
    other states or on their number. batched: whether states may have model parameters of their own.
    """

    def __init__(self, stage: ContactSolve, batched: bool) -> None:
        self.stage = stage
        *tables, _, geometry, rows, frames, settings, scheme = stage.constants
        layout = stage.touching.without_groups()
        layout[COUNT.capacity] = layout[COUNT.component] = capacity_of(stage.touching.most_contacts)
        tables = [*tables, *NO_MIMIC_JOINTS][:4]
        self._layout_at = len(tables)
        self.constants = *tables, layout, geometry, rows, frames, settings, scheme
        held, mimics = bool(stage.touching.held[0][0]), stage.robot.mimic_map is not None
        resists = bool(stage.touching.counts.resists)
        variant = LaneVariant(held, resists, mimics, batched, stage.with_forces, stage.touching.several)
        self.entry = contact_step_on_lanes(finder_of(stage.touching), variant)

    def bound(self, given: StepInput, result: StepOutput, batched: BatchedTables | None = None) -> AddContact:
        """Return the function that adds contact to a batch of unconstrained steps.

        given (count, n): without external contacts. result (count, n), overwritten; wrench, points (count, C, POINT):
        None if they are not requested; pairs: None. Points are those of states that lanes solve, without torques of
        rolling friction. All arrays are read and written at every call. Impulses are zero at first.
        result.solver_info (count, ALL_INFO), overwritten: diagnostics of the
        same states after an earlier step, or those of `begin_info`. batched: model
        parameters of each state.
        """
        nothing, solver_info = np.empty(0), result.solver_info
        numbers, places = (nothing, np.zeros(HEAD, np.int64)) if batched is None else self._parameters(batched)
        arrays = (
            given.q, given.v, given.q_free, given.v_free, given.force,
            nothing if given.external is None else given.external, given.work_free, given.warm_start, numbers, places,
            result.q, result.v, result.warm_start, nothing if result.wrench is None else result.wrench, solver_info,
            result.work, nothing if result.points is None else result.points,
        )  # fmt: skip
        call = bound_call(self.entry, *self._constants_for(result), *(x.reshape(-1) for x in arrays))
        unsolved, flat = solver_info[:, INFO.unsolved], solver_info.reshape(-1)
        alone: dict[int, Callable[[], None]] = {}  # of states that lanes leave
        kinematics = np.empty(self.stage.between[-1])

        def run() -> bool:
            status = call()
            if status == FINE:
                return True
            if status == NOT_FINITE:
                finite = np.isfinite(result.q).all(axis=1) & np.isfinite(result.v).all(axis=1)
                unsolved[~finite] = FOR_ONE
            left = (unsolved == FOR_ONE).nonzero()[0]
            if left.size:
                self._one_by_one(left, alone, partial(self._alone, given, result, batched, kinematics))
                compiled(put_histories)(flat, left)
            return bool(np.isfinite(result.q).all() and np.isfinite(result.v).all())

        return run

    def _constants_for(self, result: StepOutput) -> tuple[np.ndarray, ...]:
        """Return the constants of steps, which report contact points if they are requested."""
        if result.points is None:
            return self.constants
        tables, layout = self.constants[: self._layout_at], self.constants[self._layout_at].copy()
        layout[COUNT.reports_points] = 1
        layout.setflags(write=False)
        return *tables, layout, *self.constants[self._layout_at + 1 :]

    def _parameters(self, batched: BatchedTables) -> tuple[np.ndarray, np.ndarray]:
        """Return the model parameters of each state, and their places, as `LaneParameters`."""
        places = dict(zip(batched.tables, batched.places, strict=True))
        at = self.stage.reals_at, self.stage.settings_at, self.stage.geometry_at
        found, numbers = [places.get(k, np.empty(0, np.int64)) for k in at], batched.numbers
        if list(places) != [k for k in at if k in places]:
            ends = np.cumsum([x.size for x in batched.places])[:-1]
            own = dict(zip(batched.tables, np.split(numbers, ends, axis=1), strict=True))
            numbers = np.concatenate([own[k] for k in at if k in own], axis=1)
        counts = [len(found[0]), len(found[1])]
        found[2] = self.stage.touching.batched_places(found[2])
        return np.ascontiguousarray(numbers), np.concatenate([counts, *found]).astype(np.int64)

    def _one_by_one(
        self, left: np.ndarray, bound: dict[int, Callable[[], None]], bind: Callable[[int], Callable[[], None]]
    ) -> None:
        """Solve the states `left` one by one, each by a function that is bound when it is needed first."""
        for k in left.tolist():
            if k not in bound:
                bound[k] = bind(k)
            bound[k]()

    def _alone(
        self, given: StepInput, result: StepOutput, batched: BatchedTables | None, kinematics: np.ndarray, k: int
    ) -> Callable[[], None]:
        """Return the function that solves state k by itself, in the same arrays at every call."""
        stage, part, info = self.stage, itemgetter(slice(k, k + 1)), result.solver_info[k]
        given, result = given.mapped(part), result._replace(points=None).mapped(part)
        given = given._replace(external_contacts=nothing_found(given.q))
        wrench = np.empty((1, *stage.shapes.wrench)) if result.wrench is None else result.wrench
        pairs, solver_info = np.empty((1, *stage.shapes.pairs)), result.solver_info[:, :RESULT_INFO]
        result = result._replace(wrench=wrench, pairs=pairs, solver_info=solver_info)
        own = None if batched is None else batched.of(slice(k, k + 1))  # a view: parameters may be replaced
        bind, deep = partial(stage.bound_to, given, result, own, kinematics), stage.touching.largest_overlap
        calls = bind()

        def run() -> None:
            for call in calls:
                call()
            if stage.makes_room(info):
                calls[:] = bind()
                run()
            elif (growth := info.item(INFO.penetration) - info.item(INFO.before)) > deep and growth > info[INFO.growth]:
                info[INFO.deepest] = deepest_bodies(wrench[0], stage.touching.bodies)

        return run


def begin_info(count: int) -> np.ndarray:
    """Return diagnostics (count, ALL_INFO) of states before their first step."""
    info = np.empty((count, ALL_INFO))
    clear_info(info)
    return info


def clear_info(info: np.ndarray) -> None:
    """Set diagnostics (..., ALL_INFO) to those before the first step."""
    info[...], info[..., INFO.before] = 0.0, np.inf


def clear_warm_start(impulses: np.ndarray, scalar_rows: int) -> None:
    """Set the impulses (count, n) of `ContactLanes.bound` to those before the first step: no contact is listed."""
    impulses[:, 0] = 0.0
    impulses[:, impulses.shape[1] - scalar_rows :] = 0.0


def finder_of(touching: Touching) -> Finder:
    """Return the collision detection of several states: on SIMD lanes, or of each for edges and many bodies."""
    pairs = pair_table(touching.layout)
    smooth = set(pairs[:, PAIR.solid].tolist()) <= set(SMOOTH) and not pairs[:, PAIR.between].any()
    if smooth and not touching.is_swept:
        return SMOOTH_SOLIDS
    return EACH_STATE[touching.solids]


def begin_lanes(stage: ContactSolve, batched: bool = False) -> ContactLanes | None:
    """Return a contact solve on SIMD lanes, and start its background compilation; None if it is not supported.

    It does not support contacts found by coal, solvers other than "pgs", and uncompiled Python. It is not used where
    there are only joint limits, which few states reach. batched: whether states have model parameters of their own.
    """
    lanes = _lanes_of(stage, batched) if runs_compiled() else None
    if lanes is not None:
        compiled_soon(lanes.entry)
    return lanes


@lru_cache(maxsize=16)  # short rollouts are called repeatedly
def _lanes_of(stage: ContactSolve, batched: bool) -> ContactLanes | None:
    """Return a contact solve on SIMD lanes, None if it is not supported."""
    touching = stage.touching
    if touching.only_limits:
        return None
    first, end = touching.convex
    by_pgs = stage.solver.kernel is solve_pgs and stage.solver.exact
    return ContactLanes(stage, batched) if by_pgs and first == end else None
