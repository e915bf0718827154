"""Every operation does the same in Python, in NumPy and in both engines."""

import itertools

import numpy as np
import pytest

import treesim
from treesim.engine.call import specialized
from treesim.engine.call.generic import compiled, runs_compiled
from treesim.engine.graph.graph import Graph
from treesim.engine.graph.trace import Traced
from treesim.engine.primitives import ARITY, COS, PRIMITIVES, SIN
from treesim.kernels.algebra import numbers
from treesim.kernels.entries.entry import made_function

OPERATIONS = [(k, primitive) for k, primitive in enumerate(PRIMITIVES) if primitive.arity]
names = [primitive.name for _, primitive in OPERATIONS]
each = pytest.mark.parametrize(("operation", "primitive"), OPERATIONS, ids=names)
OF_NUMBERS = [primitive for primitive in PRIMITIVES if primitive.python in vars(numbers).values()]
SAMPLES = np.array([-2.5, -1.0, -0.3, 0.7, 1.0, 3.1])


def operands(primitive):
    """All combinations of some numbers, one column for each operand."""
    positive = np.abs(SAMPLES) if primitive.name == "sqrt" else SAMPLES
    return np.array(list(itertools.product(positive, repeat=primitive.arity)))


@each
def test_python_and_numpy_agree(operation, primitive):
    x = operands(primitive)
    one_by_one = [float(primitive.python(*row)) for row in x.tolist()]
    np.testing.assert_allclose(primitive.numpy(*x.T), one_by_one, rtol=1e-15)


def entry_of(operation, primitive):
    """An entry that does the operation once, on numbers that no folding knows."""

    def once(x, y):
        for k in range(x.size // primitive.arity):
            y[k] = primitive.python(*x[k * primitive.arity : (k + 1) * primitive.arity])
        return 0

    once.__qualname__ = once.__name__ = f"once_{primitive.name}"
    return once


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
@each
@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_lanes_agree(operation, primitive, number):
    x = np.ascontiguousarray(operands(primitive), number)
    y = np.empty((len(x), 1), number)
    entry = entry_of(operation, primitive)
    specialized.batch_code(entry, (), [primitive.arity], [1], number == np.float32).run([x, y], len(x))
    eps = np.finfo(number).eps
    np.testing.assert_allclose(y[:, 0], primitive.numpy(*x.T.astype(float)), rtol=2 * eps, atol=2 * eps)
    single = specialized.single_code(entry, (), [(primitive.arity,)], [(1,)], number)
    for row, result in zip(x, y, strict=True):
        alone = np.empty(1, number)
        assert single(row.copy(), alone) == 0
        np.testing.assert_allclose(alone, result, rtol=2 * eps, atol=2 * eps)


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
@pytest.mark.parametrize("primitive", OF_NUMBERS, ids=lambda primitive: primitive.name)
def test_the_generic_engine_agrees(primitive):
    x, row = operands(primitive), ", ".join(f"x[{primitive.arity} * k + {i}]" for i in range(primitive.arity))
    set_one = f"y[k] = {primitive.python.__name__}({row})"
    lines = "def once(x: Reals, y: Reals):", "for k in range(y.size):", f"    {set_one}", "return 0\n"
    kernel = made_function(set_one, "\n    ".join(lines), "once", {**vars(numbers), "__name__": __name__})
    y = np.empty(len(x))
    assert compiled(kernel)(x.ravel(), y) == 0
    np.testing.assert_allclose(y, primitive.numpy(*x.T), rtol=1e-15)


def test_choices_are_folded_where_they_are_known():
    graph = Graph()
    x, y = (Traced(graph, graph.node(0, k)) for k in range(2))
    one = Traced(graph, graph.constant(1.0), 1.0)
    assert numbers.select(one, x, y).node == x.node and numbers.select(0.0 * x, x, y).node == y.node
    assert numbers.select(x, y, y).node == y.node
    assert numbers.select(x, y, 2.0).node == numbers.select(x, y, 2.0).node != numbers.select(x, 2.0, y).node
    assert numbers.select(0.0, 1.0, 2.0) == 2.0 and numbers.select(numbers.less(1, 2), 3, 4) == 3


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
def test_angles_of_points_with_one_known_number_are_compiled():
    x = np.array([[-1.5], [0.5]])
    for function, expected in (
        (lambda x: [numbers.atan2(0.0 * x[0] + 2.0, x[0])], np.arctan2(2.0, x)),
        (lambda x: [numbers.atan2(x[0], 0.0 * x[0] + 2.0)], np.arctan2(x, 2.0)),
    ):
        np.testing.assert_allclose(treesim.BatchFunction(function, [1], engine="specialized")(x), expected, rtol=1e-15)


def test_every_operation_is_counted_or_free():
    kinds = {"add", "mul", "div", "sqrt", "trig", "exp", "compare", ""}
    assert {primitive.cost for primitive in PRIMITIVES} <= kinds
    assert (PRIMITIVES[SIN].name, PRIMITIVES[COS].name, ARITY[SIN]) == ("sin", "cos", 1)
