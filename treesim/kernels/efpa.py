"""Extended force propagator: Λ^-1 from the diagonal blocks of Omega (after Wensing et al. 2012), O(N + m d + m^2).

The force of each task is carried to the base once; two tasks meet at their nearest common ancestor a, where
Λ^-1_kl = chi_k' Omega_aa chi_l. Joints are treated one unit screw at a time, as in `aba`.
"""

from __future__ import annotations

import numpy as np

from .annotations import Integer, Integers, Reals, TableOfIntegers, TableOfReals
from .kinematics import place_bodies
from .operational import task_rows
from .rjk import articulated_quantities, diagonal_block, nearest_common_ancestor
from .spatial import force_to_parent
from .status import WRONG_SIZE, status_of
from .tables import body_transform_at, force_at, put_force, tree_tables


def let_through(tree, i, X, U, D_inv, chi):
    """chi <- X' (1 - G S') chi: what joint i hands on of the forces in the rows of chi."""
    for k in range(tree.v_start[i + 1] - 1, tree.v_start[i] - 1, -1):
        for r in range(6):
            share = chi[r, tree.screw[k]] * D_inv[k]
            for c in range(6):
                chi[r, c] -= U[k, c] * share
    for r in range(6):
        put_force(chi, r, force_to_parent(body_transform_at(tree, X, i), force_at(chi, r)))


def carry_to_base(tree, body, X, U, D_inv, chi):
    """chi[i], i on the path of `body`: the task's forces in body i's coordinates, from chi[body] inward."""
    i = body
    while tree.parent[i] > 0:
        p = tree.parent[i]
        for r in range(6):
            for c in range(6):
                chi[p, r, c] = chi[i, r, c]
        let_through(tree, i, X, U, D_inv, chi[p])
        i = p


def diagonal_blocks(tree, X, U, D_inv, Omega):
    """Omega_ii of every body, outward (F10 Figure 14, i = j); Omega[0] = 0."""
    Omega[0, :, :] = 0
    for i in range(1, tree.n_bodies + 1):
        for r in range(6):
            for c in range(6):
                Omega[i, r, c] = Omega[tree.parent[i], r, c]
        diagonal_block(tree, i, X, U, D_inv, Omega[i])


def quadratic_block(chi_k, Omega, chi_l, out):
    """out = chi_k' Omega chi_l, with the tasks' forces in the rows of chi."""
    for r in range(6):
        for s in range(6):
            total = Omega[0, 0] * 0
            for a in range(6):
                for b in range(6):
                    total += chi_k[r, a] * Omega[a, b] * chi_l[s, b]
            out[r, s] = total


def inverse_inertia_efpa_states(
    ints: TableOfIntegers,
    reals: TableOfReals,
    bodies: Integers,
    offsets: Reals,
    reference: Integer,
    q: Reals,
    out: Reals,
) -> int:
    """Λ^-1 of each state; out (count, m, m), m = 6 frames. Memory O(N) blocks for each frame."""
    tree = tree_tables(ints, reals)
    nq, nv, B, m = tree.nq, tree.nv, tree.n_bodies + 1, 6 * bodies.size
    count = q.size // nq
    if q.size != count * nq:
        return WRONG_SIZE
    body = np.empty((B, 45), q.dtype)
    W, X, P = body[:, 0:12], body[:, 12:24], body[:, 24:45]
    U, D_inv = np.empty((nv, 6), q.dtype), np.empty(nv, q.dtype)
    chi, Omega = np.zeros((bodies.size, B, 6, 6), q.dtype), np.empty((B, 6, 6), q.dtype)
    block, frames = np.empty((6, 6), q.dtype), offsets.reshape((bodies.size, 12))
    for s in range(count):
        qs = q[s * nq : (s + 1) * nq]
        full = out[s * m * m : (s + 1) * m * m].reshape((m, m))
        place_bodies(tree, qs, W)
        articulated_quantities(tree, qs, X, P, U, D_inv)
        diagonal_blocks(tree, X, U, D_inv, Omega)
        for f in range(bodies.size):
            task_rows(tree, bodies[f], frames, W, reference, f, chi[f, bodies[f]])
            carry_to_base(tree, bodies[f], X, U, D_inv, chi[f])
            for g in range(f + 1):
                a = nearest_common_ancestor(tree.parent, bodies[f], bodies[g])
                quadratic_block(chi[f, a], Omega[a], chi[g, a], block)
                for r in range(6):
                    for c in range(6):
                        full[6 * f + r, 6 * g + c] = full[6 * g + c, 6 * f + r] = block[r, c]
    return status_of(out)
