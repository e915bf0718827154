"""One time step of a world with constrained frames and loops: implicit midpoint rule and constraint impulses.

Impulses of the first half of the step close the gaps at its end. Impulses of the second half remove the velocity along
the constrained rows there, as in RATTLE (Andersen 1983), with the midpoint rule for the unconstrained motion. The step
is symmetric, and of order 2. Without rows it is `step.implicit_midpoint`.
"""

import numpy as np

from ..algebra.numbers import maximum, minimum, sqrt
from ..algebra.spatial import force_dot, rigid_apply
from ..algebra.tables import body_inertia, motion_at, with_armature
from ..constrained.rows import (
    TINY,
    add_solution,
    apply_impulses,
    gaps,
    respond,
    row_velocities,
)
from ..entries.status import FINE
from ..kinematics.configuration import advance, into_start_axes
from .step import (
    PASSES,
    put_work,
    resist,
)

CLOSURES = 2  # corrections after those of the passes, each with an error of about h times its change of the rows
GAIN = 0.01  # of the kinetic energy: a correction may not add more, as it would near singular configurations
CREEP = 1e-3  # m/s: a correction may also add the kinetic energy of all bodies at this speed


def within_energy(tree, r, linear, square):
    """Return the part, at most 1, of an impulse that adds no more kinetic energy than allowed.

    A part x adds linear x + square x^2. r.V: the bodies' velocities, which determine the allowed energy.
    """
    allowed = tree.gravity[0] * 0
    for i in range(1, tree.n_bodies + 1):
        motion = motion_at(r.V, i)
        kinetic = force_dot(rigid_apply(body_inertia(tree, i), motion), motion) / 2
        allowed += GAIN * kinetic + tree.inertia[i, 9] * CREEP * CREEP / 2
    root = sqrt(linear * linear + 4 * maximum(square, TINY) * allowed)
    return minimum((root - linear) / (2 * maximum(square, TINY)), 1)


def push(tree, held, r):
    """r.change = response to impulses that change the rows' velocities r.rate by r.lacking.

    The impulses are limited by the allowed energy. They are added to r.impulse.
    """
    linear, square = tree.gravity[0] * 0, tree.gravity[0] * 0
    for k in range(r.impulse.size):
        r.step[k] = r.lacking[k] * 0
        r.wanted[k] = r.lacking[k]
    add_solution(r, r.lacking, r.step)
    for k in range(r.impulse.size):
        linear += r.step[k] * r.rate[k]
        square += r.step[k] * r.wanted[k] / 2
    part = within_energy(tree, r, linear, square)
    for k in range(r.impulse.size):
        r.step[k] = part * r.step[k]
        r.impulse[k] += r.step[k]
    apply_impulses(tree, held, r, r.step, r.change)


def close_gaps(tree, s, held, q, q_new, m, r):
    """Correct the mean velocity m.mean by impulses at q that close the gaps at q (+) h m.mean.

    Rows without gaps get zero velocity. r.total_change: sum of the changes.
    """
    advance(tree, q, m.mean, m.mean, s.dt, q_new, r.change)
    gaps(tree, held, q_new, r.W, r.lacking)
    row_velocities(tree, held, m.mean, r, r.rate)
    for k in range(r.impulse.size):
        r.lacking[k] = -(r.lacking[k] / s.dt + (1 - held.closed[k]) * r.rate[k])
    push(tree, held, r)
    for k in range(tree.nv):
        r.total_change[k] += r.change[k]
        m.mean[k] += r.change[k]


def end_at_rest(tree, held, q, v, r):
    """Remove the velocity along constrained rows from v at q, by impulses there."""
    respond(tree, held, q, r)
    row_velocities(tree, held, v, r, r.rate)
    for k in range(r.impulse.size):
        r.lacking[k] = -r.rate[k]
    push(tree, held, r)
    for k in range(tree.nv):
        v[k] += r.change[k]


def write_results(tree, held, q, v, r, impulses, residual):
    """Write the sum of the impulses, and for each row its gap at q, or its velocity if it has no gap."""
    gaps(tree, held, q, r.W, residual)
    row_velocities(tree, held, v, r, r.lacking)
    for k in range(r.impulse.size):
        impulses[k] = r.impulse[k]
        residual[k] += (1 - held.closed[k]) * r.lacking[k]


def implicit_midpoint_with_rows(
    tree, s, held, q, v, force, q_new, v_new, work, impulses, residual, m, r, forward, memory
):
    """Implicit midpoint rule with constraint impulses; order 2.

    v_m = v + h/2 a + d, q+ = q (+) h v_m without gaps, v+ = v_m + h/2 a + d+ without velocity along the rows. a is that
    without rows; d and d+ are caused by impulses along the rows at q and at q+. impulses: their sum [N s, N m s].
    residual: for each row its gap at the end [m, rad], or its velocity if it has no gap [m/s, rad/s].
    """
    no_forces, half = np.empty((0, 6), q.dtype), s.dt / 2
    status = FINE
    resist(tree, s, q, v, force, half, m)
    moved = held.mimic_constraint.with_rotors(with_armature(tree, m.diagonal), held.mimic_constraint)
    respond(moved, held, q, r)
    for k in range(r.impulse.size):
        r.impulse[k] = s.dt * 0
    for k in range(tree.nv):
        m.mean[k], r.total_change[k] = v[k], s.dt * 0
    for _ in range(PASSES):
        advance(tree, q, m.mean, m.mean, half, m.q_mid, m.v_mid)
        status = max(status, forward(moved, m.q_mid, m.v_mid, m.tau, no_forces, m.qdd, memory))
        into_start_axes(tree, m.mean, half, m.v_mid, m.qdd, m.a)
        for k in range(tree.nv):
            m.mean[k] = v[k] + half * m.a[k] + r.total_change[k]
        close_gaps(moved, s, held, q, q_new, m, r)
    for _ in range(CLOSURES):
        close_gaps(moved, s, held, q, q_new, m, r)
    for k in range(tree.nv):
        m.qdd[k] += r.total_change[k] / half
        m.a[k] = m.mean[k] + half * m.a[k]
    put_work(tree, s, v, force, m.v_mid, m, work)
    advance(tree, q, m.mean, m.a, s.dt, q_new, v_new)
    end_at_rest(moved, held, q_new, v_new, r)
    write_results(moved, held, q_new, v_new, r, impulses, residual)
    return status
