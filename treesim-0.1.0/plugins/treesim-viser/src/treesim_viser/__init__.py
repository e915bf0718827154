"""Viser viewer and HTML recordings for treesim."""

from .viewer import ViserViewer

__all__ = ["ViserViewer"]
