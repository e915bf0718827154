"""Bounds and rule of thumb of Featherstone 2005 on random trees, and on trees that attain them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from treesim_lab.cost import bounds
from treesim_lab.cost import featherstone_2005 as f05

from tests.topologies import topologies
from treesim import Topology


def chain(n):
    return Topology(range(n))


def star(n):
    """Return the tree with every body on the base."""
    return Topology([0] * n)


def broom(n, depth):
    """Return a chain of `depth` bodies whose other bodies are siblings of its last: the deepest tree on average."""
    return Topology([*range(depth), *[depth - 1] * (n - depth)])


@pytest.mark.paper("F05 eq. 10, 11", "F05 eq. 12, 13", "F05 eq. 16")
@given(topologies())
def test_every_tree_keeps_the_bounds(tree):
    """F05 eq. 10 to 13 and 16."""
    n, depth = tree.n_dofs, int(tree.dof_depth.max(initial=0))
    for counts in (bounds.largest_counts(n), bounds.largest_counts_at_depth(n, depth)):
        assert all(0 <= count <= most for count, most in zip((tree.D1, tree.D2), counts, strict=True))
    assert 0 <= bounds.transformed_inertias(tree) <= bounds.most_transformed_inertias(tree.n_bodies)


@pytest.mark.paper("F05 eq. 15")
@given(topologies())
def test_transformed_inertias_are_those_of_equation_15(tree):
    assert bounds.transformed_inertias(tree) == sum(min(1, d - 1) for d in tree.body_depth.tolist())
    assert bounds.transformed_inertias(tree) == sum(min(1, p) for p in tree.parent.tolist())


@pytest.mark.paper("F05 section 1, range", "F05 section 4.1, lower limit", "F05 eq. 16", "F05 section 7, limits")
@given(st.integers(0, 40))
def test_chains_reach_the_upper_bounds_and_stars_the_lower_ones(n):
    assert bounds.largest_counts(n) == (chain(n).D1, chain(n).D2)
    assert bounds.transformed_inertias(chain(n)) == bounds.most_transformed_inertias(n)
    assert (star(n).D1, star(n).D2, bounds.transformed_inertias(star(n))) == (0, 0, 0)
    assert bounds.largest_counts_at_depth(n, 1) == (0, 0)


@pytest.mark.paper("F05 section 4.1, upper limit")
@given(topologies())
def test_only_chains_reach_the_upper_bounds(tree):
    unbranched = tree.dof_parent.tolist() == list(range(tree.n_dofs))
    assert (bounds.largest_counts(tree.n_dofs) == (tree.D1, tree.D2)) == (unbranched or tree.n_dofs < 2)


@given(st.integers(1, 12), st.integers(0, 30))
def test_at_a_depth_brooms_miss_the_bounds_by_their_handle(depth, more):
    """The deficit does not grow with n: for large n the bounds are attained."""
    tree = broom(depth + more, depth)
    D1, D2 = bounds.largest_counts_at_depth(tree.n_dofs, depth)
    assert depth * (depth - 1) // 2 == D1 - tree.D1
    assert depth * (depth - 1) * (2 * depth - 1) // 6 == D2 - tree.D2


@pytest.mark.paper("F05 eq. 12, 13")
@given(topologies())
def test_no_tree_comes_nearer_to_the_bounds_at_a_depth(tree):
    depth = int(tree.dof_depth.max(initial=0))
    D1, D2 = bounds.largest_counts_at_depth(tree.n_dofs, depth)
    assert depth * (depth - 1) // 2 <= D1 - tree.D1
    assert depth * (depth - 1) * (2 * depth - 1) // 6 <= D2 - tree.D2


# ---- the rule of thumb


@given(topologies())
def test_density_is_that_of_the_pattern(tree):
    if tree.n_dofs:
        assert bounds.density(tree) == tree.sparsity().mean()


@pytest.mark.paper("F05 section 4.1, rule of thumb")
@given(topologies())
def test_the_rule_overestimates_by_a_third_at_most(tree):
    n, true = tree.n_dofs, f05.ltdl_factorization(tree).total
    assert 3 * bounds.factorization_by_rule(tree) <= 4 * true + n + 2


@pytest.mark.paper("F05 section 4.1, rule of thumb")
@given(topologies())
def test_the_rule_for_substitution_is_off_by_the_diagonal(tree):
    excess = bounds.back_substitution_by_rule(tree) - f05.ltdl_back_substitution(tree).total
    assert excess == pytest.approx((1 - bounds.density(tree)) * tree.n_dofs, abs=1e-6)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_rule_tends_to_the_truth_for_equal_branches(k):
    """k chains of 100 bodies on the base: 1 / k of the entries, and 1 / k² of a dense factorization's operations."""
    tree = Topology([0 if i % 100 == 0 else i for i in range(100 * k)])
    assert bounds.density(tree) == pytest.approx(1 / k, rel=0.05)
    assert bounds.factorization_by_rule(tree) == pytest.approx(f05.ltdl_factorization(tree).total, rel=0.05)


@given(st.integers(1, 30))
def test_the_rule_is_exact_without_branches(n):
    assert bounds.factorization_by_rule(chain(n)) == pytest.approx(f05.ltdl_factorization(chain(n)).total)


@pytest.mark.paper("F05 section 4.1, rule of thumb")
def test_the_rule_fails_where_one_branch_is_deep():
    """A chain of 100 bodies and 900 bodies on the base: the rule gives an eighth of the true cost."""
    tree = Topology([*range(100), *[0] * 900])
    assert f05.ltdl_factorization(tree).total > 8 * bounds.factorization_by_rule(tree)


def test_a_tree_that_cannot_move():
    tree = Topology([0], [0])
    assert bounds.density(tree) == 1 and bounds.factorization_by_rule(tree) == 0
