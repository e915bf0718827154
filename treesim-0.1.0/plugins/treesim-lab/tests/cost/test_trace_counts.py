"""Counts of a trace: operations by kind, critical path; by hand, against the unfolded source, against machine code."""

import pytest
from treesim_lab.cost import counting, specialized_counts
from treesim_lab.cost.trace_counts import depth, fused, operations

import treesim
from tests import trees
from tests.engine.expressions import of_expression
from tests.engine.opcodes import of_chunks
from treesim.engine.graph.trace import trace
from treesim.engine.llvm.lanes import Lanes
from treesim.engine.primitives import SIN
from treesim.kernels.algebra import numbers
from treesim.kernels.dynamics.aba import forward_dynamics_states
from treesim.kernels.dynamics.crba import mass_matrix_full_states
from treesim.kernels.dynamics.rnea import inverse_dynamics_states
from treesim.model import generators
from treesim.plugins import get
from treesim.urdf import load

pytestmark = pytest.mark.nojit


def of_robot(entry, robot):
    sizes = {mass_matrix_full_states: ((robot.nq,), (robot.nv**2,))}
    arguments = sizes.get(entry, ((robot.nq, robot.nv, robot.nv, 0), (robot.nv,)))
    return trace(entry, (robot.ints, robot.reals), *arguments)


def counts(traced):
    return dict(operations(traced)), depth(traced)


def test_known_expressions():
    assert counts(of_expression(lambda a, b, c: [a * b + c], 3)) == ({"mul": 1, "add": 1}, 2)
    assert counts(of_expression(lambda a, b, c: [a + b - c, a * c], 3)) == ({"add": 2, "mul": 1}, 2)
    assert counts(of_expression(lambda a, b: [numbers.sqrt(a * a + b * b) / b], 2)) == (
        {"mul": 2, "add": 1, "sqrt": 1, "div": 1},
        4,
    )
    assert counts(of_expression(lambda a: [numbers.exp(numbers.sin(a)), numbers.cos(a)], 1)) == (
        {"trig": 2, "exp": 1},
        2,
    )
    assert counts(of_expression(lambda a, b: [numbers.maximum(a, numbers.less(a, b))], 2)) == ({"compare": 2}, 2)


def test_what_costs_nothing():
    assert counts(of_expression(lambda a: [a, -a, 1 * a + 0, a.constant(2.0) * 3], 1)) == ({}, 0)
    shared = of_expression(lambda a, b: [a * b, b * a, (a * b) * (b * a)], 2)
    assert counts(shared) == ({"mul": 2}, 2)
    signs = of_expression(lambda a, b: [-(a * b) + (-a)], 2)
    assert counts(signs) == ({"mul": 1, "add": 1}, 2)


def test_a_product_joins_the_sum_that_alone_uses_it():
    def joined(function, inputs):
        return fused(of_expression(function, inputs))

    assert joined(lambda a, b, c: [a * b + c, c - a * b * c], 3) == 1  # a b is used twice, a b c once
    assert joined(lambda a, b, c, d: [a * b + c * d], 4) == 1  # one of the two
    assert joined(lambda a, b, c: [(a * b + c) * a], 3) == 1
    assert joined(lambda a, b, c: [a * b + c, a * b], 3) == 0  # the product is a result too
    assert joined(lambda a, b: [a * b, a + b], 2) == 0


def test_the_critical_path_is_that_of_a_sum_s_shape():
    """Sums of n numbers in sequence, and in pairs."""

    def in_pairs(x):
        return x[0] if len(x) == 1 else in_pairs(x[: len(x) // 2]) + in_pairs(x[len(x) // 2 :])

    assert counts(of_expression(lambda *x: [sum(x[1:], x[0])], 64)) == ({"add": 63}, 63)
    assert counts(of_expression(lambda *x: [in_pairs(x)], 64)) == ({"add": 63}, 6)


def test_a_pendulum_by_hand():
    """A rod of mass m about a horizontal axis, its centre at a distance c: tau = I a - c m (g cos q - c a)."""
    rod = generators.chain(1, axes=(generators.Y,))
    assert counts(of_robot(mass_matrix_full_states, rod)) == ({}, 0)  # a constant
    # cos; g cos, c a, m f, I a, c (m f); two differences. The longest chain: cos, g, - c a, m, c, I a -
    assert counts(of_robot(inverse_dynamics_states, rod)) == ({"trig": 1, "mul": 5, "add": 2}, 6)
    # qdd = D^-1 tau - (c m D^-1) (g cos q), D and c m constant
    assert counts(of_robot(forward_dynamics_states, rod)) == ({"trig": 1, "mul": 3, "add": 1}, 4)


@pytest.mark.parametrize("entry", [forward_dynamics_states, inverse_dynamics_states, mass_matrix_full_states])
def test_machine_code_does_just_these_operations(entry):
    traced = of_robot(entry, load("simple_humanoid", base="floating"))
    found = of_chunks(traced, Lanes(False, 8))
    expected = operations(traced)
    assert found["fadd"] + found["fsub"] == expected["add"] > 0
    assert (found["fmul"], found["fdiv"]) == (expected["mul"], expected["div"])
    graph = traced.graph
    sines = sum(graph.operation[node] == SIN for node in graph.needed(traced.results))
    assert found["sine_and_cosine.v8f64"] >= sines == expected["trig"] / 2


@pytest.mark.parametrize("seed", range(4))
def test_no_more_than_the_text_s_own_operations(seed):
    """Folding and sharing only remove operations: of every kind, and on the critical path."""
    robot = trees.random_tree(seed, 5)
    pairs = [(counting.inertia_matrix(robot), specialized_counts.inertia_matrix(robot)),
             (counting.bias(robot), specialized_counts.bias(robot))]  # fmt: skip
    for name in ("aba", "crba_ltdl", "crba_ltl", "rjk", "innovations", "explicit_inverse"):
        backend = get("dynamics", name)
        pairs.append((counting.forward_dynamics(robot, backend), specialized_counts.forward_dynamics(robot, backend)))
    for name in ("ltdl", "ltl", "pv_osim"):
        method, tip = get("operational", name), robot.body_names[-1:]
        pairs.append((counting.inverse_inertia(robot, method, tip, "world"),
                      specialized_counts.inverse_inertia(robot, method, tip, "world")))  # fmt: skip
    for text, folded in pairs:
        for kind in ("mul", "add", "div", "sqrt", "trig"):
            assert getattr(folded.operations, kind) <= getattr(text.operations, kind), kind
        assert folded.operations.total < text.operations.total
        assert 0 < folded.depth <= text.depth


def test_what_has_no_straight_line_code_has_no_count():
    """Pivoting and iterations depend on the data; the generic engine runs such kernels."""
    robot = generators.chain(6)
    traced = {"aba", "rjk", "crba_ltdl", "crba_ltl", "innovations", "explicit_inverse"}
    for name in treesim.available("dynamics"):
        count = specialized_counts.forward_dynamics(robot, get("dynamics", name))
        assert (count is not None) == (name in traced), name
    assert specialized_counts.inverse_inertia(robot, get("operational", "auto"), ["body_6"], "world") is None
    tasks = [
        specialized_counts.inverse_inertia(robot, get("operational", n), ["body_6"], "world") for n in ("efpa", "rjk")
    ]
    assert tasks[0].depth > 50 < tasks[1].depth
