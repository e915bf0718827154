"""The advised method for Λ⁻¹, and the method that follows the advice."""

import numpy as np
import pytest

import treesim
from tests import trees
from treesim import plugins
from treesim.model import generators as make
from treesim.operational.advice import advise


def test_short_paths_get_factors_and_long_ones_propagated_forces():
    shallow, deep = make.balanced_binary_tree(6), make.chain(60)
    assert advise(shallow, ["body_63"]).name == "ltdl"
    assert advise(deep, ["body_60"]).name == "pv_osim"
    assert "D2 = 35990" in advise(deep, ["body_60"]).reason


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


def test_auto_chooses_once_for_each_set_of_frames():
    method, robot = plugins.get("operational", "auto"), make.chain(60)
    assert (
        method.taken(robot, ["body_60"]) is method.taken(robot, ("body_60",)) is plugins.get("operational", "pv_osim")
    )
    assert method.taken(robot, ["body_1"]).name == advise(robot, ["body_1"]).name
