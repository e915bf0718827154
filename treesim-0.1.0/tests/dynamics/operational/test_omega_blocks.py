"""The needed blocks of Omega against Figure 15 of Featherstone 2010, corrected, which looks at all pairs of bodies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import trees
from treesim.dynamics.operational.omega_blocks import required_table
from treesim.kernels.dynamics.rjk import COLUMNS, required_in
from treesim.model import generators as make
from treesim.model.topology import Topology


@st.composite
def parents_and_bodies(draw):
    """Any regular numbering of up to 14 bodies, and tasks on some of them, the base among them, in any order."""
    parent = [draw(st.integers(0, i)) for i in range(draw(st.integers(1, 14)))]
    return parent, draw(st.lists(st.integers(0, len(parent)), max_size=5))


def listed(parent, bodies):
    return required_in(len(bodies), required_table(parent, bodies))


@pytest.mark.paper("F10 Figure 15")
@given(parents_and_bodies())
def test_blocks_are_those_of_figure_15_that_are_not_zero(case):
    parent, bodies = case
    tree, needed = Topology(parent), listed(parent, bodies)
    moved = [body for body in bodies if body]
    featherstone_2010 = pytest.importorskip("treesim_lab.cost.featherstone_2010")
    marked = featherstone_2010.required_blocks(tree, moved)
    together = sorted((i, j) for i, j in marked if tree.nearest_common_ancestor(i, j))
    assert list(zip(needed.i.tolist(), needed.j.tolist(), strict=True)) == together


@given(parents_and_bodies())
def test_every_block_comes_after_the_one_that_figure_14_makes_it_from(case):
    parent, bodies = case
    tree, needed = Topology(parent), listed(parent, bodies)
    number = {(i, j): b for b, (i, j) in enumerate(zip(needed.i.tolist(), needed.j.tolist(), strict=True), start=1)}
    for (i, j), b in number.items():
        stays = i != j and tree.nearest_common_ancestor(i, j) == i
        p, q = i if stays else parent[i - 1], parent[j - 1]
        assert needed.stays[b - 1] == stays and needed.mirrored[b - 1] == (p > q)
        source = number[min(p, q), max(p, q)] if p and q else 0
        assert needed.source[b - 1] == source < b
    for f, p in enumerate(bodies):
        for g, q in enumerate(bodies):
            assert needed.of_pair[f, g] == number.get((min(p, q), max(p, q)), 0)


@pytest.mark.paper("F10 appendix B, order")
@pytest.mark.parametrize("n", [50, 500])
def test_a_chain_needs_as_many_blocks_as_tasks_can_meet_bodies(n):
    assert required_table(range(n), [n]).size == 1 + COLUMNS * n
    middle = n // 2  # its block with the tip needs one more for every body beyond it
    assert required_table(range(n), [n, middle]).size == 4 + COLUMNS * (n + n - middle)


def test_two_deep_branches_need_no_more_than_their_length():
    """Branches of unequal depth, the deeper one numbered first: as many blocks beside the diagonal as it has bodies."""
    n = 40
    parent = [*range(2 * n), 0, *range(2 * n + 1, 3 * n)]  # two chains on the base, of 2 n and n bodies
    assert required_table(parent, [2 * n, 3 * n]).size == 4 + COLUMNS * 3 * n  # apart: nothing off the diagonal
    parent[2 * n] = 1
    assert required_table(parent, [3 * n, 2 * n]).size == 4 + COLUMNS * (3 * n + 2 * n - 1)


def test_asimo_needs_the_blocks_that_its_source_counts():
    robot = make.asimo()
    tree = robot.topology
    hands_and_feet = [body for body in range(1, robot.n_bodies + 1) if tree.dof_depth[tree.last_dof[body] - 1] == 13]
    needed = listed(robot.parent.tolist(), hands_and_feet)
    diagonal = int(np.count_nonzero(needed.i == needed.j))
    assert (diagonal, needed.i.size - diagonal) == (28, 39)  # F10 appendix B, above eq. 40


def test_tables_are_read_only_and_empty_without_tasks():
    table = required_table(trees.tree("tree_1").parent.tolist(), [])
    assert table.size == 0 and not table.flags.writeable
