"""Frames as arguments of entries: a table of integers and a table of numbers."""

from typing import Any, NamedTuple

FRAMES = {"codes": "TableOfIntegers", "offsets": "TableOfReals"}  # tables of an entry
COUNT = {"k": "codes.size - 1"}  # of frames


class Frames(NamedTuple):
    """Frames: body of each, placement on that body (12 numbers), and code of the axes of their rows."""

    bodies: Any
    placement: Any
    reference: Any


def frames_of(codes, offsets):
    """Return frames from two tables: the reference's code followed by the bodies; and the concatenated placements."""
    return Frames(codes[1:], offsets.reshape((codes.size - 1, 12)), codes[0])
