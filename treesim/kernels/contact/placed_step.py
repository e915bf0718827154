"""Unconstrained step with the kinematics that contact needs at its start.

Both need the transforms, and semi-implicit Euler the articulated inertias of M + D, at the start. In code for one
robot they are computed once.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..entries.entry import unfused
from ..stepping.step import made_step_entry, step_entry
from .contact_kinematics import SIZE, contact_kinematics


def body_memory(tree, q):
    """Memory for the articulated inertias (N + 1, 21) and forces (N + 1, 6) of the bodies, with the dtype of q."""
    return np.empty((tree.n_bodies + 1, 21), q.dtype), np.empty((tree.n_bodies + 1, 6), q.dtype)


@lru_cache(maxsize=64)
def placed_step_entry(rule, dynamics):
    """Return the entry of a step by an integrator (`step_entry`) that also computes its `contact_kinematics`.

    Its arguments are (ints, reals, settings, q, v, control, q_free, v_free, force, work_free, kinematics).
    """
    one_step = step_entry(rule, dynamics).kernel

    def placed_step(tree, settings, q, v, control, q_free, v_free, force, work_free, kinematics, bodies, m, memory):
        """Compute an unconstrained step, and its kinematics for the contact solve."""
        IA, F = bodies
        status = one_step(tree, settings, q, v, control, q_free, v_free, force, work_free, m, memory)
        contact_kinematics(tree, settings, q, v, q_free, v_free, force, kinematics, m, IA, F)
        return status

    placed_step.__name__ = f"placed_{one_step.__name__}"
    made = made_step_entry(
        placed_step, (body_memory,), dynamics, q="nq", v="nv", control="nv'", q_free="-> nq", v_free="-> nv",
        force="-> nv'", work_free="-> 2", kinematics=f"-> {SIZE} | unchecked",
    )  # fmt: skip
    return unfused(made)
