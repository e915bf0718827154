"""Contact solve of many states at once, in the SIMD lanes of a processor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from ..engine.call.generic import bound_call, compiled_soon, runs_compiled
from ..kernels.contact.contact_step import PENETRATION
from ..kernels.contact.each_collision import EACH_MESHES, EACH_SOLIDS
from ..kernels.contact.pgs import solve_pgs
from ..kernels.contact.signed_distance import CAPSULE, PLANE, SPHERE
from ..kernels.contact.simd_collision import CAPACITY, SMOOTH_SOLIDS, Finder
from ..kernels.contact.simd_contact_step import (
    BEFORE,
    DEEPEST,
    FOR_ONE,
    OVERLAP,
    SIMD_SOLVER_INFO,
    UNSOLVED,
    put_history,
)
from ..kernels.contact.simd_groups import contact_step_on_lanes
from ..kernels.contact.simd_parts import simd_parts_of
from ..kernels.contact.simd_warm_start import ALL, LISTED
from ..kernels.contact.tables import COLUMNS, NUMBERS
from ..kernels.entries.status import FINE, NOT_FINITE
from .contact_solve import CAPACITY_AT, ContactInput, ContactOutput, ContactSolve
from .convex_pairs import nothing_found
from .deep_overlaps import deepest_bodies
from .tables import Touching
from .unsolved import worst_residual

SMOOTH = {PLANE, SPHERE, CAPSULE}  # solids of `simd_collision`
BETWEEN_POINTS = 10  # column of contacts at capsules' sides and boxes' edges

Arrays = Sequence[np.ndarray]
AddContact = Callable[[], bool]  # returns whether all states are finite


class ContactLanes:
    """Compiled contact solve of a batch on SIMD lanes.

    States that SIMD code does not solve are solved one by one. A state's result does not depend, to the bit, on the
    other states or on their number.
    """

    def __init__(self, stage: ContactSolve) -> None:
        self.stage = stage
        *tables, layout, geometry, rows, frames, settings, scheme = stage.constants
        layout = layout.copy()
        layout[CAPACITY_AT] = CAPACITY
        self.constants = *tables, layout, geometry, rows, frames, settings, scheme
        held, mimics = bool(stage.touching.held[0][0]), stage.robot.mimic_map is not None
        self.entry = contact_step_on_lanes(simd_parts_of(finder_of(stage.touching), held, mimics))

    @property
    def warm_start(self) -> int:
        """Number of impulses of a state for the warm start, with their list."""
        return self.stage.touching.rows + LISTED

    def bound(self, inputs: Arrays, results: Arrays, solver_info: np.ndarray) -> AddContact:
        """Return the function that adds contact to a batch of unconstrained steps.

        inputs (count, n): q, v, q_free, v_free, force, the unconstrained step's work, and impulses for the warm start.
        results (count, n), overwritten: q_new, v_new, impulses, work. All arrays are read and written at every call.
        Impulses are those of `simd_warm_start`, zero at first. solver_info (count, SIMD_SOLVER_INFO), overwritten:
        diagnostics of the same states after an earlier step, or those of `begin_info`. Residuals are its first column.
        """
        q_new, v_new, impulses, work = results
        given = [x.reshape(-1) for x in (*inputs, q_new, v_new, impulses, solver_info, work)]
        call = bound_call(self.entry, *self.constants, *given)
        residual, unsolved = solver_info[:, 0], solver_info[:, UNSOLVED]

        def run() -> bool:
            status = call()
            if status == FINE:
                return True
            if status == NOT_FINITE:
                unsolved[~(np.isfinite(q_new).all(axis=1) & np.isfinite(v_new).all(axis=1))] = FOR_ONE
            left = (unsolved == FOR_ONE).nonzero()[0]
            if left.size:
                own = [np.zeros((left.size, x.shape[1])) for x in results]
                residual[left], *overlaps = self._one_by_one([x[left] for x in inputs], own)
                solver_info[left, OVERLAP], solver_info[left, DEEPEST] = overlaps
                for k in left:
                    put_history(given[-2], k)
                for x, found in zip(results, own, strict=True):
                    x[left] = found
            return bool(np.isfinite(q_new).all() and np.isfinite(v_new).all())

        return run

    def _one_by_one(self, inputs: Arrays, results: Arrays) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Solve states one by one; return the larger of two residuals, the largest overlap, and its body, of each."""
        *others, before = inputs
        q_new, v_new, impulses, work = results
        rows, shapes = self.stage.touching.rows, self.stage.shapes
        wrench, pairs, solver_info = (
            np.empty((len(q_new), *shape)) for shape in (shapes.wrench, shapes.pairs, shapes.solver_info)
        )
        after = np.empty((len(q_new), rows))
        given = ContactInput(*[*others, np.ascontiguousarray(before[:, :rows]), nothing_found(q_new)])
        self.stage.run(given, ContactOutput(q_new, v_new, after, wrench, pairs, solver_info, work))
        impulses[:, :rows], impulses[:, rows] = after, ALL
        deepest = deepest_bodies(wrench, self.stage.touching.bodies)
        return worst_residual(solver_info), solver_info[:, PENETRATION], deepest


def begin_info(count: int) -> np.ndarray:
    """Return diagnostics (count, SIMD_SOLVER_INFO) of states before their first step."""
    info = np.empty((count, SIMD_SOLVER_INFO))
    clear_info(info)
    return info


def clear_info(info: np.ndarray) -> None:
    """Set diagnostics (..., SIMD_SOLVER_INFO) to those before the first step."""
    info[...], info[..., BEFORE] = 0.0, np.inf


def clear_warm_start(impulses: np.ndarray, slots: int) -> None:
    """Set the impulses (count, n) of `ContactLanes.bound` to zero: those of `slots` contacts where they may not be."""
    count, rows = len(impulses), impulses.shape[1] - LISTED
    listed = impulses[:, rows]
    if not count or listed.min() < 0:
        impulses[...] = 0.0
        return
    used = 3 * impulses[:, rows + 1 : rows + 1 + int(listed.max())].astype(int)
    for k in range(3):
        impulses[np.arange(count)[:, None], used + k] = 0.0
    impulses[:, 3 * slots : rows + 1] = 0.0


def finder_of(touching: Touching) -> Finder:
    """Return the collision detection of several states: on SIMD lanes, or of each state for solids with edges."""
    pairs = touching.layout[NUMBERS : NUMBERS + COLUMNS * touching.layout[0]].reshape(-1, COLUMNS)
    if set(pairs[:, 2].tolist()) <= SMOOTH and not pairs[:, BETWEEN_POINTS].any():
        return SMOOTH_SOLIDS
    return EACH_MESHES if touching.on_meshes else EACH_SOLIDS


def begin_lanes(stage: ContactSolve) -> ContactLanes | None:
    """Return a contact solve on SIMD lanes, and start its background compilation; None if it is not supported.

    It does not support contacts found by coal, torsional and rolling friction of contacts, solvers other than "pgs",
    and uncompiled Python. It is not used where there are only joint limits, which few states reach.
    """
    lanes = _lanes_of(stage) if runs_compiled() else None
    if lanes is not None:
        compiled_soon(lanes.entry)
    return lanes


@lru_cache(maxsize=16)  # short rollouts are called repeatedly
def _lanes_of(stage: ContactSolve) -> ContactLanes | None:
    """Return a contact solve on SIMD lanes, None if it is not supported."""
    touching = stage.touching
    if touching.only_limits or touching.resists:
        return None
    first, end = touching.convex
    by_pgs = stage.solver.kernel is solve_pgs and stage.solver.exact
    return ContactLanes(stage) if by_pgs and first == end else None
