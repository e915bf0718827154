"""Copies of some rows of many arrays in one call, which costs as much as one of NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...kernels.entries.annotations import Integer, TableOfIntegers
from ...kernels.entries.status import FINE
from ..frontend.memory import reals_at
from ..frontend.object_layout import address
from .generic import bound_call

PLACE, OTHER, WIDTH, FIELDS = 0, 1, 2, 3  # of an array in the table: addresses of it and of the other one, row length
NUMBER = 8  # bytes
TO_PART, TO_WHOLE = 0, 1


def copy_rows(table: TableOfIntegers, rows: TableOfIntegers, size: Integer, direction: Integer, count: Integer) -> int:
    """Copy rows of pairs of arrays: row k of a part is row rows[k] of the whole.

    table (n, FIELDS): of the pairs. size: number of rows of parts. count: of rows that differ; in parts the rest are
    copies of the last one.
    """
    for a in range(0, table.size, FIELDS):
        width = table[a + WIDTH]
        for k in range(size if direction == TO_PART else count):
            whole = reals_at(table[a + PLACE] + NUMBER * width * rows[min(k, count - 1)], width)
            part = reals_at(table[a + OTHER] + NUMBER * width * k, width)
            for j in range(width):
                if direction == TO_PART:
                    part[j] = whole[j]
                else:
                    whole[j] = part[j]
    return FINE


def bound_copies(
    pairs: Sequence[tuple[np.ndarray, np.ndarray]], rows: np.ndarray, direction: int
) -> Callable[[int], int]:
    """Return the function of a number of rows that copies these rows between arrays, see `copy_rows`.

    pairs: part and whole, contiguous arrays of float64, which are kept. direction: TO_PART or TO_WHOLE.
    """
    for array in (x for pair in pairs for x in pair):
        if array.dtype != np.float64 or not array.flags.c_contiguous:
            raise TypeError("rows are copied between contiguous arrays of float64")
    table = np.array([(address(whole), address(part), part[0].size) for part, whole in pairs], np.int64)
    call, kept = bound_call(copy_rows, table.reshape(-1), rows, len(pairs[0][0]), direction), tuple(pairs)

    def copy(count: int, kept: object = kept) -> int:
        return call(count)

    return copy
