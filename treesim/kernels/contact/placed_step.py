"""Unconstrained step with the kinematics that contact needs at its start.

Both need the transforms and, for semi-implicit Euler, the articulated inertias of M + D at the start. In code for one
robot they are computed once.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..entries.entry import entry
from ..stepping.step import step_entry, step_memory
from .contact_kinematics import SIZE, contact_kinematics


@lru_cache(maxsize=64)
def placed_step_entry(rule, dynamics):
    """Return the entry of a step by an integrator (`step_entry`) that also computes its `contact_kinematics`.

    Its arguments are (ints, reals, settings, q, v, control, q_free, v_free, force, work_free, kinematics).
    """
    one_step, forward_memory = step_entry(rule, dynamics).kernel, dynamics.memory

    def memory_for(tree, ints, q):
        B = tree.n_bodies + 1
        IA, F = np.empty((B, 21), q.dtype), np.empty((B, 6), q.dtype)
        return step_memory(tree, q), forward_memory(tree, ints, q), IA, F

    def placed_step(tree, settings, q, v, control, q_free, v_free, force, work_free, kinematics, m, memory, IA, F):
        """Compute an unconstrained step, and its kinematics for the contact solve."""
        status = one_step(tree, settings, q, v, control, q_free, v_free, force, work_free, m, memory)
        contact_kinematics(tree, settings, q, v, q_free, v_free, force, kinematics, m, IA, F)
        return status

    placed_step.__name__ = f"placed_{one_step.__name__}"
    return entry(
        placed_step, memory_for, {"settings": "TableOfReals"}, returns_status=True, q="nq", v="nv", control="nv'",
        q_free="-> nq", v_free="-> nv", force="-> nv'", work_free="-> 2", kinematics=f"-> {SIZE} | unchecked",
    )  # fmt: skip
