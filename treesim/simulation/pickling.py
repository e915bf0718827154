"""Pickling and copying of simulations with their controllers."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

from ..errors import ArgumentError, reason_of
from ..states.arguments import short_repr
from .control import Controller


class Carried:
    """Wrapper that pickles a controller, and raises ArgumentError naming the controller if that fails."""

    def __init__(self, controller: Controller) -> None:
        self.controller = controller

    def __deepcopy__(self, memo: dict[int, Any]) -> Carried:
        return Carried(copy.deepcopy(self.controller, memo))

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            _Trial(self).dump(self.controller)
        except Exception as error:
            raise ArgumentError(
                f"the controller {short_repr(self.controller)} cannot be pickled: {reason_of(error)}; "
                "define its class, and the functions that it holds, at the top level of a module"
            ) from error
        return Carried, (self.controller,)


class _Trial(pickle.Pickler):
    """Pickler that checks whether a controller can be pickled; its output is discarded.

    A reference back to the wrapper is not followed.
    """

    def __init__(self, beginning: Carried) -> None:
        super().__init__(io.BytesIO(), pickle.HIGHEST_PROTOCOL)
        self.beginning = beginning

    def persistent_id(self, thing: Any) -> str | None:
        """Return an id for a wrapper of the controller under test, which ends the recursion; None for others."""
        return "carried" if isinstance(thing, Carried) and thing.controller is self.beginning.controller else None
