"""Test whether a step may reach a joint limit, for robots without contact; it precedes the contact solve."""

from typing import Any, NamedTuple

from ..entries.entry import entry
from .contact_step import moves_freely
from .tables import touch_tables


class Tables(NamedTuple):
    """Contact tables, as a field of the memory."""

    touch: Any


def tables_for(layout, geometry):
    """Contact tables, without scratch memory."""
    return (Tables(touch_tables(layout, geometry)),)


def near_limits(tree, q, q_free, near, m):
    """near = 1 if a joint may reach its limit in a motion from q to q_free, else 0: the step is then unconstrained."""
    near[0] = 0.0 if moves_freely(m, q, q_free) else 1.0


near_limits_states = entry(
    near_limits, tables_for, {"layout": "TableOfIntegers", "geometry": "TableOfReals"}, q="nq", q_free="nq", near="-> 1"
)
