"""Contact points of a step as a structured array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..kernels.contact.collision import VARIANTS
from ..kernels.contact.contact_points import FORCE, GAP, LAW, NORMAL, POSITION, TORQUE, VELOCITY
from ..kernels.contact.layout import COUNT
from ..kernels.contact.tables import Touch
from .tables import Touching

VECTORS = {"position": POSITION, "normal": NORMAL, "force": FORCE, "velocity": VELOCITY, "torque": TORQUE}
LINKS = ("link", "other_link")  # last, since files of older versions do not have them


def point_type(longest: int) -> list[tuple[Any, ...]]:
    """Return the dtype of contact points, with names of at most `longest` letters."""
    text = f"U{max(longest, 1)}"
    kinds = [("body", text), ("other", text), ("substep", np.int64), ("gap", np.float64)]
    return [*kinds, *((label, np.float64, (3,)) for label in VECTORS), *((label, text) for label in LINKS)]


def no_points(touching: Touching) -> np.ndarray:
    """Return the contact points (0,) of a step without any."""
    return contact_points(touching, [])


def contact_points(touching: Touching, substeps: Sequence[np.ndarray]) -> np.ndarray:
    """Return the contact points of a step as a structured array (n,).

    substeps: those (n_k, 17) of each equal part of the step. Fields: `body` and `other`, names of bodies or surfaces;
    `substep`; `position` [m] in the world at its start; `normal` towards `body`; `gap` [m] at the end of the substep,
    negative where they overlap; `force` [N] on `body` and `torque` [N m] of torsional and rolling friction, along the
    world's axes, their parts of the mean over the step; `velocity` [m/s] of `body` relative to `other` at the end of
    the substep; `link` and `other_link`, the links of these bodies that have the shapes, or the surface again.
    """
    found = np.zeros(sum(map(len, substeps)), point_type(touching.longest_name))
    if not len(found):
        return found
    rows = np.concatenate(substeps)
    names = [touching.names_of(int(k)) for k in rows[:, LAW]]
    for label, column in zip(("body", "other", *LINKS), zip(*names, strict=True), strict=True):
        found[label] = column
    found["substep"] = np.repeat(np.arange(len(substeps)), [len(each) for each in substeps])
    found["gap"] = rows[:, GAP]
    for label, first in VECTORS.items():
        found[label] = rows[:, first : first + 3]
    found["force"] /= len(substeps)
    found["torque"] /= len(substeps)
    return found


def with_rows(touching: Touching, points: np.ndarray) -> tuple[Touch, np.ndarray]:
    """Return contact tables with a row of the pair of each contact point, and the points (n, POINT) of these tables.

    Numbers LAW of points are then rows, which are gathered for pairs of many free bodies.
    """
    if not touching.counts.shapes:
        return touching.touch, points
    layout, solids, points = touching.layout.copy(), VARIANTS[touching.solids], points.copy()
    layout[COUNT.capacity] = len(points)
    touch = solids.tables(layout, touching.geometry)
    for n, number in enumerate(points[:, LAW]):
        points[n, LAW] = solids.row(touch, int(number), n)
    return touch, points
