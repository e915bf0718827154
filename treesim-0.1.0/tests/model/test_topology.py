"""Topology: Tree 1 and its expansions as the papers print them, and the identities between λ, μ, κ and ν."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import golden
from treesim import Topology
from treesim.errors import ModelError
from treesim.model.topology import elimination_tree

pytestmark = pytest.mark.nojit


@st.composite
def topologies(draw):
    n = draw(st.integers(0, 12))
    parent = [draw(st.integers(0, i)) for i in range(n)]
    return Topology(parent, draw(st.lists(st.integers(0, 6), min_size=n, max_size=n)))


@pytest.mark.paper("F05 section 2, ν", "F10 section 2, sets")
def test_tree_1_sets():
    tree = Topology(golden.TREE_1)
    assert [tree.children(i) for i in range(8)] == [(1,), (2, 3), (4, 5), (6, 7), (), (), (), ()]
    assert tree.support(4) == (1, 2, 4)
    assert [tree.subtree(i) for i in range(4)] == [(1, 2, 3, 4, 5, 6, 7)] * 2 + [(2, 4, 5), (3, 6, 7)]
    assert (tree.D1, tree.D2, tree.depth) == (10, 14, 3)


@pytest.mark.paper("F05 eq. 4", "F10 Figure 2", "F10 eq. 16")
def test_tree_1_pattern_of_the_mass_matrix():
    tree = Topology(golden.TREE_1)
    assert tuple(set((np.flatnonzero(row) + 1).tolist()) for row in tree.sparsity()) == golden.TREE_1_PATTERN
    bodies = range(1, tree.n_bodies + 1)  # j moves i, or i moves j: the pattern by the sets κ (F10 eq. 16)
    related = tuple({j for j in bodies if j in tree.support(i) or i in tree.support(j)} for i in bodies)
    assert related == golden.TREE_1_PATTERN


@pytest.mark.paper("F05 section 2, expanded parent array", "F05 Figure 2", "F10 Figure 3", "F10 Figure 4")
@pytest.mark.parametrize(
    "dofs, dof_parent, counts",
    [
        ((2, 2, 1, 1, 1, 3, 1), (0, 1, 2, 3, 2, 4, 4, 5, 8, 9, 5), (31, 70)),  # F05 Figure 2
        ((1, 3, 1, 1, 1, 1, 1), (0, 1, 2, 3, 1, 4, 4, 5, 5), None),  # F10 Figure 3
    ],
)
def test_tree_1_expansions(dofs, dof_parent, counts):
    tree = Topology(golden.TREE_1, dofs)
    assert tuple(tree.dof_parent) == dof_parent
    assert counts is None or counts == (tree.D1, tree.D2)


@pytest.mark.paper("F10 Figure 4")
def test_last_dof_of_bodies_is_the_papers_b_e():
    last = Topology(golden.TREE_1, (1, 3, 1, 1, 1, 1, 1)).last_dof
    assert (last[4], last[7]) == (6, 9)


@pytest.mark.paper("F10 Figure 4")
def test_joints_without_freedom_are_skipped():
    assert tuple(Topology((0, 1, 2, 3), (1, 0, 1, 1)).dof_parent) == (0, 1, 2)


@pytest.mark.paper("F10 section 3, SPD(λ) and L(λ)")
@given(topologies())
def test_a_row_of_the_packed_pattern_is_the_path_from_the_root(tree):
    rows, columns = tree.packed_pattern()
    assert rows.tolist() == sorted(rows.tolist())
    for k in range(tree.n_dofs):
        path = [k]
        while tree.dof_parent[path[0]]:
            path.insert(0, int(tree.dof_parent[path[0]]) - 1)
        assert columns[rows == k].tolist() == path
    assert len(rows) == len(columns) == tree.D1 + tree.n_dofs


@pytest.mark.paper("F10 section 2, identities")
@given(topologies())
def test_support_and_subtree_are_one_relation(tree):
    bodies = range(1, tree.n_bodies + 1)
    for i in bodies:
        assert all((j in tree.support(i)) == (i in tree.subtree(j)) for j in bodies)
        assert all((j in tree.support(i)) != set(tree.support(i)).isdisjoint(tree.subtree(j)) for j in bodies)
        assert tree.support(i)[-1] == i and len(tree.support(i)) == tree.body_depth[i - 1]
        assert all(tree.parent[j - 1] == i for j in tree.children(i))
    assert sum(tree.body_depth) == sum(len(tree.subtree(i)) for i in bodies)
    assert sum(len(tree.children(i)) for i in range(tree.n_bodies + 1)) == tree.n_bodies


@pytest.mark.paper("F10 eq. 31", "F10 section 8, ancest")
@given(topologies(), st.data())
def test_nearest_common_ancestor_is_the_end_of_the_common_path(tree, data):
    p, q = (data.draw(st.integers(0, tree.n_bodies)) for _ in range(2))
    common = set(tree.support(p)) & set(tree.support(q))
    assert tree.nearest_common_ancestor(p, q) == max(common, default=0)


@pytest.mark.paper("F05 section 1, zeros", "F05 eq. 3", "F05 eq. 8", "F05 eq. 9", "J91 eq. 12")
@given(topologies())
def test_pattern_counts_and_expansion_agree(tree):
    expanded = Topology(tree.dof_parent)  # the expansion of an expansion is itself
    assert tuple(expanded.dof_parent) == tuple(tree.dof_parent)
    assert tree.n_dofs == expanded.n_bodies == sum(tree.dofs.tolist())  # F05 eq. 3
    pattern = tree.sparsity()
    assert pattern.sum() == 2 * tree.D1 + tree.n_dofs
    assert (pattern == pattern.T).all()
    rows = np.tril(pattern).sum(axis=1)
    assert sum(int(d) * (int(d) - 1) // 2 for d in rows) == tree.D2


def depth_first_and_reversed(tree):
    """The pattern of the mass matrix with degrees of freedom numbered depth first, then from the last to the first."""
    expanded, order = Topology(tree.dof_parent), []

    def visit(i):
        order.append(i - 1)
        for child in expanded.children(i):
            visit(child)

    for root in expanded.children(0):
        visit(root)
    return tree.sparsity()[np.ix_(order[::-1], order[::-1])]


@pytest.mark.paper("F05 eq. 7")
def test_depth_first_and_reversed_tree_1_is_the_printed_pattern():
    """F05 eq. 7: nested, doubly bordered, block diagonal."""
    pattern = np.tril(depth_first_and_reversed(Topology(golden.TREE_1)))
    rows = [(np.flatnonzero(row) + 1).tolist() for row in pattern]
    assert rows == [[1], [2], [1, 2, 3], [4], [5], [4, 5, 6], [1, 2, 3, 4, 5, 6, 7]]


@pytest.mark.paper("F05 section 3, envelope")
@given(topologies())
def test_depth_first_and_reversed_no_zero_is_inside_the_envelope(tree):
    """F05 section 3: nothing but zeros up to a row's first non-zero, and no zero from there to the diagonal."""
    for k, row in enumerate(depth_first_and_reversed(tree)):
        assert row[np.argmax(row) : k + 1].all()


