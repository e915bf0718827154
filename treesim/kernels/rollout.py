"""One step of a rollout: forces on the joints, articulated bodies, semi-implicit Euler; the rule of simulations.

Damping d, Coulomb friction f and the gains kp, kd of springs towards a target enter at the end of the step:
(M + dt (d + f / |v| + kd) + dt^2 kp) qdd = tau - C - (d + f / |v|) v - dt kp v.
"""

from __future__ import annotations

import numpy as np

from .aba import forward_dynamics
from .configuration import semi_implicit_step
from .entry import entry
from .numbers import absolute, less, maximum, minimum
from .status import FINE
from .tables import tree_tables, with_armature

STICKING_SPEED = 1e-3  # m/s, rad/s: Coulomb friction of slower joints grows linearly with speed


def joint_forces(tree, settings, q, v, control, tau, added):
    """tau = the control within the effort limits, less what resists motion; added = what that adds to M's diagonal.

    With gains, the control of a degree of freedom is the target of its coordinate; without, its force.
    """
    dt = settings[0]
    for i in range(1, tree.n_bodies + 1):
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            kp, kd, damping, friction, effort = (
                settings[1 + k], settings[1 + tree.nv + k], settings[1 + 2 * tree.nv + k],
                settings[1 + 3 * tree.nv + k], settings[1 + 4 * tree.nv + k],
            )  # fmt: skip
            driven = maximum(less(0, kp), less(0, kd))
            spring = kp * (control[k] - q[tree.q_start[i] + k - tree.v_start[i]]) - kd * v[k]
            wanted = driven * spring + (1 - driven) * control[k]
            force = driven * maximum(-effort, minimum(effort, wanted)) + (1 - driven) * wanted
            within = less(absolute(force), effort)
            drag = damping + friction / maximum(absolute(v[k]), STICKING_SPEED)
            added[k] = dt * (maximum(drag, 0) + kd * within) + dt * dt * kp * within
            tau[k] = force - (drag + dt * kp * within) * v[k]


def step(tree, settings, q, v, control, q_new, v_new, body, dof):
    """(q, v) at the end of a step."""
    X, V, C, IA, pA = body[:, 0:12], body[:, 12:18], body[:, 18:24], body[:, 24:45], body[:, 45:51]
    U, D_inv, nu, tau, added, qdd = dof[:, 0:6], dof[:, 6], dof[:, 7], dof[:, 8], dof[:, 9], dof[:, 10]
    joint_forces(tree, settings, q, v, control, tau, added)
    for k in range(tree.nv):
        added[k] += tree.armature[k]
    no_forces = np.empty((0, 6), q.dtype)
    moved = with_armature(tree, added)
    forward_dynamics(moved, q, v, tau, no_forces, qdd, X, V, C, IA, pA, U, D_inv, nu)
    origins = body[:, 0:3].copy().reshape(-1)
    origins[:] = settings[0] * 0
    semi_implicit_step(tree, q, v, qdd, settings[0], origins, q_new, v_new)


def scratch_for(tree, q):
    """Scratch memory for one state, of the numbers in q: one row for each body, one for each degree of freedom."""
    return np.empty((tree.n_bodies + 1, 51), q.dtype), np.empty((tree.nv, 11), q.dtype)


step_states = entry(
    step,
    scratch_for,
    {"settings": "TableOfReals"},
    q="nq",
    v="nv",
    control="nv",
    q_new="-> nq",
    v_new="-> nv",
)


def policy_step_states(ints, reals, settings, policy, k, q, v, p, k_new, q_new, v_new):
    """One step of one state under the control that a policy takes at the k-th step, from parameters p; for traces."""
    tree = tree_tables(ints, reals)
    control = np.empty(tree.nv, q.dtype)
    control[:] = policy(settings[0] * k[0], q, v, p)
    step(tree, settings, q, v, control, q_new, v_new, *scratch_for(tree, q))
    k_new[0] = k[0] + 1
    return FINE
