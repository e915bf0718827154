"""Figures of the papers: the drawn data are those of the papers' tables."""

import pytest
from treesim_lab.cost import paper_figures as computed
from treesim_lab.cost.papers import printed_entries

from treesim.model import generators


@pytest.fixture(scope="module")
def printed():
    return {entry["quantity"]: entry["printed"] for entry in printed_entries() if entry["kind"] == "result"}


def total(operations):
    return sum(operations.values())


@pytest.mark.paper("F05 Figure 5")
@pytest.mark.parametrize(
    ("family", "make", "size"),
    [
        ("unbranched", generators.chain, 17),
        ("short side branches", generators.chain_with_side_branches, 9),
        ("spanning tree of a grid", generators.square_grid, 5),
        ("balanced binary tree", generators.balanced_binary_tree, 5),
    ],
)
def test_growth_is_that_of_the_trees(family, make, size):
    tree = make(size).topology
    assert (tree.n_dofs, tree.D1 + 2 * tree.D2) in computed.factorization_costs()[family]


def test_growth_ends_at_the_same_size_for_all():
    assert all(128 < points[-1][0] <= computed.LARGEST for points in computed.factorization_costs().values())


@pytest.mark.paper("F05 Figure 7")
def test_forward_dynamics_are_the_printed_totals(printed):
    bars = {name: sum(parts.values()) for name, parts in computed.forward_dynamics_costs().items()}
    assert bars == {
        "humanoid, CRBA": total(printed["humanoid FD via CRBA+RNEA+LTDL"]),
        "humanoid, ABA": total(printed["humanoid ABA"]),
        "unbranched chain, CRBA": total(printed["chain FD via CRBA+RNEA+LTDL"]),
        "unbranched chain, ABA": total(printed["chain ABA"]),
    }


@pytest.mark.paper("F10 Figure 12")
def test_operation_counts_are_those_of_table_2(printed):
    names = {label: name for name, label in computed.LABELS.items()}
    counts = computed.operation_counts()
    assert counts.pop("H, C") == (total(printed["H and C"]),) * 2
    assert len(counts) == 7
    for label, pair in counts.items():
        name = names.get(label, label)
        assert pair == (total(printed[f"{name} dense"]), total(printed[f"{name} sparse"]))


@pytest.mark.paper("F10 Figure 13")
def test_inverse_inertia_has_the_printed_ratio(printed):
    sparse, low_order = computed.inverse_inertia_costs().values()
    assert round(total(low_order) / total(sparse), 3) == printed["ASIMO HF cost ratio"]
    assert low_order == {
        "D⁻¹, τ̄": total(printed["eq. 39: D^-1, taubar"]),
        "Ω": total(printed["eq. 40: Omega"]),
    }


@pytest.mark.paper("F10 section 8, testing for zero")
def test_testing_for_zero_reads_every_element(printed):
    along_paths, testing = (total(bar) for bar in computed.accessed_elements().values())
    assert along_paths == printed["ASIMO nnz J"] and testing == 40 * 24
