"""Kinematics that contact needs at the start of a step, a result of the unconstrained step.

Both need the transforms, and semi-implicit Euler the articulated inertias of M + D, at the start. In code for one
robot they are computed once.
"""

import numpy as np

from ..stepping.step_entry import Extra
from .contact_kinematics import SIZE, contact_kinematics


def body_memory(tree, q):
    """Memory for the articulated inertias (N + 1, 21) and forces (N + 1, 6) of the bodies, with the dtype of q."""
    return np.empty((tree.n_bodies + 1, 21), q.dtype), np.empty((tree.n_bodies + 1, 6), q.dtype)


def put_kinematics(tree, settings, q, v, before, q_new, v_new, force, kinematics, m, bodies):
    """Compute the kinematics of an unconstrained step for the contact solve."""
    IA, F = bodies
    contact_kinematics(tree, settings, q, v, q_new, v_new, force, kinematics, m, IA, F)


KINEMATICS = Extra(f"{SIZE} | unchecked", put_kinematics, body_memory)
