"""Tables of constants with numbers that every state of a batch has of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from ...kernels.entries.batched_entry import batched_entry


class BatchedTables(NamedTuple):
    """Numbers in tables among an entry's constants: tables: which of these; places: where the numbers stand in each;
    numbers (count, K): those of each state, one table's behind the other's."""

    tables: tuple[int, ...]
    places: tuple[np.ndarray, ...]
    numbers: np.ndarray

    def taken_by(
        self, entry: Callable[..., int], constants: Sequence[Any], arrays: int, before: int
    ) -> tuple[Callable[..., int], tuple[Any, ...]]:
        """Return the twin of an entry with so many arrays, which takes the numbers behind the first `before` of these,
        and its constants."""
        return batched_entry(entry, len(constants), self.tables, arrays, before), (*constants, *self.places)

    def of(self, states: Any) -> Self:
        """Return the same of some of the states."""
        return self._replace(numbers=self.numbers[states])

    def copies(self, constants: Sequence[Any]) -> list[Any]:
        """Return constants whose tables that vary may be written to."""
        return [np.array(x) if k in self.tables else x for k, x in enumerate(constants)]

    def put(self, state: int, constants: Sequence[Any]) -> None:
        """Put the numbers of a state into copies of the constants."""
        start = 0
        for table, places in zip(self.tables, self.places, strict=True):
            constants[table][places] = self.numbers[state, start : start + places.size]
            start += places.size
