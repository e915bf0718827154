"""What a method for the inverse operational-space inertia is, and the part that compiled methods share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from ..dynamics.base import explain_failure
from ..engine.evaluate import Argument, evaluate
from ..model.tree import Tree
from .frames import frame_tables, reference_code


class OperationalMethod(Protocol):
    """A method for Λ^-1 = J M^-1 J': registered under its name in the entry-point group `treesim.operational`."""

    name: str
    source: str

    def inverse_inertia(self, robot: Tree, q: Any, frames: Sequence[str], reference: str) -> np.ndarray:
        """Return Λ^-1 (..., 6k, 6k) with the arguments and errors of `treesim.inverse_operational_inertia`."""
        ...


class CompiledMethod:
    """A method whose mathematics is one kernel entry `(ints, reals, bodies, offsets, reference, q, out)`."""

    name: ClassVar[str]
    source: ClassVar[str]
    entry: ClassVar[Callable[..., int]]

    def inverse_inertia(self, robot: Tree, q: Any, frames: Sequence[str], reference: str) -> np.ndarray:
        """Return Λ^-1 (..., 6k, 6k); see `treesim.inverse_operational_inertia`."""
        constants = self.constants(robot, frames, reference)
        m = 6 * len(frames)
        argument = Argument("q", q, (robot.nq,))
        return evaluate(
            type(self).entry, constants, (argument,), [(m, m)], lambda named: explain_failure(robot, named)
        )[0]

    def constants(self, robot: Tree, frames: Sequence[str], reference: str) -> tuple[Any, ...]:
        """Return the entry's leading arguments, which do not depend on the state."""
        return (robot.ints, robot.reals, *frame_tables(robot, frames), reference_code(reference))
