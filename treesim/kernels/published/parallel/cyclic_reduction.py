"""Block-tridiagonal systems along paths by cyclic reduction: every second block at a time, O(log N) stages, O(N) work.

The first block of a path is never eliminated, so it ends as the T_1 of elimination from the tip. Writing h for the
distance of neighbours, block e has upper neighbour u = e - h and lower neighbour d = e + h; L_e couples e to u.
"""

from __future__ import annotations

from ...algebra.blocks import (
    SIX,
    copy,
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

EXTRA = 36  # further numbers per body: Zd


def elimination_rounds(length):
    """Stages that eliminate: two for each halving, one for the blocks that go and one for those that stay."""
    return 2 * bits(length)


def substitution_rounds(length):
    """Stages that substitute back: one for each halving."""
    return bits(length)


def elimination_block(paths, turn, place):
    """Number of bodies that the block of work at a place takes in: 1, or 0 if this half of a halving leaves it out."""
    h = 1 << (turn // 2)
    k = (place - paths.start[place]) & (2 * h - 1)
    return 1 if k == (h if turn % 2 == 0 else 0) and h < paths.stop[place] - paths.start[place] else 0


def substitution_block(paths, turn, place):
    """The same for substitution: those that left come back."""
    return elimination_block(paths, 2 * turn, place)


def leave(paths, w, Zd, h, place):
    """Block e: Zu = D_e^-1 L_e, Zd = D_e^-1 L_d'."""
    e, d = paths.order[place], neighbour(paths, place, h)
    factorize(w.T[e], SIX)
    copy(w.L[e], SIX, SIX, w.Z[e])
    solve_columns(w.T[e], SIX, w.Z[e], SIX)
    copy(w.L[d].T, SIX, SIX, Zd[e])
    solve_columns(w.T[e], SIX, Zd[e], SIX)


def stay(paths, w, Zd, h, place):
    """Block s, e above it and f below: D_s -= L_s Zd_e + L_f' Zu_f, L_s <- -L_s Zu_e."""
    s, e, f = paths.order[place], neighbour(paths, place, -h), neighbour(paths, place, h)
    subtract_product(w.L[s], Zd[e], SIX, SIX, SIX, w.T[s])
    subtract_transposed_product(w.L[f], w.Z[f], SIX, SIX, SIX, w.T[s])
    put_zero(w.Z[s], SIX, SIX)
    subtract_product(w.L[s], w.Z[e], SIX, SIX, SIX, w.Z[s])
    copy(w.Z[s], SIX, SIX, w.L[s])


def take_over(paths, w, Zd, h, place):
    """r_s -= Zd_e' r_e + Zu_f' r_f of a block that stays."""
    s, e, f = paths.order[place], neighbour(paths, place, -h), neighbour(paths, place, h)
    subtract_transposed_apply(Zd[e], SIX, SIX, w.r[e], w.r[s])
    subtract_transposed_apply(w.Z[f], SIX, SIX, w.r[f], w.r[s])


def eliminate_vector(paths, w, turn, low, high):
    """One half of a halving in the right-hand side, for the blocks at the places from `low` to `high`, whenever that
    of the matrix is done: what it takes of the blocks that leave stays as it is."""
    h = 1 << (turn // 2)
    Zd = w.extra.reshape((w.T.shape[0], SIX, SIX))
    if turn % 2 == 1:
        for place in range(low, high):
            if elimination_block(paths, turn, place) == 1:
                take_over(paths, w, Zd, h, place)


def eliminate_matrix(paths, w, turn, low, high):
    """One half of a halving in the matrix, for the blocks at the places from `low` to `high`."""
    h = 1 << (turn // 2)
    Zd = w.extra.reshape((w.T.shape[0], SIX, SIX))
    for place in range(low, high):
        if elimination_block(paths, turn, place) == 1:
            if turn % 2 == 0:
                leave(paths, w, Zd, h, place)
            else:
                stay(paths, w, Zd, h, place)


def come_back(paths, w, Zd, h, place):
    """x_e = D_e^-1 r_e - Zu x_u - Zd x_d; x takes the place of r."""
    e = paths.order[place]
    solve(w.T[e], SIX, w.r[e])
    subtract_apply(w.Z[e], SIX, SIX, w.r[paths.order[place - h]], w.r[e])
    subtract_apply(Zd[e], SIX, SIX, w.r[neighbour(paths, place, h)], w.r[e])


def substitute(paths, w, turn, low, high):
    """The blocks that left at halving `turn`, at the places from `low` to `high`."""
    h = 1 << turn
    Zd = w.extra.reshape((w.T.shape[0], SIX, SIX))
    for place in range(low, high):
        if (place - paths.start[place]) & (2 * h - 1) == h:
            come_back(paths, w, Zd, h, place)
