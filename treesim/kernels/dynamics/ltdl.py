"""Sparse factorization H = L' D L, L unit lower triangular, without fill-in (F05, section 2 and appendix).

All matrices are packed by ancestor depth. The row of an ancestor of k is a prefix of the path of k, so every update is
one contiguous loop. D is stored on the diagonal of L. Four consecutive rows of a line (each the parent of the next) are
processed together.
"""

from ..algebra.numbers import in_vectors, one_block, vectorized


def ends_line(dof_parent, k):
    """Return whether k - 3, k - 2, k - 1 and k are a line: numbered consecutively, each the parent of the next."""
    return k >= 3 and dof_parent[k] == k - 1 and dof_parent[k - 1] == k - 2 and dof_parent[k - 2] == k - 3


def eliminate(dof_parent, dof_depth, row_start, L, k, first):
    """Eliminate row k from the rows of its ancestors that are not before `first`; return 1 / D_k."""
    row = row_start[k]
    D_inv = 1 / L[row + dof_depth[k]]
    i = dof_parent[k]
    while i >= first:  # nearest ancestor first: the entries above are still unscaled
        row_i, depth = row_start[i], dof_depth[i]
        a = L[row + depth] * D_inv
        source, target = L[row : row + depth + 1], L[row_i : row_i + depth + 1]  # no alias, as compilers then see
        for e in range(depth + 1):
            target[e] -= source[e] * a
        L[row + depth] = a
        i = dof_parent[i]
    return D_inv


def eliminate_line(dof_parent, dof_depth, row_start, L, k):
    """Eliminate rows k to k - 3 of a line: first from each other, then together from all other ancestors."""
    inverse_1 = eliminate(dof_parent, dof_depth, row_start, L, k, k - 3)
    inverse_2 = eliminate(dof_parent, dof_depth, row_start, L, k - 1, k - 3)
    inverse_3 = eliminate(dof_parent, dof_depth, row_start, L, k - 2, k - 3)
    depth = dof_depth[k - 3]
    start_1, start_2, start_3, start_4 = row_start[k], row_start[k - 1], row_start[k - 2], row_start[k - 3]
    inverse_4 = 1 / L[start_4 + depth]
    row_1, row_2 = L[start_1 : start_1 + depth], L[start_2 : start_2 + depth]
    row_3, row_4 = L[start_3 : start_3 + depth], L[start_4 : start_4 + depth]
    i = dof_parent[k - 3]
    while i >= 0:
        start, depth = row_start[i], dof_depth[i]
        a, b, c, d = (
            row_1[depth] * inverse_1,
            row_2[depth] * inverse_2,
            row_3[depth] * inverse_3,
            row_4[depth] * inverse_4,
        )
        target = L[start : start + depth + 1]
        for e in range(depth + 1):
            target[e] = target[e] - row_1[e] * a - row_2[e] * b - row_3[e] * c - row_4[e] * d
        row_1[depth], row_2[depth], row_3[depth], row_4[depth] = a, b, c, d
        i = dof_parent[i]


def factorize(dof_parent, dof_depth, row_start, L):
    """Overwrite H by its factors (F05 algorithm LTDL), by lines where possible. Cost D1 div + D2 (mul + add)."""
    k = dof_parent.size - 1
    while k >= 0:
        if ends_line(dof_parent, k):
            eliminate_line(dof_parent, dof_depth, row_start, L, k)
            k -= 4
        else:
            eliminate(dof_parent, dof_depth, row_start, L, k, 0)
            k -= 1


def multiply(dof_parent, dof_depth, row_start, L, x):
    """x <- L x, in place."""
    for i in range(dof_parent.size - 1, -1, -1):
        j = dof_parent[i]
        while j >= 0:
            x[i] += L[row_start[i] + dof_depth[j]] * x[j]
            j = dof_parent[j]


def multiply_transposed(dof_parent, dof_depth, row_start, L, x):
    """x <- L' x, in place; row i is complete before any of its ancestors' entries is used as a factor."""
    for i in range(dof_parent.size):
        j = dof_parent[i]
        while j >= 0:
            x[j] += L[row_start[i] + dof_depth[j]] * x[i]
            j = dof_parent[j]


def gather(dof_parent, dof_depth, row_start, L, x, i):
    """x_i -= sum of L_ij x_j over the ancestors j of i."""
    row, a, j = row_start[i], x[i], dof_parent[i]
    while j >= 0:
        a -= L[row + dof_depth[j]] * x[j]
        j = dof_parent[j]
    x[i] = a


