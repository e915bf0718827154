"""Explicit rules of stepping: Euler, midpoint, Runge-Kutta of order 4, and Bullet's, for `kernels.step`.

Damping, and the springs of gains, act at the state of each stage; the control is held through the step. Coulomb
friction, which would ask for tiny steps, is left out.
"""

from __future__ import annotations

import numpy as np

from .configuration import chart_rate, integrate, semi_implicit_step
from .limits import within
from .numbers import absolute, less


def stage(tree, s, q, d, v_start, v, force, m, forward, memory, weight, work, a):
    """a = the acceleration at q = start (+) d with velocity v; work += weight times the powers there."""
    done, lost = weight * 0, weight * 0
    for k in range(tree.nv):
        unsaturated = less(absolute(force[k]), s.effort[k])
        spring = unsaturated * (s.kp[k] * d[k] + s.kd[k] * (v[k] - v_start[k]))
        drive = within(force[k] - spring, s.effort[k])
        m.tau[k] = drive - s.damping[k] * v[k]
        done += drive * v[k]
        lost -= s.damping[k] * v[k] * v[k]
    work[0], work[1] = work[0] + weight * done, work[1] + weight * lost
    return forward(tree, q, v, m.tau, np.empty((0, 6), q.dtype), a, memory)


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
    no_work(s, work)
    still(tree, s, m.mean)
    status = stage(tree, s, q, m.mean, v, v, force, m, forward, memory, s.dt, work, m.qdd)
    moved(tree, m.mean, v, s.dt, m.a)
    integrate(tree, q, m.a, q_new)
    moved(tree, v, m.qdd, s.dt, v_new)
    return status


def bullet(tree, s, q, v, force, q_new, v_new, work, m, forward, memory):
    """v+ = v + h qdd(q, v), q+ = q (+) h v+, free bodies moving with their centres of mass; order 1."""
    no_work(s, work)
    still(tree, s, m.mean)
    status = stage(tree, s, q, m.mean, v, v, force, m, forward, memory, s.dt, work, m.qdd)
    for i in range(1, tree.n_bodies + 1):
        for k in range(3):
            m.origins[3 * i + k] = tree.inertia[i, 6 + k] + s.dt * 0
    semi_implicit_step(tree, q, v, m.qdd, s.dt, m.origins, q_new, v_new)
    return status


def midpoint(tree, s, q, v, force, q_new, v_new, work, m, forward, memory):
    """q+ = q (+) h v_m, v+ = v + h qdd(q_m, v_m), with (q_m, v_m) half an Euler step ahead; order 2."""
    half = s.dt / 2
    no_work(s, work)
    still(tree, s, m.mean)
    status = stage(tree, s, q, m.mean, v, v, force, m, forward, memory, half * 0, work, m.qdd)
    moved(tree, m.mean, v, half, m.a)
    integrate(tree, q, m.a, m.q_mid)
    moved(tree, v, m.qdd, half, m.v_mid)
    status = max(status, stage(tree, s, m.q_mid, m.a, v, m.v_mid, force, m, forward, memory, s.dt, work, m.qdd))
    moved(tree, m.mean, m.v_mid, s.dt, m.a)
    integrate(tree, q, m.a, q_new)
    moved(tree, v, m.qdd, s.dt, v_new)
    return status


def rk4(tree, s, q, v, force, q_new, v_new, work, m, forward, memory):
    """Classical Runge-Kutta on the configuration manifold (Munthe-Kaas 1998), weights 1 2 2 1; order 4.

    The configuration is written q(t) = q (+) d(t); the stages step d, whose rate follows from the velocity by the
    inverse of the tangent of the exponential, so the order holds with quaternions too.
    """
    half, sixth = s.dt / 2, s.dt / 6
    d, rate, ds, vs = np.empty(tree.nv, q.dtype), np.empty(tree.nv, q.dtype), m.mean, m.a
    no_work(s, work)
    still(tree, s, d)
    status = stage(tree, s, q, d, v, v, force, m, forward, memory, sixth, work, m.qdd)  # d' = v, v' = qdd
    moved(tree, d, v, sixth, ds)
    moved(tree, v, m.qdd, sixth, vs)
    moved(tree, d, v, half, d)
    moved(tree, v, m.qdd, half, m.v_mid)
    for i in range(3):
        integrate(tree, q, d, m.q_mid)
        chart_rate(tree, d, m.v_mid, rate)
        weight = sixth if i == 2 else 2 * sixth
        ahead = half if i == 0 else s.dt
        status = max(status, stage(tree, s, m.q_mid, d, v, m.v_mid, force, m, forward, memory, weight, work, m.qdd))
        moved(tree, ds, rate, weight, ds)
        moved(tree, vs, m.qdd, weight, vs)
        still(tree, s, d)
        moved(tree, d, rate, ahead, d)
        moved(tree, v, m.qdd, ahead, m.v_mid)
    integrate(tree, q, ds, q_new)
    for k in range(tree.nv):
        v_new[k] = vs[k]
    return status
