"""The energy that goes in and out in a step with contact: the work of each force at the mean velocity of the step.

Along the axes at its start, with the velocity v+ that it really ends with and the mean u = (v + v+) / 2, a step is

    M (v+ - v) = h (f - d u - C - dU/dq) + J' lambda,

f the control's force less what its gains take from it at u, J and M where the rows are. Times u' that is

    T(v+) - T(v) = h f' u - h u' d u - h u' (C + dU/dq) + lambda' J u.

The first two are what `step.put_work` says of these velocities; lambda' J u is the work of the impulses. Positions move
by the rule's own share of a change of velocity, and by what the impulses of the positions add to it:

    q+ = q (+) h (v_m + share (M + D)^-1 J' lambda + e),  e = (M + D)^-1 J' (lambda_p - share lambda),

and e lifts the bodies by U(q+) - U(q (+) h (v_m + share (M + D)^-1 J' lambda)), the work of the corrections: what an
overlap that is pushed back raises, and in impacts, where positions move to the closed gap, what that lacks of h u. Both
are booked with damping. What is left of the balance is the error of the rule, of order 1 in h where rows act, and 0 to
rounding where M is constant. Of the free step, which knows no ground, nothing is booked: at rest u = 0, and no work is
done, however large the forces are. Springs of soft surfaces keep k gap^2 / 2 at every state: what that loses in a step
is booked as their work, and what their dampers take; what the rule makes of springs is left. Without restitution,
forces and velocity products, where v is that of the free end, lambda' J u = lambda' sigma+ - lambda' G lambda / 2 <= 0:
friction and impacts only take.
"""

from __future__ import annotations

from ..algebra.numbers import absolute, maximum, minimum, select, some
from ..kinematics.bodies import potential_change
from ..kinematics.configuration import advance
from ..stepping.step import put_work
from .constraint_rows import dissipation_time, is_soft, law_of
from .delassus import move_bodies, velocities_along
from .signed_distance import CONVEX


def work_at(tree, s, v, force, m, work):
    """work = that of the control and of damping in a step that ends with the velocity m.end, along the axes at its
    start."""
    for k in range(tree.nv):
        m.step.qdd[k] = (m.end[k] - v[k]) / s.dt
        m.step.mean[k] = (m.end[k] + v[k]) / 2
    put_work(tree, s, v, force, m.step.mean, m.step, work)


def work_of_impulses(tree, v, nc, n, dt, m):
    """lambda' J u of n rows, along the axes of m.end and v, of soft contacts what their dampers take in place of it;
    m.sigma is scratch memory."""
    for k in range(tree.nv):
        m.step.mean[k] = (v[k] + m.end[k] + m.end_change[k]) / 2
    move_bodies(tree, m.rows, m.step.mean)
    velocities_along(m.rows, n, m.step.mean, m.sigma)
    total = m.impulse[0] * 0
    for r in range(n):
        total += m.impulse[r] * m.sigma[r]
    for c in range(nc):
        r = 3 * c + 2
        if is_soft(m, c):
            total -= m.impulse[r] * m.sigma[r]
    return total - taken_by_dampers(m, nc, dt)


def taken_by_damper(m, c, dt):
    """The energy that the damper of soft contact c takes: d w^2 h of what pushes at the mean velocity w; a surface that
    would have to pull is left behind, and loses its spring's energy to its damper by itself."""
    stiffness, behind, w = m.touch.law[law_of(m, c), 2], dissipation_time(m, c), m.moved[3 * c + 2]
    start = minimum(m.contacts.gap[c], 0)
    end = minimum(m.contacts.gap[c] + dt * w, 0)
    by_itself = select(behind > 0, stiffness * (start * start - end * end) / 2, 0)
    return select(m.impulse[3 * c + 2] > 0, dt * stiffness * behind * w * w, by_itself)


def taken_by_dampers(m, nc, dt):
    """The energy that the dampers of all contacts take."""
    total = m.g[0] * 0
    for c in range(nc):
        total += taken_by_damper(m, c, dt)
    return total


def any_soft(touch):
    """Whether some surface is soft."""
    found = False
    for k in range(touch.pair.shape[0]):
        found = found or touch.law[k, 2] > 0
    return found


def is_external(m, c):
    """Whether contact c is one of a pair whose contacts are told from outside, as they are at the start of the step."""
    return m.touch.pair[law_of(m, c), 2] == CONVEX


def spring_energy(m, c, gap):
    """k gap^2 / 2 of contact c where it overlaps; 0 on rigid surfaces."""
    overlap = minimum(gap, 0)
    return m.touch.law[law_of(m, c), 2] * overlap * overlap / 2


def stored_in_springs(m, nc):
    """The energy of the springs of soft surfaces, but for contacts that are told from outside."""
    total = m.g[0] * 0
    for c in range(nc):
        if not is_external(m, c):
            total += spring_energy(m, c, m.contacts.gap[c])
    return total


def lost_outside(m, nc, dt):
    """What the springs of contacts that are told from outside lose in the step, as their gaps open along the rows."""
    total = m.g[0] * 0
    for c in range(nc):
        if is_external(m, c):
            end = m.contacts.gap[c] + dt * m.moved[3 * c + 2]
            total += spring_energy(m, c, m.contacts.gap[c]) - spring_energy(m, c, end)
    return total


def work_of_corrections(tree, q, q_new, dt, scheme, m):
    """What e lifts in a step that moves with m.mean to q_new; nothing, if it is within the tolerance of the impulses.
    m.step is scratch memory."""
    largest = m.impulse[0] * 0
    for k in range(tree.nv):
        e = m.mean_change[k] - scheme[0] * m.end_change[k]
        largest = maximum(largest, absolute(e))
        m.step.mean[k] = m.mean[k] - e
    lifted = largest * 0
    if some(largest > scheme[1]):
        advance(tree, q, m.step.mean, m.step.mean, dt, m.step.q_mid, m.step.v_mid)
        lifted = select(largest > scheme[1], potential_change(tree, m.step.q_mid, q_new, m.W), 0)
    return lifted
