"""Warnings that point at a line of the user."""

from __future__ import annotations

import sys
import warnings
from types import FrameType


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the last call from outside of treesim, however many functions of treesim are in between."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "treesim":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
