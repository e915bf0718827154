"""Derivatives of traces: forward is what results grow by, reverse is its transpose, on functions and on dynamics."""

import numpy as np
import pytest

import treesim
from tests import trees
from treesim.engine.graph.derivatives import forward, reverse
from treesim.engine.graph.expressions import ON_NUMBERS
from treesim.engine.graph.graph import Graph
from treesim.engine.graph.trace import Trace, Traced, trace
from treesim.engine.primitives import CONSTANT, INPUT
from treesim.kernels.algebra import numbers
from treesim.kernels.dynamics.aba import forward_dynamics_states
from treesim.kernels.dynamics.rnea import inverse_dynamics_states
from treesim.kernels.kinematics.configuration import difference_states


def evaluated(graph, nodes, inputs):
    """The values of nodes."""
    known = {}
    for node in (*(k for k, kind in enumerate(graph.operation) if kind in (INPUT, CONSTANT)), *graph.needed(nodes)):
        first, kind = graph.first[node], graph.operation[node]
        if kind in (INPUT, CONSTANT):
            known[node] = (inputs if kind == INPUT else graph.values)[first]
        else:
            known[node] = ON_NUMBERS[kind](*(known[k] for k in graph.operands(node)))
    return np.array([known[node] for node in nodes], dtype=float)


def by_forward_mode(traced, inputs):
    """The Jacobian, column by column."""
    one = Traced(traced.graph, traced.graph.constant(1.0), 1.0)
    columns = [forward(traced, {k: one}) for k in range(traced.inputs)]
    values = evaluated(traced.graph, [x.node for column in columns for x in column], inputs)
    return values.reshape(traced.inputs, -1).T


def by_reverse_mode(traced, inputs):
    """The Jacobian, row by row."""
    one, zero = (Traced(traced.graph, traced.graph.constant(value), value) for value in (1.0, 0.0))
    results = range(len(traced.results))
    rows = [reverse(traced, [one if k == j else zero for k in results]) for j in results]
    return evaluated(traced.graph, [x.node for row in rows for x in row], inputs).reshape(-1, traced.inputs)


def jacobians(traced, inputs):
    """The Jacobian by both modes."""
    return by_forward_mode(traced, inputs), by_reverse_mode(traced, inputs)


def by_differences(function, x, h=1e-6):
    """The Jacobian of a function by central differences."""
    return np.array([(function(x + h * e) - function(x - h * e)) / (2 * h) for e in np.eye(len(x))]).T


def curious(x, y):
    """A bit of everything."""
    y[0] = numbers.sin(x[0] * x[1]) / (2 + numbers.cos(x[2])) - numbers.sqrt(1 + x[0] * x[0])
    y[1] = numbers.exp(-x[1]) * numbers.maximum(x[0], x[2]) + numbers.tanh(x[3]) * numbers.absolute(x[1])
    y[2] = numbers.atan2(x[0], x[1] - x[3]) + numbers.select(numbers.less(x[2], x[3]), x[0] * x[2], x[3] / x[1])
    y[3], y[4] = x[2], 3.0
    return 0


@pytest.mark.parametrize("seed", range(4))
def test_functions(seed):
    x = np.random.default_rng(seed).uniform(-2, 2, 4)

    def values(x):
        y = np.empty(5)
        curious(x, y)
        return y

    by_columns, by_rows = jacobians(trace(curious, (), [4], [5]), x)
    np.testing.assert_allclose(by_columns, by_rows, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(by_columns, by_differences(values, x), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("seed", [0, 1])
def test_inverse_dynamics_grows_with_accelerations_by_the_mass_matrix(seed):
    """d tau / d qdd = M, exactly; and reverse mode is forward mode's transpose, for q, v and qdd."""
    robot = trees.random_tree(seed, 4)
    state = trees.random_state(robot, seed)
    nq, nv = robot.nq, robot.nv
    traced = trace(inverse_dynamics_states, (robot.ints, robot.reals), [nq, nv, nv, 0], [nv])
    x = np.concatenate([state.q, state.v, state.tau])
    by_columns, by_rows = jacobians(traced, x)
    np.testing.assert_allclose(by_columns[:, nq + nv :], treesim.mass_matrix(robot, state.q), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(by_columns, by_rows, rtol=1e-10, atol=1e-9 * np.abs(by_rows).max())


def test_forward_dynamics_grow_as_pinocchio_s():
    pin = pytest.importorskip("pinocchio")
    from tests.pinocchio import oracle
    from tests.pinocchio.robots import path

    robot = treesim.load(path("ur5"))
    model = oracle.from_urdf(robot, path("ur5"), "fixed").model
    n = robot.nv
    q, v, tau = np.random.default_rng(0).uniform(-1, 1, (3, n))
    traced = trace(forward_dynamics_states, (robot.ints, robot.reals), [n, n, n, 0], [n])
    found = by_forward_mode(traced, np.concatenate([q, v, tau]))
    data = model.createData()
    pin.computeABADerivatives(model, data, q, v, tau)
    M_inv = np.triu(data.Minv) + np.triu(data.Minv, 1).T
    expected = np.hstack([data.ddq_dq, data.ddq_dv, M_inv])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_differences_of_configurations_are_traced_and_have_derivatives():
    """By way of the angle of a point; d (q1 - q0) / d q1 is regular."""
    robot = trees.tree("random_a")
    a, b = (trees.random_state(robot, seed).q for seed in (1, 2))
    traced = trace(difference_states, (robot.ints, robot.reals), [robot.nq, robot.nq], [robot.nv])
    x = np.concatenate([a, b])
    np.testing.assert_allclose(
        evaluated(traced.graph, traced.results, x), robot.difference(a, b), rtol=1e-13, atol=1e-13
    )
    by_columns, by_rows = jacobians(traced, x)
    np.testing.assert_allclose(by_columns, by_rows, rtol=1e-10, atol=1e-10)
    assert np.linalg.matrix_rank(by_columns[:, robot.nq :]) == robot.nv


def test_a_derivative_can_be_taken_again():
    graph = Graph()
    x = Traced(graph, graph.node(INPUT, 0))
    first = reverse(Trace(graph, [numbers.sin(x * x).node], 1), [Traced(graph, graph.constant(1.0), 1.0)])[0]
    second = reverse(Trace(graph, [first.node], 1), [Traced(graph, graph.constant(1.0), 1.0)])[0]
    t = 0.7
    expected = 2 * np.cos(t * t) - 4 * t * t * np.sin(t * t)
    assert abs(evaluated(graph, [second.node], [t])[0] - expected) < 1e-14
