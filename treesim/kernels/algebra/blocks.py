"""Small dense blocks as (n, m) arrays: symmetric factors L D L', solves, products, and transforms.

Sizes are arguments, so that compilers can unroll code for blocks of six. Factors are stored in the lower triangle, with
the reciprocals of the pivots D on the diagonal. There is no square root; constants 0 and 1 of padded blocks cost
nothing.
"""

from .linear import Matrix, Symmetric
from .spatial import ArticulatedInertia, motion_to_child
from .tables import motion_at, put_motion

SIX = 6  # rows of a block of spatial vectors
LEAST_PIVOT = 1e-12  # of an inertia, against its diagonal: less is equal to none, up to rounding
NOTHING = 1e-290  # any inertia is larger


def factorize(A, n):
    """Factorize A = L D L' in place: L in the lower triangle, D^-1 on the diagonal."""
    for k in range(n):
        for j in range(k):  # until now A[k, j] is L_kj D_j
            share = A[k, j] * A[j, j]
            A[k, k] -= share * A[k, j]
            A[k, j] = share
        A[k, k] = 1 / A[k, k]
        for i in range(k + 1, n):
            for j in range(k):
                A[i, k] -= A[i, j] * A[k, j]


def is_definite(A, L, n, least):
    """Return whether every pivot D_k of the factor L of A exceeds `least` times A_kk, and A_kk > 0."""
    sound = True
    for k in range(n):
        if A[k, k] < NOTHING or L[k, k] < 0 or not least * A[k, k] * L[k, k] < 1:
            sound = False
    return sound


def solve(L, n, x):
    """x <- A^-1 x in place, for the factor L of A."""
    for k in range(n):
        for j in range(k):
            x[k] -= L[k, j] * x[j]
    for k in range(n - 1, -1, -1):
        x[k] = x[k] * L[k, k]
        for i in range(k + 1, n):
            x[k] -= L[i, k] * x[i]


def solve_columns(L, n, B, m):
    """B <- A^-1 B in place, for the factor L of A and the m columns of B."""
    for k in range(n):
        for j in range(k):
            for c in range(m):
                B[k, c] -= L[k, j] * B[j, c]
    for k in range(n - 1, -1, -1):
        for c in range(m):
            B[k, c] = B[k, c] * L[k, k]
        for i in range(k + 1, n):
            for c in range(m):
                B[k, c] -= L[i, k] * B[i, c]


def put_zero(B, n, m):
    """B <- 0."""
    for r in range(n):
        for c in range(m):
            B[r, c] = 0


def put_identity(B, n):
    """B <- 1."""
    put_zero(B, n, n)
    for r in range(n):
        B[r, r] = 1


def invert(L, n, B):
    """B <- A^-1, exactly symmetric, for the factor L of A."""
    put_identity(B, n)
    solve_columns(L, n, B, n)
    for r in range(n):
        for c in range(r):
            B[c, r] = B[r, c]


def copy(A, n, m, B):
    """B <- A."""
    for r in range(n):
        for c in range(m):
            B[r, c] = A[r, c]


def copy_vector(x, n, y):
    """y <- x."""
    for k in range(n):
        y[k] = x[k]


def add(A, n, m, B):
    """B <- B + A."""
    for r in range(n):
        for c in range(m):
            B[r, c] += A[r, c]


def apply(A, n, m, x, y):
    """y <- A x."""
    for r in range(n):
        y[r] = A[r, 0] * x[0]
        for c in range(1, m):
            y[r] += A[r, c] * x[c]


def subtract_apply(A, n, m, x, y):
    """y <- y - A x."""
    for r in range(n):
        for c in range(m):
            y[r] -= A[r, c] * x[c]


def subtract_transposed_apply(A, n, m, x, y):
    """y <- y - A' x."""
    for c in range(m):
        for r in range(n):
            y[c] -= A[r, c] * x[r]


def subtract_product(A, B, n, k, m, C):
    """C <- C - A B, A (n, k), B (k, m)."""
    for r in range(n):
        for j in range(k):
            for c in range(m):
                C[r, c] -= A[r, j] * B[j, c]


def subtract_transposed_product(A, B, n, k, m, C):
    """C <- C - A' B, A (k, n), B (k, m)."""
    for r in range(n):
        for j in range(k):
            for c in range(m):
                C[r, c] -= A[j, r] * B[j, c]


def add_transposed_product(A, B, n, k, m, C):
    """C <- C + A' B, A (k, n), B (k, m)."""
    for r in range(n):
        for j in range(k):
            for c in range(m):
                C[r, c] += A[j, r] * B[j, c]


def put_articulated_block(B, inertia):
    """B <- [I H; H' M], the 6x6 matrix of an articulated-body inertia."""
    S, H, M = inertia.I, inertia.H, inertia.M
    B[0, 0], B[1, 1], B[2, 2], B[3, 3], B[4, 4], B[5, 5] = S.xx, S.yy, S.zz, M.xx, M.yy, M.zz
    B[0, 1], B[0, 2], B[1, 2], B[3, 4], B[3, 5], B[4, 5] = S.xy, S.xz, S.yz, M.xy, M.xz, M.yz
    B[0, 3], B[0, 4], B[0, 5] = H.xx, H.xy, H.xz
    B[1, 3], B[1, 4], B[1, 5] = H.yx, H.yy, H.yz
    B[2, 3], B[2, 4], B[2, 5] = H.zx, H.zy, H.zz
    for r in range(1, 6):
        for c in range(r):
            B[r, c] = B[c, r]


def factor_inertia(inertia, block, factor):
    """Write an inertia's 6x6 matrix to `block` and its factor to `factor`; return whether it is definite."""
    put_articulated_block(block, inertia)
    copy(block, SIX, SIX, factor)
    factorize(factor, SIX)
    return is_definite(block, factor, SIX, LEAST_PIVOT)


def articulated_of_block(B):
    """Articulated-body inertia of a symmetric 6x6 matrix."""
    return ArticulatedInertia(
        Symmetric(B[0, 0], B[1, 1], B[2, 2], B[0, 1], B[0, 2], B[1, 2]),
        Matrix(B[0, 3], B[0, 4], B[0, 5], B[1, 3], B[1, 4], B[1, 5], B[2, 3], B[2, 4], B[2, 5]),
        Symmetric(B[3, 3], B[4, 4], B[5, 5], B[3, 4], B[3, 5], B[4, 5]),
    )


def transform_rows(X, B):
    """B <- X B for the motions in the columns of B (6, m)."""
    for c in range(B.shape[1]):
        put_motion(B.T, c, motion_to_child(X, motion_at(B.T, c)))


def transform(X, B):
    """B <- X B X' for a 6x6 block B that maps forces to motions, from the parent's to the child's coordinates."""
    transform_rows(X, B)
    transform_rows(X, B.T)


def add_apply(A, n, m, x, y):
    """y <- y + A x."""
    for r in range(n):
        for c in range(m):
            y[r] += A[r, c] * x[c]


def product(A, B, n, k, m, C):
    """C <- A B, A (n, k), B (k, m)."""
    for r in range(n):
        for c in range(m):
            C[r, c] = A[r, 0] * B[0, c]
        for j in range(1, k):
            for c in range(m):
                C[r, c] += A[r, j] * B[j, c]


def sum_of_products(x, y):
    """x' y of two arrays."""
    total = x[0] * y[0]
    for k in range(1, x.size):
        total += x[k] * y[k]
    return total
