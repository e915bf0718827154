"""Midpoint corrector for steps in which impulses change fast joint velocities: rows, inertia and velocity products.

A step of the implicit midpoint rule evaluates velocity products at the mean of its unconstrained motion, and rows and M
at its start. Both have first-order errors in h in what impulses change: a joint of 26 rad/s that was stopped gained or
lost a percent of its energy. In robots with joint limits, the step is corrected if h |dv| |v| exceeds FAST, with the
change dv by impulses. u is the mean of the velocities at its start and its end, and u + e the mean velocity of
positions. Both include the impulses, except for those that reduce overlaps (`motion_of_impacts`). With these,
    q_h = q (+) h/2 (u + e),  v_h = u + e/2,  a = qdd(q_h, v_h),
    v_m = v + h/2 a,  v_f = v + h a,  and rows J and M + D at q_h.
One correction suffices, since the change by a second one is of the next order. Impacts early or late in a step have an
e of up to half of dv. Along the path of positions, M changes the kinetic energy by h/2 u' dM(u + e) u. The products of
u + x e contribute h u' C = h/2 u' dM(u) u + h x u' dM(e) u. In first order these are equal for x = 1/2. The gap of a
contact at the start is that at q_h minus h/2 J (u + e). All is in the axes of q_h meanwhile. The corrector is not used
for worlds with constrained frames, whose unconstrained step satisfies the constraints, or with external contacts, which
are known at the start only, nor for robots with mimic joints.
"""

from typing import Any, NamedTuple

import numpy as np

from ..algebra.numbers import absolute, maximum, minimum, select, some
from ..dynamics.aba import forward_dynamics, scratch_for
from ..kinematics.configuration import advance, into_start_axes, retrace
from .components import first_and_end
from .constraint_rows import blocks_of
from .delassus import move_bodies, place, responses, velocities_along
from .layout import INFO, SUBTREE

FAST = 1e-5  # m/s, rad/s: error of a velocity, h |dv| |v|, below which there is no midpoint correction


class AgainMemory(NamedTuple):
    """Scratch memory of the midpoint corrector.

    forward: of forward dynamics. mean, end, mean_change, end_change: of the first solution. mean_motion, end_motion:
    its changes of the velocities that move positions (`motion_of_impacts`). free_mean, free_end: of the second, in the
    axes at the start. start: velocity at the start in the axes at q_h. All (nv,). there: a configuration. V (N + 1, 6):
    velocities of the bodies. info: diagnostics of the first solution, as `layout.StepInfo`.
    """

    forward: Any
    mean: Any
    end: Any
    mean_change: Any
    end_change: Any
    mean_motion: Any
    end_motion: Any
    free_mean: Any
    free_end: Any
    start: Any
    there: Any
    V: Any
    info: Any


def again_memory(tree, q):
    """Scratch memory for one state, with the dtype of q."""
    x, info = np.empty((9, tree.nv), q.dtype), np.empty(len(INFO), q.dtype)
    return AgainMemory(
        scratch_for(tree, q), x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], np.empty(tree.nq, q.dtype),
        np.empty((tree.n_bodies + 1, 6), q.dtype), info,
    )  # fmt: skip


def needs_midpoint_correction(m, dt):
    """Return whether impulses change velocities of a component so much that its step must be corrected."""
    speed, change, component = dt * 0, dt * 0, m.rows.component
    for t in range(component.subtrees.size):
        first, end = first_and_end(component, t, SUBTREE.dof)
        for k in range(first, end):
            speed = maximum(speed, absolute(m.end[k]))
            change = maximum(change, absolute(m.end_change[k]))
    return dt * change * speed > FAST


def motion_of_impacts(nc, n, m):
    """Limit position impulses m.push to those that move positions as the velocity impulses do, from some time on.

    The rest reduces overlaps. It is no motion, and has no velocity products.
    """
    for r in range(n):
        m.push[r] -= m.recovery[r]
    blocks = blocks_of(m, nc)
    for c in range(blocks):
        normal, most = m.push[3 * c + 2], m.impulse[3 * c + 2]
        if normal > most:
            for j in range(3):
                m.push[3 * c + j] *= most / normal
    for r in range(3 * blocks, n):
        m.push[r] = minimum(maximum(m.push[r], minimum(m.impulse[r], 0)), maximum(m.impulse[r], 0))


def put_motion(tree, nc, n, m, needed):
    """Write the motion u + e of a component with nc contacts and n rows where a correction is `needed`."""
    if some(needed):
        motion_of_impacts(nc, n, m)
        g = m.again
        responses(tree, m.rows, blocks_of(m, nc), m.push, g.mean_motion, m.impulse, g.end_motion)


def to_midpoint(tree, moved, dt, q, v, m):
    """Compute unconstrained motion, poses and velocities u + e of the bodies at the corrected midpoint.

    moved: the tree whose rotor inertias include D. The velocities are those of m.again.
    """
    g, half, no_forces = m.again, dt / 2, np.empty((0, 6), q.dtype)
    for k in range(tree.nv):
        g.mean[k], g.end[k], m.step.mean[k] = m.mean[k], m.end[k], m.mean[k] + g.mean_motion[k]
        m.step.a[k] = (m.step.mean[k] + (v[k] + m.end[k] + g.end_motion[k]) / 2) / 2
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
    move_bodies(tree, at_midpoint(m).rows, m.step.v_mid)


def at_midpoint(m):
    """Return the memory of the step with the velocities u + e of the bodies."""
    return m._replace(rows=m.rows._replace(V=m.rows.V_mid))


def start_gaps(dt, m, nc):
    """Convert gaps to those at the start of the step."""
    velocities_along(at_midpoint(m).rows, 3 * nc, m.step.v_mid, m.mean_rate)
    for c in range(nc):
        m.contacts.gap[c] -= dt / 2 * m.mean_rate[3 * c + 2]


def from_midpoint(tree, dt, q, m):
    """Restore m.mean and m.end, and convert the changes from them to the axes at the start.

    Changes of degrees of freedom that are not corrected are those of the first solution.
    """
    g = m.again
    retrace(tree, q, m.step.q_mid, m.mean_change, dt / 2, m.step.a, m.mean)
    retrace(tree, q, m.step.q_mid, m.end_change, dt / 2, m.step.a, m.end)
    for k in range(tree.nv):
        needed = m.corrected[k] > 0
        m.mean_change[k] = select(needed, g.free_mean[k] + m.mean[k] - g.mean[k], g.mean_change[k])
        m.end_change[k] = select(needed, g.free_end[k] + m.end[k] - g.end[k], g.end_change[k])
        m.mean[k], m.end[k] = g.mean[k], g.end[k]
