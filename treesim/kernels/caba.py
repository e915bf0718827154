"""Proximal constrained articulated-body algorithm (cABA; Sathya, Carpentier 2024), O(N + m) an iteration.

Each constrained body gets the inertia A' A / mu, as if a stiff damper held it; its articulated inertias are made once.
The force that the damper lacks is made up for by the multipliers, f <- f + (alpha - A a) / mu, until nothing lacks.
With mu in units of the mean diagonal entry of Λ^-1 the error in a direction in which Λ^-1 is sigma times that mean
shrinks by mu / (mu + sigma) each time; redundant constraints that do not contradict each other do no harm.
"""

from __future__ import annotations

from .aba import accelerate_outward, articulate_inward
from .annotations import Integers, Reals, TableOfIntegers, TableOfReals
from .constrained import constrained_dynamics_states, find_residual, prepare, respond
from .spatial import articulated_downdate, force_component, force_scale, force_sub, force_to_parent
from .tables import articulated_at, body_transform_at, force_at, put_articulated, put_force


def yielding(tree, i, X, U, D_inv, f):
    """f' Λ^-1 f of a force f on body i: what every joint on the way to the base yields to it."""
    total = D_inv[0] * 0
    while i > 0:
        for k in range(tree.v_start[i + 1] - 1, tree.v_start[i] - 1, -1):
            Z = force_component(f, tree.screw[k])
            total += Z * D_inv[k] * Z
            f = force_sub(f, force_scale(force_at(U, k), D_inv[k] * Z))
        f = force_to_parent(body_transform_at(tree, X, i), f)
        i = tree.parent[i]
    return total


def mean_diagonal(tree, task, X, U, D_inv, A):
    """The mean diagonal entry of Λ^-1, or 1 where nothing yields."""
    total, m = D_inv[0] * 0, A.shape[1]
    for c in range(task.reference.size):
        for r in range(task.start[c], task.start[c + 1]):
            total += yielding(tree, task.body[c, 0], X, U, D_inv, force_at(A[0], r))
    return total / m if total > 0 else total + 1


def hold_with_dampers(task, A, wanted, mu, IA, pA):
    """IA += A' A / mu and pA -= A' wanted / mu on the constrained bodies."""
    for c in range(task.reference.size):
        i = task.body[c, 0]
        for r in range(task.start[c], task.start[c + 1]):
            f = force_at(A[0], r)
            put_articulated(IA, i, articulated_downdate(articulated_at(IA, i), f, -1 / mu))
            put_force(pA, i, force_sub(force_at(pA, i), force_scale(f, wanted[r] / mu)))


def largest(x, least):
    """The largest absolute entry of x, at least `least`."""
    for k in range(x.size):
        least = max(least, abs(x[k]))
    return least


def by_caba(tree, task, q, v, tau, f_ext, alpha, scratch, settings, qdd, force, residual):
    """cABA for one state; settings: mu, tolerance relative to the unconstrained residual, and how many iterations. Returns
    how many it took, negative if they were not enough."""
    X, _, _, C, acceleration, IA, pA, _, U, D_inv, nu, A, _, wanted, step = scratch
    prepare(tree, task, q, v, f_ext, alpha, scratch)
    articulate_inward(tree, tau, X, C, IA, pA, U, D_inv, nu)
    accelerate_outward(tree, X, C, U, D_inv, nu, qdd, acceleration)
    find_residual(task, A, acceleration, wanted, residual)
    tolerance = settings[1] * largest(residual, settings[1] * 0 + 1)
    mu = settings[0] * mean_diagonal(tree, task, X, U, D_inv, A)
    prepare(tree, task, q, v, f_ext, alpha, scratch)
    hold_with_dampers(task, A, wanted, mu, IA, pA)
    articulate_inward(tree, tau, X, C, IA, pA, U, D_inv, nu)
    force[:] = 0
    step[:] = 0
    iterations = 0
    lacking = tolerance + 1
    while lacking > tolerance and iterations < settings[2]:
        respond(tree, task, scratch, step, qdd)
        find_residual(task, A, acceleration, wanted, residual)
        for r in range(force.size):
            step[r] = residual[r] / mu
            force[r] += step[r]
        lacking = largest(residual, mu * 0)
        iterations += 1
    return iterations if lacking <= tolerance else -iterations


def constrained_dynamics_caba_states(
    ints: TableOfIntegers,
    reals: TableOfReals,
    layout: Integers,
    geometry: Reals,
    settings: Reals,
    q: Reals,
    v: Reals,
    tau: Reals,
    f_ext: Reals,
    alpha: Reals,
    qdd: Reals,
    force: Reals,
    residual: Reals,
    iterations: Reals,
) -> int:
    """Constrained forward dynamics of each state by cABA, for frames held by themselves (no loops)."""
    return constrained_dynamics_states(
        ints, reals, layout, geometry, q, v, tau, f_ext, alpha, qdd, force, residual, iterations, settings, by_caba
    )
