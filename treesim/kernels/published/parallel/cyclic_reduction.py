"""Block-tridiagonal systems along paths by cyclic reduction: every second block at a time, O(log N) stages, O(N) work.

The first block of a path is never eliminated, so it ends as the T_1 of elimination from the tip. With the distance h of
neighbours, block e has upper neighbour u = e - h and lower neighbour d = e + h; L_e couples e to u.
"""

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


def extra_for(rounds):
    """Return the number of additional elements per body, also for several right-hand sides."""
    return EXTRA


def elimination_rounds(length):
    """Return the number of elimination stages: two for each halving, for eliminated and for remaining blocks."""
    return 2 * bits(length)


def substitution_rounds(length):
    """Return the number of substitution stages: one for each halving."""
    return bits(length)


def elimination_block(paths, turn, place):
    """Return the number of bodies of the block of work at a place: 1, or 0 if this half of a halving skips it."""
    h = 1 << (turn // 2)
    k = (place - paths.start[place]) & (2 * h - 1)
    return 1 if k == (h if turn % 2 == 0 else 0) and h < paths.stop[place] - paths.start[place] else 0


def substitution_block(paths, turn, place):
    """Return the number of bodies of the block of work at a place for substitution: 1 for eliminated blocks."""
    return elimination_block(paths, 2 * turn, place)


def leave(paths, w, Zd, h, place):
    """Eliminate block e: Zu = D_e^-1 L_e, Zd = D_e^-1 L_d'."""
    e, d = paths.order[place], neighbour(paths, place, h)
    factorize(w.T[e], SIX)
    copy(w.L[e], SIX, SIX, w.Z[e])
    solve_columns(w.T[e], SIX, w.Z[e], SIX)
    copy(w.L[d].T, SIX, SIX, Zd[e])
    solve_columns(w.T[e], SIX, Zd[e], SIX)


def stay(paths, w, Zd, h, place):
    """Update a remaining block s, e above and f below: D_s -= L_s Zd_e + L_f' Zu_f, L_s <- -L_s Zu_e."""
    s, e, f = paths.order[place], neighbour(paths, place, -h), neighbour(paths, place, h)
    subtract_product(w.L[s], Zd[e], SIX, SIX, SIX, w.T[s])
    subtract_transposed_product(w.L[f], w.Z[f], SIX, SIX, SIX, w.T[s])
    put_zero(w.Z[s], SIX, SIX)
    subtract_product(w.L[s], w.Z[e], SIX, SIX, SIX, w.Z[s])
    copy(w.Z[s], SIX, SIX, w.L[s])


def take_over(paths, w, Zd, h, place):
    """r_s -= Zd_e' r_e + Zu_f' r_f of a remaining block s."""
    s, e, f = paths.order[place], neighbour(paths, place, -h), neighbour(paths, place, h)
    subtract_transposed_apply(Zd[e], SIX, SIX, w.r[e], w.r[s])
    subtract_transposed_apply(w.Z[f], SIX, SIX, w.r[f], w.r[s])


def eliminate_vector(paths, w, turn, low, high):
    """Process one half of a halving in the right-hand side, for the blocks at the places from `low` to `high`.

    It may follow the elimination of the matrix at any time, since eliminated blocks do not change.
    """
    h = 1 << (turn // 2)
    Zd = w.extra.reshape((w.T.shape[0], SIX, SIX))
    if turn % 2 == 1:
        for place in range(low, high):
            if elimination_block(paths, turn, place) == 1:
                take_over(paths, w, Zd, h, place)


def eliminate_matrix(paths, w, turn, low, high):
    """Process one half of a halving in the matrix, for the blocks at the places from `low` to `high`."""
    h = 1 << (turn // 2)
    Zd = w.extra.reshape((w.T.shape[0], SIX, SIX))
    for place in range(low, high):
        if elimination_block(paths, turn, place) == 1:
            if turn % 2 == 0:
                leave(paths, w, Zd, h, place)
            else:
                stay(paths, w, Zd, h, place)


def come_back(paths, w, Zd, h, place):
    """x_e = D_e^-1 r_e - Zu x_u - Zd x_d. Overwrites r by x."""
    e = paths.order[place]
    solve(w.T[e], SIX, w.r[e])
    subtract_apply(w.Z[e], SIX, SIX, w.r[paths.order[place - h]], w.r[e])
    subtract_apply(Zd[e], SIX, SIX, w.r[neighbour(paths, place, h)], w.r[e])


def substitute(paths, w, turn, low, high):
    """Substitute the blocks that halving `turn` eliminated, at the places from `low` to `high`."""
    h = 1 << turn
    Zd = w.extra.reshape((w.T.shape[0], SIX, SIX))
    for place in range(low, high):
        if (place - paths.start[place]) & (2 * h - 1) == h:
            come_back(paths, w, Zd, h, place)
