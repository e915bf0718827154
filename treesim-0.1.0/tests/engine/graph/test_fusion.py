"""Products that are fused with sums: which, by hand, and that what is computed stays what it was."""

import numpy as np
import pytest

from tests.engine.expressions import of_expression
from treesim.engine.graph.fusion import fuse, fusions
from treesim.engine.primitives import FMA, FMS, FNMA, PRIMITIVES

pytestmark = pytest.mark.nojit


def kinds(function, inputs):
    """The operations of a trace behind the pass."""
    traced = of_expression(function, inputs)
    fuse(traced)
    return [PRIMITIVES[traced.graph.operation[k]].name for k in traced.graph.needed(traced.results)]


@pytest.mark.parametrize("function, kind, exact", [
    (lambda a, b, c: [a * b + c], FMA, 2 * 3 + 5), (lambda a, b, c: [c + a * b], FMA, 2 * 3 + 5),
    (lambda a, b, c: [a * b - c], FMS, 2 * 3 - 5), (lambda a, b, c: [c - a * b], FNMA, 5 - 2 * 3),
])  # fmt: skip
def test_sums_and_differences(function, kind, exact):
    traced = of_expression(function, 3)
    fuse(traced)
    [node] = traced.graph.needed(traced.results)
    assert traced.graph.operation[node] == kind
    numbers = np.array([2.0, 3.0, 5.0])[[traced.graph.first[k] for k in traced.graph.operands(node)]]
    assert PRIMITIVES[kind].python(*numbers) == exact


def test_the_later_of_two_products_is_fused_and_one_that_is_used_again_is_not():
    assert kinds(lambda a, b, c, d: [a * b + c * d], 4) == ["mul", "fma"]
    traced = of_expression(lambda a, b, c, d: [a * b - c * d], 4)
    [product] = fusions(traced).values()
    assert traced.graph.operands(product) == (2, 3)
    assert kinds(lambda a, b, c: [a * b + c, a * b], 3) == ["mul", "add"]
    assert kinds(lambda a, b: [a * b + a * b], 2) == ["mul", "add"]


def test_products_of_another_iteration_are_left_alone():
    traced = of_expression(lambda a, b, c: [a * b + c], 3)
    assert len(fusions(traced)) == 1
    assert fusions(traced, [traced.results[0]]) == {}
    assert len(fusions(traced, [0, traced.results[0] - 1])) == 1
