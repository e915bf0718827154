"""Λ^-1 by the recursion of Chang and Khatib: RJK's, with one body at a time handed on (F10, appendix B).

F10 describes it in a sentence: Omega_ij comes from Omega_iλ(j) and the transpose of Omega_jλ(i), where RJK takes
Omega_λ(i)λ(j) for bodies on different branches; and it leaves open whether the symmetry of Omega is used. Here it is:
of two bodies that differ, the one with the larger number is no ancestor of the other, so that
Omega_pq = Omega_pλ(q) phi_q tau-bar_q for all p < q, and Omega_pλ(q) is kept, itself or as its transpose. This takes
more blocks than RJK, each for one transform where RJK's may take two, and on most robots fewer transforms in all, since
the blocks of several tasks with one body share their sources. As in `rjk`, joints are treated one unit screw at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .blocks import SIX, product
from .frames import frames_of
from .operational import inverse_inertia_entry, put_task_axes, task_rows
from .rjk import articulated_quantities, diagonal_block, nearest_common_ancestor, propagate_rows


def mark_needed(parent, bodies, need):
    """need[p, q], p <= q: the blocks of Omega that those between `bodies` are made from. Those of bodies that have
    nothing but the base in common are zero, and not marked."""
    for p in bodies:
        for q in bodies:
            if nearest_common_ancestor(parent, p, q) > 0:
                need[min(p, q), max(p, q)] = 1
    for q in range(parent.size - 1, 0, -1):
        for p in range(q, 0, -1):
            source = parent[q]  # of Omega_pq: Omega_pλ(q), and of Omega_qq: Omega_λ(q)λ(q)
            if need[p, q] == 1 and source > 0:
                other = p if p < q else source
                need[min(other, source), max(other, source)] = 1


def number_needed(need):
    """Number the needed blocks: need[p, q] <- 1, 2, ...; returns how many there are."""
    count = 0
    for q in range(need.shape[0]):
        for p in range(q + 1):
            if need[p, q] == 1:
                count += 1
                need[p, q] = count
    return count


def load_block(need, Omega, p, q, B):
    """B <- Omega_pq, from the needed blocks of the upper triangle; Omega[0] = 0 stands for those that are zero."""
    block = Omega[need[min(p, q), max(p, q)]]
    for r in range(6):
        for c in range(6):
            B[r, c] = block[r, c] if p <= q else block[c, r]


def inverse_inertia_blocks(tree, need, X, U, D_inv, Omega):
    """The needed blocks of Omega, outward; need[p, q] is the number of block pq, 0 for those that are zero."""
    for r in range(6):
        for c in range(6):
            Omega[0, r, c] = tree.gravity[0] * 0
    for q in range(1, tree.n_bodies + 1):
        for p in range(1, q + 1):
            if need[p, q] > 0:
                B = Omega[need[p, q]]
                if p == q:
                    load_block(need, Omega, tree.parent[q], tree.parent[q], B)
                    diagonal_block(tree, q, X, U, D_inv, B)
                else:
                    load_block(need, Omega, p, tree.parent[q], B)
                    propagate_rows(tree, q, X, U, D_inv, B.T)  # Omega_pλ(q) phi_q tau-bar_q


class Scratch(NamedTuple):
    """Placements, transforms, articulated inertias, U and D^-1, the rows of all tasks, three blocks, the needed blocks
    of Omega, and their numbers."""

    W: Any
    X: Any
    P: Any
    U: Any
    D_inv: Any
    R: Any
    block: Any
    rows: Any
    both: Any
    Omega: Any
    need: Any


def scratch_for(tree, codes, offsets, q):
    """The frames, and scratch memory, of the numbers in q: needed blocks, and N^2 integers numbering them."""
    frames = frames_of(codes, offsets)
    B = tree.n_bodies + 1
    body, dof = np.empty((B, 45), q.dtype), np.empty((tree.nv, 7), q.dtype)
    need = np.zeros((B, B), np.int64)
    mark_needed(tree.parent, frames.bodies, need)
    return frames, Scratch(
        body[:, 0:12],
        body[:, 12:24],
        body[:, 24:45],
        dof[:, 0:6],
        dof[:, 6],
        np.empty((frames.bodies.size, 6, 6), q.dtype),
        np.empty((6, 6), q.dtype),
        np.empty((6, 6), q.dtype),
        np.empty((6, 6), q.dtype),
        np.empty((number_needed(need) + 1, 6, 6), q.dtype),
        need,
    )


def inverse_inertia_chang_khatib(tree, q, out, frames, memory):
    """Λ^-1_kl = R_k Omega_pq R_l' for every pair of tasks, on bodies p and q."""
    bodies, placement, reference = frames
    W, X, P, U, D_inv, R, block, rows, both, Omega, need = memory
    articulated_quantities(tree, q, X, P, U, D_inv)
    put_task_axes(tree, X, bodies, reference, W)
    inverse_inertia_blocks(tree, need, X, U, D_inv, Omega)
    for k in range(bodies.size):
        task_rows(tree, bodies[k], placement, W, reference, k, R[k])
        for g in range(k + 1):
            load_block(need, Omega, bodies[k], bodies[g], block)
            product(R[k], block, SIX, SIX, SIX, rows)
            product(rows, R[g].T, SIX, SIX, SIX, both)
            for r in range(6):
                for c in range(6):
                    out[6 * k + r, 6 * g + c] = out[6 * g + c, 6 * k + r] = both[r, c]


inverse_inertia_chang_khatib_states = inverse_inertia_entry(inverse_inertia_chang_khatib, scratch_for)
