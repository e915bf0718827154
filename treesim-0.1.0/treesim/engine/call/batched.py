"""Batched entries in tables of constants, different for every state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from ...kernels.entries.batched_entry import batched_entry


class BatchedTables(NamedTuple):
    """Batched entries of tables among an entry's constants.

    tables: indices of these constants. places: indices of the entries in each table. numbers (count, K): values
    for each state, concatenated over the tables.
    """

    tables: tuple[int, ...]
    places: tuple[np.ndarray, ...]
    numbers: np.ndarray

    def taken_by(
        self, entry: Callable[..., int], constants: Sequence[Any], arrays: int, before: int
    ) -> tuple[Callable[..., int], tuple[Any, ...]]:
        """Return an entry that also takes the batched numbers as an input, and its constants.

        arrays: number of the original entry's arrays. before: number of those before the new input.
        """
        return batched_entry(entry, len(constants), self.tables, arrays, before), (*constants, *self.places)

    def of(self, states: Any) -> Self:
        """Return the batched entries of some states."""
        return self._replace(numbers=self.numbers[states])

    def copies(self, constants: Sequence[Any]) -> list[Any]:
        """Return the constants with writable copies of the batched tables."""
        return [np.array(x) if k in self.tables else x for k, x in enumerate(constants)]

    def put(self, state: int, constants: Sequence[Any]) -> None:
        """Write the numbers of one state into copies of the constants."""
        start = 0
        for table, places in zip(self.tables, self.places, strict=True):
            constants[table][places] = self.numbers[state, start : start + places.size]
            start += places.size
