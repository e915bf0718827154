"""Block-tridiagonal systems along paths by parallel cyclic reduction: every block at once, O(log N) stages.

All rows stay active while the distance h of neighbours doubles, until none is left. That takes O(N log N) work and no
substitution, and has fewer correct digits than cyclic reduction. Six more right-hand sides E are the response to the
first block's, so that the motion of a path's base can be added afterwards.
"""

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
    """Additional memory: D^-1 times couplings, E and r; E; factors of D and couplings.

    There are as many factors and couplings as the memory allows, for every doubling or used in turns.
    """

    Zd: Any  # D^-1 times the coupling to the lower neighbour
    ZE: Any  # D^-1 E
    E: Any
    z: Any  # D^-1 r
    factors: Any
    couplings: Any


def extra_for(rounds):
    """Return the number of additional elements per body if right-hand sides follow after `rounds` rounds of the matrix.

    The factors and couplings of every doubling are then stored.
    """
    return (3 + 2 * max(rounds // 2, 1)) * 36 + 6


def elimination_rounds(length):
    """Return the number of elimination stages: two for each doubling of the distance, and one to solve."""
    return 2 * bits(length) + 1


def substitution_rounds(length):
    """Return the number of substitution stages: one, for the response to the first block."""
    return 1


def elimination_block(paths, turn, place):
    """Return the number of bodies of the block of work at a place: 1, until all rounds of its path are done."""
    return 1 if turn <= 2 * bits(paths.stop[place] - paths.start[place]) else 0


def substitution_block(paths, turn, place):
    """Return the number of bodies of the block of work at a place for substitution: 0 for the first of a path."""
    return 1 if paths.start[place] < place else 0


def extra_of(w):
    """Return the additional memory by name."""
    B = w.T.shape[0]
    kept = (w.extra.size // B - 114) // 72
    parts = w.extra[: 108 * B].reshape((3, B, SIX, SIX))
    more = w.extra[114 * B : (114 + 72 * kept) * B].reshape((2, kept, B, SIX, SIX))
    return Extra(parts[0], parts[1], parts[2], w.extra[108 * B : 114 * B].reshape((B, SIX)), more[0], more[1])


def factors_of(e, doubling):
    """Return the factors of D of a doubling."""
    return e.factors[doubling % e.factors.shape[0]]


def couplings_of(w, e, doubling):
    """Return the couplings L at the start of a doubling."""
    k = doubling % (e.couplings.shape[0] + 1)
    return w.L if k == 0 else e.couplings[k - 1]


def put_response(paths, w, e, place):
    """E = -W W' on a path's first block, 0 on the others."""
    i, first = paths.order[place], paths.start[place] == place
    put_zero(e.E[i], SIX, SIX)
    for c in range(6):
        e.E[i, c, c] = -1 if first and not w.compliance[i, c] < 0 else 0


def divide_matrix(paths, w, e, F, L, h, place):
    """Compute the factor of D, and D^-1 times the couplings to both neighbours and the response."""
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
    """D_i -= L_i D_u^-1 L_i' + L_d' D_d^-1 L_d, E likewise; the next coupling is -L_i D_u^-1 L_u."""
    i, u, d = paths.order[place], neighbour(paths, place, -h), neighbour(paths, place, h)
    subtract_product(L[i], e.Zd[u], SIX, SIX, SIX, w.T[i])
    subtract_product(L[i], e.ZE[u], SIX, SIX, SIX, e.E[i])
    put_zero(L_next[i], SIX, SIX)
    subtract_product(L[i], w.Z[u], SIX, SIX, SIX, L_next[i])
    subtract_transposed_product(L[d], w.Z[d], SIX, SIX, SIX, w.T[i])
    subtract_transposed_product(L[d], e.ZE[d], SIX, SIX, SIX, e.E[i])


def eliminate_matrix(paths, w, turn, low, high):
    """Process one half of a doubling in the matrix, for the blocks at the places from `low` to `high`.

    The last turn of a path follows when its blocks are decoupled. Then all but the first compute the factor and D^-1 E.
    """
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
    """Process one half of a doubling in the right-hand side, for the blocks at the places from `low` to `high`.

    It follows the same turn of the matrix or, if the factors of every doubling are stored, may come later. The first
    block of a path is solved later, when the motion of the path's base is known.
    """
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
    """x = D^-1 r - D^-1 E a, with a = X a_parent, the acceleration of the path's base in its first body's axes."""
    E = extra_of(w).E
    for place in range(low, high):
        i, first = paths.order[place], paths.order[paths.start[place]]
        if i != first:
            subtract_apply(E[i], SIX, SIX, w.a[first], w.r[i])
