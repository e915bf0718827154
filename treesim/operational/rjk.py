"""Λ^-1 = R Omega R' by the low-order recursion of Rodriguez, Jain and Kreutz-Delgado."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..kernels.operational_rjk import inverse_inertia_rjk_states
from ..model.tree import Tree
from ..types import Reference
from .base import CompiledMethod
from .frames import frame_codes
from .needed_blocks import needed_table


def frames_and_needed_blocks(robot: Tree, frames: tuple[str, ...], reference: Reference) -> tuple[np.ndarray, ...]:
    """Return the frames' two tables, and the blocks of Omega that they need; cost as of `needed_table`.

    Raises UnknownNameError (frame, reference).
    """
    codes, offsets = frame_codes(robot, frames, reference)
    return codes, offsets, needed_table(robot.parent.tolist(), codes[1:].tolist())


class Rjk(CompiledMethod):
    """Λ^-1 = R Omega R' by the low-order recursion of Rodriguez, Jain and Kreutz-Delgado, O(N + m^2 d)."""

    name = "rjk"
    source = "Featherstone 2010, appendix B, Figure 15 corrected"
    entry = inverse_inertia_rjk_states
    tables = staticmethod(frames_and_needed_blocks)
    kept_tables = staticmethod(lru_cache(maxsize=256)(frames_and_needed_blocks))
