"""Contact wrenches between two bodies, or a body and a surface of the world."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import unknown_name

GROUND = "ground"  # all surfaces of the world together


def on_surfaces(pairs: Sequence[tuple[str, str]], wrench: np.ndarray, surfaces: Sequence[str]) -> np.ndarray:
    """Return the wrench (..., 6) on some surfaces together, at the origin of the world.

    pairs: names of the P pairs that may touch. wrench (..., P, 12): on the first of each, then on the second.
    """
    total = np.zeros((*wrench.shape[:-2], 6))
    for k, pair in enumerate(pairs):
        for side, name in enumerate(pair):
            if name in surfaces:
                total += wrench[..., k, 6 * side : 6 * side + 6]
    return total


def between(
    pairs: Sequence[tuple[str, str]],
    wrench: np.ndarray,
    bodies: Sequence[str],
    surfaces: Sequence[str],
    body: str,
    other: str,
) -> np.ndarray:
    """Return the wrench (..., 6) that `other` exerts on `body`, at the origin of `body` (of the world for a surface).

    pairs: names of the P pairs that may touch. wrench (..., P, 12): on the first of each, then on the second. bodies,
    surfaces: all names; "ground" is all surfaces together. The result is zero for pairs that cannot touch. Raises
    UnknownNameError for other names.
    """
    known = (*bodies, *surfaces, *([GROUND] if surfaces else []))
    for name in (body, other):
        if name not in known:
            raise unknown_name("body or surface that may touch", name, known)
    one, two = (set(surfaces) if name == GROUND else {name} for name in (body, other))
    total = np.zeros((*wrench.shape[:-2], 6))
    for k, (first, second) in enumerate(pairs):
        if first in one and second in two:
            total += wrench[..., k, :6]
        elif first in two and second in one:
            total += wrench[..., k, 6:]
    return total
