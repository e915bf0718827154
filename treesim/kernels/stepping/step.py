"""One time step: actuation, damping, acceleration, motion; the implicit integrators.

A step maps the state (q, v) and a control to the state h = dt later, the applied force, and the work. Simulations,
rollouts and steppers use it. Forward dynamics are those of any backend. The force of a degree of freedom is its
control, or an actuator's law, kp (control - q) - kd v + gain control, within its limits. Damping d and these gains are
evaluated implicitly, at a time theta h ahead: (M + D) qdd = force - C - d v - theta h kp v,  D = theta h (d + kd) +
(theta h)^2 kp, theta = 1 for the end of the step, 1/2 for its midpoint. `contact_step` adds Coulomb friction of joints,
joint limits and contacts.

The limits are the effort limit L and, for actuators with a torque-speed line, -S - slope v <= force <= S - slope v. A
force on its line is a law with kp = 0 and kd = slope, evaluated as implicitly as any other. Of a piecewise
linear curve, the line of the piece acts in which the speed is at the start of the step. Where the speed crosses a
corner within the step, this line exceeds a concave curve, by the difference of slopes times the speed beyond the
corner.

Springs of joints, -k (q - rest), have no effort limit. Their energy is potential, so their work is not counted. They
add (theta h)^2 k to D. For theta = 1/2 the midpoint rule evaluates them at the mean of both ends, q + h/2 v + (h/2)^2
qdd, so it conserves energy. Semi-implicit Euler evaluates them at q + h^2 qdd: with v there, oscillations would decay.
"""

import hashlib
import linecache
from typing import Any, NamedTuple

import numpy as np

from ..algebra.limits import within
from ..algebra.numbers import absolute, less, maximum, select
from ..algebra.tables import with_armature
from ..entries.entry import KERNELS
from ..entries.status import FINE, undefined
from ..kinematics.configuration import advance, into_start_axes, semi_implicit_step
from .gyroscopic import turn_implicitly

PASSES = 4  # of the implicit midpoint rule's fixed-point iteration: see docs/integrators.md for what each costs
SATURATED = 1e150  # a control of this size or larger sets the force to its effort limit, whatever the gains are
ON_LINE, FARTHEST = 1e200, 1e250  # controls of sizes between these set the force to its torque-speed line
ROUNDING = 1e-12  # relative distance from the torque-speed line within which a force is on it
COLUMNS = 13  # numbers for each degree of freedom in the table of settings, behind dt
PIECE = 3  # further columns for each further piece of torque-speed curves: its least speed, stall and slope
NO_PIECES = np.empty(0)


class Settings(NamedTuple):
    """Settings of a step: dt [s], and for each degree of freedom the following.

    kp, kd: gains. damping. effort_limit. driven: whether an actuator's law uses its control (1) or it is a force (0).
    theta: see above. stiffness, rest: of a joint spring. gain: force per unit of the control, besides kp. explicit:
    whether the actuator keeps the force of the start of the step (1). stall, slope: S and slope of the torque-speed
    line, 0 without one. compliance: inverse of the least inertia that a joint with implicit gains moves, else 0.
    pieces: of curves, all columns of the second piece, then of the third one, and so on; empty in most worlds.
    """

    dt: Any
    kp: Any
    kd: Any
    damping: Any
    effort_limit: Any
    driven: Any
    theta: Any
    stiffness: Any
    rest: Any
    gain: Any
    explicit: Any
    stall: Any
    slope: Any
    compliance: Any
    pieces: Any = NO_PIECES


class StepMemory(NamedTuple):
    """Scratch memory of a step, each (nv,) but q_mid (nq,) and origins (3 (N + 1),)."""

    tau: Any  # the force less what resists motion
    added: Any  # D
    diagonal: Any  # D and the rotor inertias
    resistance: Any  # d
    qdd: Any
    mean: Any
    a: Any
    v_mid: Any
    q_mid: Any
    origins: Any


def settings_of(tree, table):
    """Return the settings in a table of numbers."""
    n = tree.nv
    return Settings(
        table[0], table[1 : 1 + n], table[1 + n : 1 + 2 * n], table[1 + 2 * n : 1 + 3 * n],
        table[1 + 3 * n : 1 + 4 * n], table[1 + 4 * n : 1 + 5 * n], table[1 + 5 * n : 1 + 6 * n],
        table[1 + 6 * n : 1 + 7 * n], table[1 + 7 * n : 1 + 8 * n], table[1 + 8 * n : 1 + 9 * n],
        table[1 + 9 * n : 1 + 10 * n], table[1 + 10 * n : 1 + 11 * n], table[1 + 11 * n : 1 + 12 * n],
        table[1 + 12 * n : 1 + 13 * n], table[1 + 13 * n :],
    )  # fmt: skip


