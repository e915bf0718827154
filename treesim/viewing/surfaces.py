"""Height of the grid that viewers draw."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..contact.ground import Ground, planes_of
from ..contact.surface import Surface

_LEVEL = 1e-9  # sine of the steepest slope of a level plane


def floor_height(ground: Iterable[Surface]) -> float | None:
    """Return the height [m] of the highest horizontal plane that faces up, for the grid; None without one."""
    return max((plane.height for plane in planes_of(ground) if _is_level(plane)), default=None)


def _is_level(plane: Ground) -> bool:
    x, y, z = np.asarray(plane.normal)
    return bool(np.hypot(x, y) < _LEVEL and z > 0)
