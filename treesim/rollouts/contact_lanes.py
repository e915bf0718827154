"""Substeps of many rollouts by SIMD code, for the unconstrained motion and for contact."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..contact.lanes import ContactLanes
from ..kernels.entries.status import FINE

# returns the function that takes the unconstrained steps from (q, v, control) to (q, v, applied controls, work)
BoundFree = Callable[[Sequence[np.ndarray]], Callable[[], int]]


class LaneSteps:
    """Substeps of some rollouts, in arrays that exist for all of them: each call from Python serves all rollouts.

    q, v: shapes of the states. kept: impulses (count, n) for the warm start. following: memory for those of the next
    substep; after an odd number of substeps these two have exchanged their roles. info: diagnostics of the states
    (`ContactLanes.bound`), overwritten.
    """

    def __init__(
        self, free: BoundFree, touch: ContactLanes, q: tuple[int, ...], v: tuple[int, ...], kept: np.ndarray,
        following: np.ndarray, info: np.ndarray,
    ) -> None:  # fmt: skip
        self.touch, self.turn, self.finite, count = touch, 0, True, len(kept)
        self.states = [(np.empty(q), np.empty(v)) for _ in range(2)]
        self.control, self.work = np.empty(v), np.empty((count, 2))
        ends = np.empty(q), np.empty(v), np.empty(v), np.empty((count, 2))
        self.inputs = [(*self.states[0], *ends, kept), (*self.states[1], *ends, following)]
        self.results = [(*self.states[1], following, self.work), (*self.states[0], kept, self.work)]
        self.applied = ends[2]  # controls of the last substep, within their limits
        self._free = [free((*state, self.control, *ends)) for state in self.states]
        self.info = info
        self._solve = [touch.bound(*each, info) for each in zip(self.inputs, self.results, strict=True)]

    @property
    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """Current q and v, valid until the second substep from now."""
        return self.states[self.turn]

    def step(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Take a substep under `control`; return the residuals (count,). `work`, `finite`: those of the substep.

        States that are not finite keep the unconstrained step.
        """
        for own, x in zip(self.state, (q, v), strict=True):
            if own is not x:
                own[...] = x
        turn = self.turn
        self.turn = 1 - turn
        if self._free[turn]() == FINE:
            residuals, self.finite = self._solve[turn]()
            return residuals
        self.finite = False
        return self._step_finite(self.inputs[turn], self.results[turn])

    def _step_finite(self, inputs: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> np.ndarray:
        """Add contact to the unconstrained steps that are finite; return the residuals (count,)."""
        ends, done, (q_new, v_new, impulses, work) = inputs[2:4], inputs[5], results
        good = np.isfinite(ends[0]).all(axis=1) & np.isfinite(ends[1]).all(axis=1)
        q_new[...], v_new[...], impulses[...], work[...] = *ends, 0.0, done
        part, residuals, info = [x[good] for x in results], np.zeros(len(q_new)), self.info[good]
        residuals[good], _ = self.touch.bound([x[good] for x in inputs], part, info)()
        self.info[good] = info
        for x, own in zip(results, part, strict=True):
            x[good] = own
        return residuals