def gather_line(dof_parent, dof_depth, row_start, L, x, i):
    """`gather` for i to i + 3 of a line: four sums at a time over the other ancestors, then over each other."""
    row_1, row_2, row_3, row_4 = row_start[i], row_start[i + 1], row_start[i + 2], row_start[i + 3]
    a, b, c, d = x[i], x[i + 1], x[i + 2], x[i + 3]
    j = dof_parent[i]
    while j >= 0:
        e = dof_depth[j]
        a -= L[row_1 + e] * x[j]
        b -= L[row_2 + e] * x[j]
        c -= L[row_3 + e] * x[j]
        d -= L[row_4 + e] * x[j]
        j = dof_parent[j]
    e = dof_depth[i]
    b = b - L[row_2 + e] * a
    c = c - L[row_3 + e + 1] * b - L[row_3 + e] * a
    d = d - L[row_4 + e + 2] * c - L[row_4 + e + 1] * b - L[row_4 + e] * a
    x[i], x[i + 1], x[i + 2], x[i + 3] = a, b, c, d


def solve_lower(dof_parent, dof_depth, row_start, L, x):
    """x <- L^-1 x, in place."""
    i = 0
    while i < dof_parent.size:
        if i + 3 < dof_parent.size and ends_line(dof_parent, i + 3):
            gather_line(dof_parent, dof_depth, row_start, L, x, i)
            i += 4
        else:
            gather(dof_parent, dof_depth, row_start, L, x, i)
            i += 1


def spread(dof_parent, dof_depth, row_start, L, x, i):
    """x_j -= L_ij x_i for the ancestors j of i."""
    row, a, j = row_start[i], x[i], dof_parent[i]
    while j >= 0:
        x[j] -= L[row + dof_depth[j]] * a
        j = dof_parent[j]


def spread_line(dof_parent, dof_depth, row_start, L, x, i):
    """`spread` for i to i - 3 of a line: first among each other, then together to all other ancestors."""
    row_1, row_2, row_3, row_4 = row_start[i], row_start[i - 1], row_start[i - 2], row_start[i - 3]
    e, a = dof_depth[i - 3], x[i]
    b = x[i - 1] - L[row_1 + e + 2] * a
    c = x[i - 2] - L[row_1 + e + 1] * a - L[row_2 + e + 1] * b
    d = x[i - 3] - L[row_1 + e] * a - L[row_2 + e] * b - L[row_3 + e] * c
    x[i - 1], x[i - 2], x[i - 3] = b, c, d
    j = dof_parent[i - 3]
    while j >= 0:
        e = dof_depth[j]
        x[j] = x[j] - L[row_1 + e] * a - L[row_2 + e] * b - L[row_3 + e] * c - L[row_4 + e] * d
        j = dof_parent[j]


def solve_lower_transposed(dof_parent, dof_depth, row_start, L, x):
    """x <- L'^-1 x, in place."""
    i = dof_parent.size - 1
    while i >= 0:
        if ends_line(dof_parent, i):
            spread_line(dof_parent, dof_depth, row_start, L, x, i)
            i -= 4
        else:
            spread(dof_parent, dof_depth, row_start, L, x, i)
            i -= 1


def solve_diagonal(dof_depth, row_start, L, x):
    """x <- D^-1 x, in place."""
    for i in range(dof_depth.size):
        x[i] = x[i] / L[row_start[i] + dof_depth[i]]


def solve(dof_parent, dof_depth, row_start, L, x):
    """x <- H^-1 x = L^-1 D^-1 L'^-1 x, in place (F05, appendix)."""
    solve_lower_transposed(dof_parent, dof_depth, row_start, L, x)
    solve_diagonal(dof_depth, row_start, L, x)
    solve_lower(dof_parent, dof_depth, row_start, L, x)


def subtract_row(row, other, a, size):
    """row -= a other, for the first `size` elements of two rows."""
    for c in vectorized(range(size)):
        row[c] -= a * other[c]


def subtract_four_rows(dof_parent, dof_depth, L, row, X, j):
    """row -= L_ij times row j of X, for j and its next three ancestors together; return the ancestor after them.

    L: row i of the packed factor.
    """
    second = dof_parent[j]
    third = dof_parent[second]
    fourth = dof_parent[third]
    a, b, c, d = L[dof_depth[j]], L[dof_depth[second]], L[dof_depth[third]], L[dof_depth[fourth]]
    row_1, row_2, row_3, row_4 = X[j], X[second], X[third], X[fourth]
    for e in vectorized(range(row.size)):
        row[e] = row[e] - row_1[e] * a - row_2[e] * b - row_3[e] * c - row_4[e] * d
    return dof_parent[fourth]


