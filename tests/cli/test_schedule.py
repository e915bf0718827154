"""`treesim schedule`, and the function behind it: stages, blocks, pictures."""

import json
import struct

import pytest

import treesim as package
from tests import trees
from treesim.dynamics.schedules import scheduled_methods
from treesim.model import generators as make
from treesim.plotting.schedule import depth_first

pytest.importorskip("matplotlib")


def test_methods_are_compared(treesim, robot):
    result = treesim("schedule", robot)
    assert result.exit_code == 0
    for method in ("aba", "divide_and_conquer", "tree_contraction"):
        assert method in result.stdout
    assert "3 bodies, depth 2" in result.stdout


def test_stages_of_one_method_are_listed(treesim, robot):
    result = treesim("schedule", robot, "--method", "tree_contraction")
    assert result.exit_code == 0
    assert "level 1" in result.stdout and "thigh +1" in result.stdout
    assert "2 stages, 3 blocks, at most 2 at a time, 1.5 on average" in result.stdout


def test_json_holds_every_block(treesim, robot):
    facts = {entry["method"]: entry for entry in json.loads(treesim("schedule", robot, "--json").stdout)}
    assert set(facts) == set(scheduled_methods())
    assert [stage["blocks"] for stage in facts["aba"]["stages"]] == [[[2]], [[1], [3]]]
    for entry in facts.values():
        assert entry["critical_path"] == len(entry["stages"])
        assert entry["blocks"] == sum(len(stage["blocks"]) for stage in entry["stages"])


@pytest.mark.parametrize("suffix", ["png", "svg"])
@pytest.mark.parametrize("method", [[], ["--method", "divide_and_conquer"]], ids=["all", "one"])
def test_picture_is_drawn(treesim, robot, tmp_path, suffix, method):
    path = tmp_path / f"schedule.{suffix}"
    result = treesim("schedule", robot, *method, "--plot", path)
    assert result.exit_code == 0 and str(path) in result.stdout
    if suffix == "png":
        width, height = struct.unpack(">II", path.read_bytes()[16:24])
        assert width > 300 and height > 300
    else:
        assert path.read_text().count("<path") > 6


def test_mistakes_are_told(treesim, robot, tmp_path):
    for arguments, word in (
        (["--method", "crba_ltdl"], "unknown method that works by stages 'crba_ltdl'"),
        (["--method", "tree_contractoin"], "did you mean"),
        (["--plot", tmp_path / "picture.doc"], ".png"),
    ):
        result = treesim("schedule", robot, *arguments)
        assert result.exit_code == 2 and word in result.stderr


def test_bodies_are_drawn_depth_first_longest_branch_first():
    assert depth_first([0, 1, 1, 3, 0]) == [1, 3, 4, 2, 5]


@pytest.mark.parametrize("method", scheduled_methods())
@pytest.mark.parametrize("name", ["asimo", "grid_3", "random_14"])
def test_every_schedule_names_every_body_and_no_body_twice_in_a_stage(method, name):
    robot = trees.tree(name)
    schedule = package.schedule(robot, method)
    assert schedule.method == method
    seen = set()
    for stage in schedule.stages:
        bodies = [body for block in stage.blocks for body in block]
        seen.update(bodies)
        assert len(bodies) == len(set(bodies)) or method.startswith("constraint_force")
    assert seen == set(range(1, robot.n_bodies + 1))


def test_critical_paths_of_a_long_chain():
    chain = make.chain(100)
    paths = {method: package.schedule(chain, method).critical_path for method in scheduled_methods()}
    assert paths["aba"] == 100
    assert paths["divide_and_conquer"] == 8
    assert paths["tree_contraction"] == 8
