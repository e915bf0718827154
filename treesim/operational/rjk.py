"""Λ^-1 = R Omega R' by the low-order recursion of Rodriguez, Jain and Kreutz-Delgado, and by Chang and Khatib's."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np

from ..kernels.operational.operational_rjk import inverse_inertia_rjk_states
from ..model.tree import Tree
from ..types import Reference
from .base import CompiledMethod
from .frames import frame_codes
from .needed_blocks import Between, blocks_one_at_a_time, needed_table


def frames_and_needed_blocks(
    robot: Tree, frames: tuple[str, ...], reference: Reference, between: Between | None = None
) -> tuple[np.ndarray, ...]:
    """Return the frames' two tables, and the blocks of Omega that they need; between, cost: as of `needed_table`.

    Raises UnknownNameError (frame, reference).
    """
    codes, offsets = frame_codes(robot, frames, reference)
    return codes, offsets, needed_table(robot.parent.tolist(), codes[1:].tolist(), between)


class Rjk(CompiledMethod):
    """Λ^-1 = R Omega R' by the low-order recursion of Rodriguez, Jain and Kreutz-Delgado, O(N + m^2 d)."""

    name = "rjk"
    source = "Featherstone 2010, appendix B, Figure 15 corrected"
    entry = inverse_inertia_rjk_states
    tables = staticmethod(frames_and_needed_blocks)
    kept_tables = staticmethod(lru_cache(maxsize=256)(frames_and_needed_blocks))


one_at_a_time = partial(frames_and_needed_blocks, between=blocks_one_at_a_time)


class ChangKhatib(CompiledMethod):
    """Λ^-1 = R Omega R' by the recursion of Chang and Khatib, which hands on one body at a time: the kernel of RJK with
    other blocks, see `needed_blocks`."""

    name = "chang_khatib"
    source = "Chang and Khatib 1999, as described in Featherstone 2010, appendix B"
    entry = inverse_inertia_rjk_states
    tables = staticmethod(one_at_a_time)
    kept_tables = staticmethod(lru_cache(maxsize=256)(one_at_a_time))
