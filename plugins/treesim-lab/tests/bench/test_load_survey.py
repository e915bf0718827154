"""Survey of robots: results, required repairs, and no robot refused that Pinocchio simulates."""

import json
from pathlib import Path

import pytest
from treesim_lab.bench import load_survey as module
from treesim_lab.bench.load_survey import pinocchio_outcomes, repairs_needed, tried
from typer.testing import CliRunner

from treesim.cli.main import app
from treesim.urdf import RobotEntry, installed_robots

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="{izz}"/></inertial>'
ROBOT = (
    '<robot name="r"><link name="base"/><link name="rod">{inertial}</link><joint name="hinge" type="{kind}">'
    '<parent link="base"/><child link="rod"/><axis xyz="0 0 1"/>{limit}</joint></robot>'
)
CASES = {  # the text's parts, the result, the repairs, the codes
    "sound": ({}, "loads", (), ()),
    "no limits": ({"kind": "revolute"}, "warning", (), ("U405",)),
    "moment": ({"izz": "-1"}, "repaired", ("inertias", "armature"), ("U305",)),
    "limits": ({"kind": "revolute", "limit": '<limit lower="1" upper="0"/>'}, "repaired", ("limits",), ("U404",)),
    "nothing": ({"inertial": ""}, "repaired", ("fixed",), ("U310",)),
    "no robot": ({"kind": "screw"}, "refused", (), ("U401",)),
}


@pytest.fixture
def entry(tmp_path):
    """Return a function that makes the entry of a robot from parts."""

    def make(izz="1", kind="continuous", limit="", inertial=INERTIAL):
        path = tmp_path / "robot.urdf"
        path.write_text(ROBOT.format(inertial=inertial.format(izz=izz), kind=kind, limit=limit))
        return RobotEntry("robot", "package", path)

    return make


@pytest.mark.parametrize("case", CASES)
def test_what_becomes_of_a_robot(entry, case, monkeypatch):
    parts, result, repairs, codes = CASES[case]
    monkeypatch.setattr(module, "pinocchio_outcomes", lambda path: ("simulates", "refuses it"))
    one = entry(**parts)
    fixed, floating = tried([one, one])
    assert (fixed.base, floating.base) == ("fixed", "floating")
    assert (fixed.result, fixed.repairs, fixed.codes) == (result, repairs, codes)
    assert (fixed.pinocchio, floating.pinocchio) == ("simulates", "refuses it")
    assert bool(fixed.why) is (result == "refused")
    assert floating.result in ("stops", "refused")  # the base has no inertia of its own


def test_pinocchio_is_asked_in_a_process_of_its_own(entry):
    pytest.importorskip("pinocchio")
    assert pinocchio_outcomes(entry().path) == ("simulates", "stops at step 0")
    assert pinocchio_outcomes(Path("nowhere.urdf")) == ("refuses it", "refuses it")


def test_the_command_tells_both_bases(monkeypatch):
    names = [one.name for one in installed_robots()]
    if "double_pendulum" not in names:
        pytest.skip("example-robot-data is not installed")
    monkeypatch.setattr(module, "pinocchio_outcomes", lambda path: ("simulates", "simulates"))
    shown = CliRunner().invoke(app, ["survey", "double_pendulum_cont"])
    assert shown.exit_code == 0 and "double_pendulum_continuous" in shown.stdout
    details = CliRunner().invoke(app, ["survey", "double_pendulum_cont", "--json"])
    assert [one["base"] for one in json.loads(details.stdout)] == ["fixed", "floating"]
    assert CliRunner().invoke(app, ["survey", "no such robot"]).exit_code == 2


@pytest.mark.slow
def test_every_robot_that_pinocchio_simulates_can_be_simulated():
    pytest.importorskip("pinocchio")
    some = installed_robots()[::3]  # neighbours in the list are versions of one robot
    theirs = [outcome for outcome in tried(some) if outcome.pinocchio == "simulates"]
    assert len(theirs) > 60
    assert not [outcome for outcome in theirs if outcome.result not in ("loads", "warning", "repaired")]


def test_no_repair_is_named_that_is_not_needed(entry):
    """The second robot has a non-unit axis too, which needs no repair."""
    one = entry(kind="revolute", limit='<limit lower="1" upper="0"/>')
    one.path.write_text(one.path.read_text().replace("0 0 1", "0 0 2"))
    assert repairs_needed(one.path, "fixed") == ("limits",)
