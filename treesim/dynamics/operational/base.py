"""Interface of methods for the inverse operational-space inertia, and the base class of compiled methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ...engine.call.fast_entry import FastEntry
from ...errors import TreesimError
from ...kernels.entries.status import FINE
from ...model.tree import Tree
from ...states.arguments import refuse_regularized_rotors
from ...states.states import on_states, other_fast_call
from ...system.display import Sourced
from ...types import Reference
from ..base import explain_failure
from .frames import frame_codes, kept_frame_codes


class OperationalMethod(Protocol):
    """Interface of a method for Λ^-1 = J M^-1 J', registered by name in the entry-point group `treesim.operational`."""

    name: str
    source: str

    def inverse_inertia(self, robot: Tree, q: ArrayLike, frames: tuple[str, ...], reference: Reference) -> np.ndarray:
        """Return Λ^-1 (..., 6k, 6k) with the arguments and errors of `treesim.inverse_operational_inertia`."""


class Method(Sourced):
    """Base class of treesim's own methods: their representation."""

    what = "operational-space method"


class CompiledMethod(Method):
    """A method that is one kernel entry `(ints, reals, *tables, q, out)`.

    tables(robot, frames, reference): returns the read-only tables of the frames, which the entry takes after the
    robot's. kept_tables: the same with a cache, for names that can be hashed. negative_rotors: as
    in `dynamics.base.CompiledBackend`.
    """

    name: ClassVar[str]
    source: ClassVar[str]
    entry: ClassVar[Callable[..., int]]
    tables: ClassVar[Callable[..., tuple[np.ndarray, ...]]] = staticmethod(frame_codes)
    kept_tables: ClassVar[Callable[..., tuple[np.ndarray, ...]]] = staticmethod(kept_frame_codes)
    negative_rotors: ClassVar[bool] = True

    def __init__(self) -> None:
        self._fast = FastEntry(type(self).entry)

    def inverse_inertia(self, robot: Tree, q: ArrayLike, frames: tuple[str, ...], reference: Reference) -> np.ndarray:
        """Return Λ^-1 (..., 6k, 6k); see `treesim.inverse_operational_inertia`."""
        try:
            tables = self.kept_tables(robot, frames, reference)
        except TreesimError:
            raise
        except Exception:  # of names that cannot be hashed
            tables = self.tables(robot, frames, reference)
        m = 6 * len(frames)
        out = np.empty((m, m))
        given = robot.ints, robot.reals, *tables, q, out
        if self._fast.call(*given) == FINE:
            return out
        found = other_fast_call(self._fast, robot, given, self.negative_rotors)
        if found is not None:
            return found  # what both refuse is coerced, broadcast, or explained below
        constants = self._with_tables(robot, tables)
        return on_states(self._fast.entry, robot, constants, {"q": q}, lambda named: explain_failure(robot, named))[0]

    def constants(self, robot: Tree, frames: Sequence[str], reference: Reference) -> tuple[Any, ...]:
        """Return the entry's leading arguments, which do not depend on the state."""
        return self._with_tables(robot, self.tables(robot, tuple(frames), reference))

    def _with_tables(self, robot: Tree, tables: tuple[np.ndarray, ...]) -> tuple[Any, ...]:
        if not self.negative_rotors:
            refuse_regularized_rotors(robot, f"method {self.name!r}", "pv_osim")
        return robot.ints, robot.reals, *tables
