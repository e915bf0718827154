"""Contact wrenches between two bodies, or a body and a surface of the world."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

GROUND = "ground"  # all surfaces of the world together


def exerted(
    pairs: Sequence[tuple[str, str]], wrench: np.ndarray, on: Collection[str], by: Collection[str] | None = None
) -> np.ndarray:
    """Return the wrench (..., 6) on some bodies or surfaces together, by some others or by all.

    pairs: names of the P pairs that may touch. wrench (..., P, 12): on the first of each, then on the second.
    """
    total = np.zeros((*wrench.shape[:-2], 6))
    for k, pair in enumerate(pairs):
        for side, (name, other) in enumerate((pair, pair[::-1])):
            if name in on and (by is None or other in by):
                total += wrench[..., k, 6 * side : 6 * side + 6]
    return total
