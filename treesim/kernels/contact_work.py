"""The energy that goes in and out in a step with contact: the work of each of its forces at the step's mean velocity.

Along the axes at the start, with the velocity v+ that the step really ends with and v_ = (v + v+) / 2, a step is

    M (v+ - v) = h (f - d v_ - C - dU/dq) + J' lambda,

f the control's force less what its gains take from it, J and M where the rows are. Times v_ that is

    T(v+) - T(v) = h f' v_ - h d v_^2 - h v_' (C + dU/dq) + lambda' J v_.

h f' v_ and -h d v_^2 are what `step.put_work` says, of the velocities with impulses; lambda' J v_ is the work of the
impulses. Positions move by the rule's own share of the change of velocity, and by what the correcting impulses add:

    q+ = q (+) h (v_m + share (M + D)^-1 J' lambda + e),  e = (M + D)^-1 J' (lambda_p - share lambda),

which raises the potential energy by h dU/dq e more: -h g' P(e), P the linear momentum at e. It is booked beside the work
of impulses; the two together are never positive of impacts without restitution and of friction. What a free step would
have done is in no account: a robot that rests under constant forces, v = v+ = 0, has no work done on it, to the bit.
"""

from __future__ import annotations

from .configuration import advance
from .contact_rows import move_bodies, velocities_along
from .kinematics import energy_change
from .numbers import absolute, maximum, select, some
from .step import put_work


def work_at(tree, s, v, force, m, work):
    """work = that of the control and of damping in a step that ends with the velocity m.end, along the axes at its
    start."""
    for k in range(tree.nv):
        m.step.qdd[k] = (m.end[k] - v[k]) / s.dt
        m.step.mean[k] = (m.end[k] + v[k]) / 2
    put_work(tree, s, v, force, m.step.mean, m.step, work)


def work_of_impulses(tree, v, n, m):
    """lambda' J v_ of n rows; m.sigma is scratch memory."""
    for k in range(tree.nv):
        m.step.mean[k] = (v[k] + m.end[k] + m.end_change[k]) / 2
    move_bodies(tree, m.rows, m.step.mean)
    velocities_along(m.rows, n, m.step.mean, m.sigma)
    total = m.impulse[0] * 0
    for r in range(n):
        total += m.impulse[r] * m.sigma[r]
    return total


def work_of_corrections(tree, q, q_new, v_new, dt, scheme, m):
    """What e changes of the energy of a step that ends at (q_new, v_new) with the velocity m.end, along the axes at its
    start, and the mean m.mean; nothing, if it is within the tolerance of the impulses."""
    largest = m.impulse[0] * 0
    for k in range(tree.nv):
        e = m.mean_change[k] - scheme[0] * m.end_change[k]
        largest = maximum(largest, absolute(e))
        m.step.mean[k] = m.mean[k] - e
    change = largest * 0
    if some(largest > scheme[1]):
        advance(tree, q, m.step.mean, m.end, dt, m.step.q_mid, m.step.v_mid)
        found = energy_change(tree, m.step.q_mid, m.step.v_mid, q_new, v_new, m.W, m.V)
        change = select(largest > scheme[1], found, 0)
    return change
