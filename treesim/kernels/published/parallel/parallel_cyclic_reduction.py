"""Block-tridiagonal systems along paths by parallel cyclic reduction: every block at once, O(log N) stages.

All rows stay active while the distance h of neighbours doubles, until none is left: O(N log N) work, no substitution,
and fewer correct digits than cyclic reduction. Six more right-hand sides E carry the response to the first block's, so
that what moves a path's base can be added afterwards.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...algebra.blocks import (
    SIX,
    copy,
    copy_vector,
    factorize,
    put_zero,
    solve,
    solve_columns,
    subtract_apply,
    subtract_product,
    subtract_transposed_apply,
    subtract_transposed_product,
)
from .heavy_paths import bits, neighbour

EXTRA = 5 * 36 + 6  # further numbers per body, for one right-hand side


class Extra(NamedTuple):
    """Memory beyond that of the method: D^-1 times everything, E; and, of every doubling or in turns, as many as the
    memory holds, the factors of D and the couplings of the next doubling."""

    Zd: Any  # D^-1 times the coupling to the lower neighbour
    ZE: Any  # D^-1 E
    E: Any
    z: Any  # D^-1 r
    factors: Any
    couplings: Any


def extra_for(rounds):
    """Further numbers per body if right-hand sides follow when the matrix is done in so many rounds: the factors and
    couplings of every doubling."""
    return (3 + 2 * max(rounds // 2, 1)) * 36 + 6


def elimination_rounds(length):
    """Stages that eliminate: two for each doubling of the distance, and one to solve."""
    return 2 * bits(length) + 1


def substitution_rounds(length):
    """Stages that substitute back: the response to the first block."""
    return 1


def elimination_block(paths, turn, place):
    """Number of bodies that the block of work at a place takes in: 1, until all of its path are out of reach."""
    return 1 if turn <= 2 * bits(paths.stop[place] - paths.start[place]) else 0


def substitution_block(paths, turn, place):
    """The same for substitution: all but the first of a path."""
    return 1 if paths.start[place] < place else 0


def extra_of(w):
    """The further memory, by name."""
    B = w.T.shape[0]
    kept = (w.extra.size // B - 114) // 72
    parts = w.extra[: 108 * B].reshape((3, B, SIX, SIX))
    more = w.extra[114 * B : (114 + 72 * kept) * B].reshape((2, kept, B, SIX, SIX))
    return Extra(parts[0], parts[1], parts[2], w.extra[108 * B : 114 * B].reshape((B, SIX)), more[0], more[1])


def factors_of(e, doubling):
    """The factors of D of a doubling."""
    return e.factors[doubling % e.factors.shape[0]]


def couplings_of(w, e, doubling):
    """The couplings L that a doubling finds."""
    k = doubling % (e.couplings.shape[0] + 1)
    return w.L if k == 0 else e.couplings[k - 1]


def put_response(paths, w, e, place):
    """E = -W W' on a path's first block, 0 on the others."""
    i, first = paths.order[place], paths.start[place] == place
    put_zero(e.E[i], SIX, SIX)
    for c in range(6):
        e.E[i, c, c] = -1 if first and not w.compliance[i, c] < 0 else 0


def divide_matrix(paths, w, e, F, L, h, place):
    """The factor of D, and D^-1 times the couplings to both neighbours and the response."""
    i, d = paths.order[place], neighbour(paths, place, h)
    copy(w.T[i], SIX, SIX, F[i])
    factorize(F[i], SIX)
    copy(L[i], SIX, SIX, w.Z[i])
    solve_columns(F[i], SIX, w.Z[i], SIX)
    copy(L[d].T, SIX, SIX, e.Zd[i])
    solve_columns(F[i], SIX, e.Zd[i], SIX)
    copy(e.E[i], SIX, SIX, e.ZE[i])
    solve_columns(F[i], SIX, e.ZE[i], SIX)


def combine_matrix(paths, w, e, L, L_next, h, place):
    """D_i -= L_i D_u^-1 L_i' + L_d' D_d^-1 L_d, the response likewise; the next coupling is -L_i D_u^-1 L_u."""
    i, u, d = paths.order[place], neighbour(paths, place, -h), neighbour(paths, place, h)
    subtract_product(L[i], e.Zd[u], SIX, SIX, SIX, w.T[i])
    subtract_product(L[i], e.ZE[u], SIX, SIX, SIX, e.E[i])
    put_zero(L_next[i], SIX, SIX)
    subtract_product(L[i], w.Z[u], SIX, SIX, SIX, L_next[i])
    subtract_transposed_product(L[d], w.Z[d], SIX, SIX, SIX, w.T[i])
    subtract_transposed_product(L[d], e.ZE[d], SIX, SIX, SIX, e.E[i])


def eliminate_matrix(paths, w, turn, low, high):
    """One half of a doubling in the matrix, for the blocks at the places from `low` to `high`. A path's last turn comes
    when all its blocks are out of each other's reach: of all but the first, the factor and D^-1 E are left."""
    e, doubling, h = extra_of(w), turn // 2, 1 << (turn // 2)
    F, L, L_next = factors_of(e, doubling), couplings_of(w, e, doubling), couplings_of(w, e, doubling + 1)
    for place in range(low, high):
        i, length = paths.order[place], paths.stop[place] - paths.start[place]
        if turn == 0:
            put_response(paths, w, e, place)
        if h < length:
            if turn % 2 == 0:
                divide_matrix(paths, w, e, F, L, h, place)
            else:
                combine_matrix(paths, w, e, L, L_next, h, place)
        elif turn == 2 * bits(length) and place > paths.start[place]:
            factorize(w.T[i], SIX)
            solve_columns(w.T[i], SIX, e.E[i], SIX)


def combine_vector(paths, w, e, L, h, place):
    """r_i -= L_i D_u^-1 r_u + L_d' D_d^-1 r_d."""
    i, u, d = paths.order[place], neighbour(paths, place, -h), neighbour(paths, place, h)
    subtract_apply(L[i], SIX, SIX, e.z[u], w.r[i])
    subtract_transposed_apply(L[d], SIX, SIX, e.z[d], w.r[i])


def eliminate_vector(paths, w, turn, low, high):
    """The same in the right-hand side, as soon as the matrix is done, or, where the factors of every doubling are kept,
    whenever it is. The first block of a path waits for what moves the path's base."""
    e, doubling, h = extra_of(w), turn // 2, 1 << (turn // 2)
    F, L = factors_of(e, doubling), couplings_of(w, e, doubling)
    for place in range(low, high):
        i, length = paths.order[place], paths.stop[place] - paths.start[place]
        if h < length:
            if turn % 2 == 0:
                copy_vector(w.r[i], SIX, e.z[i])
                solve(F[i], SIX, e.z[i])
            else:
                combine_vector(paths, w, e, L, h, place)
        elif turn == 2 * bits(length) and place > paths.start[place]:
            solve(w.T[i], SIX, w.r[i])


def substitute(paths, w, turn, low, high):
    """x = D^-1 r - D^-1 E a, a the acceleration that the path's base brings to its first body."""
    E = extra_of(w).E
    for place in range(low, high):
        i, first = paths.order[place], paths.order[paths.start[place]]
        if i != first:
            subtract_apply(E[i], SIX, SIX, w.a[first], w.r[i])
