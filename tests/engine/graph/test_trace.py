"""Traces: what a kernel's text computes for one robot, folded, shared, and without what nothing needs."""

import math
from collections import Counter

import numpy as np
import pytest

import treesim
from tests import sensitivity, trees
from treesim.engine.graph.blocks import TableGraph
from treesim.engine.graph.derivatives import reverse
from treesim.engine.graph.expressions import ON_NUMBERS, Expression, are_inputs
from treesim.engine.graph.graph import Graph, TooLongError
from treesim.engine.graph.trace import Functions, Traced, trace
from treesim.engine.primitives import (
    ADD,
    COS,
    DIV,
    INPUT,
    MUL,
    NEG,
    PRIMITIVES,
    SIN,
    SQRT,
    SUB,
)
from treesim.kernels.dynamics.aba import forward_dynamics_states
from treesim.kernels.dynamics.crba import mass_matrix_full_states, mass_matrix_packed_states
from treesim.kernels.dynamics.rnea import inverse_dynamics_states
from treesim.kernels.published.conjugate_gradient import forward_dynamics_plain_states

pytestmark = pytest.mark.nojit
FUNCTIONS = {
    ADD: np.add, SUB: np.subtract, MUL: np.multiply, DIV: np.divide,
    NEG: np.negative, SQRT: np.sqrt, SIN: np.sin, COS: np.cos,
}  # fmt: skip


def values(traced, inputs):
    """Results of a trace, node by node in numpy."""
    graph = traced.graph
    found = {}

    def value(node):
        if node in found:
            return found[node]
        return inputs[graph.first[node]] if graph.operation[node] == INPUT else graph.values[graph.first[node]]

    for node in graph.needed(traced.results):
        f = FUNCTIONS[graph.operation[node]]
        pair = (value(graph.first[node]), value(graph.second[node]))
        found[node] = f(*pair[: f.nin])
    return np.array([value(node) for node in traced.results])


@pytest.mark.parametrize("name", trees.CATALOGUE)
def test_a_trace_computes_what_the_function_computes(name):
    robot = trees.tree(name)
    q, v, a, tau, _ = trees.random_state(robot)
    constants, n = (robot.ints, robot.reals), robot.nv
    forward = trace(forward_dynamics_states, constants, (robot.nq, n, n, 0), (n,))
    expected = treesim.forward_dynamics(robot, q, v, tau)
    bound = 2 * sensitivity.of_forward_dynamics(robot, q, v, tau, expected)  # both err
    assert sensitivity.farthest(values(forward, np.concatenate([q, v, tau])), expected) < bound
    inverse = trace(inverse_dynamics_states, constants, (robot.nq, n, n, 0), (n,))
    expected = treesim.inverse_dynamics(robot, q, v, a)
    bound = 2 * sensitivity.of_inverse_dynamics(robot, q, v, a, expected)
    assert sensitivity.farthest(values(inverse, np.concatenate([q, v, a])), expected) < bound
    matrix = trace(mass_matrix_full_states, constants, (robot.nq,), (n * n,))
    assert trees.relative_error(values(matrix, q).reshape(n, n), treesim.mass_matrix(robot, q)) < 1e-14
    packed = trace(mass_matrix_packed_states, constants, (robot.nq,), (robot.nnz,))
    assert trees.relative_error(values(packed, q), treesim.mass_matrix(robot, q, packed=True)) < 1e-14


def numbers(count):
    graph = Graph()
    return graph, [Traced(graph, graph.node(INPUT, k)) for k in range(count)]


def operations(graph, *results):
    return Counter(graph.operation[k] for k in graph.needed([x.node for x in results]))


def test_constants_are_folded_and_signs_swallowed():
    graph, (x, y) = numbers(2)
    assert (x * 0 + 1 * y - 0).node == y.node
    assert (2 - x * 0).value == 2
    negative = -x
    assert (-negative).node == x.node
    assert operations(graph, x + (-y) * 3) == {MUL: 1, SUB: 1}
    assert operations(graph, -(x - y)) == {SUB: 1}
    assert operations(graph, -(-x - y)) == {ADD: 1}
    assert (x - x).value == 0 and (x + (-x)).value == 0 and ((-x) + x).value == 0
    assert (0 / x).value == 0
    assert operations(graph, x / 4.0) == {MUL: 1}


