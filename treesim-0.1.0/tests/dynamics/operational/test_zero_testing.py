"""Products that test every element against zero: beside dense ones and those along paths (F10 Figures 5, 6 and 7)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treesim
from tests import trees
from treesim.dynamics.operational import zero_testing
from treesim.engine.interpreter import Tally
from treesim.errors import ArgumentError, NonFiniteError
from treesim.kernels.published import zero_testing as kernels

EPS = np.finfo(float).eps


def jacobian(robot, seed):
    """A Jacobian of two frames, and vectors for products with it and its transpose."""
    rng = np.random.default_rng(seed)
    frames = [robot.body_names[-1], robot.body_names[robot.n_bodies // 2]]
    J = treesim.sparse_jacobian(robot, robot.random(rng), frames)
    return J, rng.normal(size=(robot.nv, 2)), rng.normal(size=(12, 2))


@pytest.mark.paper("F10 Figure 7")
@pytest.mark.nojit
@given(trees.random_trees(), st.integers(0, 1000))
def test_products_are_those_along_paths_and_the_dense_ones(robot, seed):
    J, x, y = jacobian(robot, seed)
    A = J.dense()
    for product, sparse, dense, size in (
        (zero_testing.multiply(A, x), J.multiply(x), A @ x, np.abs(A) @ np.abs(x)),
        (zero_testing.multiply_transposed(A, y), J.multiply_transposed(y), A.T @ y, np.abs(A.T) @ np.abs(y)),
    ):
        rounding = max(A.shape) * EPS * size
        assert (np.abs(product - sparse) <= rounding).all() and (np.abs(product - dense) <= rounding).all()
    assert np.array_equal(zero_testing.multiply(A, x[:, 0]), zero_testing.multiply(A, x)[:, 0])


class Element(float):
    """A number that tells when it is read."""

    read = 0

    def __ne__(self, other):
        Element.read += 1
        return float(self) != other

    __hash__ = float.__hash__


@pytest.mark.paper("F10 Figure 7", "F10 section 8, testing for zero")
@pytest.mark.parametrize(("name", "size"), [("product", 40), ("transposed_product", 24)])
def test_every_element_is_tested_and_only_those_that_are_not_zero_are_used(name, size):
    """Of the 960 elements of ASIMO's Jacobian 312 lie on paths. Some of these are zero too, as the base's translation
    turns nothing."""
    asimo = pytest.importorskip("treesim_lab.cost.paper_trees").asimo
    robot = trees.tree("asimo")
    frames = [robot.body_names[body - 1] for body in asimo().hands + asimo().feet]
    dense = treesim.sparse_jacobian(robot, robot.random(0), frames).dense()
    nonzero = np.count_nonzero(dense)
    assert 312 - 4 * 9 >= nonzero > 200
    tally, out = Tally(), np.empty(64 - size, dtype=object)
    counted = np.array([tally.variable(x) if x else tally.number(0.0) for x in dense.flat], dtype=object)
    getattr(kernels, name)(counted.reshape(dense.shape), tally.variables(np.ones(size)), out)
    assert tally.operations["mul"] == nonzero
    Element.read = 0
    elements = np.array([Element(x) for x in dense.flat], dtype=object).reshape(dense.shape)
    getattr(kernels, name)(elements, np.ones(size), np.empty(64 - size, dtype=object))
    assert Element.read == dense.size == 960


def test_what_cannot_be_multiplied_is_refused():
    A = np.eye(2, 3)
    for multiply, size in ((zero_testing.multiply, 3), (zero_testing.multiply_transposed, 2)):
        with pytest.raises(ArgumentError, match=f"x has shape.*{size}"):
            multiply(A, np.zeros(4))
        with pytest.raises(NonFiniteError, match="x"):
            multiply(A, np.full(size, np.nan))
        with pytest.raises(NonFiniteError, match="A"):
            multiply(A + np.inf, np.zeros(size))
        with pytest.raises(ArgumentError, match="A must be one"):
            multiply(np.zeros(3), np.zeros(3))
        with pytest.raises(NonFiniteError, match="product"):
            multiply(np.full((2, 3), 1e300), np.full(size, 1e300))
        assert multiply(A, np.zeros((size, 0))).shape == (5 - size, 0)


def test_matrices_without_rows():
    assert zero_testing.multiply(np.zeros((0, 3)), np.ones(3)).shape == (0,)
    assert zero_testing.multiply_transposed(np.zeros((0, 3)), np.ones(0)).tolist() == [0, 0, 0]
