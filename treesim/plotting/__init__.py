"""Plots by matplotlib, which is imported on demand; the registry has them by name (`plugins.get("plots", ...)`)."""

from .figures import PLOT_SUFFIXES, require_matplotlib
from .trajectory import draw

__all__ = ["PLOT_SUFFIXES", "draw", "require_matplotlib"]
