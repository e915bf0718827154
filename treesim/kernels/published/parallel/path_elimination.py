"""Block-tridiagonal systems along paths, one block after another from the tip to the base: O(N), serial."""

from ...algebra.blocks import (
    SIX,
    copy,
    factorize,
    solve,
    solve_columns,
    subtract_apply,
    subtract_transposed_apply,
    subtract_transposed_product,
)

EXTRA = 0  # further numbers per body


def extra_for(rounds):
    """Return the number of additional elements per body, also for several right-hand sides."""
    return EXTRA


def elimination_rounds(length):
    """Return the number of elimination stages: one for a full path."""
    return 1


def substitution_rounds(length):
    """Return the number of substitution stages."""
    return 1


def elimination_block(paths, turn, place):
    """Return the number of bodies of the block of work at a place: all of a path at its head, else 0."""
    return paths.stop[place] - place if paths.start[place] == place else 0


def substitution_block(paths, turn, place):
    """Return the number of bodies of the block of work at a place for substitution, as for elimination."""
    return elimination_block(paths, turn, place)


def eliminate_path_matrix(paths, w, place):
    """T_i = A_ii - A_{i+1,i}' T_{i+1}^-1 A_{i+1,i}; Z_i = T_i^-1 A_{i,i-1}, on the path that begins at `place`."""
    for k in range(paths.stop[place] - 1, place, -1):
        i, p = paths.order[k], paths.order[k - 1]
        factorize(w.T[i], SIX)
        copy(w.L[i], SIX, SIX, w.Z[i])
        solve_columns(w.T[i], SIX, w.Z[i], SIX)
        subtract_transposed_product(w.L[i], w.Z[i], SIX, SIX, SIX, w.T[p])


def eliminate_path_vector(paths, w, place):
    """r_i -= A_{i+1,i}' T_{i+1}^-1 r_{i+1}."""
    for k in range(paths.stop[place] - 1, place, -1):
        i = paths.order[k]
        subtract_transposed_apply(w.Z[i], SIX, SIX, w.r[i], w.r[paths.order[k - 1]])


def eliminate_matrix(paths, w, turn, low, high):
    """Eliminate all blocks but the first of the paths that begin at the places from `low` to `high`."""
    for place in range(low, high):
        if paths.start[place] == place:
            eliminate_path_matrix(paths, w, place)


def eliminate_vector(paths, w, turn, low, high):
    """Eliminate in the right-hand side, at any time after the matrix."""
    for place in range(low, high):
        if paths.start[place] == place:
            eliminate_path_vector(paths, w, place)


def substitute_path(paths, w, place):
    """x_i = T_i^-1 r_i - Z_i x_{i-1} along the path that begins at `place`. Overwrites r by x."""
    for k in range(place + 1, paths.stop[place]):
        i = paths.order[k]
        solve(w.T[i], SIX, w.r[i])
        subtract_apply(w.Z[i], SIX, SIX, w.r[paths.order[k - 1]], w.r[i])


def substitute(paths, w, turn, low, high):
    """Substitute along the paths that begin at the places from `low` to `high`."""
    for place in range(low, high):
        if paths.start[place] == place:
            substitute_path(paths, w, place)
