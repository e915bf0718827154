"""Plans of elimination: every joint goes once, never before its turn, and in as few stages as the theory allows."""

from itertools import pairwise
from math import ceil, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treesim
from treesim.dynamics.contraction import divide_and_conquer, heavy_paths, tree_contraction
from treesim.kernels.published.parallel.assembly_tables import HANG, JOIN, LEAF, RAKE

PLANS = (tree_contraction, divide_and_conquer)
every_plan = pytest.mark.parametrize("plan_of", PLANS)
parents = st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=60).map(
    lambda shares: [int(share * (i + 1)) for i, share in enumerate(shares)]
)


def binary(levels):
    return [i // 2 for i in range(1, 2**levels)]


def caterpillar(spine, legs):
    return list(range(spine)) + [1 + i % spine for i in range(legs)]


def rounds(parent):
    return tree_contraction(parent).rounds


def replay(plan, parent):
    """Follow a plan by what its events mean, and fail where one comes too early; return the joints in their order."""
    children = {i: {j for j, p in enumerate(parent, start=1) if p == i} for i in range(len(parent) + 1)}
    lowest, assembled, eliminated = {}, set(), []
    for blocks in plan.stages:
        touched = [{e for event in block for e in (event.body, event.upper) if e} for block in blocks]
        assert sum(map(len, touched)) == len(set().union(*touched)), "two blocks of a stage work on one body"
        for event in (event for block in blocks for event in block):
            if event.kind == LEAF:
                assert event.body not in assembled
                assert children[event.body] == ({event.below} if event.below else set())
                assembled.add(event.body)
                lowest[event.body] = event.body
                continue
            eliminated.append(event.body)
            if event.kind == JOIN:
                assert parent[event.body - 1] == lowest[event.upper]
                assert children[lowest[event.body]] == ({event.below} if event.below else set())
                lowest[event.upper] = lowest.pop(event.body)
            else:
                carrier = parent[event.body - 1]
                assert event.upper == carrier and carrier not in assembled
                assert event.kind == (HANG if event.body in assembled else RAKE)
                assert not children[lowest.pop(event.body, event.body)]
                children[carrier].remove(event.body)
    return eliminated


@every_plan
@given(parents)
def test_every_joint_is_eliminated_once_and_never_too_early(plan_of, parent):
    assert sorted(replay(plan_of(parent), parent)) == list(range(1, len(parent) + 1))


@every_plan
@pytest.mark.parametrize("n", [*range(1, 40), 64, 100, 1000])
def test_chains_take_logarithmically_many_stages(plan_of, n):
    plan = plan_of(range(n))
    assert len(plan.stages) == ceil(log2(n)) + 1
    assert plan.rounds in (None, ceil(log2(n)) + 1)
    replay(plan, list(range(n)))


@pytest.mark.parametrize(
    "parent, expected",
    [(range(64), 7), (range(100), 8), (binary(7), 7), (caterpillar(40, 80), 7), ([0] * 50, 1), ([0] + [1] * 50, 2)],
    ids=["chain_64", "chain_100", "binary_127", "caterpillar", "on_the_base", "star"],
)
def test_rounds_of_contraction(parent, expected):
    assert rounds(parent) == expected


@pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")
@pytest.mark.parametrize("name, base, expected", [("simple_humanoid", "floating", 6), ("talos_full_v2", "floating", 7)])
def test_rounds_of_contraction_of_humanoids(name, base, expected):
    mimic = "free" if name.startswith("talos") else None
    assert rounds(treesim.load(name, base=base, mimic=mimic).parent) == expected


@given(parents)
def test_rounds_of_contraction_are_logarithmic_in_any_tree(parent):
    assert len(tree_contraction(parent).stages) <= 2 * rounds(parent)
    assert rounds(parent) <= 2 * log2(len(parent)) + 1


@given(parents)
def test_heavy_paths_cover_the_tree_and_are_few_from_any_leaf(parent):
    paths = heavy_paths(parent)
    assert sorted(body for path in paths for body in path) == list(range(1, len(parent) + 1))
    assert all(parent[below - 1] == above for path in paths for above, below in pairwise(path))
    top = {body: path[0] for path in paths for body in path}
    for body in range(1, len(parent) + 1):
        light = 0
        while body:
            body = parent[top[body] - 1]
            light += 1
        assert light <= log2(len(parent)) + 1


@every_plan
def test_packed_plan_is_linear_in_the_number_of_bodies(plan_of):
    sizes = {n: plan_of(binary(n)).packed().size / 2**n for n in (6, 12)}
    assert sizes[12] < 1.2 * sizes[6] < 1.2 * 12


@every_plan
@given(parents)
def test_blocks_of_a_stage_are_disjoint_and_every_body_is_in_one(plan_of, parent):
    stages = plan_of(parent).bodies()
    for blocks in stages:
        bodies = [body for block in blocks for body in block]
        assert len(bodies) == len(set(bodies))
    assert {b for blocks in stages for block in blocks for b in block} == set(range(1, len(parent) + 1))


def test_blocks_of_a_chain_of_four_bodies():
    assert divide_and_conquer(range(4)).bodies() == (((1, 2), (3, 4)), ((1, 2, 3, 4),), ((1, 2, 3, 4),))
    assert tree_contraction(range(4)).bodies() == (((3, 4), (1, 2)), ((1, 2, 3),), ((1, 2, 3),))