def invert(dof_parent, dof_depth, row_start, L, X):
    """X = H^-1, row by row from the root: L H^-1 = D^-1 L'^-1 is upper triangular, with the diagonal D^-1."""
    for i in range(dof_parent.size):
        start = row_start[i]
        if in_vectors():
            row_of_inverse(dof_parent, dof_depth, L[start:], X, i)
        else:
            row_on_lanes(dof_parent, dof_depth, L[start:], X, i)
        pivot, j = 1 / L[start + dof_depth[i]], dof_parent[i]
        while j >= 0:
            pivot -= L[start + dof_depth[j]] * X[i, j]
            j = dof_parent[j]
        X[i, i] = pivot
        for c in range(i):
            X[c, i] = X[i, c]


def row_of_inverse(dof_parent, dof_depth, L, X, i):
    """Write row i of the inverse before its diagonal, four ancestors at a time; L: row i of the packed factor."""
    row, j = X[i, :i], dof_parent[i]
    for c in range(i):
        row[c] = 0.0
    while j >= 0 and dof_depth[j] >= 3:
        j = subtract_four_rows(dof_parent, dof_depth, L, row, X, j)
    while j >= 0:
        subtract_row(row, X[j], L[dof_depth[j]], i)
        j = dof_parent[j]


@one_block
def row_on_lanes(dof_parent, dof_depth, L, X, i):
    """`row_of_inverse`, number by number."""
    for c in range(i):
        a, j = 0.0, dof_parent[i]
        while j >= 0:
            a -= L[dof_depth[j]] * X[j, c]
            j = dof_parent[j]
        X[i, c] = a


# on a matrix, of which rows play the part of a vector's elements


def solve_lower_matrix(dof_parent, dof_depth, row_start, L, X):
    """X <- L^-1 X, in place."""
    for i in range(dof_parent.size):
        j = dof_parent[i]
        while j >= 0 and dof_depth[j] >= 3:
            j = subtract_four_rows(dof_parent, dof_depth, L[row_start[i] :], X[i], X, j)
        while j >= 0:
            subtract_row(X[i], X[j], L[row_start[i] + dof_depth[j]], X.shape[1])
            j = dof_parent[j]


def spread_row(dof_parent, dof_depth, row_start, L, X, i, first):
    """X_j -= L_ij X_i for the ancestors j of i that are not before `first`, rows of a matrix."""
    j = dof_parent[i]
    while j >= first:
        subtract_row(X[j], X[i], L[row_start[i] + dof_depth[j]], X.shape[1])
        j = dof_parent[j]


def spread_line_of_rows(dof_parent, dof_depth, row_start, L, X, i):
    """`spread_line` for rows i to i - 3 of a matrix."""
    for k in range(i, i - 3, -1):
        spread_row(dof_parent, dof_depth, row_start, L, X, k, i - 3)
    start_1, start_2, start_3, start_4 = row_start[i], row_start[i - 1], row_start[i - 2], row_start[i - 3]
    row_1, row_2, row_3, row_4 = X[i], X[i - 1], X[i - 2], X[i - 3]
    j = dof_parent[i - 3]
    while j >= 0:
        e = dof_depth[j]
        a, b, c, d = L[start_1 + e], L[start_2 + e], L[start_3 + e], L[start_4 + e]
        row = X[j]
        for k in vectorized(range(row.size)):
            row[k] = row[k] - row_1[k] * a - row_2[k] * b - row_3[k] * c - row_4[k] * d
        j = dof_parent[j]


def solve_lower_transposed_matrix(dof_parent, dof_depth, row_start, L, X):
    """X <- L'^-1 X, in place."""
    i = dof_parent.size - 1
    while i >= 0:
        if ends_line(dof_parent, i):
            spread_line_of_rows(dof_parent, dof_depth, row_start, L, X, i)
            i -= 4
        else:
            spread_row(dof_parent, dof_depth, row_start, L, X, i, 0)
            i -= 1


def solve_matrix(dof_parent, dof_depth, row_start, L, X):
    """X <- H^-1 X, in place."""
    solve_lower_transposed_matrix(dof_parent, dof_depth, row_start, L, X)
    for i in range(dof_parent.size):
        inverse = 1 / L[row_start[i] + dof_depth[i]]
        for c in range(X.shape[1]):
            X[i, c] *= inverse
    solve_lower_matrix(dof_parent, dof_depth, row_start, L, X)
