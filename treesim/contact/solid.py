"""Solids: what points of other bodies meet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model.inertia import Placement


@dataclass(frozen=True)
class Solid:
    """A solid on a body (0 = the world): its kind (`kernels.contact.collision`), sizes (4,), placement on the body, and
    heights, of a grid."""

    body: int
    kind: int
    size: tuple[float, ...]
    placement: Placement
    heights: np.ndarray | None = None
