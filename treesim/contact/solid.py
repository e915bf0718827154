"""Solids: collision geometry for the points of other bodies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model.inertia import Placement


@dataclass(frozen=True)
class Solid:
    """A solid on a body (0 = the world), with which points of other bodies collide.

    kind: as in `kernels.contact.signed_distance`. size (4,): see `kernels.contact.tables`. placement: pose on the body.
    heights: of a height field.
    """

    body: int
    kind: int
    size: tuple[float, ...]
    placement: Placement
    heights: np.ndarray | None = None
