"""Controllers on their way into copies and pickles of what they drive."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

from ..errors import ArgumentError
from ..states.arguments import short_repr
from .control import Controller


class Carried:
    """A controller on its way into a copy or a pickle, which it must be fit for.

    Pickling raises ArgumentError naming the controller if it, or what it holds, cannot be pickled.
    """

    def __init__(self, controller: Controller) -> None:
        self.controller = controller

    def __deepcopy__(self, memo: dict[int, Any]) -> Carried:
        return Carried(copy.deepcopy(self.controller, memo))

    def __reduce__(self) -> tuple[Any, ...]:
        try:
            _Trial(self).dump(self.controller)
        except Exception as error:
            raise ArgumentError(
                f"the controller {short_repr(self.controller)} cannot be pickled: {error}; "
                "define its class, and the functions that it holds, at the top level of a module"
            ) from error
        return Carried, (self.controller,)


class _Trial(pickle.Pickler):
    """A pickler whose output nobody reads, which does not come back to where it began."""

    def __init__(self, beginning: Carried) -> None:
        super().__init__(io.BytesIO(), pickle.HIGHEST_PROTOCOL)
        self.beginning = beginning

    def persistent_id(self, thing: Any) -> str | None:
        """Return what stands for a carried controller: it is on trial already."""
        return "carried" if isinstance(thing, Carried) and thing.controller is self.beginning.controller else None
