"""Contact points of a step as a structured array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..kernels.contact.contact_points import FORCE, GAP, LAW, NORMAL, POSITION, TORQUE, VELOCITY
from ..kernels.contact.layout import PAIR, pair_table
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
    longest = max((len(name) for pair in (*touching.groups, *touching.links) for name in pair), default=1)
    found = np.zeros(sum(map(len, substeps)), point_type(longest))
    if not len(found):
        return found
    rows = np.concatenate(substeps)
    pairs = pair_table(touching.layout)
    laws = rows[:, LAW].astype(int)
    groups, flipped = pairs[laws, PAIR.group], pairs[laws, PAIR.flipped]
    names = np.array(touching.groups, found.dtype["body"])
    found["body"], found["other"] = names[groups, flipped], names[groups, 1 - flipped]
    links = np.array(touching.links, found.dtype["link"])
    found["link"], found["other_link"] = links[laws, 0], links[laws, 1]
    found["substep"] = np.repeat(np.arange(len(substeps)), [len(each) for each in substeps])
    found["gap"] = rows[:, GAP]
    for label, first in VECTORS.items():
        found[label] = rows[:, first : first + 3]
    found["force"] /= len(substeps)
    found["torque"] /= len(substeps)
    return found
