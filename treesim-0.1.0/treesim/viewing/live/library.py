"""Interface of a collection of robots for a session."""

from __future__ import annotations

from typing import Protocol

from .physics import Scene
from .settings import Settings


class Library(Protocol):
    """Interface of a collection of robots: their names, and the scene and settings of each."""

    robots: list[str]
    bases: list[str]

    def load(self, robot: str, base: str) -> tuple[Scene, Settings]:
        """Return a robot's scene and initial settings; raises TreesimError."""
        ...
