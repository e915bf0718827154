"""Which engine serves a call, for `treesim bench`."""

from __future__ import annotations

import numpy as np

from ..engine import specialised
from ..kernels.aba import forward_dynamics_states
from ..model.tree import Tree

GENERIC, SPECIALISED = "generic", "specialised"


def engine_of_batch(tree: Tree, count: int, number: type[np.floating]) -> str:
    """Return which engine works on forward dynamics of `count` states: code for any robot, or made for this one."""
    if count < specialised.STATES:
        return GENERIC
    sizes, single = [tree.nq, tree.nv, tree.nv, 0], np.dtype(number) == np.float32
    code = specialised.batch_code(forward_dynamics_states, (tree.ints, tree.reals), sizes, [tree.nv], single)
    return GENERIC if code is None else SPECIALISED
