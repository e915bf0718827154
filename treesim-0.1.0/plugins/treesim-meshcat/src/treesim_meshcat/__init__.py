"""Meshcat viewer of treesim: a live page in the browser, and recordings in one HTML file."""

from .viewer import MeshcatViewer

__all__ = ["MeshcatViewer"]
