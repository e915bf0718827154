"""Formulas against identities, against counts on the trees, and against each other."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from treesim_lab.cost import featherstone_2005 as f05
from treesim_lab.cost import featherstone_2010 as f10
from treesim_lab.cost import figure_15
from treesim_lab.cost.operations import ADD, DIV, MUL, SQRT, Operations
from treesim_lab.cost.paper_trees import asimo, humanoid
from treesim_lab.cost.robot import assumptions

from tests.topologies import topologies
from treesim import Topology
from treesim.model import generators


def test_operations_are_a_vector():
    cost = 3 * (MUL + ADD) + 2 * DIV + SQRT - ADD
    assert cost == Operations(mul=3, add=2, div=2, sqrt=1)
    assert cost.total == 8
    assert cost.divisions_as_multiplications() == Operations(mul=5, add=2, sqrt=1)
    assert cost.as_dict() == {"mul": 3, "add": 2, "div": 2, "sqrt": 1}
    assert (2 * DIV).as_dict() == {"div": 2}


@pytest.mark.paper("F05 Figure 6")
def test_generated_robots_are_the_papers_trees():
    for robot, tree in (
        (generators.featherstone_2005_humanoid(), humanoid()),
        (generators.asimo(), asimo().tree),
    ):
        assert robot.topology.parent.tolist() == tree.parent.tolist()
        assert robot.topology.dofs.tolist() == tree.dofs.tolist()


@pytest.mark.paper("F05 Table 2")
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


@pytest.mark.paper("F05 Table 2, orders", "F05 section 4.2, balanced tree")
@pytest.mark.parametrize("m", range(2, 10))
def test_balanced_trees_keep_the_printed_bounds(m):
    """F05 section 4.2: D1 is O(n log n) and D2 O(n (log n)^2)."""
    D1, D2 = f05.balanced_tree_counts(m)
    assert (m - 1) * 2 ** (m - 1) <= D1 <= (m - 1) * 2**m
    assert m * (m - 1) * 2 ** (m - 2) <= D2 <= m * (m - 1) * 2 ** (m - 1)


def side_branches(k, length, count=1):
    """Return a chain of k bodies, each with `count` chains of `length` bodies attached."""
    parent, last = [], 0
    for _ in range(k):
        parent.append(last)
        last = len(parent)
        for _ in range(count):
            parent.append(last)
            parent += range(len(parent), len(parent) + length - 1)
    return Topology(parent)


@pytest.mark.paper("F05 section 4.2, side branches")
@pytest.mark.parametrize(("length", "count", "share"), [(1, 1, 1 / 2), (2, 1, 1 / 3), (1, 2, 1 / 3), (3, 2, 1 / 7)])
def test_side_branches_take_the_printed_share_of_a_chain(length, count, share):
    """F05 section 4.2: D1 and D2 tend to β and β² times those of a chain, β the main chain's fraction of the bodies."""
    tree = side_branches(300, length, count)
    D1, D2 = f05.unbranched_counts(tree.n_dofs)
    assert pytest.approx(share, rel=0.03) == tree.D1 / D1 and pytest.approx(share**2, rel=0.03) == tree.D2 / D2


def grid(k, rng):
    """Return a spanning tree of the k x k grid: every node's parent is a random neighbour towards the corner."""
    parent = [0]
    for r, c in list(np.ndindex(k, k))[1:]:
        towards = ([(r - 1) * k + c] if r else []) + ([r * k + c - 1] if c else [])
        parent.append(1 + int(rng.choice(towards)))
    return Topology(parent)


@pytest.mark.paper("F05 section 4.2, grid")
@given(st.integers(1, 7), st.integers(0, 1000))
def test_every_shortest_path_tree_of_a_grid_has_the_printed_counts(k, seed):
    tree = grid(k, np.random.default_rng(seed))
    assert f05.square_grid_counts(k) == (tree.D1, tree.D2)


