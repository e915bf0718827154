"""Popov-Vereshchagin solver: constrained forward dynamics in one backward and one forward sweep, O(N + m^2 d + m^3).

In the backward sweep, the constraints' rows accumulate Λ^-1 (as in `pv_osim`) and their accelerations without
constraint forces, rhs. At the base Λ^-1 f = alpha - rhs is solved for the forces f, which the forward sweep includes in
nu. The rows of both frames of a loop are propagated to the base at the same time, and add up where their paths merge.
"""

import numpy as np

from ..algebra.cholesky import factor, solve
from ..algebra.spatial import force_add, force_dot, force_to_parent
from ..algebra.tables import body_transform_at, force_at, motion_at, put_force
from ..dynamics.aba import articulate_inward
from ..kinematics.bodies import base_acceleration
from .constrained import (
    apply_multipliers,
    constrained_dynamics_entries,
    find_residual,
    prepare,
)


def move_end(task, c, side, p, K, at):
    """Move constraint c's rows of one side to body p; add those of the other side if they are there, too."""
    at[c, side] = p
    if p > 0 and at[c, 1 - side] == p:
        for r in range(task.start[c], task.start[c + 1]):
            put_force(K[1 - side], r, force_add(force_at(K[1 - side], r), force_at(K[side], r)))
        at[c, side] = 0


def rows_at_body(task, at, i, index, side):
    """Write the rows at body i, in order, and the side of each; return their number."""
    n = 0
    for c in range(at.shape[0]):
        for s in range(2):
            if at[c, s] == i:
                for r in range(task.start[c], task.start[c + 1]):
                    index[n], side[n] = r, s
                    n += 1
    return n


def absorb(U, D_inv, nu, screw, K, index, side, n, inverse, rhs):
    """Eliminate one degree of freedom: Λ^-1 += Z' D^-1 Z, rhs += Z' nu with Z = S' K, and K <- K - U D^-1 Z."""
    for a in range(n):
        Z = K[side[a], index[a], screw]
        rhs[index[a]] += Z * nu
        for b in range(a + 1):
            inverse[index[a], index[b]] += Z * D_inv * K[side[b], index[b], screw]
    for a in range(n):
        share = K[side[a], index[a], screw] * D_inv
        for c in range(6):
            K[side[a], index[a], c] -= U[c] * share


def gather_inward(tree, task, X, C, U, D_inv, nu, K, at, index, side, inverse, rhs, mimic_constraint):
    """Backward sweep: Λ^-1 (lower triangle) of the rows K, and rhs, the accelerations K' a without constraint forces.

    The coupling with the rows of mimic joints is stored in `mimic_constraint`.
    """
    inverse[:] = 0
    rhs[:] = 0
    mimic_constraint.uncouple(mimic_constraint)
    for c in range(at.shape[0]):
        at[c, 0] = task.body[c, 0]
        move_end(task, c, 1, task.body[c, 1], K, at)
    for i in range(tree.n_bodies, 0, -1):
        n = rows_at_body(task, at, i, index, side)
        for k in range(tree.v_start[i + 1] - 1, tree.v_start[i] - 1, -1):
            mimic_constraint.couple(mimic_constraint, i, k, D_inv[k], tree.screw[k], K, index, side, n)
            absorb(U[k], D_inv[k], nu[k], tree.screw[k], K, index, side, n, inverse, rhs)
        for a in range(n):
            f = force_at(K[side[a]], index[a])
            rhs[index[a]] += force_dot(f, motion_at(C, i))
            f = force_to_parent(body_transform_at(tree, X, i), f)
            if tree.parent[i] == 0:
                rhs[index[a]] += force_dot(f, base_acceleration(tree))
            put_force(K[side[a]], index[a], f)
        if n > 0:
            for c in range(at.shape[0]):
                for s in range(2):
                    if at[c, s] == i:
                        move_end(task, c, s, tree.parent[i], K, at)


def by_pv(tree, task, mimic_constraint, q, v, tau, f_ext, alpha, scratch, settings, qdd, force, residual):
    """Run the Popov-Vereshchagin solver for one state; return 1, or -1 if the rows depend on each other."""
    X, _, _, C, acceleration, IA, pA, _, U, D_inv, nu, A, _, wanted, found = scratch
    m = alpha.size
    inverse, K = np.empty((m, m), q.dtype), np.empty((2, m, 6), q.dtype)
    at, index, side = np.empty((task.reference.size, 2), np.int64), np.empty(m, np.int64), np.empty(m, np.int64)
    prepare(tree, task, q, v, f_ext, alpha, scratch)
    articulate_inward(tree, tau, X, C, IA, pA, U, D_inv, nu)
    for r in range(m):
        put_force(K[0], r, force_at(A[0], r))
        put_force(K[1], r, force_at(A[1], r))
    mimic_constraint.respond(tree, mimic_constraint, X, U, D_inv)
    gather_inward(tree, task, X, C, U, D_inv, nu, K, at, index, side, inverse, found, mimic_constraint)
    mimic_constraint.reduce(mimic_constraint, inverse)
    mimic_constraint.find(tree, mimic_constraint, task, A, X, C, U, D_inv, nu, qdd, acceleration, found)
    dependent = factor(inverse)
    for r in range(m):
        force[r] = wanted[r] - found[r]
    if dependent < 0:
        solve(inverse, force)
    apply_multipliers(tree, task, mimic_constraint, scratch, force, qdd)
    find_residual(task, A, acceleration, wanted, residual)
    return 1 if dependent < 0 else -1


constrained_dynamics_pv_states, mimic_constrained_dynamics_pv_states = constrained_dynamics_entries(by_pv, "pv")
