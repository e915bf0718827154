"""Counted costs of the operational space by sparse rows, against Table 1 of Featherstone 2010."""

import pytest
from treesim_lab.cost import featherstone_2010 as f10
from treesim_lab.cost import robot as costs
from treesim_lab.cost.sparse_rows import SparseRows, operational_space_of

import treesim
from tests import trees
from treesim.errors import ConvergenceError

EXACT = (
    "jacobian_product", "jacobian_transpose_product", "triangular_rows_ltl", "triangular_rows_ltdl", "gram_product",
    "weighted_inverse_ltdl", "null_space",
)  # fmt: skip


@pytest.mark.paper(
    "F10 Figure 5",
    "F10 Figure 6",
    "F10 eq. 30",
    "F10 section 8, cost of Figure 9",
    "F10 Figure 10",
    "F10 Table 1, products",
    "F10 Table 1, quotients",
)
@pytest.mark.parametrize("name", ["tree_1", "chain_mixed", "random_b", "free_random", "asimo"])
def test_operations_on_rows_cost_exactly_what_table_1_says(name):
    robot = trees.tree(name)
    bodies = [robot.n_bodies, 1, robot.n_bodies // 2]
    tree, b, rows = robot.topology, [body for body in bodies for _ in range(6)], SparseRows(robot, bodies)
    for operation in EXACT:
        formula = getattr(f10, operation, None) or getattr(f10, operation.removesuffix("_ltl").removesuffix("_ltdl"))
        count = getattr(rows, operation, None) or getattr(rows, operation.removesuffix("_ltdl"))
        assert count().operations == formula(tree, b), operation


@pytest.mark.paper("F10 Table 1, J̄")
def test_the_consistent_inverse_of_asimo_costs_what_table_2_says():
    """Hands and feet: 15,504 multiplications and additions."""
    robot = trees.tree("asimo")
    limbs = ("left_arm", "right_arm", "left_leg", "right_leg")
    ends = [max(k for k, name in enumerate(robot.body_names, 1) if name.startswith(limb)) for limb in limbs]
    found = SparseRows(robot, ends).weighted_inverse().operations
    assert (found.mul, found.add, found.div) == (15_504, 15_504, 0)


def test_the_whole_is_more_than_its_parts():
    robot = trees.tree("asimo")
    frames = [robot.body_names[20], robot.body_names[27]]
    entries = {entry.name: entry for entry in costs.space(robot, frames)}
    whole = entries.pop("operational_space")
    parts = [entries[name].counted.operations.mul for name in ("Y_d, Y_D, by ltdl", "Λ⁻¹", "J̄", "N")]
    assert whole.counted.operations.mul > sum(parts) and whole.formula is None
    assert all(entry.formula is not None and entry.source == "F10 Table 1" for entry in entries.values())


def test_a_singular_space_has_no_count():
    robot = trees.tree("tree_1")
    with pytest.raises(ConvergenceError):
        operational_space_of(robot, ["body_7"])
    whole = costs.space(robot, ["body_7"])[-1]
    assert whole.counted is None and "singular" in whole.note


def test_frames_on_the_base_cost_nothing():
    robot = treesim.Tree("vise", trees.tree("tree_1").bodies, frames=[treesim.Frame("bench", 0)])
    assert costs.space(robot, ["bench"]) == []
    assert costs.space(robot, ["bench", "body_4"]) == costs.space(robot, ["body_4"])
