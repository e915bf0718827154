"""Frames as entries take them: a table of integers and one of numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

FRAMES = {"codes": "TableOfIntegers", "offsets": "TableOfReals"}  # tables of an entry
COUNT = {"k": "codes.size - 1"}  # of frames


class Frames(NamedTuple):
    """Frames: the body of each, its placement on that body (12 numbers), and in which axes rows are wanted."""

    bodies: Any
    placement: Any
    reference: Any


def frames_of(codes, offsets):
    """The frames of two tables: the reference's code, then the bodies; and placements in a row."""
    return Frames(codes[1:], offsets.reshape((codes.size - 1, 12)), codes[0])
