"""Functions for several items accept a single one; other types are rejected by name."""

import pytest
from treesim_lab import bench

from treesim import ArgumentError


def timed(given):
    found = bench.time_robots(given, states=70, rounds=1, batch_rounds=1, engines=[])
    return [each["robot"] for each in found]


@pytest.mark.slow
def test_one_robot_is_a_list_of_it():
    assert timed("chain2") == timed(["chain2"]) == timed(iter(["chain2"]))


@pytest.mark.parametrize("wrong", [3, [3], {1: "chain2"}])
def test_what_is_no_robot_is_refused(wrong):
    with pytest.raises(ArgumentError, match=r"^robots(\[0\])? must be a .*, got "):
        timed(wrong)


@pytest.mark.parametrize("wrong", [3, [3], {"mujoco": 1}])
def test_what_is_no_engine_is_refused(wrong):
    with pytest.raises(ArgumentError, match=r"engines(\[0\])? must be a .*EngineAdapter.*, got "):
        bench.time_calls("chain2", engines=wrong)
