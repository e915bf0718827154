"""Operations on rows that are non-zero only along paths of the tree, such as a Jacobian's (F10, sections 5 and 8).

Row r has entries for last[r], the last degree of freedom that moves it, and for its ancestors. They are packed by
ancestor depth, root first: Y[r, depth]. The names and the costs are those of F10 Table 1, d_r entries in row r.
"""


def common_depth(dof_parent, dof_depth, p, q):
    """Return d_pq, the number of degrees of freedom that the paths to p and q have in common (F10 Table 1)."""
    while p != q:
        if p > q:
            p = dof_parent[p]
        else:
            q = dof_parent[q]
    return dof_depth[p] + 1 if p >= 0 else 0


def product(dof_parent, dof_depth, last, J, x, y):
    """y <- J x. Cost Σ d_r mul + (d_r - 1) add."""
    for r in range(last.size):
        total = x[0] * 0
        k = last[r]
        while k >= 0:
            total += J[r, dof_depth[k]] * x[k]
            k = dof_parent[k]
        y[r] = total


def add_transposed_product(dof_parent, dof_depth, last, J, x, y):
    """y <- y + J' x. Cost Σ d_r (mul + add)."""
    for r in range(last.size):
        k = last[r]
        while k >= 0:
            y[k] += J[r, dof_depth[k]] * x[r]
            k = dof_parent[k]


def add_transposed_products(dof_parent, dof_depth, last, J, A, out, path):
    """out <- out + J' A for a matrix A; path: memory for n integers. Cost Σ d_r (mul + add) for each column of A.

    Consecutive rows of J on one path are processed together.
    """
    fours = A.shape[1] - A.shape[1] % 4
    r = 0
    while r < last.size:
        end = end_of_path(last, r)
        for e in range(list_path(dof_parent, dof_depth, last[r], path)):
            k = path[e]
            for j in range(0, fours, 4):
                a, b, c, d = out[k, j], out[k, j + 1], out[k, j + 2], out[k, j + 3]
                for s in range(r, end):
                    x = J[s, e]
                    a, b, c, d = a + x * A[s, j], b + x * A[s, j + 1], c + x * A[s, j + 2], d + x * A[s, j + 3]
                out[k, j], out[k, j + 1], out[k, j + 2], out[k, j + 3] = a, b, c, d
            for j in range(fours, A.shape[1]):
                for s in range(r, end):
                    out[k, j] += J[s, e] * A[s, j]
        r = end


def divide_ltl(dof_parent, dof_depth, row_start, L, last, Y, Z):
    """Y, Z <- J L^-1 for Y = J, by H = L' L. Cost Σ d_r div + d_r (d_r - 1) / 2 (mul + add)."""
    for r in range(last.size):
        k = last[r]
        while k >= 0:
            depth, start = dof_depth[k], row_start[k]
            Z[r, depth] = Y[r, depth] = Y[r, depth] / L[start + depth]
            for e in range(depth):
                Y[r, e] -= Y[r, depth] * L[start + e]
            k = dof_parent[k]


def divide_ltdl(dof_parent, dof_depth, row_start, L, last, Y, Z):
    """Y <- Y_d = J L^-1 for Y = J, and Z <- Y_D = Y_d D^-1, by H = L' D L. Cost as `divide_ltl`."""
    for r in range(last.size):
        k = last[r]
        while k >= 0:
            depth, start = dof_depth[k], row_start[k]
            for e in range(depth):
                Y[r, e] -= Y[r, depth] * L[start + e]
            Z[r, depth] = Y[r, depth] / L[start + depth]
            k = dof_parent[k]


def multiply_rows(dof_parent, dof_depth, last, Y, Z, out):
    """out = Y Z' over common entries of two rows: Y Y' or Y_D Y_d', symmetric. Cost: Σ d_rs mul + (d_rs - 1) add."""
    shared = 0
    for r in range(last.size):
        for s in range(r + 1):
            if s == 0 or last[s] != last[s - 1]:  # the same for all rows of one frame
                shared = common_depth(dof_parent, dof_depth, last[r], last[s])
            out[r, s] = out[s, r] = 0
            if shared > 0:
                total = Y[r, 0] * Z[s, 0]
                for e in range(1, shared):
                    total += Y[r, e] * Z[s, e]
                out[r, s] = out[s, r] = total


def scatter_transposed(dof_parent, dof_depth, last, J, X):
    """X <- J' as a dense matrix."""
    X[:] = 0
    for r in range(last.size):
        k = last[r]
        while k >= 0:
            X[k, r] = J[r, dof_depth[k]]
            k = dof_parent[k]


def end_of_path(last, r):
    """Return the end of the sequence of rows from r on that have the same path."""
    end = r + 1
    while end < last.size and last[end] == last[r]:
        end += 1
    return end


def four_sums(x, J, first, end, e):
    """Return the sums of x_s J_s for the rows from `first` to `end`, in columns e to e + 3."""
    a = b = c = d = x[0] * 0
    for s in range(first, end):
        a, b, c, d = a + x[s] * J[s, e], b + x[s] * J[s, e + 1], c + x[s] * J[s, e + 2], d + x[s] * J[s, e + 3]
    return a, b, c, d


def one_sum(x, J, first, end, e):
    """Return the sum of x_s J_s for the rows from `first` to `end`, in column e."""
    total = x[0] * 0
    for s in range(first, end):
        total += x[s] * J[s, e]
    return total


def list_path(dof_parent, dof_depth, k, path):
    """path[e] <- the ancestor of depth e of degree of freedom k, itself included; return their number."""
    count = dof_depth[k] + 1 if k >= 0 else 0
    while k >= 0:
        path[dof_depth[k]] = k
        k = dof_parent[k]
    return count


def null_space(dof_parent, dof_depth, last, J, jbar, N, path):
    """N <- 1 - Jbar J (F10 eq. 10), for N initialized with zeros; path: memory for n integers.

    Consecutive rows of J on one path are processed together. Cost n add + n Σ d_r (mul + add).
    """
    r = 0
    while r < last.size:
        end = end_of_path(last, r)
        count = list_path(dof_parent, dof_depth, last[r], path)
        fours = count - count % 4
        for i in range(jbar.shape[0]):
            for e in range(0, fours, 4):
                a, b, c, d = four_sums(jbar[i], J, r, end, e)
                N[i, path[e]] -= a
                N[i, path[e + 1]] -= b
                N[i, path[e + 2]] -= c
                N[i, path[e + 3]] -= d
            for e in range(fours, count):
                N[i, path[e]] -= one_sum(jbar[i], J, r, end, e)
        r = end
    for i in range(jbar.shape[0]):
        N[i, i] = 1 + N[i, i]
