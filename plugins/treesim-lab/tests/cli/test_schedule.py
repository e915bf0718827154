"""`treesim bench schedule` and its function: stages, blocks, plots."""

import json
import struct

import numpy as np
import pytest
from treesim_lab.cost import counting
from treesim_lab.plotting.schedule import depth_first

import treesim as package
from tests import trees
from treesim import plugins
from treesim.dynamics.compiled.schedules import scheduled_methods
from treesim.model import generators as make

pytest.importorskip("matplotlib")


def test_methods_are_compared(treesim, robot):
    result = treesim("schedule", robot, "--base", "fixed")
    assert result.exit_code == 0
    for method in ("aba", "divide_and_conquer", "tree_contraction"):
        assert method in result.stdout
    assert "3 bodies, depth 2" in result.stdout


def test_stages_of_one_method_are_listed(treesim, robot):
    result = treesim("schedule", robot, "--base", "fixed", "--method", "tree_contraction")
    assert result.exit_code == 0
    assert "assemblies, level 1" in result.stdout and "joint accelerations" in result.stdout
    chosen = package.schedule(package.load(robot), "tree_contraction")
    assert f"{chosen.operations} operations, {chosen.critical_path} on the critical path" in result.stdout
    assert f"depth {chosen.depth}" in result.stdout


def test_frames_are_scheduled_by_the_methods_of_the_operational_space(treesim, robot):
    result = treesim("schedule", robot, "--base", "fixed", "--frame", "shank")
    assert result.exit_code == 0 and "Λ⁻¹ of shank" in result.stdout and "divide_and_conquer" not in result.stdout
    result = treesim("schedule", robot, "--base", "fixed", "--frame", "shnak")
    assert result.exit_code == 2 and "shnak" in result.stderr and "shank" in result.stderr


def test_json_holds_every_block(treesim, robot):
    shown = treesim("schedule", robot, "--base", "fixed", "--json").stdout
    facts = {entry["method"]: entry for entry in json.loads(shown)}
    assert set(facts) == set(scheduled_methods())
    aba = {stage["name"]: stage["blocks"] for stage in facts["aba"]["stages"]}
    assert aba["articulated inertias, depth 2"] == [[2]] and aba["accelerations, depth 1"] == [[1], [3]]
    for entry in facts.values():
        assert entry["critical_path"] == sum(max(stage["operations"]) for stage in entry["stages"])
        assert entry["operations"] == sum(sum(stage["operations"]) for stage in entry["stages"])
        assert entry["blocks"] == sum(len(stage["blocks"]) for stage in entry["stages"])


@pytest.mark.parametrize("suffix", ["png", "svg"])
@pytest.mark.parametrize("method", [[], ["--method", "divide_and_conquer"]], ids=["all", "one"])
def test_picture_is_drawn(treesim, robot, tmp_path, suffix, method):
    path = tmp_path / f"schedule.{suffix}"
    result = treesim("schedule", robot, "--base", "fixed", *method, "--plot", path)
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
        result = treesim("schedule", robot, "--base", "fixed", *arguments)
        assert result.exit_code == 2 and word in result.stderr


def test_bodies_are_drawn_depth_first_longest_branch_first():
    assert depth_first([0, 1, 1, 3, 0]) == [1, 3, 4, 2, 5]


@pytest.mark.parametrize("method", scheduled_methods())
@pytest.mark.parametrize("name", ["random_b", "grid_3", "random_14"])
def test_every_schedule_is_what_the_kernel_does(method, name):
    """Compare with operations and depth of the kernel's entry, counted independently.

    Every body is in some block, and in no two of a stage. No block has more operations than all together, or
    fewer than the longest chain of operations requires.
    """
    robot = trees.tree(name)
    schedule = package.schedule(robot, method)
    counted = counting.forward_dynamics(robot, plugins.get("dynamics", method))
    assert schedule.method == method
    assert (schedule.operations, schedule.depth) == (counted.operations.total, counted.depth)
    assert schedule.depth <= schedule.critical_path <= schedule.operations
    seen = set()
    for stage in schedule.stages:
        bodies = [body for block in stage.blocks for body in block]
        seen.update(bodies)
        assert len(bodies) == len(set(bodies)) and min(stage.operations) > 0
    assert seen == set(range(1, robot.n_bodies + 1))


@pytest.mark.parametrize("method", scheduled_methods(["tool"]))
def test_every_schedule_of_inverse_inertia_is_what_the_kernel_does(method):
    robot = trees.tree("grid_3")
    frames = [robot.body_names[-1], robot.body_names[3]]
    schedule = package.schedule(robot, method, frames=frames)
    counted = counting.inverse_inertia(robot, plugins.get("operational", method), frames, "world")
    assert (schedule.operations, schedule.depth) == (counted.operations.total, counted.depth)
    assert schedule.depth <= schedule.critical_path <= schedule.operations


def test_frames_are_one_many_or_none():
    robot = make.chain(3)
    one, listed, none = (
        package.schedule(robot, "constraint_force_cr", frames=frames) for frames in ("body_3", ["body_3"], [])
    )
    assert one == listed and 0 < none.operations < one.operations
    assert package.schedule(package.Tree("nothing", []), "constraint_force_cr").operations == 0
    with pytest.raises(package.UnknownNameError, match="body_4"):
        package.schedule(robot, "constraint_force_cr", frames="body_4")
    with pytest.raises(package.UnsupportedError, match="pv_osim has no schedule for the inverse"):
        package.schedule(robot, "pv_osim", frames="body_3")


@pytest.mark.paper("FF13 abstract, Λ⁻¹, parallel")
@pytest.mark.parametrize("method", ["constraint_force_cr", "constraint_force_pcr"])
@pytest.mark.parametrize("family", [pytest.param("chain", marks=pytest.mark.slow), "side branches"])
def test_critical_paths_of_inverse_inertia_grow_by_about_as_much_with_every_doubling(method, family):
    schedules = [package.schedule(robot, method, frames=robot.body_names[-1:]) for robot in DOUBLINGS[family]]
    for numbers in ([one.critical_path for one in schedules], [one.depth for one in schedules]):
        first, second = np.diff(numbers)
        assert second < 1.45 * first, numbers


PARALLEL = ("constraint_force_cr", "constraint_force_pcr", "divide_and_conquer", "tree_contraction")
DOUBLINGS = {
    "chain": [make.chain(n) for n in (8, 16, 32)],
    "side branches": [make.chain_with_side_branches(n) for n in (4, 8, 16)],
    "binary tree": [make.balanced_binary_tree(k) for k in (2, 3, 4)],
}


@pytest.mark.paper("FF13 abstract, parallel")
@pytest.mark.parametrize(
    "family", ["chain", *(pytest.param(family, marks=pytest.mark.slow) for family in list(DOUBLINGS)[1:])]
)
@pytest.mark.parametrize("method", PARALLEL)
def test_critical_paths_of_parallel_methods_grow_by_about_as_much_with_every_doubling(method, family):
    schedules = [package.schedule(robot, method) for robot in DOUBLINGS[family]]
    for numbers in ([one.critical_path for one in schedules], [one.depth for one in schedules]):
        first, second = np.diff(numbers)
        assert second < 1.45 * first, numbers


@pytest.mark.parametrize("method", ["aba", "constraint_force", "constraint_force_grouped"])
def test_critical_paths_of_serial_methods_double_on_a_chain(method):
    schedules = [package.schedule(robot, method) for robot in DOUBLINGS["chain"]]
    for numbers in ([one.critical_path for one in schedules], [one.depth for one in schedules]):
        first, second = np.diff(numbers)
        assert second > 1.9 * first, numbers
