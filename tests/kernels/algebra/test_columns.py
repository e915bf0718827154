"""Forces in columns: whole vectors give the bits of single forces."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engine.frontend.support import agree
from treesim.kernels.algebra.columns import columns_to_parent, start_columns
from treesim.kernels.algebra.linear import Matrix, Vector
from treesim.kernels.algebra.rotations import Transform
from treesim.kernels.entries.annotations import Integer, Reals

COLUMNS = 24


def to_parent(kind: Integer, count: Integer, x: Reals, forces: Reals, found: Reals) -> int:
    """The first `count` forces of six numbers, transformed in columns."""
    F = np.empty((6, COLUMNS), x.dtype)
    start_columns(F, count)
    for c in range(count):
        for r in range(6):
            F[r, c] = forces[6 * c + r]
    X = Transform(kind, Matrix(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8]), Vector(x[9], x[10], x[11]))
    columns_to_parent(X, F, count)
    for c in range(count):
        for r in range(6):
            found[6 * c + r] = F[r, c]
    return 0


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 16, 24])
@pytest.mark.parametrize("kind", range(4))
def test_columns_are_transformed_as_single_forces(kind, count):
    random = np.random.default_rng(count)
    agree(to_parent, kind, count, random.normal(size=12), random.normal(size=6 * COLUMNS), np.zeros(6 * COLUMNS))
