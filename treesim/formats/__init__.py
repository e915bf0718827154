"""Trajectories and rollouts in the formats that other programs read, and back: one format, one file."""

from .files import SUFFIXES, load, save
from .lerobot import write_lerobot
from .mcap import write_mcap

__all__ = ["SUFFIXES", "load", "save", "write_lerobot", "write_mcap"]
