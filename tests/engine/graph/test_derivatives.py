"""Derivatives of expressions: a rule for each operation, pruning, and derivatives of derivatives."""

import mpmath
import numpy as np
import pytest

from treesim.engine.graph.derivatives import RULES, forward, reverse
from treesim.engine.graph.expressions import Expression
from treesim.engine.primitives import FMA, FMS, FNMA, OPERATIONS, PRIMITIVES
from treesim.kernels.algebra import numbers

FUSED = {FMA, FMS, FNMA}  # which only code has, after differentiation


def test_every_operation_has_a_rule_for_each_operand():
    assert RULES.keys() == {*OPERATIONS} - FUSED
    assert {k: len(rules) for k, rules in RULES.items()} == {k: PRIMITIVES[k].arity for k in RULES}


@pytest.mark.parametrize("operation", RULES, ids=lambda k: PRIMITIVES[k].name)
def test_rules_are_difference_quotients_in_40_digits(operation):
    one = PRIMITIVES[operation]
    for x in ([0.7, 1.3, -0.4], [1.9, -0.6, 0.8]):
        x, h = x[: one.arity], mpmath.mpf("1e-15")
        function = Expression([one.arity], lambda x: [one.python(*x)])
        with mpmath.workdps(40):
            for k in range(one.arity):
                ends = ([mpmath.mpf(a) + s * h * (i == k) for i, a in enumerate(x)] for s in (1, -1))
                (up,), (down,) = map(function, ends)
                slope = float((up - down) / (2 * h))
                direction = [float(i == k) for i in range(one.arity)]
                assert abs(forward(function, [True])(x, direction)[1] - slope) < 1e-14
                assert abs(reverse(function)(x, [1.0])[1 + k] - slope) < 1e-14


def test_operations_of_constant_groups_and_zeros_are_pruned():
    def function(x, y):
        for _ in range(50):
            x, y = np.sin(x), np.cos(y)
        return [x[0] + y[0], numbers.less(x[0], y[0]), 3.0]

    primal = Expression([1, 1], function)
    both, first, none = (len(forward(primal, moving).order) for moving in ([1, 1], [1, 0], [0, 0]))
    assert none == len(primal.order) < first < both
    assert first - none == both - first - 1  # without the sum of both
    assert forward(primal, [1, 0])([0.3], [0.4], [1.0])[4:] == [0.0, 0.0]
    only_x = Expression([1, 1], lambda x, y: [np.sin(x[0]), numbers.select(numbers.less(y[0], 0.0), 1.0, 2.0)])
    assert len(reverse(only_x).order) == len(only_x.order) + 2, "cos(x) times the weight"


def test_derivatives_have_derivatives():
    """Hessian-vector product: forward mode of the gradient."""
    function = Expression([2], lambda x: [np.sin(x[0] * x[0]) * np.exp(x[1])])
    product = forward(reverse(function), [True, False])
    t, e, dx = 0.7, np.exp(0.3), np.array([0.4, -0.2])
    s, c = np.sin(t * t), np.cos(t * t)
    hessian = e * np.array([[2 * c - 4 * t * t * s, 2 * t * c], [2 * t * c, s]])
    np.testing.assert_allclose(product([t, 0.3], [1.0], dx)[4:], hessian @ dx, rtol=1e-14)
    assert repr(product) == repr(forward(reverse(function), [True, False])), "names code on disk"


def test_infinite_derivatives_of_choices_not_made_do_not_matter_along_directions():
    function = Expression([1], lambda x: [numbers.select(numbers.less(0.0, x[0]), np.sqrt(x[0]), x[0])])
    expression = forward(function, [True])
    with np.errstate(divide="ignore"):
        found = expression.columns(np.array([[0.0], [4.0]]), np.ones((2, 1)))
    np.testing.assert_array_equal(found[:, 1], [1.0, 0.25])
