"""What contact makes of many states at once, eight side by side in each of the processor's vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.generic import compiled, runs_compiled
from ..engine.threads import over_threads
from ..kernels.contact_lanes import TOLD, contact_step_on_lanes
from ..kernels.contact_pgs import solve_pgs
from ..kernels.contact_points import CAPSULE, COLUMNS, NUMBERS, PLANE, SPHERE
from ..kernels.contact_points_lanes import MOST
from ..kernels.status import FINE
from .stage import ContactStage

WIDTH = 8  # states side by side
STATES_PER_TASK = 2 * WIDTH  # fewer states than this are not worth handing to another of Python's threads
SMOOTH = (PLANE, SPHERE, CAPSULE)  # solids that lanes know


class ContactLanes:
    """Compiled code of what contact makes of free steps, on lanes, and of one state after the other where lanes leave
    it so. A state's bits do not depend on the other states, nor on how many there are."""

    def __init__(self, stage: ContactStage) -> None:
        self.stage = stage
        self.code = compiled(contact_step_on_lanes)
        layout = stage.touching.layout.copy()
        layout[4] = MOST + 1 + layout[6]  # room for contacts: all that is looked after, and what one more pair finds
        self.constants = (*stage.constants[:2], layout, *stage.constants[3:])

    def run(self, *arrays: np.ndarray) -> None:
        """Turn the free steps of a batch into ones with contact: q, v, q_free, v_free, force, before, then q_new,
        v_new, impulses and change of the work; return the residuals (count,)."""
        inputs, (q_new, v_new, impulses, work) = arrays[:6], arrays[6:]
        count = len(q_new)
        told = np.empty((count, TOLD))
        impulses[...] = 0.0

        def part(first: int, last: int) -> int:
            given = [x[first:last].reshape(-1) for x in (*inputs, q_new, v_new, impulses, told, work)]
            return int(self.code(*self.constants, *given))

        status = over_threads(part, count, STATES_PER_TASK)
        flags = told[:, 1] != 0
        if status != FINE:
            flags |= ~(np.isfinite(q_new).all(axis=1) & np.isfinite(v_new).all(axis=1))
        left = np.flatnonzero(flags)
        if left.size:
            own, wrench, own_told = self.stage.memory((left.size,))
            ends = np.empty((left.size, q_new.shape[1])), np.empty((left.size, v_new.shape[1]))
            change = np.empty((left.size, 2))
            self.stage.run(*(x[left] for x in inputs), *ends, own, wrench, own_told, change)
            for x, found in zip((q_new, v_new, impulses, work), (*ends, own, change), strict=True):
                x[left] = found
            told[left, 0] = own_told[:, 1]


def lanes_of(stage: ContactStage) -> ContactLanes | None:
    """Return the code on lanes of a stage; None where there is none."""
    touching = stage.touching
    solids = touching.layout[NUMBERS : NUMBERS + COLUMNS * touching.layout[0]].reshape(-1, COLUMNS)[:, 2]
    known = np.isin(solids, SMOOTH).all() and stage.robot.coupling is None
    plain = stage.entry.origin.kernel.__name__ == f"contact_step_by_{solve_pgs.__name__}"
    if not (runs_compiled() and known and plain and not touching.held[0][0]):
        return None
    return ContactLanes(stage)
