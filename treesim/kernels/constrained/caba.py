"""Proximal constrained articulated-body algorithm (cABA; Sathya, Carpentier 2024), O(N + m) an iteration.

Each constrained body gets the inertia A' mu^-1 A, a proximal term, as if it were fixed by stiff dampers. Articulated
inertias are computed once. Multipliers add the rest of the constraint forces, f <- f + mu^-1 (alpha - A a), until the
residual vanishes. mu is a small part of Λ^-1's diagonal, so that units of rows do not matter. In a direction in which
Λ^-1 is sigma times its diagonal, the error shrinks by mu / (mu + sigma) per iteration. Redundant constraints that agree
are allowed.
The dampers' inertia amplifies rounding errors: accelerations are accurate to about 1e-16 / mu.
"""

from ..algebra.cholesky import SMALL_ENTRY
from ..algebra.spatial import articulated_downdate, force_component, force_scale, force_sub, force_to_parent
from ..algebra.tables import articulated_at, body_transform_at, force_at, put_articulated, put_force
from ..dynamics.aba import articulate_inward
from .constrained import (
    apply_multipliers,
    constrained_dynamics_entries,
    find_residual,
    prepare,
)


def yielding(tree, i, X, U, D_inv, f):
    """Return f' Λ^-1 f of a force f on body i, summed over the joints on the path to the base."""
    total = D_inv[0] * 0
    while i > 0:
        for k in range(tree.v_start[i + 1] - 1, tree.v_start[i] - 1, -1):
            Z = force_component(f, tree.screw[k])
            total += Z * D_inv[k] * Z
            f = force_sub(f, force_scale(force_at(U, k), D_inv[k] * Z))
        f = force_to_parent(body_transform_at(tree, X, i), f)
        i = tree.parent[i]
    return total


def proximal_parameters(tree, task, X, U, D_inv, A, mu, mimic_constraint, out):
    """out = mu times the diagonal of Λ^-1, with vanishing entries replaced by the largest one, or 1."""
    for c in range(task.reference.size):
        for r in range(task.start[c], task.start[c + 1]):
            out[r] = yielding(tree, task.body[c, 0], X, U, D_inv, force_at(A[0], r))
    mimic_constraint.stiffen(tree, mimic_constraint, task, A, out)
    stand_in = largest(out, mu * 0)
    for r in range(out.size):
        out[r] = mu * (out[r] if out[r] > SMALL_ENTRY * stand_in else (stand_in if stand_in > 0 else mu * 0 + 1))


def add_proximal_inertias(task, A, wanted, mu, IA, pA):
    """IA += A' mu^-1 A and pA -= A' mu^-1 wanted on the constrained bodies."""
    for c in range(task.reference.size):
        i = task.body[c, 0]
        for r in range(task.start[c], task.start[c + 1]):
            f = force_at(A[0], r)
            put_articulated(IA, i, articulated_downdate(articulated_at(IA, i), f, force_scale(f, -1 / mu[r])))
            put_force(pA, i, force_sub(force_at(pA, i), force_scale(f, wanted[r] / mu[r])))


def largest(x, least):
    """Return the largest absolute entry of x, at least `least`."""
    for k in range(x.size):
        least = max(least, -x[k] if x[k] < 0 else x[k])
    return least


def by_caba(tree, task, mimic_constraint, q, v, tau, f_ext, alpha, scratch, settings, qdd, force, residual):
    """Run cABA for one state; return the number of iterations, negative if it did not converge.

    settings: mu, tolerance relative to the unconstrained residual, largest number of iterations.
    """
    X, _, _, C, acceleration, IA, pA, _, U, D_inv, nu, A, mu, wanted, step = scratch
    iterations = tolerance = lacking = settings[2] * 0
    allowed = iterations + 1
    for held in range(2):  # first the unconstrained motion, for residuals and Λ^-1; then with dampers
        prepare(tree, task, q, v, f_ext, alpha, scratch)
        if held == 1:
            proximal_parameters(tree, task, X, U, D_inv, A, settings[0], mimic_constraint, mu)
            add_proximal_inertias(task, A, wanted, mu, IA, pA)
            tolerance, allowed = settings[1] * max(lacking, allowed), settings[2]
        articulate_inward(tree, tau, X, C, IA, pA, U, D_inv, nu)
        mimic_constraint.respond(tree, mimic_constraint, X, U, D_inv)
        force[:] = 0
        step[:] = 0
        iterations, lacking = allowed * 0, tolerance + 1
        while lacking > tolerance and iterations < allowed:
            apply_multipliers(tree, task, mimic_constraint, scratch, step, qdd)
            find_residual(task, A, acceleration, wanted, residual)
            for r in range(force.size):
                step[r] = residual[r] / mu[r] if held == 1 else residual[r] * 0
                force[r] += step[r]
            lacking = largest(residual, tolerance * 0)
            iterations += 1
    return -iterations if lacking > tolerance else iterations


constrained_dynamics_caba_states, mimic_constrained_dynamics_caba_states = constrained_dynamics_entries(by_caba, "caba")
