"""A simulation that its user steers while it runs: what the panel and the mouse of a viewer act on."""

from .physics import Scene
from .replay import Replay
from .session import LiveSession
from .settings import Settings

__all__ = ["LiveSession", "Replay", "Scene", "Settings"]