def binary(levels):
    return Topology([i // 2 for i in range(1, 2**levels)])


@pytest.mark.paper("F05 section 5, orders")
def test_crba_grows_as_is_printed():
    """F05 section 5: half of the unbranched chain's, O(n log n) and O(n^1.5)."""
    side, chain = side_branches(1000, 1), Topology(range(2000))
    assert f05.crba(side).total / f05.crba(chain).total == pytest.approx(0.5, rel=0.05)
    small, large = (f05.crba(binary(k)).total / (2**k * k) for k in (8, 10))
    assert large == pytest.approx(small, rel=0.1)
    small, large = (f05.crba(grid(k, np.random.default_rng(0))).total / k**3 for k in (16, 32))
    assert large == pytest.approx(small, rel=0.1)


@pytest.mark.paper("F05 eq. 17")
@given(topologies())
def test_bodies_without_dh_frame_are_those_of_equation_17(tree):
    others = sum(max(0, len(tree.children(i)) - 1) for i in range(tree.n_bodies + 1))
    assert tree.n_bodies - len(f05.dh_children(tree)) == others


@pytest.mark.paper("F10 section 3, order", "F10 section 9, orders")
@given(topologies(), st.data())
def test_sparse_costs_are_of_the_printed_orders(tree, data):
    """F10 section 9: O(n d²) for LTDL, O(m d²) for Y, O(m² d) for its Λ⁻¹; nonzeros O(n d) of H and O(m d) of J."""
    b = data.draw(st.lists(st.integers(1, tree.n_bodies), min_size=1, max_size=6))
    n, m, d = tree.n_dofs, len(b), int(tree.dof_depth.max(initial=0))
    assert f05.ltdl_factorization(tree).total <= n * d**2
    assert f10.triangular_rows(tree, b).total <= m * d**2
    assert f10.gram_product(tree, b).total <= m * (m + 1) * d
    assert tree.sparsity().sum() <= 2 * n * d and sum(f10.row_depths(tree, b)) <= m * d


@pytest.mark.paper("F10 Table 1, J̄")
@given(topologies(), st.data())
def test_jbar_costs_a_product_and_a_substitution_for_every_row(tree, data):
    """F10 Table 1: L⁻¹(Y'Λ) is m times J'x and L⁻¹x, as counted for the kernels."""
    b = data.draw(st.lists(st.integers(1, tree.n_bodies), min_size=1, max_size=6))
    product = f10.jacobian_transpose_product(tree, b)
    assert f10.weighted_inverse_ltl(tree, b) == len(b) * (product + f05.ltl_triangular_solve(tree))
    assert f10.weighted_inverse_ltdl(tree, b) == len(b) * (product + f05.ltdl_triangular_solve(tree))


@pytest.mark.paper("F10 appendix B, order")
@given(topologies(), st.data())
def test_needed_blocks_are_of_the_printed_order(tree, data):
    """F10 appendix B, O(N + d m²): a block per body, and for two tasks one per step to the junction of their paths."""
    bodies = data.draw(st.sets(st.integers(1, tree.n_bodies), min_size=1, max_size=5))
    need, m = f10.required_blocks(tree, sorted(bodies)), len(bodies)
    diagonal = sum(i == j for i, j in need)
    assert diagonal <= tree.n_bodies and len(need) - diagonal <= m * (m - 1) // 2 * tree.depth


@pytest.mark.paper("F05 Table 1, comparison")
@given(topologies())
def test_ltl_and_ltdl_differ_by_their_diagonal(tree):
    n = tree.n_dofs
    assert f05.ltl_factorization(tree) == f05.ltdl_factorization(tree) + n * SQRT
    assert f05.ltl_back_substitution(tree) == f05.ltdl_back_substitution(tree) + n * DIV
    assert f05.ltl_product(tree) == f05.ltdl_product(tree) + n * MUL
    assert f05.ltl_triangular_solve(tree) == f05.ltdl_triangular_solve(tree) + n * DIV


@pytest.mark.paper("F05 section 5, loose end")
@given(topologies())
def test_branch_counts_split_the_whole(tree):
    counts = f05.branch_counts(tree)
    inner = [i for i in range(1, tree.n_bodies + 1) if tree.parent[i - 1]]
    assert counts.D0a + counts.D0b == len(inner)
    assert counts.D1a + counts.D1b == sum(len(tree.subtree(i)) for i in inner)
    assert counts.D0c <= counts.D0a and counts.D1c <= counts.D1a


@pytest.mark.paper("F05 section 5, choice of DH nodes")
@given(topologies())
def test_each_parent_has_one_dh_child_with_the_largest_subtree(tree):
    size, dh = f05.subtree_sizes(tree), f05.dh_children(tree)
    for body in range(tree.n_bodies + 1):
        children = tree.children(body)
        chosen = [i for i in children if i in dh]
        largest = max((size[i] for i in children), default=None)
        assert [size[i] for i in chosen] == ([largest] if children else [])


@pytest.mark.paper("F05 section 2, λ(i) = i - 1", "F10 Table 1, dense")
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


@pytest.mark.paper("F10 Figure 15")
@settings(deadline=None)
@given(topologies(), st.data())
def test_corrected_need_holds_all_that_figure_14_reads(tree, data):
    bodies = data.draw(st.lists(st.integers(1, tree.n_bodies), min_size=1, max_size=4))
    need = f10.required_blocks(tree, bodies)
    assert f10.required_blocks(tree, bodies, literal=True) <= need <= f10.all_blocks(tree)
    for i, j in need:
        common = tree.nearest_common_ancestor(i, j)
        read = (i if common == i != j else int(tree.parent[i - 1]), int(tree.parent[j - 1]))
        if common and 0 not in read:
            assert tuple(sorted(read)) in need


@pytest.mark.paper("F10 Figure 15")
def test_corrected_need_does_not_depend_on_numbering_and_the_printed_one_does():
    deep_first = Topology((0, 1, 2, 3, 1, 5)), (4, 6)  # branches 2-3-4 and 5-6 of body 1
    deep_last = Topology((0, 1, 2, 1, 4, 5)), (3, 6)  # the same tree: branches 2-3 and 4-5-6
    assert len(f10.required_blocks(*deep_first)) == len(f10.required_blocks(*deep_last))
    assert len(f10.required_blocks(*deep_first, literal=True)) < len(f10.required_blocks(*deep_last, literal=True))


def test_figure_15_as_printed_misses_blocks_of_ten_numberings_of_120():
    """Counted here in another way: what Figure 14 reads, followed from the blocks of the tips."""
    missing = 0
    for parents in product(*(range(i) for i in range(1, 6))):
        tree = Topology(parents)
        marked, bodies = f10.required_blocks(tree, figure_15.tips(tree), literal=True), figure_15.tips(tree)
        missing += not f10.required_blocks(tree, bodies) <= marked
    assert figure_15.fraction_missing(5) == missing / 120 == 10 / 120
    assert 0.7 < figure_15.fraction_missing(20) < 0.9


def test_figure_15_as_printed_misses_blocks_of_table_3():
    robot = asimo(fingers=4, finger_joints=3)
    bodies = robot.fingertips + robot.feet
    missing = f10.required_blocks(robot.tree, bodies) - f10.required_blocks(robot.tree, bodies, literal=True)
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