def step_memory(tree, q):
    """Scratch memory for one step of one state, with the dtype of q."""
    dof, origins = np.empty((8, tree.nv), q.dtype), np.zeros(3 * (tree.n_bodies + 1), q.dtype)
    return StepMemory(
        dof[0], dof[1], dof[2], dof[3], dof[4], dof[5], dof[6], dof[7], np.empty(tree.nq, q.dtype), origins
    )


def torque_speed_line(s, v, k):
    """Return stall and slope of the torque-speed line of a degree of freedom with velocity v, 0 without one."""
    stall, slope, n = s.stall[k], s.slope[k], s.slope.size
    for j in range(s.pieces.size // (PIECE * n)):
        at = PIECE * n * j + k
        is_beyond = less(s.pieces[at], absolute(v))
        stall = select(is_beyond, s.pieces[at + n], stall)
        slope = select(is_beyond, s.pieces[at + 2 * n], slope)
    return stall, slope


def limited(s, force, v, k):
    """Return the force of a degree of freedom with velocity v, clamped to its limits; NaN stays NaN."""
    clamped = within(force, s.effort_limit[k])
    return select(less(0, s.slope[k]), on_or_below_line(s, clamped, v, k), clamped)


def on_or_below_line(s, force, v, k):
    """Return the force of a degree of freedom with velocity v, clamped to its torque-speed line and effort limit."""
    stall, slope = torque_speed_line(s, v, k)
    lower, upper = -stall - slope * v, stall - slope * v
    return within(select(less(upper, force), upper, select(less(force, lower), lower, force)), s.effort_limit[k])


def is_within_limits(s, law, v, k):
    """Return whether the mean force of a joint in a step will be within its limits, if its law is `law` at the start.

    It is that of the implicit law on the least inertia that the joint moves: where this is beyond a limit, so is that
    on any inertia. Without this, a limit that holds at the start only would turn a light joint around in each step.
    """
    lead, implicit, c = s.dt * s.theta[k], 1 - s.explicit[k], s.compliance[k]
    kp, kd = s.kp[k] * implicit, s.kd[k] * implicit
    stall, slope = torque_speed_line(s, v, k)
    scale = 1 + c * (lead * (kd + lead * kp))
    scaled = law - lead * kp * v  # the mean force times scale, at the velocity v + lead c mean
    speed = scale * v + lead * (c * scaled)
    below_line = less(absolute(scaled + slope * speed), scale * stall)
    below_effort = less(absolute(scaled), scale * s.effort_limit[k])
    return below_effort * select(less(0, s.slope[k]), below_line, 1)


def actuate(tree, s, q, v, control, force):
    """force = actuator force for the control, within its limits; at one of them if |control| is at least SATURATED.

    Implicit laws that are beyond their limits only at the start of the step (`is_within_limits`) are not limited.
    """
    for i in range(1, tree.n_bodies + 1):
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            u, size = control[k], absolute(control[k])
            law = s.kp[k] * (u - q[tree.q_start[i] + k - tree.v_start[i]]) - s.kd[k] * v[k] + s.gain[k] * u
            free = less(size, SATURATED)
            follows = s.driven[k] * free
            asked = follows * law + (1 - follows) * u  # NaN for an infinite control, and so is the force
            clamped = within(asked, s.effort_limit[k])
            # of joints without a line or limited gains, `clamped` is all that remains of the following in traces
            on_line = less(size, FARTHEST) * (1 - less(size, ON_LINE))
            stall, slope = torque_speed_line(s, v[k], k)
            line = select(less(0, u), stall, -stall) - slope * v[k]
            other = select(free, on_or_below_line(s, clamped, v[k], k), select(on_line, line, clamped))
            found = select(less(0, s.slope[k]), other, clamped)
            own = select(free * is_within_limits(s, asked, v[k], k), asked, found)
            force[k] = select(less(0, s.compliance[k]), own, found)


def unsaturated(s, force, k):
    """Return 0 for a force at its effort limit, else 1; it is beyond only if it is a law that will be within."""
    size, limit = absolute(force[k]), s.effort_limit[k]
    return select(less(0, s.compliance[k]), less(size, limit) + less(limit, size), less(size, limit))


def gains(s, force, v, k):
    """Return kp and kd of a joint with velocity v at the start: those of its law, or of the limit that its force is at.

    The effort limit has none; kd of the torque-speed line is its slope.
    """
    stall, slope = torque_speed_line(s, v, k)
    away = absolute(absolute(force[k] + slope * v) - stall)
    on_line = select(less(0, slope), less(away, ROUNDING * stall), 0)
    law = unsaturated(s, force, k) * (1 - on_line) * (1 - s.explicit[k])
    return s.kp[k] * law, s.kd[k] * law + slope * on_line


def effort_gains(s, force, v, k):
    """Return the same for a joint whose only limit is the effort limit, and whose gains are implicit."""
    law = unsaturated(s, force, k)
    return s.kp[k] * law, s.kd[k] * law


def stretch(tree, s, q, i, k):
    """Return q - rest of degree of freedom k, which is one of body i."""
    return q[tree.q_start[i] + k - tree.v_start[i]] - s.rest[k]


def resist(tree, s, q, v, force, ahead, m):
    """Compute right-hand side m.tau and diagonal m.diagonal of a step, with implicit damping, gains and springs.

    ahead [s]: time for which v moves the joints before springs are evaluated.

    Gains of saturated joints are omitted. A negative damping coefficient, which drives a joint, is explicit: it must
    not reduce inertia.
    """
    for i in range(1, tree.n_bodies + 1):
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            lead = s.dt * s.theta[k]
            kp, kd = gains(s, force, v[k], k)
            m.resistance[k] = s.damping[k]
            m.added[k] = lead * (maximum(m.resistance[k], 0) + kd) + lead * lead * (kp + s.stiffness[k])
            m.diagonal[k] = m.added[k] + tree.armature[k]
            spring = s.stiffness[k] * (stretch(tree, s, q, i, k) + ahead * v[k])
            m.tau[k] = force[k] - spring - (m.resistance[k] + lead * kp) * v[k]


def mark_failure(v_new, status):
    """Return the status of the dynamics; if they failed, v_new becomes NaN, by which rollouts recognize failures."""
    if status != FINE:
        for k in range(v_new.size):
            v_new[k] = undefined(v_new[k])
    return status


def put_work(tree, s, v, force, mean, m, work):
    """work = that of the control, and that of damping, both at the mean velocity of the step [J].

    The control's force is force - theta h kp v - (theta h kd + (theta h)^2 kp) qdd.
    """
    done, lost = s.dt * 0, s.dt * 0
    for k in range(tree.nv):
        lead = s.dt * s.theta[k]
        kp, kd = gains(s, force, v[k], k)
        done += (force[k] - lead * (kp * v[k] + (kd + lead * kp) * m.qdd[k])) * mean[k]
        lost -= m.resistance[k] * (v[k] * mean[k]) + lead * maximum(m.resistance[k], 0) * (m.qdd[k] * mean[k])
    work[0], work[1] = s.dt * done, s.dt * lost


def semi_implicit_euler(tree, s, q, v, force, q_new, v_new, work, m, forward, memory):
    """v+ = v + h qdd(q, v), q+ = q (+) h v+, with the gyroscopic term of free bodies at v+; order 1."""
    no_forces = np.empty((0, 6), q.dtype)
    resist(tree, s, q, v, force, s.dt * 0, m)
    status = forward(with_armature(tree, m.diagonal), q, v, m.tau, no_forces, m.qdd, memory)
    turn_implicitly(tree, v, s.dt, m.diagonal, m.qdd, m.origins)
    semi_implicit_step(tree, q, v, m.qdd, s.dt, m.origins, q_new, v_new)
    for k in range(tree.nv):
        m.mean[k] = v[k] + s.dt / 2 * m.qdd[k]
    put_work(tree, s, v, force, m.mean, m, work)
    return status


def implicit_midpoint(tree, s, q, v, force, q_new, v_new, work, m, forward, memory):
    """v+ = v + h a, q+ = q (+) h v_m with a = qdd(q (+) h/2 v_m, v_m), v_m = v + h/2 a; order 2.

    The equation for v_m is iterated PASSES times from v_m = v. Velocities of joints with rotations in space are in
    their axes at the start of the step, so rotation alone adds no energy.
    """
    no_forces, moved, half = np.empty((0, 6), q.dtype), with_armature(tree, m.diagonal), s.dt / 2
    status = FINE
    resist(tree, s, q, v, force, half, m)
    for k in range(tree.nv):
        m.mean[k] = v[k]
    for _ in range(PASSES):
        advance(tree, q, m.mean, m.mean, half, m.q_mid, m.v_mid)
        status = max(status, forward(moved, m.q_mid, m.v_mid, m.tau, no_forces, m.qdd, memory))
        into_start_axes(tree, m.mean, half, m.v_mid, m.qdd, m.a)
        for k in range(tree.nv):
            m.mean[k] = v[k] + half * m.a[k]
    for k in range(tree.nv):
        m.a[k] = v[k] + s.dt * m.a[k]
    advance(tree, q, m.mean, m.a, s.dt, q_new, v_new)
    put_work(tree, s, v, force, m.v_mid, m, work)
    return status


def label(dynamics):
    """Return a unique name of a dynamics entry (a hash of its source for plugins), used as cache key."""
    module, name = dynamics.__module__, dynamics.__name__.removesuffix("_states")
    if module.startswith(KERNELS):
        return f"{module.rpartition('.')[2]}_{name}"
    text = "".join(linecache.getlines(dynamics.kernel.__code__.co_filename))
    return f"{module.replace('.', '_')}_{name}_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
