"""Derivatives of forward dynamics of a bound robot: two codes of one state, one code of many."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...engine.call.bound_entry import BoundEntry
from ...engine.call.call_sequence import Place, call_sequence
from ...engine.call.specialized import CACHE_LINE
from ...engine.llvm.single_state import FEW
from ...errors import UnsupportedError
from ...kernels.dynamics.forward_dynamics_derivatives import (
    derivatives_at_forward_dynamics_states,
    forward_dynamics_derivatives_states,
    solved_derivatives_states,
)
from ..tables import NO_FORCES
from .bound_function import BoundFunction, Explain, Owner


class BoundForwardDerivatives(BoundFunction):
    """Derivatives of forward dynamics, with single states in two calls of one sequence.

    The derivatives of inverse dynamics are straight-line code. The equations of the mass matrix have as many operations
    again, and are faster in a loop whose columns are on SIMD lanes. Robots without straight-line code, and numbers of
    single precision, have the code of `BoundFunction`.
    """

    def __init__(self, owner: Owner, constants: tuple[Any, ...], explain: Explain) -> None:
        super().__init__(owner, forward_dynamics_derivatives_states, constants, explain)
        self._constants = constants

    def _first_call(self, *arrays: Any) -> int:
        if self.owner.dtype == float and self.owner.engine != "generic":
            self._begin_sequence()
            self._bound.call(*arrays)  # looks up its code, which is only of batches if there is a sequence
        return super()._first_call(*arrays) if self._single is None else self._single(*arrays)

    def _begin_sequence(self) -> None:
        """Replace `call` by a sequence of the two codes, if there are both."""
        nv, nnz = self.owner.robot.nv, self.owner.robot.nnz
        X, H = _in_cache_lines((nv, 2, (nv + 3) // 4 * 4)), _in_cache_lines((nnz,))
        inputs, between = [argument.shape for argument in self.arguments], [X.shape, H.shape]
        q, v, tau, D = (Place(k, 0, math.prod(shape)) for k, shape in enumerate((*inputs, self.result)))
        entries = derivatives_at_forward_dynamics_states, solved_derivatives_states
        # without the limit of "auto" for kernels of the mass matrix: loops over its rows are in the second code
        first = BoundEntry(entries[0], self._constants, [*inputs, (0,)], between, engine="specialized")
        second = BoundEntry(entries[1], self._constants, between, [self.result], engine="generic")
        try:
            calls = first.call_of([q, v, tau, NO_FORCES, X, H]), second.call_of([X, H, D])
        except UnsupportedError:  # no straight-line code: the error of `BoundFunction` names the whole function
            return
        found = [call for call in calls if call is not None]
        if len(found) == len(calls):
            self._bound = self._batches_only()
            self.call = self._single = call_sequence([*inputs, self.result], found)

    def _batches_only(self) -> BoundEntry:
        """Return the entry without code of single states, with fast calls of batches."""
        bound, owner = self._bound, self.owner
        shapes = bound.inputs, bound.results
        return BoundEntry(
            bound.entry, bound.constants, *shapes, bound.number, owner.engine, FEW, owner.threads == 1, single=False
        )


def _in_cache_lines(shape: tuple[int, ...]) -> np.ndarray:
    """Allocate an array that begins with a cache line, as SIMD vectors in rows of whole vectors then do."""
    size = math.prod(shape)
    memory = np.empty(size + CACHE_LINE // 8)
    first = -(memory.ctypes.data // 8) % (CACHE_LINE // 8)
    return memory[first : first + size].reshape(shape)
