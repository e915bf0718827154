"""Counting numbers: exact operation counts of the kernels' own text."""

import numpy as np
import pytest

from treesim.engine.interpreter import Tally, run
from treesim.kernels.dynamics import ltdl, ltl
from treesim.kernels.dynamics.rnea import inverse_dynamics_states
from treesim.model import generators

TREES = {
    "chain": generators.chain(12),
    "binary": generators.balanced_binary_tree(4),
    "branches": generators.chain_with_side_branches(5),
    "grid": generators.square_grid(4),
    "humanoid": generators.featherstone_2005_humanoid(),
    "asimo": generators.asimo(),
}


def packed_pattern(topology):
    depth = topology.dof_depth - 1
    start = np.concatenate([[0], np.cumsum(depth + 1)[:-1]])
    return topology.dof_parent - 1, depth, start, int((depth + 1).sum())


def counted_matrix(tally, start, depth, entries):
    values = np.full(entries, 0.01)
    values[start + depth] = 10.0
    return tally.variables(values)


@pytest.mark.parametrize("name", TREES)
def test_ltdl_costs_exactly_what_the_paper_says(name):
    topology = TREES[name].topology
    parent, depth, start, entries = packed_pattern(topology)
    tally = Tally()
    L = counted_matrix(tally, start, depth, entries)
    ltdl.factorize(parent, depth, start, L)
    # D1 scalings, which the kernel does as one reciprocal a pivot and D1 products, and D2 multiply-adds
    assert tally.operations == {"div": topology.n_dofs, "mul": topology.D1 + topology.D2, "add": topology.D2}
    tally.operations.clear()
    ltdl.solve(parent, depth, start, L, tally.variables(np.ones(topology.n_dofs)))
    assert tally.operations == {"div": topology.n_dofs, "mul": 2 * topology.D1, "add": 2 * topology.D1}


@pytest.mark.parametrize("name", TREES)
def test_ltl_costs_exactly_what_the_paper_says(name):
    topology = TREES[name].topology
    n, D1, D2 = topology.n_dofs, topology.D1, topology.D2
    parent, depth, start, entries = packed_pattern(topology)
    tally = Tally()
    L = counted_matrix(tally, start, depth, entries)
    ltl.factorize(parent, depth, start, L)
    assert tally.operations == {"sqrt": n, "div": D1, "mul": D2, "add": D2}
    tally.operations.clear()
    ltl.solve(parent, depth, start, L, tally.variables(np.ones(n)))
    assert tally.operations == {"div": 2 * n, "mul": 2 * D1, "add": 2 * D1}


def test_constants_cost_nothing_and_depth_is_the_longest_chain():
    tally = Tally()
    x, y = tally.variables([2.0, 3.0])
    assert float(tally.number(1.0) * x + tally.number(0.0) * y) == 2.0
    assert tally.operations == {}
    assert float((x * y + x) / y - y) == pytest.approx(8 / 3 - 3)
    assert tally.operations == {"mul": 1, "add": 2, "div": 1}
    assert tally.depth == 4


def test_counts_grow_linearly_along_a_chain():
    counts = []
    for n in (10, 20, 30):
        robot = generators.chain(n)
        tally = Tally()
        state = [tally.variables(np.linspace(0.1, 1.0, robot.nv)) for _ in range(3)]
        run(inverse_dynamics_states, (robot.ints, robot.reals), (*state, np.empty(0)), [(robot.nv,)], tally.number)
        counts.append(tally.operations["mul"])
    assert counts[2] - counts[1] == counts[1] - counts[0] > 0


def test_comparisons_and_signs_look_at_values_and_cost_nothing():
    tally = Tally()
    x, y = tally.variables([2.0, -3.0])
    assert y < x and y <= x and x > y and x >= y and x > 0 and not x <= 0
    assert float(abs(y)) == 3.0 and float(abs(x)) == 2.0
    assert tally.operations == {}
