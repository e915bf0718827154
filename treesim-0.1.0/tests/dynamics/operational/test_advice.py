"""The advised method for Λ⁻¹, and the method that follows the advice."""

import numpy as np
import pytest

import treesim
from tests import trees
from treesim import plugins
from treesim.dynamics.operational import advice
from treesim.dynamics.operational.advice import advise
from treesim.model import generators as make

ALL_BODIES = [f"body_{i}" for i in range(1, 101)]


def test_tasks_are_counted_along_their_paths():
    robot = make.tree_1()
    carried = advice._tasks_carried(robot, [4, 7, 2, 0])
    assert carried.tolist() == [3, 2, 1, 1, 0, 0, 1]


def test_few_tasks_are_carried_and_many_on_one_long_path_joined(monkeypatch):
    monkeypatch.setattr(plugins, "available", lambda kind: ("ltdl", "pv_osim", "pv_osim_r"))
    chain, tree = make.chain(100), make.balanced_binary_tree(6)
    assert advise(chain, ALL_BODIES[-1:]).name == "pv_osim"
    assert advise(chain, ALL_BODIES[-8:]).name == "pv_osim_r"
    assert advise(tree, ALL_BODIES[40:48]).name == "pv_osim"
    assert "joining them" in advise(tree, ALL_BODIES[:1]).reason


def test_only_what_is_installed_is_advised(monkeypatch):
    monkeypatch.setattr(plugins, "available", lambda kind: ("ltdl", "pv_osim"))
    assert advise(make.chain(100), ALL_BODIES).name == "pv_osim"


def test_a_frame_that_does_not_exist_is_named():
    with pytest.raises(treesim.UnknownNameError, match="did you mean 'body_7'"):
        advise(make.tree_1(), ["bod_7"])


@pytest.mark.parametrize("name", ["asimo", "binary_4", "chain_mixed"])
def test_auto_gives_what_the_advised_method_gives(name):
    robot = trees.tree(name)
    q, frames = trees.random_state(robot).q, robot.body_names[-2:]
    given = treesim.inverse_operational_inertia(robot, q, frames, method="auto")
    advised = treesim.inverse_operational_inertia(robot, q, frames, method=advise(robot, frames).name)
    np.testing.assert_array_equal(given, advised)


def test_auto_chooses_once_for_each_set_of_frames(monkeypatch):
    method, robot = plugins.get("operational", "auto"), make.chain(60)
    taken = method.taken(robot, ("body_60",))
    monkeypatch.setattr("treesim.dynamics.operational.auto.advise", None)  # asked once more, it would fail
    assert method.taken(robot, ("body_60",)) is taken
    with pytest.raises(TypeError):
        method.taken(robot, ("body_1",))
