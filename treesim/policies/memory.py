"""Memory of policies: the numbers that a step leaves for the next one, in one array for each state."""

from __future__ import annotations

import numpy as np

from ..engine.graph.calls import is_traced
from ..numbers import select
from .contract import Contract


class Memory:
    """Places of the parts of the memory (..., size); the first number is 1 after the first step.

    parts: last action ("last"), states of the network ("states"), delayed controls ("delayed"), and former values of
    each term by its index.
    """

    def __init__(self, contract: Contract, states: int) -> None:
        actions, end = len(contract.action.joints), 1
        sizes: dict[str | int, int] = {"last": actions, "states": states, "delayed": contract.action.delay * actions}
        for k, term in enumerate(contract.terms):
            sizes[k] = (term.history + term.delay - 1) * term.size
        self.parts: dict[str | int, slice] = {}
        for name, size in sizes.items():
            self.parts[name] = slice(end, end := end + size)
        self.size = end

    def append(self, part: str | int, present: np.ndarray, count: int, memory: np.ndarray) -> np.ndarray:
        """Return the `count` values before the present one, and that (..., count + 1, n); store all but the oldest.

        Before the first step, the present value stands for those before.
        """
        if not count:
            return present[..., None, :]
        before = memory[..., self.parts[part]].reshape(*present.shape[:-1], count, present.shape[-1])
        if is_traced(memory):
            pairs = zip(before, np.broadcast_to(present, before.shape), strict=True)
            before = np.array([[select(memory[0], *x) for x in zip(*each, strict=True)] for each in pairs], object)
        else:
            before = np.where(memory[..., 0, None, None] > 0, before, present[..., None, :])
        values = np.concatenate([before, present[..., None, :]], axis=-2)
        memory[..., self.parts[part]] = values[..., 1:, :].reshape(*present.shape[:-1], -1)
        return values
