"""Contact solve of many states at once, eight in the SIMD lanes of a processor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..engine.call.generic import compiled, compiled_soon, runs_compiled
from ..kernels.contact.pgs import solve_pgs
from ..kernels.contact.signed_distance import CAPSULE, PLANE, SPHERE
from ..kernels.contact.simd_collision import MOST
from ..kernels.contact.simd_contact_step import FOR_ONE, SIMD_SOLVER_INFO, contact_step_on_lanes
from ..kernels.contact.tables import COLUMNS, NUMBERS
from ..kernels.entries.status import FINE
from .contact_solve import ContactInput, ContactOutput, ContactSolve
from .convex_pairs import nothing_found
from .unsolved import worst_residual

SMOOTH = (PLANE, SPHERE, CAPSULE)  # solids that SIMD code supports
BETWEEN_POINTS = 10  # column of contacts at capsules' sides and boxes' edges

Arrays = Sequence[np.ndarray]
Solve = Callable[[Arrays, Arrays], tuple[np.ndarray, np.ndarray]]  # of inputs and results; residuals, mask of unsolved


class ContactLanes:
    """Compiled contact solve of a batch on SIMD lanes.

    The first steps of the solver finish most states. The others form new groups, so that few wait for them, and start
    again, with the solver's other steps up to where it stalls. Those that are not solved even then are solved one by
    one. A state's result does not depend, to the bit, on the other states or on their number.
    """

    def __init__(self, stage: ContactSolve) -> None:
        self.stage = stage
        *tables, layout, geometry, rows, frames, settings, scheme = stage.constants
        layout = layout.copy()
        layout[4] = MOST + 1 + layout[6]  # room for contacts: all that are looked after, and what one more pair finds
        first = scheme.copy()
        first[2] = 1.0  # iterations: the first steps of the solver
        tables = [*tables, layout, geometry, rows, frames, settings]
        self.constants = [(*tables, each) for each in (first, scheme)]
        self.codes = [compiled(contact_step_on_lanes).with_tables(*each) for each in self.constants]

    def run(self, inputs: Arrays, results: Arrays) -> np.ndarray:
        """Add contact to the unconstrained steps of a batch; return the residuals (count,).

        inputs (count, n): q, v, q_free, v_free, force, the unconstrained step's work, and impulses for the warm start.
        results (count, n), overwritten: q_new, v_new, impulses, work.
        """
        residual, unsolved = self._on_lanes(self.codes[0], inputs, results)
        left = np.flatnonzero(unsolved)
        others: list[Solve] = [partial(self._on_lanes, self.codes[1]), self._one_by_one]
        for solve in others:
            if left.size:
                own = [np.empty((left.size, x.shape[1])) for x in results]
                residual[left], unsolved = solve([x[left] for x in inputs], own)
                for x, found in zip(results, own, strict=True):
                    x[left] = found
                left = left[unsolved]
        return residual

    def _on_lanes(self, code: Any, inputs: Arrays, results: Arrays) -> tuple[np.ndarray, np.ndarray]:
        """Solve all states on SIMD lanes; return their residuals (count,), and a mask of those that are not solved."""
        q_new, v_new, impulses, work = results
        solver_info = np.empty((len(q_new), SIMD_SOLVER_INFO))
        impulses[...] = 0.0

        unsolved = solver_info[:, 1]
        given = [x.reshape(-1) for x in (*inputs, q_new, v_new, impulses, solver_info, work)]
        if code(*given) != FINE:
            unsolved[~(np.isfinite(q_new).all(axis=1) & np.isfinite(v_new).all(axis=1))] = FOR_ONE
        return solver_info[:, 0], unsolved == FOR_ONE

    def _one_by_one(self, inputs: Arrays, results: Arrays) -> tuple[np.ndarray, np.ndarray]:
        """Solve states one by one; return the larger residual (count,) of each, and a mask without any state."""
        q_new, v_new, impulses, work = results
        shapes = self.stage.shapes
        wrench, pairs, solver_info = (
            np.empty((len(q_new), *shape)) for shape in (shapes.wrench, shapes.pairs, shapes.solver_info)
        )
        given = ContactInput(*[*inputs, nothing_found(q_new)])
        self.stage.run(given, ContactOutput(q_new, v_new, impulses, wrench, pairs, solver_info, work))
        return worst_residual(solver_info), np.zeros(len(q_new), bool)


def begin_lanes(stage: ContactSolve) -> bool:
    """Return whether SIMD code supports a contact solve, and start its background compilation.

    It does not support solids with edges, contact between points (of capsules and boxes), constrained frames and loops,
    mimic joints, solvers other than "pgs", and uncompiled Python. It is not used where there are only joint limits,
    which few states reach.
    """
    touching = stage.touching
    if touching.only_limits or not runs_compiled():
        return False
    pairs = touching.layout[NUMBERS : NUMBERS + COLUMNS * touching.layout[0]].reshape(-1, COLUMNS)
    smooth = bool(np.isin(pairs[:, 2], SMOOTH).all()) and not pairs[:, BETWEEN_POINTS].any()
    by_pgs = stage.solver.kernel is solve_pgs and stage.solver.exact
    plain = stage.robot.mimic_map is None and not touching.held[0][0]
    found = smooth and by_pgs and plain
    if found:
        compiled_soon(contact_step_on_lanes)
    return found
