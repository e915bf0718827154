"""Whether a step of a robot that touches nothing may reach a joint limit: the question before the stage of contact."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..entries.entry import entry
from .contact_step import moves_freely
from .tables import touch_tables


class Tables(NamedTuple):
    """The tables of what may touch, as the memory of a step with contact has them."""

    touch: Any


def tables_for(layout, geometry):
    """The tables, and no memory."""
    return (Tables(touch_tables(layout, geometry)),)


def near_limits(tree, q, q_free, near, m):
    """near = 1 where a joint may reach its limit on the way from q to q_free, else 0: then the step is the free one."""
    near[0] = 0.0 if moves_freely(m, q, q_free) else 1.0


near_limits_states = entry(
    near_limits, tables_for, {"layout": "TableOfIntegers", "geometry": "TableOfReals"}, q="nq", q_free="nq", near="-> 1"
)
