"""Gaps and overlaps of pairs of shapes and solids at a configuration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..dynamics.tables import constants_of
from ..engine.call.evaluate import run_states
from ..kernels.contact.pair_gaps import PAIR_GAPS
from ..kernels.contact.signed_distance import FAR
from ..model.tree import Tree
from .tables import Touching

MARGIN = 1e-9  # m: shapes so near each other touch


class PairGaps(NamedTuple):
    """Gaps of the pairs of a world.

    least (P,): the smallest one [m]. room (P,): the smallest motion along -up that closes one [m]. Infinite for pairs
    without a gap below the margin, and for those with external contacts. number (P,): of the pair. Of pairs of free
    bodies that are gathered, one of each shape has the smallest gap.
    """

    least: np.ndarray
    room: np.ndarray
    number: np.ndarray


def pair_gaps(robot: Tree, tables: Touching, q: np.ndarray, up: np.ndarray, margin: float) -> PairGaps:
    """Return the gaps below `margin` [m] of all pairs of points and solids at q (nq,).

    up (3,): unit vector. O(N + pairs), and the cells of height fields and meshes near the shapes.
    """
    constants = (*constants_of(robot.spanning), tables.layout, tables.geometry)
    inputs = [np.array(x, float, ndmin=2) for x in (robot.expand(q), up, [margin])]
    found = PairGaps(*np.empty((3, 1, len(tables.links))))
    if tables.links:
        run_states(PAIR_GAPS[tables.solids], constants, inputs, found, "generic")
    return PairGaps(*(np.where(x[0] < FAR, x[0], np.inf) for x in found))


def overlapping(robot: Tree, tables: Touching, q: np.ndarray) -> dict[int, float]:
    """Return {number of pair: depth [m]} of the pairs of points and solids that touch at q (nq,)."""
    found = pair_gaps(robot, tables, q, np.array([0.0, 0.0, 1.0]), MARGIN)
    return {int(found.number[k]): float(-found.least[k]) for k in np.flatnonzero(np.isfinite(found.least))}
