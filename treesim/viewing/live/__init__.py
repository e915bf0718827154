"""A simulation that its user steers while it runs: what the panel and the mouse of a viewer act on."""

from .engine_motion import engine_motion
from .physics import Scene
from .reference import ReferenceSettings
from .replay import Replay
from .session import LiveSession
from .settings import Settings

__all__ = ["LiveSession", "ReferenceSettings", "Replay", "Scene", "Settings", "engine_motion"]
