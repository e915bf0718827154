"""PV-OSIM: Λ^-1 in one inward pass beside the articulated quantities (Sathya, Decre, Swevers 2023), O(N + m^2 d).

Every task row is a unit force that travels from its body to the base; each degree of freedom on the way takes its
share D^-1 of what it feels, and hands on the rest. Joints are treated one unit screw at a time, as in `aba`.
"""

from __future__ import annotations

import numpy as np

from .annotations import Integer, Integers, Reals, TableOfIntegers, TableOfReals
from .kinematics import place_bodies
from .operational import task_rows
from .rjk import articulated_quantities
from .spatial import force_to_parent
from .status import WRONG_SIZE, status_of
from .tables import body_transform_at, force_at, put_force, tree_tables


def absorb(tree, k, U, D_inv, K, at, i, out):
    """Degree of freedom k of body i: Λ^-1 += Z' D^-1 Z with Z = S' K, and K <- K - U D^-1 Z, for the rows at body i."""
    screw = tree.screw[k]
    for r in range(K.shape[0]):
        if at[r // 6] == i:
            Z = K[r, screw]
            for s in range(r + 1):
                if at[s // 6] == i:
                    out[r, s] += Z * D_inv[k] * (K[s, screw] if s < r else Z)
    for r in range(K.shape[0]):
        if at[r // 6] == i:
            share = K[r, screw] * D_inv[k]
            for c in range(6):
                K[r, c] -= U[k, c] * share


def inverse_inertia(tree, X, U, D_inv, K, at, out):
    """Λ^-1 of the task rows K (one force a row, in the coordinates of the body at[row // 6]), inward."""
    out[:] = 0
    for i in range(tree.n_bodies, 0, -1):
        for k in range(tree.v_start[i + 1] - 1, tree.v_start[i] - 1, -1):
            absorb(tree, k, U, D_inv, K, at, i, out)
        for f in range(at.size):
            if at[f] == i:
                for r in range(6 * f, 6 * f + 6):
                    put_force(K, r, force_to_parent(body_transform_at(tree, X, i), force_at(K, r)))
                at[f] = tree.parent[i]
    for r in range(K.shape[0]):
        for s in range(r):
            out[s, r] = out[r, s]


def inverse_inertia_pv_osim_states(
    ints: TableOfIntegers,
    reals: TableOfReals,
    bodies: Integers,
    offsets: Reals,
    reference: Integer,
    q: Reals,
    out: Reals,
) -> int:
    """Λ^-1 of each state; out (count, m, m), m = 6 frames."""
    tree = tree_tables(ints, reals)
    nq, nv, B, m = tree.nq, tree.nv, tree.n_bodies + 1, 6 * bodies.size
    count = q.size // nq
    if q.size != count * nq:
        return WRONG_SIZE
    body = np.empty((B, 45), q.dtype)
    W, X, P = body[:, 0:12], body[:, 12:24], body[:, 24:45]
    U, D_inv, K = np.empty((nv, 6), q.dtype), np.empty(nv, q.dtype), np.empty((m, 6), q.dtype)
    frames, at = offsets.reshape((bodies.size, 12)), np.empty(bodies.size, np.int64)
    for s in range(count):
        qs = q[s * nq : (s + 1) * nq]
        place_bodies(tree, qs, W)
        articulated_quantities(tree, qs, X, P, U, D_inv)
        for f in range(bodies.size):
            task_rows(tree, bodies[f], frames, W, reference, f, K[6 * f : 6 * f + 6])
            at[f] = bodies[f]
        inverse_inertia(tree, X, U, D_inv, K, at, out[s * m * m : (s + 1) * m * m].reshape((m, m)))
    return status_of(out)
