"""Mean forces of the controls in a step: those that did the work.

Implicit gains are evaluated a time theta h ahead, by the acceleration of the step. So the mean force differs from that
at the start, by which gains are saturated, and may be beyond a limit: the effort limit, or the torque-speed line at the
velocity v + theta h qdd. Such steps are repeated with the force at that limit (`treesim.simulation.effort_limits`).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..algebra.limits import within
from ..algebra.numbers import absolute, less, maximum, select
from ..entries.annotations import Integers, Reals, TableOfReals
from ..entries.entry import entry
from ..entries.status import FINE
from ..kinematics.configuration import difference
from ..mimic.mimic_entry import mimic_entry
from .step import ROUNDING, effort_gains, gains, settings_of, torque_speed_line

# which limit a mean force is beyond
NONE, EFFORT_ABOVE, EFFORT_BELOW, LINE_ABOVE, LINE_BELOW = range(5)


def mean_force(s, v, change, force, k):
    """Return the mean force of a degree of freedom: force - theta h (kp v + (kd + theta h kp) qdd).

    force (nv,): those at the start. change: h qdd, the change of its velocity v.
    """
    return mean_of(s, v, change, force, gains(s, force, v, k), k)


def mean_of(s, v, change, force, own, k):
    """Return the mean force of a degree of freedom with the gains `own` (kp, kd)."""
    lead = s.dt * s.theta[k]
    kp, kd = own
    return force[k] - lead * (kp * v + (kd + lead * kp) * change / s.dt)


def excess(s, mean, v, ahead, k):
    """Return by how much a mean force exceeds its limits at a velocity `ahead`, and which of them (a number as above).

    v: velocity at the start, which selects the piece of a torque-speed curve.

    A force beyond its torque-speed line goes to the line first, also where the line is beyond the opposite effort
    limit: at the velocity that a force on the line causes it may be within.
    """
    stall, slope = torque_speed_line(s, v, k)
    limit, upper, lower = s.effort_limit[k], stall - slope * ahead, -stall - slope * ahead
    has_line = less(0, slope)
    above = mean - select(has_line, within(upper, limit), limit)
    below = select(has_line, within(lower, limit), -limit) - mean
    on_upper, on_lower = has_line * less(upper, limit), has_line * less(-limit, lower)
    high, low = select(on_upper, LINE_ABOVE, EFFORT_ABOVE), select(on_lower, LINE_BELOW, EFFORT_BELOW)
    beyond = maximum(above, below) - ROUNDING * stall
    return beyond, select(less(0, beyond), select(less(below, above), high, low), NONE)


def effort_excess(s, mean, v, ahead, k):
    """Return the same for a joint without a torque-speed line."""
    beyond = absolute(mean) - s.effort_limit[k]
    return beyond, select(less(0, beyond), select(less(0, mean), EFFORT_ABOVE, EFFORT_BELOW), NONE)


def with_lines(s, v, stall, slope):
    """Return the settings with the torque-speed lines at velocities v (nv,) instead of curves.

    stall, slope (nv,): memory for these. LLVM vectorizes loops over joints only without those over pieces of curves.
    """
    for k in range(v.size):
        stall[k], slope[k] = s.stall[k], s.slope[k]
    if s.pieces.size > 0:
        for k in range(v.size):
            stall[k], slope[k] = torque_speed_line(s, v[k], k)
    return s._replace(stall=stall, slope=slope, pieces=s.pieces[:0])


def mean_forces_kernel(rows, actuators):
    """Return the kernel of `mean_forces_entry`."""
    has_rows, has_lines = rows, actuators
    gains_at, excess_at = (gains, excess) if actuators else (effort_gains, effort_excess)

    def mean_forces(tree, settings, q, v, q_new, v_new, force, mean, beyond, change, stall, slope):
        """Compute the mean forces of a step from (q, v) to (q_new, v_new), and which limit each is beyond."""
        s = settings_of(tree, settings)
        if has_lines:
            s = with_lines(s, v, stall, slope)
        if has_rows:  # gains are those at the mean velocity
            difference(tree, q, q_new, change)
            for k in range(tree.nv):
                change[k] = 2 * (change[k] / s.dt - v[k])
        else:
            for k in range(tree.nv):
                change[k] = v_new[k] - v[k]
        for k in range(tree.nv):
            mean[k] = mean_of(s, v[k], change[k], force, gains_at(s, force, v[k], k), k)
            beyond[k] = excess_at(s, mean[k], v[k], v[k] + s.theta[k] * change[k], k)[1]

    return mean_forces


def rows_beyond(beyond: TableOfReals, rows: Integers) -> int:
    """Write the indices of the states whose forces are beyond limits to rows (count,); return their number.

    beyond (count, nv): numbers of limits, 0 or more.
    """
    count, nv = 0, beyond.size // rows.size
    for s in range(rows.size):
        most = 0.0
        for k in range(nv):
            most = maximum(most, beyond[s * nv + k])
        if most > 0:
            rows[count] = s
            count += 1
    return count


def put_at_limits(beyond: TableOfReals, at_limit: TableOfReals, control: Reals) -> int:
    """Set the controls of forces beyond limits; at_limit: the control by the number of the limit."""
    for k in range(control.size):
        if beyond[k] > 0:
            control[k] = at_limit[int(beyond[k])]
    return FINE


def change_memory(tree, ints, q):
    """Memory for h qdd, and for stall and slope of torque-speed lines, with the dtype of q."""
    return np.empty(tree.nv, q.dtype), np.empty(tree.nv, q.dtype), np.empty(tree.nv, q.dtype)


@lru_cache(maxsize=8)
def mean_forces_entry(mimic, rows, actuators):
    """Return the entry of the mean forces in a step.

    mimic: for robots with mimic joints. rows: of steps with constraint impulses. actuators: for worlds with actuators.
    Its arguments are (ints, reals, settings, q, v, q_new, v_new, force, mean, beyond).
    """
    kernel = mean_forces_kernel(rows, actuators)
    kernel.__name__ = "_".join(["mean_forces", *["with_rows"] * rows, *["of_actuators"] * actuators])
    made = entry(
        kernel, change_memory, {"settings": "TableOfReals"}, expands=mimic, q="nq", v="nv", q_new="nq", v_new="nv",
        force="nv'", mean="-> nv'", beyond="-> nv'",
    )  # fmt: skip
    return mimic_entry(made) if mimic else made
