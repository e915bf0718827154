"""Choice between treesim's engines for a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from treesim.engine.call import specialized
from treesim.errors import UnsupportedError
from treesim.kernels.dynamics.aba import forward_dynamics_states
from treesim.model.tree import Tree
from treesim.states.states import serving

GENERIC, SPECIALIZED = "generic", "specialized"


def engine_of_batch(
    tree: Tree,
    count: int,
    number: type[np.floating],
    entry: Callable[..., int] = forward_dynamics_states,
    sizes: Sequence[int] | None = None,
    results: Sequence[int] | None = None,
) -> str:
    """Return which engine runs `count` states: generic code, or code specialized for this robot.

    sizes, results: numbers of one state in the entry's arguments and results, by default those of forward
    dynamics.
    """
    if count < specialized.STATES:
        return GENERIC
    sizes = [tree.nq, tree.nv, tree.nv, 0] if sizes is None else sizes
    results = [tree.nv] if results is None else results
    single = np.dtype(number) == np.float32
    try:
        specialized.batch_code(*serving(entry, tree, (tree.ints, tree.reals)), sizes, results, single)
    except UnsupportedError:
        return GENERIC
    return SPECIALIZED


def engine_of_bound(call: Callable[..., Any], *arguments: Any) -> str:
    """Return which engine runs a function of `treesim.Dynamics(engine="auto")`.

    call: the same function of `treesim.Dynamics(engine="specialized")`.
    """
    try:
        call(*arguments)
    except UnsupportedError:
        return GENERIC
    return SPECIALIZED
