"""Scratch memory of kernels is what its declaration says."""

import numpy as np

from tests import trees
from treesim.kernels.algebra.tables import tree_tables
from treesim.kernels.entries.scratch import scratch_memory, views_of

ROBOT = trees.tree("random_a")
TREE = tree_tables(ROBOT.ints, ROBOT.reals)
N, NV = ROBOT.n_bodies, ROBOT.nv


def test_arrays_have_the_declared_shapes_and_types():
    made = scratch_memory("X 12, mass", "U 6, D_inv", given="codes", K="2 * codes.size, nv | zeros", at="N | integers")
    memory = made(TREE, np.arange(3), np.empty(1, np.float32))
    assert memory._asdict().keys() == {"X", "mass", "U", "D_inv", "K", "at"}
    assert [x.shape for x in memory] == [(N + 1, 12), (N + 1,), (NV, 6), (NV,), (6, NV), (N,)]
    assert [x.dtype for x in memory] == [np.float32] * 5 + [np.int64]
    assert not memory.K.any()


def test_rows_of_a_body_lie_together_and_share_no_number():
    X, V = scratch_memory("X 12, V 6")(TREE, np.empty(1))
    X[:], V[:] = 1, 2
    assert X.strides == V.strides == (18 * 8, 8) and X.base is V.base
    assert (X == 1).all() and (V == 2).all()


def test_equal_declarations_are_one_function():
    assert scratch_memory("X 12", L="nnz") is scratch_memory("X 12", L="nnz")


def test_views_are_the_parts_of_a_flat_array():
    numbers = np.arange(4 * (N + 1) + 3.0)
    parts = views_of("tree", a="N + 1", block="N + 1, 3", rest="-1")(TREE, numbers)
    assert [x.shape for x in parts] == [(N + 1,), (N + 1, 3), (3,)]
    assert np.array_equal(np.concatenate([x.ravel() for x in parts]), numbers)
    assert views_of("B", table="B", rows="-1, 2")(3, np.arange(7)).rows.tolist() == [[3, 4], [5, 6]]
