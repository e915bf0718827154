"""Λ^-1 = J H^-1 J' with the sparse factors of H (F10 section 4): only entries along the tasks' paths are touched."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .annotations import Integer, Integers, Reals, TableOfIntegers, TableOfReals
from .crba import mass_matrix, put_packed
from .ltdl import factorize as factorize_ltdl
from .ltl import factorize as factorize_ltl
from .operational import common_depth, inverse_inertia_states, packed_jacobian


def divide_rows_ltdl(tree, L, bodies, Y, Z):
    """Y <- Y_d = J L^-1 for unit L, Z <- Y_D = Y_d D^-1: rows packed along their paths (F10 section 4)."""
    for r in range(6 * bodies.size):
        k = tree.last_dof[bodies[r // 6]]
        while k >= 0:
            depth, start = tree.dof_depth[k], tree.row_start[k]
            for e in range(depth):
                Y[r, e] -= Y[r, depth] * L[start + e]
            Z[r, depth] = Y[r, depth] / L[start + depth]
            k = tree.dof_parent[k]


def divide_rows_ltl(tree, L, bodies, Y, Z):
    """Y, Z <- J L^-1: rows packed along the paths to their bodies (F10 section 4)."""
    for r in range(6 * bodies.size):
        k = tree.last_dof[bodies[r // 6]]
        while k >= 0:
            depth, start = tree.dof_depth[k], tree.row_start[k]
            Z[r, depth] = Y[r, depth] = Y[r, depth] / L[start + depth]
            for e in range(depth):
                Y[r, e] -= Y[r, depth] * L[start + e]
            k = tree.dof_parent[k]


def products_of_rows(tree, bodies, Y, Z, out):
    """out = Y Z' over what two rows' paths share (F10 section 4, Y Y')."""
    m = 6 * bodies.size
    for r in range(m):
        for s in range(r + 1):
            total = Y[0, 0] * 0
            for e in range(common_depth(tree, tree.last_dof[bodies[r // 6]], tree.last_dof[bodies[s // 6]])):
                total += Y[r, e] * Z[s, e]
            out[r, s] = out[s, r] = total


class Scratch(NamedTuple):
    """Transforms, composite inertias, packed H, and the task rows Y and Z."""

    X: Any
    Ic: Any
    H: Any
    Y: Any
    Z: Any


def scratch_for(tree, bodies, q):
    """Scratch memory for a tree and tasks, of the numbers in q."""
    body, m = np.empty((tree.n_bodies + 1, 22), q.dtype), 6 * bodies.size
    H, Y, Z = np.empty(tree.nnz, q.dtype), np.empty((m, tree.nv), q.dtype), np.empty((m, tree.nv), q.dtype)
    return Scratch(body[:, 0:12], body[:, 12:22], H, Y, Z)


def by_ltdl(tree, q, bodies, frames, reference, scratch, out):
    """Λ^-1 = Y_D Y_d' by H = L' D L."""
    X, Ic, H, Y, Z = scratch
    mass_matrix(tree, q, X, Ic, H, put_packed)
    factorize_ltdl(tree.dof_parent, tree.dof_depth, tree.row_start, H)
    packed_jacobian(tree, q, bodies, frames, reference, Y)
    divide_rows_ltdl(tree, H, bodies, Y, Z)
    products_of_rows(tree, bodies, Z, Y, out)


def by_ltl(tree, q, bodies, frames, reference, scratch, out):
    """Λ^-1 = Y Y' by H = L' L."""
    X, Ic, H, Y, Z = scratch
    mass_matrix(tree, q, X, Ic, H, put_packed)
    factorize_ltl(tree.dof_parent, tree.dof_depth, tree.row_start, H)
    packed_jacobian(tree, q, bodies, frames, reference, Y)
    divide_rows_ltl(tree, H, bodies, Y, Z)
    products_of_rows(tree, bodies, Z, Y, out)


def inverse_inertia_ltdl_states(
    ints: TableOfIntegers,
    reals: TableOfReals,
    bodies: Integers,
    offsets: Reals,
    reference: Integer,
    q: Reals,
    out: Reals,
) -> int:
    """Λ^-1 of each state by H = L' D L."""
    return inverse_inertia_states(ints, reals, bodies, offsets, reference, q, out, scratch_for, by_ltdl)


def inverse_inertia_ltl_states(
    ints: TableOfIntegers,
    reals: TableOfReals,
    bodies: Integers,
    offsets: Reals,
    reference: Integer,
    q: Reals,
    out: Reals,
) -> int:
    """Λ^-1 of each state by H = L' L."""
    return inverse_inertia_states(ints, reals, bodies, offsets, reference, q, out, scratch_for, by_ltl)
