"""Live simulations: their state and settings can be changed from a viewer's page while they run."""

from .engine_motion import engine_motion
from .reference import ReferenceSettings
from .replay import Replay
from .scene import Scene
from .session import LiveSession
from .settings import Settings

__all__ = ["LiveSession", "ReferenceSettings", "Replay", "Scene", "Settings", "engine_motion"]
__dir__ = __all__.copy
