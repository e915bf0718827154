"""Operations of equal subtrees share vector instructions, and every number is the same to the bit."""

import numpy as np
import pytest

import treesim
from treesim.dynamics.tables import constants_of
from treesim.engine.call import specialized
from treesim.engine.call.generic import runs_compiled
from treesim.engine.graph.graph import Graph
from treesim.engine.graph.trace import Trace, trace
from treesim.engine.graph.twins import equal_subtrees, paired_order, twin_inputs, twins
from treesim.engine.primitives import ADD, INPUT, MUL
from treesim.kernels.algebra.tables import tree_tables
from treesim.kernels.dynamics.aba import forward_dynamics_states

ROBOT = "simple_humanoid"


def case():
    """Entry, constants, shapes of inputs and of results of a humanoid's forward dynamics."""
    robot = treesim.load(ROBOT, base="floating")
    inputs, results = [(robot.nq,), (robot.nv,), (robot.nv,), (0, 6)], [(robot.nv,)]
    return robot, (forward_dynamics_states, constants_of(robot, None), inputs, results)


def test_arms_and_legs_are_equal_subtrees():
    robot, (_, constants, *_) = case()
    names = [(robot.body_names[a[0]], robot.body_names[b[0]]) for a, b in equal_subtrees(tree_tables(*constants))]
    assert len(names) == 2 and all(a[1:] == b[1:] and {a[0], b[0]} == {"L", "R"} for a, b in names)


def test_most_operations_of_a_humanoid_are_pairs():
    _, (entry, constants, inputs, _) = case()
    sizes = [int(np.prod(shape)) for shape in inputs]
    traced = trace(entry, constants, sizes, [sizes[1]])
    pairs = twins(traced, twin_inputs(entry, constants, sizes))
    graph, needed = traced.graph, traced.graph.needed(traced.results)
    assert all(graph.operation[a] == graph.operation[b] for a, b in pairs.items())
    order = paired_order(traced, pairs)
    assert len(order) + len(pairs) == len(needed) and len(pairs) > 0.3 * len(needed)
    seen = set()
    for node in order:
        parts = (node, pairs[node]) if node in pairs else (node,)
        sources = {x for part in parts for x in graph.operands(part)}
        assert all(x in seen for x in sources & {*needed})
        seen |= {*parts}


def test_nodes_that_depend_on_each_other_are_no_pair():
    graph = Graph()
    x, y = graph.node(INPUT, 0), graph.node(INPUT, 1)
    first = graph.node(MUL, x, x)
    between = graph.node(ADD, first, y)
    second = graph.node(MUL, between, between)
    pairs = {first: second}
    assert paired_order(Trace(graph, [second], 2), pairs) == [first, between, second] and not pairs


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_pairs_have_the_bits_of_single_operations(monkeypatch, number):
    robot, given = case()
    rng = np.random.default_rng(0)
    q = robot.neutral()
    q[7:] = rng.normal(size=q.size - 7)
    arrays = [x.astype(number) for x in (q, *rng.normal(size=(2, robot.nv)))]
    paired, alone = np.empty(robot.nv, number), np.empty(robot.nv, number)
    specialized.single_code(*given, number)(*arrays, paired)
    monkeypatch.setattr(specialized, "twin_inputs", lambda *_: [])
    monkeypatch.setattr(specialized, "_functions", type(specialized._functions)())
    monkeypatch.setattr(specialized, "kernel_hash", lambda: "without pairs")
    specialized.single_code(*given, number)(*arrays, alone)
    assert np.array_equal(paired, alone) and np.isfinite(paired).all()
