"""Explicit integrators: Euler, midpoint, Runge-Kutta of order 4, and Bullet's.

Damping, gains and springs are evaluated at the state of each stage; the control is constant during the step. A step
overwrites `force`, that of the control at the start, by its mean. Coulomb friction, which would need very small steps,
is not included.
"""

import numpy as np

from ..kinematics.configuration import chart_rate, integrate, semi_implicit_step
from .step import gains, limited, stretch


def drive(s, d, v_start, v, force, k):
    """Return a joint's force at q = start (+) d with velocity v, including gains, within its limits."""
    kp, kd = gains(s, force, v_start[k], k)
    return limited(s, force[k] - (kp * d[k] + kd * (v[k] - v_start[k])), v[k], k)


def stage(tree, s, q, d, v_start, v, force, m, forward, memory, a):
    """Compute the acceleration a at q = start (+) d with velocity v."""
    for i in range(1, tree.n_bodies + 1):
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            spring = s.stiffness[k] * stretch(tree, s, q, i, k)
            m.tau[k] = drive(s, d, v_start, v, force, k) - spring - s.damping[k] * v[k]
    return forward(tree, q, v, m.tau, np.empty((0, 6), q.dtype), a, memory)


def add_work(tree, s, d, v_start, v, force, weight, work):
    """work += weight times the powers of control and damping at a stage."""
    done, lost = weight * 0, weight * 0
    for k in range(tree.nv):
        done += drive(s, d, v_start, v, force, k) * v[k]
        lost -= s.damping[k] * (v[k] * v[k])
    work[0], work[1] = work[0] + weight * done, work[1] + weight * lost


def no_work(s, work):
    """work = 0."""
    work[0], work[1] = s.dt * 0, s.dt * 0


def still(tree, s, d):
    """d = 0: the stage at the start of the step."""
    for k in range(tree.nv):
        d[k] = s.dt * 0


def moved(tree, x, y, h, out):
    """out = x + h y."""
    for k in range(tree.nv):
        out[k] = x[k] + h * y[k]


def explicit_euler(tree, s, q, v, force, q_new, v_new, work, m, forward, memory):
    """q+ = q (+) h v, v+ = v + h qdd(q, v); order 1."""
    still(tree, s, m.mean)
    status = stage(tree, s, q, m.mean, v, v, force, m, forward, memory, m.qdd)
    moved(tree, m.mean, v, s.dt, m.a)
    integrate(tree, q, m.a, q_new)
    moved(tree, v, m.qdd, s.dt, v_new)
    no_work(s, work)
    add_work(tree, s, m.mean, v, v, force, s.dt, work)
    return status


def bullet(tree, s, q, v, force, q_new, v_new, work, m, forward, memory):
    """v+ = v + h qdd(q, v), q+ = q (+) h v+, with free bodies' centres of mass integrated; order 1."""
    still(tree, s, m.mean)
    status = stage(tree, s, q, m.mean, v, v, force, m, forward, memory, m.qdd)
    for i in range(1, tree.n_bodies + 1):
        for k in range(3):
            m.origins[3 * i + k] = tree.inertia[i, 6 + k] + s.dt * 0
    semi_implicit_step(tree, q, v, m.qdd, s.dt, m.origins, q_new, v_new)
    no_work(s, work)
    add_work(tree, s, m.mean, v, v, force, s.dt, work)
    return status


def midpoint(tree, s, q, v, force, q_new, v_new, work, m, forward, memory):
    """q+ = q (+) h v_m, v+ = v + h qdd(q_m, v_m), with (q_m, v_m) from half an Euler step; order 2."""
    half = s.dt / 2
    still(tree, s, m.mean)
    status = stage(tree, s, q, m.mean, v, v, force, m, forward, memory, m.qdd)
    moved(tree, m.mean, v, half, m.a)
    integrate(tree, q, m.a, m.q_mid)
    moved(tree, v, m.qdd, half, m.v_mid)
    status = max(status, stage(tree, s, m.q_mid, m.a, v, m.v_mid, force, m, forward, memory, m.qdd))
    no_work(s, work)
    add_work(tree, s, m.a, v, m.v_mid, force, s.dt, work)
    for k in range(tree.nv):
        force[k] = drive(s, m.a, v, m.v_mid, force, k)
    moved(tree, m.mean, m.v_mid, s.dt, m.a)
    integrate(tree, q, m.a, q_new)
    moved(tree, v, m.qdd, s.dt, v_new)
    return status


def rk4(tree, s, q, v, force, q_new, v_new, work, m, forward, memory):
    """Classical Runge-Kutta on the configuration manifold (Munthe-Kaas 1998), weights 1 2 2 1; order 4.

    The configuration is q(t) = q (+) d(t). The stages integrate d, whose rate follows from the velocity by the inverse
    of the tangent of the exponential, so the order is also 4 for quaternions. The work is integrated from the power
    with the same weights.
    """
    half, sixth = s.dt / 2, s.dt / 6
    d, u = np.empty((4, tree.nv), q.dtype), np.empty((4, tree.nv), q.dtype)  # d and v of the stages
    rate, ds, vs = np.empty(tree.nv, q.dtype), m.mean, m.a
    still(tree, s, d[0])
    moved(tree, v, d[0], 0, u[0])
    status = stage(tree, s, q, d[0], v, v, force, m, forward, memory, m.qdd)  # d' = v, v' = qdd
    moved(tree, d[0], v, sixth, ds)
    moved(tree, v, m.qdd, sixth, vs)
    moved(tree, d[0], v, half, d[1])
    moved(tree, v, m.qdd, half, u[1])
    for i in range(1, 4):
        integrate(tree, q, d[i], m.q_mid)
        chart_rate(tree, d[i], u[i], rate)
        status = max(status, stage(tree, s, m.q_mid, d[i], v, u[i], force, m, forward, memory, m.qdd))
        weight = sixth if i == 3 else 2 * sixth
        moved(tree, ds, rate, weight, ds)
        moved(tree, vs, m.qdd, weight, vs)
        if i < 3:
            ahead = half if i == 1 else s.dt
            moved(tree, d[0], rate, ahead, d[i + 1])
            moved(tree, v, m.qdd, ahead, u[i + 1])
    integrate(tree, q, ds, q_new)
    no_work(s, work)
    for i in range(4):
        add_work(tree, s, d[i], v, u[i], force, sixth if i in (0, 3) else 2 * sixth, work)
    for k in range(tree.nv):
        v_new[k] = vs[k]
        between = drive(s, d[1], v, u[1], force, k) + drive(s, d[2], v, u[2], force, k)
        force[k] = (drive(s, d[0], v, u[0], force, k) + 2 * between + drive(s, d[3], v, u[3], force, k)) / 6
    return status
