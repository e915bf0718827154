"""An engine that crashes, hangs or raises in its process is a finding, and the next robot gets a new process."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.compare import faulty_engine as faulty
from tests.waiting import PATIENCE
from treesim.compare import EngineAdapter, EngineError, Isolated, compare
from treesim.compare.source import canonical, without_losses
from treesim.compare.treesim_engine import TreesimEngine, random_batch
from treesim.errors import ArgumentError
from treesim.model.generators import chain

URDF = canonical(chain(2))
FEW = {"base": "fixed", "states": 2, "steps": 3}


@pytest.mark.parametrize(
    ("fault", "details"),
    [
        (faulty.crash, r"^Faulty crashed \(SIGSEGV\) on 'chain_2' \(raw\)$"),
        (faulty.leave, r"^Faulty ended its process with status 7 \(no memory left\) on"),
        (faulty.err, r"^IndexError: link 9$"),
        (faulty.fail, r"^it reads other joints$"),
    ],
)
def test_a_fault_is_a_finding(fault, details):
    with Isolated(faulty.FaultyEngine(fault)) as engine:
        report = compare(URDF, engine, **FEW)
    assert not report.passed and list(report.failures) == ["raw"]
    assert re.search(details, report.failures["raw"])
    assert {row.level for row in report.rows} == {"canonical"} and all(row.passed for row in report.rows)
    assert report.summary.startswith("faulty failed: ")


@pytest.mark.slow
def test_an_engine_that_hangs_is_ended(monkeypatch):
    with Isolated(faulty.FaultyEngine(faulty.hang)) as engine:
        results = engine.results

        def limited(robot, urdf, level, states):
            engine.timeout = 1.0 if level == "raw" else PATIENCE  # the engine's process has to start, too
            return results(robot, urdf, level, states)

        monkeypatch.setattr(engine, "results", limited)
        report = compare(URDF, engine, **FEW)
    assert "Faulty did not finish" in report.failures["raw"] and "(raw) in 1 s" in report.failures["raw"]
    assert report.row("mass_matrix", "canonical").passed


def test_what_it_does_not_know_is_left_out():
    with Isolated(faulty.FaultyEngine(faulty.refuse)) as engine:
        report = compare(URDF, engine, **FEW)
    assert report.passed and report.skipped["raw level"] == "it knows no such joint"


def test_numbers_come_through_to_the_bit():
    robot = without_losses(chain(3))
    batch = random_batch(robot, 3, 0, 4, 1e-3)
    with Isolated(TreesimEngine("bullet")) as engine:
        apart = engine.read(robot, "", "canonical").evaluate(batch).values
    here = TreesimEngine("bullet").read(robot).evaluate(batch).values
    assert apart.keys() == here.keys()
    for quantity, values in here.items():
        np.testing.assert_array_equal(apart[quantity], values)


def test_one_process_serves_many_robots_until_it_is_closed():
    batches = [(robot, random_batch(robot, 1, 0, 0, 1e-3)) for robot in (without_losses(chain(n)) for n in (1, 2))]
    engine = Isolated(TreesimEngine(None))
    for robot, batch in batches:
        engine.read(robot, "", "canonical").evaluate(batch)
    first = engine._process
    assert first is not None
    engine.close()
    engine.close()
    assert first._process.returncode is not None and engine._process is None
    engine.read(*batches[0][:1], "", "canonical").evaluate(batches[0][1])
    assert engine._process is not first
    engine.close()


def test_it_is_an_adapter_of_its_adapter():
    engine = Isolated(TreesimEngine(None))
    assert isinstance(engine, EngineAdapter) and engine.name == "treesim"
    assert engine.version() == engine.adapter.version() and engine.refuses(chain(1)) is None
    assert engine.controls() == {}


def test_a_time_limit_is_a_time():
    with pytest.raises(ArgumentError, match="timeout must be"):
        Isolated(TreesimEngine(None), timeout=0.0)


def test_an_engine_error_says_whose_it_is():
    robot = without_losses(chain(1))
    with Isolated(faulty.FaultyEngine(faulty.crash)) as engine, pytest.raises(EngineError, match="Faulty crashed"):
        engine.read(robot, "", "raw").evaluate(random_batch(robot, 1, 0, 0, 1e-3))
