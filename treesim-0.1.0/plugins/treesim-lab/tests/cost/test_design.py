"""Costs of typed trees: the papers' own, and those of trees whose limbs get longer."""

import json

import pytest
from treesim_lab.cost import featherstone_2010 as f10
from treesim_lab.cost.design import Design, costs, with_joints_per_limb
from treesim_lab.cost.paper_trees import TREE_1, asimo, humanoid
from typer.testing import CliRunner

import treesim
from treesim.cli.main import app
from treesim.model.topology import Topology


def run(*arguments):
    return CliRunner().invoke(app, ["cost", *arguments])


def totals(design):
    return {cost.name: cost.operations.total for cost in costs(design) if cost.operations is not None}


@pytest.mark.parametrize(("extra", "printed"), [(0, 1.618), (6, 1.369), (12, 1.095)])
def test_longer_limbs_are_the_papers_variants_of_its_humanoid(extra, printed):
    """Featherstone 2010, Table 3: joints are added to arms and legs, not to the fingers beyond the hands."""
    standard, variant = asimo(), asimo(extra=extra)
    design = with_joints_per_limb(Design(standard.tree, standard.hands + standard.feet), extra)
    assert totals(design) == totals(Design(variant.tree, variant.hands + variant.feet))
    found = totals(design)
    ratio = found["Λ⁻¹ by RJK"] / found["Λ⁻¹ with CRBA, by LTDL"]
    assert ratio == f10.low_order_ratio(variant.tree, variant.hands + variant.feet)
    assert ratio == pytest.approx(printed, abs=5e-4)


def test_limbs_without_frames_end_in_bodies_without_children():
    design = with_joints_per_limb(Design(humanoid(), ()), 2)
    assert design.tree.n_dofs == 30 + 4 * 2 and design.tree.dof_depth.max() == 14
    chain = with_joints_per_limb(Design(Topology([0, 1]), (2,)), 3)
    assert chain.tree.parent.tolist() == [0, 1, 2, 3, 4] and chain.bodies == (5,)


def test_a_typed_tree_is_counted_and_varied():
    tree = " ".join(map(str, TREE_1))
    facts = json.loads(run("--tree", tree, "--frames", "4,7", "--vary", "joints_per_limb=0..2", "--json").stdout)
    assert (facts["n_bodies"], facts["nv"], facts["frames"]) == (7, 7, [4, 7])
    assert [row["nv"] for row in facts["joints_per_limb"]] == [7, 9, 11]
    assert facts["joints_per_limb"][0]["costs"] == facts["costs"]
    named = {row["name"]: row["operations"] for row in facts["costs"]}
    assert named["forward dynamics by ABA"] is None and named["LTDL"] == {"mul": 14, "add": 14, "div": 10}
    text = run("--tree", tree, "--vary", "joints_per_limb=0..1").stdout
    assert "RJK / LTDL" in text and "joints_per_limb" in text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--tree", "0 2"], "numbering is not regular"),
        (["--tree", "0 x"], "'x' in '0 x'"),
        (["--tree", "0 1", "--dofs", "1"], "must be lists of equal length"),
        (["--tree", "0 1", "--frames", "3"], "body 3 is none of the tree's"),
        (["--tree", "0 1", "--vary", "joints_per_limb=3"], "--vary must be joints_per_limb=FIRST..LAST"),
        (["--tree", "0 1", "--vary", "joints_per_limb=3..1"], "--vary must be"),
        (["--tree", "0 1", "ur5"], "give one of ROBOT, --tree"),
        (["ur5", "--dofs", "1"], "--dofs, --frames and --vary are for --tree"),
    ],
)
def test_what_is_no_tree_is_refused(arguments, text):
    result = run(*arguments)
    assert result.exit_code == 2 and text in " ".join(result.stderr.split())


def test_entries_of_the_mass_matrix_are_counted_by_D1_on_installed_robots():
    pytest.importorskip("pinocchio", reason="example-robot-data comes with it")
    for name in ("panda", "romeo", "ur5", "talos_full_v2", "icub", "bolt"):
        robot = treesim.load(name)
        tree = robot.dof_topology
        assert 2 * tree.D1 + tree.n_dofs == robot.sparsity().sum() and tree.D1 + tree.n_dofs == robot.nnz, name
