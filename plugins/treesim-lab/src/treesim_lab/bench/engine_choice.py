"""Choice between treesim's engines for a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from treesim.engine.call import specialized
from treesim.engine.frontend.fastcall import STATES
from treesim.errors import UnsupportedError
from treesim.model.tree import Tree
from treesim.states.states import serving

from .functions import FUNCTIONS, Function

GENERIC, SPECIALIZED = "generic", "specialized"


def engine_of_batch(tree: Tree, count: int, number: type[np.floating], function: Function = FUNCTIONS[0]) -> str:
    """Return which engine runs `count` states: generic code, or code specialized for this robot.

    function: by default forward dynamics.
    """
    if count < STATES:
        return GENERIC
    single = np.dtype(number) == np.float32
    try:
        specialized.batch_code(*serving(function.entry, tree, (tree.ints, tree.reals)), *function.sizes(tree), single)
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
