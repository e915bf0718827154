"""Robots that a session lets its user choose from."""

from __future__ import annotations

from typing import Protocol

from .physics import Scene
from .settings import Settings


class Library(Protocol):
    """Robots to choose from: their names, and the scene of one, with what is to be set there."""

    robots: list[str]
    bases: list[str]

    def load(self, robot: str, base: str) -> tuple[Scene, Settings]:
        """Return a robot's scene, and the settings that it begins with; raises TreesimError."""
        ...
