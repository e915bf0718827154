"""Benchmarks from Python, with made-up engines: timed calls, notes, and results."""

from __future__ import annotations

import numpy as np
import pytest
from treesim_lab import bench
from treesim_lab.bench import arithmetic, batches, fma_peak

import treesim
from treesim.compare import BenchmarkCase, EngineError, EngineModel
from treesim.compare.engines import installed_engines
from treesim.errors import PluginError, UnsupportedError


class Echo(EngineModel):
    """Engine that returns a zero mass matrix immediately."""

    engine = "Echo"

    def calls(self, state):
        M = np.zeros((self.robot.nv, self.robot.nv))
        return [BenchmarkCase("Echo", "zeros", "mass matrix", lambda: M, lambda: M, "nothing")]


class EchoAdapter:
    name, title, integrator, levels, timed = "echo", "Echo", None, ("raw",), "raw"

    def __init__(self, refusal=None, error=None):
        self.refusal, self.error = refusal, error
        self.texts = []

    def version(self):
        return "7"

    def refuses(self, robot):
        return self.refusal

    def read(self, robot, urdf, level):
        self.texts.append((urdf, level))
        if self.error is not None:
            raise self.error
        return Echo(robot)


@pytest.fixture(autouse=True)
def brief(monkeypatch):
    for module in (batches, arithmetic):
        monkeypatch.setattr(module, "TURN", 1e-3)
        monkeypatch.setattr(module, "PAUSE", 0.0)
    monkeypatch.setattr(fma_peak, "TURNS", 1000)


def test_calls_beside_another_engine():
    adapter = EchoAdapter()
    found = bench.time_calls("chain3", rounds=1, engines=[adapter])
    assert found.engines == {"Echo": "7"} and found.notes == () and found.repeats == 1
    assert [level for _, level in adapter.texts] == ["raw"] and "<robot" in adapter.texts[0][0]
    theirs = found.fastest("mass matrix", "Echo")
    assert theirs["call"] == "zeros" and theirs["error"] == 1.0
    assert found.fastest("mass matrix")["times_faster_than"].keys() == {"Echo"}
    assert found.to_dict()["rows"][0]["quantity"] == "forward dynamics"
    with pytest.raises(KeyError, match="no call of Echo computes 'rollout'"):
        found.fastest("rollout", "Echo")


@pytest.mark.parametrize(
    ("adapter", "note"),
    [
        (EchoAdapter(refusal="it has no chains"), "it has no chains"),
        (EchoAdapter(error=UnsupportedError("it reads no chains")), "it reads no chains"),
        (EchoAdapter(error=EngineError("it lost the chain")), "it lost the chain"),
    ],
)
def test_engines_that_do_not_take_the_robot_are_noted(adapter, note):
    found = bench.time_calls("chain3", rounds=1, engines=[adapter])
    assert found.engines == {} and found.notes == (f"{note}: no comparison",)


def test_batches_and_sizes_are_plain_data():
    robot = bench.bench_robot("chain2", "fixed", None, [])
    found = bench.time_batches(robot, states=70, rounds=1, engines=[EchoAdapter()])
    assert found.states == 70 and found.more["after_another"] == {}
    assert {row["kernel"] for row in found.more["arithmetic"]} == {"ABA", "RNEA", "CRBA"}
    sizes = bench.time_sizes(robot, largest=100)
    assert [row["states"] for row in sizes.rows] == [100] and "100 states" in sizes._repr_html_()


def test_ratios_of_several_robots():
    found = bench.time_robots(["chain2", "chain3"], states=64, rounds=1, batch_rounds=1, engines=[EchoAdapter()])
    (row, *_) = [row for row in bench.ratios(found, "calls") if row["quantity"] == "mass matrix"]
    assert row["min_s"].keys() == {"chain2", "chain3"} == row["ratios"].keys()
    assert row["ratios"]["chain2"].keys() == {"Echo"}


def test_a_plugin_that_is_broken_is_noted(monkeypatch):
    def broken(kind, name):
        raise PluginError(f"engine {name!r} cannot be loaded")

    monkeypatch.setattr(treesim.plugins, "available", lambda kind: ("mujoco",))
    monkeypatch.setattr(treesim.plugins, "get", broken)
    notes = []
    assert installed_engines(notes) == []
    assert sum("is not installed" in note for note in notes) == 2
    assert "engine 'mujoco' cannot be loaded: no comparison" in notes
