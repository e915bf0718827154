"""Trajectories and rollouts in the formats that other programs read, and back: one format, one file."""

from .files import SUFFIXES, load, save

__all__ = ["SUFFIXES", "load", "save"]
