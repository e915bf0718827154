"""The formulas against identities, against the trees they count, and against each other."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treesim import Topology
from treesim.cost import featherstone_2005 as f05
from treesim.cost import featherstone_2010 as f10
from treesim.cost.operations import ADD, DIV, MUL, SQRT, Operations
from treesim.cost.paper_trees import asimo, humanoid
from treesim.cost.robot import assumptions
from treesim.model import generators


@st.composite
def topologies(draw):
    n = draw(st.integers(1, 10))
    parent = [draw(st.integers(0, i)) for i in range(n)]
    return Topology(parent, draw(st.lists(st.integers(0, 6), min_size=n, max_size=n)))


def test_operations_are_a_vector():
    cost = 3 * (MUL + ADD) + 2 * DIV + SQRT - ADD
    assert cost == Operations(mul=3, add=2, div=2, sqrt=1)
    assert cost.total == 8
    assert cost.divisions_as_multiplications() == Operations(mul=5, add=2, sqrt=1)
    assert cost.as_dict() == {"mul": 3, "add": 2, "div": 2, "sqrt": 1}
    assert (2 * DIV).as_dict() == {"div": 2}


def test_generated_robots_are_the_papers_trees():
    for robot, tree in (
        (generators.featherstone_2005_humanoid(), humanoid()),
        (generators.asimo(), asimo().tree),
    ):
        assert robot.topology.parent.tolist() == tree.parent.tolist()
        assert robot.topology.dofs.tolist() == tree.dofs.tolist()


@pytest.mark.parametrize("k", range(1, 7))
def test_table_2_formulas_count_the_trees(k):
    for formula, tree in (
        (f05.unbranched_counts, generators.chain),
        (f05.side_branch_counts, generators.chain_with_side_branches),
        (f05.balanced_tree_counts, generators.balanced_binary_tree),
        (f05.square_grid_counts, generators.square_grid),
    ):
        topology = tree(k).topology
        assert formula(k) == (topology.D1, topology.D2)


@given(topologies())
def test_ltl_and_ltdl_differ_by_their_diagonal(tree):
    n = tree.n_dofs
    assert f05.ltl_factorization(tree) == f05.ltdl_factorization(tree) + n * SQRT
    assert f05.ltl_back_substitution(tree) == f05.ltdl_back_substitution(tree) + n * DIV
    assert f05.ltl_product(tree) == f05.ltdl_product(tree) + n * MUL
    assert f05.ltl_triangular_solve(tree) == f05.ltdl_triangular_solve(tree) + n * DIV


@given(topologies())
def test_branch_counts_split_the_whole(tree):
    counts = f05.branch_counts(tree)
    inner = [i for i in range(1, tree.n_bodies + 1) if tree.parent[i - 1]]
    assert counts.D0a + counts.D0b == len(inner)
    assert counts.D1a + counts.D1b == sum(len(tree.subtree(i)) for i in inner)
    assert counts.D0c <= counts.D0a and counts.D1c <= counts.D1a


@given(topologies())
def test_each_parent_has_one_dh_child_with_the_largest_subtree(tree):
    size, dh = f05.subtree_sizes(tree), f05.dh_children(tree)
    for body in range(tree.n_bodies + 1):
        children = tree.children(body)
        chosen = [i for i in children if i in dh]
        largest = max((size[i] for i in children), default=None)
        assert [size[i] for i in chosen] == ([largest] if children else [])


@given(st.integers(1, 12), st.integers(1, 12))
def test_without_branches_sparse_is_dense(n, m):
    tree, dense, b = Topology(range(n)), f10.Dense(n, m), [n] * m
    assert dense.ltdl_factorization() == f05.ltdl_factorization(tree)
    assert dense.jacobian_product() == f10.jacobian_product(tree, b)
    assert dense.triangular_rows() == f10.triangular_rows(tree, b)
    assert dense.gram_product() == f10.gram_product(tree, b)
    assert dense.inverse_inertia() == f10.inverse_inertia(tree, b)
    # the sparse loops accumulate into zeros: one addition more for each element than the dense formulas count
    assert dense.jacobian_transpose_product() + n * ADD == f10.jacobian_transpose_product(tree, b)
    assert dense.weighted_inverse_ltdl() + m * n * ADD == f10.weighted_inverse_ltdl(tree, b)
    assert dense.weighted_inverse_ltl() + m * n * ADD == f10.weighted_inverse_ltl(tree, b)


@settings(deadline=None)
@given(topologies(), st.data())
def test_corrected_need_holds_all_that_figure_14_reads(tree, data):
    bodies = data.draw(st.lists(st.integers(1, tree.n_bodies), min_size=1, max_size=4))
    need = f10.needed_blocks(tree, bodies)
    assert f10.needed_blocks(tree, bodies, literal=True) <= need <= f10.all_blocks(tree)
    for i, j in need:
        common = tree.nearest_common_ancestor(i, j)
        read = (i if common == i != j else int(tree.parent[i - 1]), int(tree.parent[j - 1]))
        if common and 0 not in read:
            assert tuple(sorted(read)) in need


def test_corrected_need_does_not_depend_on_numbering_and_the_printed_one_does():
    deep_first = Topology((0, 1, 2, 3, 1, 5)), (4, 6)  # branches 2-3-4 and 5-6 of body 1
    deep_last = Topology((0, 1, 2, 1, 4, 5)), (3, 6)  # the same tree: branches 2-3 and 4-5-6
    assert len(f10.needed_blocks(*deep_first)) == len(f10.needed_blocks(*deep_last))
    assert len(f10.needed_blocks(*deep_first, literal=True)) < len(f10.needed_blocks(*deep_last, literal=True))


def test_figure_15_as_printed_misses_blocks_of_table_3():
    robot = asimo(fingers=4, finger_joints=3)
    bodies = robot.fingertips + robot.feet
    missing = f10.needed_blocks(robot.tree, bodies) - f10.needed_blocks(robot.tree, bodies, literal=True)
    assert missing == {(1, 5), (1, 6), (1, 7), (1, 24), (1, 25), (1, 26)}


def test_aba_has_no_published_formula_without_floating_base():
    fixed, floating = Topology(range(3)), Topology(range(3), (6, 1, 1))
    assert f05.aba(fixed) is None
    assert f05.aba(floating) == f05.aba_floating_chain(2)
    assert f05.aba(Topology((0,), (6,))) is None
    assert "floating base only" in " ".join(assumptions(fixed))
    assert "floating base only" not in " ".join(assumptions(floating))
    assert "not single" in " ".join(assumptions(Topology(range(3), (6, 3, 1))))


def test_forward_dynamics_is_the_sum_of_its_parts():
    tree = humanoid()
    parts = f05.crba(tree) + f05.rnea(tree)
    assert f05.forward_dynamics(tree) == parts + f05.ltdl_factorization(tree) + f05.ltdl_back_substitution(tree)
    assert f05.forward_dynamics_ltl(tree) == parts + f05.ltl_factorization(tree) + f05.ltl_back_substitution(tree)
    unbranched = Topology(range(9))
    assert f05.forward_dynamics_dense(unbranched) == f05.forward_dynamics_ltl(unbranched)
    assert f05.forward_dynamics_dense(tree).total > f05.forward_dynamics_ltl(tree).total