@pytest.mark.parametrize("name", ["arm", "humanoid"])
def test_an_appended_expression_has_the_operations_of_its_function_called_again(name):
    robot = treesim.load({"arm": "ur5", "humanoid": "g1"}[name], base="auto")
    sizes = (robot.nq, robot.nv, robot.nv)
    forward = Expression(sizes, lambda q, v, tau: treesim.forward_dynamics(robot, q, v, tau))
    for expression in (forward, reverse(forward)):
        found = []
        for quick in (True, False):
            graph = Graph()
            inputs = [Traced(graph, graph.node(INPUT, k)) for k in range(sum(expression.sizes))]
            assert are_inputs(inputs) and not are_inputs([*inputs, inputs[0]])
            known = expression.numbers(inputs if quick else [*inputs, inputs[0]], ON_NUMBERS)
            nodes = [known[node].node for node in expression.order]
            names = {node: str(k) for k, node in enumerate(nodes)}
            names |= {x: value.hex() for value in graph.values for x in [graph.constant(value)]}
            operands = [[str(names.get(y, graph.first[y])) for y in graph.operands(x)] for x in nodes]
            commutes = [PRIMITIVES[graph.operation[x]].commutes for x in nodes]
            found.append([sorted(x) if swaps else x for x, swaps in zip(operands, commutes, strict=True)])
            found[-1] += [graph.operation[x] for x in nodes]
            assert nodes == sorted(set(nodes))
        assert found[0] == found[1]


def test_functions_of_constants_are_folded():
    graph, (x,) = numbers(1)
    two = x.constant(2.0)
    assert [(f(two)).value for f in (Functions.sin, Functions.sqrt, Functions.exp)] == [
        math.sin(2.0), math.sqrt(2.0), math.exp(2.0)
    ]  # fmt: skip
    assert Functions.maximum(two, 3.0).value == 3 and Functions.less(two, 3.0).value == 1
    assert operations(graph, x / Functions.sqrt(two)) == {MUL: 1}
    assert Functions.sqrt(-two).value is None and Functions.exp(1000 * two).value is None  # left to the processor


def test_equal_expressions_are_one():
    graph, (x, y) = numbers(2)
    assert (x * y).node == (y * x).node
    assert (x + y).node == (y + x).node
    assert (x - y).node != (y - x).node
    unused = x / y
    assert operations(graph, x * y + y * x) == {MUL: 1, ADD: 1}
    assert operations(graph, unused) == {DIV: 1}


@pytest.mark.parametrize("question", [lambda x: not x > 0, lambda x: x == 1.0, bool, float, int, lambda x: min(x, 1)])
def test_a_course_that_depends_on_values_cannot_be_traced(question):
    _, (x,) = numbers(1)
    with pytest.raises(treesim.UnsupportedError, match="values of its inputs"):
        question(x)


def test_what_cannot_be_traced_says_so():
    robot = trees.tree("random_c")
    with pytest.raises(treesim.UnsupportedError, match="cannot be traced"):
        sizes = (robot.nq, robot.nv, robot.nv, 0)
        trace(forward_dynamics_plain_states, (robot.ints, robot.reals), sizes, (robot.nv,))
    with pytest.raises(treesim.UnsupportedError, match="sizes"):
        trace(mass_matrix_full_states, (robot.ints, robot.reals), (robot.nq + 1,), (robot.nv**2,))


def test_folding_saves_operations_of_real_robots():
    robot = treesim.load("simple_humanoid", base="floating")
    n = robot.nv
    traced = trace(forward_dynamics_states, (robot.ints, robot.reals), (robot.nq, n, n, 0), (n,))
    count = Counter(traced.graph.operation[k] for k in traced.graph.needed(traced.results))
    assert count[SIN] == count[COS] == robot.n_bodies - 1
    assert count[MUL] < 5400  # what the text does when only products with 0 and 1 are left out
    assert count[ADD] + count[SUB] < 4149


@pytest.mark.parametrize(("graph", "longest"), [(Graph, 150_000), (TableGraph, 600_000)])
def test_a_trace_has_so_many_operations_at_most(graph, longest):
    long = graph()
    long.operation = [0] * (longest - 1)
    long.node(ADD, 0, 1)
    with pytest.raises(TooLongError, match=f"takes more than {longest} operations"):
        long.node(ADD, 0, 2)
