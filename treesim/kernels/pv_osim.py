"""PV-OSIM: Λ^-1 in one inward pass beside the articulated quantities (Sathya, Decre, Swevers 2023), O(N + m^2 d).

Every task row is a unit force that travels from its body to the base; each degree of freedom on the way takes its
share D^-1 of what it feels, and hands on the rest. Joints are treated one unit screw at a time, as in `aba`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .annotations import Integer, Integers, Reals, TableOfIntegers, TableOfReals
from .kinematics import place_bodies
from .operational import inverse_inertia_states, task_rows
from .rjk import articulated_quantities
from .spatial import force_to_parent
from .tables import body_transform_at, force_at, put_force


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


class Scratch(NamedTuple):
    """Placements, transforms, articulated inertias, U and D^-1, the task rows, and the body at which each task is."""

    W: Any
    X: Any
    P: Any
    U: Any
    D_inv: Any
    K: Any
    at: Any


def scratch_for(tree, bodies, q):
    """Scratch memory for a tree and tasks, of the numbers in q."""
    body, dof = np.empty((tree.n_bodies + 1, 45), q.dtype), np.empty((tree.nv, 7), q.dtype)
    K, at = np.empty((6 * bodies.size, 6), q.dtype), np.empty(bodies.size, np.int64)
    return Scratch(body[:, 0:12], body[:, 12:24], body[:, 24:45], dof[:, 0:6], dof[:, 6], K, at)


def by_pv_osim(tree, q, bodies, frames, reference, scratch, out):
    """Λ^-1 in one inward pass over the bodies."""
    W, X, P, U, D_inv, K, at = scratch
    place_bodies(tree, q, W)
    articulated_quantities(tree, q, X, P, U, D_inv)
    for f in range(bodies.size):
        task_rows(tree, bodies[f], frames, W, reference, f, K[6 * f : 6 * f + 6])
        at[f] = bodies[f]
    inverse_inertia(tree, X, U, D_inv, K, at, out)


def inverse_inertia_pv_osim_states(
    ints: TableOfIntegers,
    reals: TableOfReals,
    bodies: Integers,
    offsets: Reals,
    reference: Integer,
    q: Reals,
    out: Reals,
) -> int:
    """Λ^-1 of each state by PV-OSIM."""
    return inverse_inertia_states(ints, reals, bodies, offsets, reference, q, out, scratch_for, by_pv_osim)
