"""Plots of trajectories (`draw`) by matplotlib, which is imported on demand."""

from .figures import require_matplotlib
from .trajectory import draw

__all__ = ["draw", "require_matplotlib"]
