"""Forces in the columns of an array (6, n), which are transformed together where loops are vectorized."""

from .linear import Vector
from .numbers import in_vectors
from .rotations import GENERAL, TURN, TURN_CYCLED, TURN_CYCLED_BACK, Transform
from .spatial import Force, force_to_parent

TOGETHER = 8  # columns of a whole vector, or of two on narrower processors; F has a multiple of these


def start_columns(F, count):
    """Write zeros to the vectors of the first `count` columns: what fills the last vector must be numbers, too."""
    if in_vectors():
        for first in range(0, count, TOGETHER):
            clear_vector(F, first)


def clear_vector(F, first):
    """Write zeros to the columns from `first` on that fill a vector."""
    for c in range(first, first + TOGETHER):
        F[0, c], F[1, c], F[2, c], F[3, c], F[4, c], F[5, c] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0


def put_column(F, c, f):
    """Write a force to column c."""
    F[0, c], F[1, c], F[2, c] = f.n.x, f.n.y, f.n.z
    F[3, c], F[4, c], F[5, c] = f.f.x, f.f.y, f.f.z


def column_at(F, c):
    """Force in column c."""
    return Force(Vector(F[0, c], F[1, c], F[2, c]), Vector(F[3, c], F[4, c], F[5, c]))


def columns_to_parent(X, F, count):
    """X' f of each of the first `count` columns, in place; vectors have no remainder and no branch."""
    if in_vectors():
        for first in range(0, count, TOGETHER):
            if X.kind == TURN:
                vector_to_parent(Transform(TURN, X.R, X.p), F, first)
            elif X.kind == TURN_CYCLED:
                vector_to_parent(Transform(TURN_CYCLED, X.R, X.p), F, first)
            elif X.kind == TURN_CYCLED_BACK:
                vector_to_parent(Transform(TURN_CYCLED_BACK, X.R, X.p), F, first)
            else:
                vector_to_parent(Transform(GENERAL, X.R, X.p), F, first)
    else:
        for c in range(count):
            put_column(F, c, force_to_parent(X, column_at(F, c)))


def vector_to_parent(X, F, first):
    """X' f of the columns from `first` on that fill a vector; they are independent, so that the loop vectorizes."""
    for c in range(first, first + TOGETHER):
        put_column(F, c, force_to_parent(X, column_at(F, c)))