@pytest.mark.paper("F10 eq. 34, 35", "F10 eq. 36, 37, 38")
@given(topologies(), st.integers(0, 1000))
def test_lower_triangular_matrices_of_the_tree_form_a_group(tree, seed):
    rng, inside, n = np.random.default_rng(seed), np.tril(tree.sparsity()), tree.n_dofs
    A, B = (np.where(inside, rng.uniform(-0.5, 0.5, (n, n)), 0.0) + 2 * np.eye(n) for _ in range(2))
    assert not (A @ B)[~inside].any()
    assert np.abs(np.linalg.inv(A)[~inside]).max(initial=0.0) < 1e-15


@pytest.mark.paper("F05 eq. 2")
@pytest.mark.parametrize("parent", [(1,), (0, 2), (0, -1), (0, 1, 3)])
def test_numbering_that_is_not_regular_is_refused(parent):
    with pytest.raises(ModelError, match="not regular"):
        Topology(parent)


def test_refusal_names_the_first_body_that_breaks_the_numbering():
    with pytest.raises(ModelError, match=r"λ\(2\) = 3"):
        Topology((0, 3, 1, 9))


def test_dofs_must_fit():
    with pytest.raises(ModelError, match="equal length"):
        Topology((0, 1), (1,))
    with pytest.raises(ModelError, match="negative"):
        Topology((0, 1), (1, -1))


@given(topologies())
def test_the_elimination_tree_of_a_trees_pattern_is_the_expanded_tree(tree):
    assert elimination_tree(tree.sparsity()).tolist() == tree.dof_parent.tolist()


@given(st.integers(1, 9), st.integers(0, 1000))
def test_factors_of_any_pattern_stay_on_paths_of_its_elimination_tree(n, seed):
    rng = np.random.default_rng(seed)
    M = np.where(rng.random((n, n)) < 0.2, 0.1, 0)
    M = M + M.T + 3 * np.eye(n)
    paths = Topology(elimination_tree(M != 0)).sparsity()
    L = np.linalg.cholesky(M[::-1, ::-1])[::-1, ::-1].T  # M = L' L
    assert not L[~paths].any() and not M[~paths].any()
