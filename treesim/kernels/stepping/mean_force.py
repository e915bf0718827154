"""Mean forces of the controls in a step: those that did the work.

Implicit gains are evaluated a time theta h ahead, by the acceleration of the step. So the mean force differs from that
at the start, by which gains are saturated, and may be beyond the effort limit. Such steps are repeated with the force
at its limit (`treesim.simulation.effort_limits`).
"""

from functools import lru_cache

import numpy as np

from ..algebra.numbers import absolute
from ..entries.entry import entry
from ..kinematics.configuration import difference
from ..mimic.mimic_entry import mimic_entry
from .step import gains, settings_of


def mean_force(s, v, change, force, k):
    """Return the mean force of a degree of freedom: force - theta h (kp v + (kd + theta h kp) qdd).

    force (nv,): those at the start. change: h qdd, the change of its velocity v.
    """
    lead = s.dt * s.theta[k]
    kp, kd = gains(s, force, k)
    return force[k] - lead * (kp * v + (kd + lead * kp) * change / s.dt)


def mean_forces(tree, settings, q, v, q_new, v_new, force, mean, excess, change):
    """Compute the mean forces of a step from (q, v) to (q_new, v_new), and by how much each exceeds its limit."""
    for k in range(tree.nv):
        change[k] = v_new[k] - v[k]
    put_mean_forces(settings_of(tree, settings), v, change, force, mean, excess)


def mean_forces_with_rows(tree, settings, q, v, q_new, v_new, force, mean, excess, change):
    """Compute the same for a step with constraint impulses, whose gains are those at its mean velocity."""
    s = settings_of(tree, settings)
    difference(tree, q, q_new, change)
    for k in range(tree.nv):
        change[k] = 2 * (change[k] / s.dt - v[k])
    put_mean_forces(s, v, change, force, mean, excess)


def put_mean_forces(s, v, change, force, mean, excess):
    """mean = mean forces; excess = their absolute values less the effort limits."""
    for k in range(v.size):
        mean[k] = mean_force(s, v[k], change[k], force, k)
        excess[k] = absolute(mean[k]) - s.effort_limit[k]


def change_memory(tree, ints, q):
    """Memory for h qdd, with the dtype of q."""
    return (np.empty(tree.nv, q.dtype),)


@lru_cache(maxsize=4)
def mean_forces_entry(mimic, rows):
    """Return the entry of `mean_forces`; mimic: for robots with mimic joints. rows: of steps with constraint impulses.

    Its arguments are (ints, reals, settings, q, v, q_new, v_new, force, mean, excess).
    """
    made = entry(
        mean_forces_with_rows if rows else mean_forces, change_memory,
        {"settings": "TableOfReals"}, expands=mimic, q="nq", v="nv", q_new="nq", v_new="nv", force="nv'",
        mean="-> nv'", excess="-> nv'",
    )  # fmt: skip
    return mimic_entry(made) if mimic else made
