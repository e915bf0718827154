"""Solids: collision geometry for the points of other bodies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model.inertia import Placement


@dataclass(frozen=True)
class Solid:
    """A solid on a body (0 = the world), with which points of other bodies collide.

    kind: as in `kernels.contact.signed_distance`. size (4,): see `kernels.contact.tables`. placement: pose on the body.
    nodes: numbers of nodes along x and y of the grid of a height field or a static mesh. heights: of a height field; of
    a static mesh its table.
    """

    body: int
    kind: int
    size: tuple[float, ...]
    placement: Placement
    nodes: tuple[int, int] = (0, 0)
    heights: np.ndarray | None = None
