"""Which pairs of shapes overlap in a configuration."""

from __future__ import annotations

import numpy as np

from ..dynamics.tables import constants_of
from ..kernels.contact_points import contacts_memory, meet, touch_tables
from ..kernels.contact_rows import place, rows_memory
from ..kernels.tables import tree_tables
from ..model.tree import Tree
from .tables import Touching


def overlapping(robot: Tree, tables: Touching, q: np.ndarray) -> list[int]:
    """Return the numbers of the pairs of points and solids of which some touch at q (nq,), by the kernels' own text in
    the interpreter: about 0.1 ms a pair, once for a world."""
    touch, tree = touch_tables(tables.layout, tables.geometry), tree_tables(*constants_of(robot))
    found, rows = contacts_memory(touch, q), rows_memory(tree, 1, q)
    place(tree, q, rows)
    rows.V[:] = 0.0
    return [k for k in range(len(tables.links)) if meet(touch, k, rows, 0.0, 0.0, found)]
