"""`treesim info`: the facts that scripts rely on, and a table that people read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CONTRACT = {"name", "nq", "nv", "n_bodies", "depth", "mass", "parent", "dof_parent", "D1", "D2", "joints"}


def test_json_holds_the_contract(answer: Callable[..., Any], robot: str) -> None:
    facts = answer("info", robot, "--base", "fixed")
    assert set(facts) >= CONTRACT
    assert (facts["name"], facts["nq"], facts["nv"], facts["n_bodies"]) == ("toy", 3, 3, 3)
    assert (facts["depth"], facts["parent"], facts["dof_parent"]) == (2, [0, 1, 0], [0, 1, 0])
    assert (facts["D1"], facts["D2"], facts["mass_matrix_nonzeros"]) == (1, 1, 5)
    assert facts["mass"] == pytest.approx(3.0), "the trunk belongs to the world"
    knee = facts["joints"][1]
    assert {key: knee[key] for key in ("name", "type", "nq", "nv")} == {
        "name": "knee", "type": "revolute", "nq": 1, "nv": 1,
    }  # fmt: skip
    assert (knee["lower"], knee["upper"], knee["effort_limit"]) == ([-2.0], [2.0], [50.0])
    assert knee["acceleration_limit"] == knee["deceleration_limit"] == knee["jerk_limit"]


def test_followers_are_listed(
    treesim: Callable[..., Any], answer: Callable[..., Any], make_robot: Callable[..., str]
) -> None:
    robot = make_robot("gear", more='<mimic joint="hip" multiplier="-0.5" offset="0.1"/>')
    facts = answer("info", robot, "--base", "fixed")
    assert (facts["nv"], facts["n_bodies"], facts["dof_parent"]) == (2, 3, [0, 0])
    assert [joint["name"] for joint in facts["joints"]] == ["hip", "shoulder"]
    assert facts["mimic_joints"] == [
        {"name": "knee", "type": "revolute", "mimicked": "hip", "multiplier": -0.5, "offset": 0.1}
    ]
    assert "knee = -0.5 hip +0.1" in treesim("info", robot, "--base", "fixed").stdout
    assert answer("info", robot, "--base", "fixed", "--mimic", "free")["nv"] == 3
    cost = treesim("cost", robot, "--repeats", "0").stdout
    assert "1 mimic joint:" in cost and "aba" in cost


def test_floating_base_expands(answer: Callable[..., Any], robot: str) -> None:
    facts = answer("info", robot, "--base", "floating")
    assert (facts["nq"], facts["nv"], facts["n_bodies"], facts["base"]) == (10, 9, 4, "floating")
    assert facts["dof_parent"] == [0, 1, 2, 3, 4, 5, 6, 7, 6]
    assert facts["joints"][0]["name"] == "root_joint"
    assert facts["joints"][0]["lower"] == [None] * 7, "JSON knows no infinity"


def test_installed_robots_go_by_the_name_that_was_typed(
    treesim: Callable[..., Any], answer: Callable[..., Any]
) -> None:
    pytest.importorskip("pinocchio", reason="example-robot-data comes with it")
    assert answer("info", "talos_reduced")["name"] == "talos_reduced", "the file calls it talos"
    assert treesim("schedule", "talos_reduced").stdout.lstrip().startswith("talos_reduced")


def test_the_mass_that_a_fixed_base_leaves_out_is_told(
    treesim: Callable[..., Any], answer: Callable[..., Any], robot: str, make_robot: Callable[..., str]
) -> None:
    assert (
        "3 kg, without the 1 kg of the root link, which is fixed to the world"
        in treesim("info", robot, "--base", "fixed").stdout
    )
    facts, floating = answer("info", robot, "--base", "fixed"), answer("info", robot, "--base", "floating")
    assert (facts["mass"], facts["fixed_mass"]) == (3.0, 1.0) and floating["mass"] == 4.0
    assert "root link" not in treesim("info", robot, "--base", "floating").stdout
    own = make_robot("own").replace("toy", "own")
    Path(own).write_text(Path(robot).read_text().replace('"hip"', '"root_joint"'))
    assert "3 kg, without that of the root link" in treesim("info", own, "--base", "fixed").stdout


def test_table_shows_tree_and_pattern(treesim: Callable[..., Any], robot: str) -> None:
    shown = treesim("info", robot, "--base", "fixed").stdout
    for word in ("toy", "hip", "knee", "shoulder", "λ", "0 1 0", "-2 ... 2", "5 of 9 entries"):
        assert word in shown
    assert "██·\n··▀" in shown


def test_what_a_robot_touches_with_is_told(
    treesim: Callable[..., Any], answer: Callable[..., Any], robot: str, tmp_path: Path
) -> None:
    assert "no collision shapes" in treesim("info", robot).stdout and answer("info", robot)["shapes"] == {}
    ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    feet = tmp_path / "feet.urdf"
    feet.write_text(f'<robot name="feet"><link name="left">{ball}{ball}</link></robot>')
    assert "2 collision shapes (2 sphere) on 'left'" in treesim("info", str(feet)).stdout
    facts = answer("info", str(feet))
    assert (facts["shapes"], facts["shape_links"]) == ({"sphere": 2}, ["left"])


def test_the_expansion_is_that_of_the_topology() -> None:
    from treesim.cli.topology_tables import expansion, ranges
    from treesim.model.topology import Topology

    tree = Topology([0, 1, 1, 2, 0, 3, 5, 3], [6, 1, 0, 3, 1, 1, 2, 1])
    rows = expansion(tree, [f"joint {i}" for i in range(1, 9)])
    for i, row in enumerate(rows, start=1):
        sets = (row.support, row.subtree, row.children)
        assert tuple(map(tuple, sets)) == (tree.support(i), tree.subtree(i), tree.children(i))
        assert row.parent == tree.parent[i - 1] and row.dof_parent == [tree.dof_parent[k - 1] for k in row.dofs]
        assert len(row.dofs) == tree.dofs[i - 1] and (not row.dofs or row.dofs[-1] == tree.last_dof[i])
    assert ranges([1, 3, 4, 5, 7, 8]) == "1 3-5 7 8"
    assert (rows[0].as_dict()["subtree"], rows[5].as_dict()["support"]) == ("1-4 6 8", "1 3 6")
