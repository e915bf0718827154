"""Import and export of trajectories and rollouts in formats that other programs read: one module per format."""

from .files import SUFFIXES, load, save
from .lerobot import write_lerobot
from .mcap import write_mcap

__all__ = ["SUFFIXES", "load", "save", "write_lerobot", "write_mcap"]
