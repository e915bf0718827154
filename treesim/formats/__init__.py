"""Import and export of trajectories and rollouts in formats that other programs read: one module per format."""

from ..simulation.files import load, save, suffixes
from .description import described, read_description, restored
from .lerobot import write_lerobot
from .mcap import write_mcap

__all__ = [
    "described", "load", "read_description", "restored", "save", "suffixes", "write_lerobot", "write_mcap",
]  # fmt: skip
__dir__ = __all__.copy
