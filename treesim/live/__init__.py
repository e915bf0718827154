"""A simulation that its user steers while it runs: what the panel and the mouse of a viewer act on."""

from .replay import Replay
from .session import LiveSession

__all__ = ["LiveSession", "Replay"]
