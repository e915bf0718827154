"""A second look at steps in which impulses turn fast joints: rows, inertia and velocity products where they lead.

A step of the implicit midpoint rule takes velocity products at the mean of its free motion, and rows and M at its
start: errors of first order in h of what impulses change. A joint of 26 rad/s that is stopped gave or took a percent of
its energy so. In robots with joint limits, where h |dv| |v| is above FAST, dv what impulses change, the step is looked
at again: with the mean u of the velocities at its start and its end, and the mean velocity u + e of positions, both as
the impulses have led to them, but for what brings back overlaps (`motion_of_impacts`),

    q_h = q (+) h/2 (u + e),  v_h = u + e/2,  a = qdd(q_h, v_h),
    v_m = v + h/2 a,  v_f = v + h a,  and rows J and M + D at q_h,

once, as the change of a second pass is of the next order. Impacts early and late in a step have an e, up to half of dv.
On the way of positions M changes the kinetic energy by h/2 u' dM(u + e) u, and the products of u + x e take h u' C =
h/2 u' dM(u) u + h x u' dM(e) u, in first order the same of x = 1/2. The gap of a contact at the start is that at q_h
less h/2 J (u + e). All is along the axes of q_h meanwhile. Worlds that hold frames, which have moved as they should in
the free step, or are told of contacts from outside, known at its start, have no second look, nor have robots with
followers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algebra.numbers import absolute, maximum, minimum
from ..dynamics.aba import forward_dynamics, scratch_for
from ..kinematics.configuration import advance, into_start_axes, retrace
from .delassus import move_bodies, place, response, velocities_along

FAST = 1e-5  # m/s, rad/s: what may be amiss of a velocity, h |dv| |v|, without a second look


class AgainMemory(NamedTuple):
    """Scratch memory: that of forward dynamics; of the first look the mean and end velocity; of the second these along
    the axes at the start, and the velocity at the start along those at q_h, (nv,) each; and a configuration."""

    forward: Any
    mean: Any
    end: Any
    free_mean: Any
    free_end: Any
    start: Any
    there: Any


def again_memory(tree, q):
    """Scratch memory for one state, of the numbers in q."""
    x = np.empty((5, tree.nv), q.dtype)
    return AgainMemory(scratch_for(tree, q), x[0], x[1], x[2], x[3], x[4], np.empty(tree.nq, q.dtype))


def needs_midpoint_correction(tree, m, dt):
    """Whether impulses lead joints so far from their free motion that it matters."""
    speed, change = dt * 0, dt * 0
    for k in range(tree.nv):
        speed = maximum(speed, absolute(m.end[k]))
        change = maximum(change, absolute(m.end_change[k]))
    return dt * change * speed > FAST


def motion_of_impacts(nc, n, m):
    """m.push <- what of it moves positions as the impulses of the velocities do, from some time of the step on: at most
    these. The rest, which brings back what overlaps, is no motion, and has no velocity products."""
    for r in range(n):
        m.push[r] -= m.recovery[r]
    for c in range(nc):
        normal, most = m.push[3 * c + 2], m.impulse[3 * c + 2]
        if normal > most:
            for j in range(3):
                m.push[3 * c + j] *= most / normal
    for r in range(3 * nc, n):
        m.push[r] = minimum(maximum(m.push[r], minimum(m.impulse[r], 0)), maximum(m.impulse[r], 0))


def to_midpoint(tree, moved, dt, q, v, nc, n, m):
    """Free motion, bodies and their velocities u + e at the middle of the step that the impulses have led to."""
    g, half, no_forces = m.again, dt / 2, np.empty((0, 6), q.dtype)
    motion_of_impacts(nc, n, m)
    response(moved, m.rows, n, m.push, m.mean_change)
    for k in range(tree.nv):
        g.mean[k], g.end[k], m.step.mean[k] = m.mean[k], m.end[k], m.mean[k] + m.mean_change[k]
        m.step.a[k] = (m.step.mean[k] + (v[k] + m.end[k] + m.end_change[k]) / 2) / 2
    advance(tree, q, m.step.mean, m.step.a, half, m.step.q_mid, m.step.v_mid)
    forward_dynamics(moved, m.step.q_mid, m.step.v_mid, m.step.tau, no_forces, m.step.qdd, *g.forward)
    into_start_axes(tree, m.step.mean, half, m.step.v_mid, m.step.qdd, m.step.a)
    advance(tree, q, m.step.mean, m.step.mean, half, m.step.q_mid, m.step.v_mid)
    for k in range(tree.nv):
        g.free_mean[k], g.free_end[k] = v[k] + half * m.step.a[k], v[k] + dt * m.step.a[k]
    advance(tree, q, m.step.mean, g.free_mean, half, g.there, m.mean)
    advance(tree, q, m.step.mean, g.free_end, half, g.there, m.end)
    advance(tree, q, m.step.mean, v, half, g.there, g.start)
    place(tree, m.step.q_mid, m.rows)
    move_bodies(tree, m.rows, m.step.v_mid)


def start_gaps(tree, dt, m, nc):
    """Gaps as they were at the start; then the bodies' velocities are those of the free mean."""
    velocities_along(m.rows, 3 * nc, m.step.v_mid, m.mean_rate)
    for c in range(nc):
        m.contacts.gap[c] -= dt / 2 * m.mean_rate[3 * c + 2]
    move_bodies(tree, m.rows, m.mean)


def from_midpoint(tree, dt, q, m):
    """m.mean, m.end as they were, and the changes from them, along the axes at the start."""
    g = m.again
    retrace(tree, q, m.step.q_mid, m.mean_change, dt / 2, m.step.a, m.mean)
    retrace(tree, q, m.step.q_mid, m.end_change, dt / 2, m.step.a, m.end)
    for k in range(tree.nv):
        m.mean_change[k] = g.free_mean[k] + m.mean[k] - g.mean[k]
        m.end_change[k] = g.free_end[k] + m.end[k] - g.end[k]
        m.mean[k], m.end[k] = g.mean[k], g.end[k]
