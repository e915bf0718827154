"""What rollouts store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import ArgumentError
from ..states.arguments import whole_number
from ..types import Keep
from ..validation.values import known_name
from .measures import Measure


@dataclass(frozen=True, kw_only=True)
class SaveAt:
    """States, measures and work that rollouts store; the fields are documented as parameters of `rollout`."""

    every: int = 1
    keep: Keep = "all"
    work: bool = False
    out: Any = None
    measure: Mapping[str, Measure] = field(default_factory=dict)

    def records(self, steps: int) -> tuple[int, int]:
        """Return the number of steps between two stored states, and the number of stored states.

        Raises ArgumentError, UnknownNameError for fields that are invalid, or exclude each other.
        """
        keep = known_name("keep", self.keep, ("all", "last", "none"))
        every = whole_number("every", self.every, 1, max(steps, 1))
        if keep == "all":
            return every, steps // every
        if every != 1:
            raise ArgumentError(f"every selects the recorded states, but keep is {keep!r}: leave one of them out")
        if keep == "none" and (not self.measure or self.work or self.out is not None):
            what = "work and out are for states" if self.measure else "no measure is given"
            raise ArgumentError(f'keep="none" leaves nothing but measures, and {what}: take keep="last"')
        return max(steps, 1), int(keep == "last" and steps > 0)
