"""A comparison with a referee whose faults are known: agreement passes, and every fault is found and located."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import treesim
from treesim.compare import Answers, Question, RefereeError, compare
from treesim.compare.checks import compare_described
from treesim.compare.own import Own
from treesim.compare.source import Described, read
from treesim.errors import ArgumentError, PluginError, UnsupportedError

URDF = """<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0.1 0.2"/><mass value="2"/>
    <inertia ixx="0.03" ixy="0.001" ixz="0" iyy="0.04" iyz="0" izz="0.02"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0 0 0.2"/><mass value="1"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.01"/></inertial></link>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
    <origin xyz="0 0 1"/><axis xyz="1 0 0"/><dynamics damping="0.5" friction="0.1"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>
    <origin xyz="0 0.3 0"/><axis xyz="0 1 0"/></joint>
</robot>"""


class Mirror:
    """A referee that is treesim itself, except for what `distort` does to its answers."""

    name = "mirror"
    integrator: str | None = "bullet"

    def __init__(self, distort=None, leave_out=()):
        self.distort = distort or (lambda values: None)
        self.leave_out = leave_out
        self.asked: list[Question] = []

    def version(self):
        return "1.0"

    def refuses(self, robot):
        return "it has no elbow" if "elbow" not in robot.joint_names else None

    def answer(self, question):
        self.asked.append(question)
        values = {key: np.array(value) for key, value in Own(self.integrator).answer(question).values.items()}
        self.distort(values)
        kept = {key: value for key, value in values.items() if key not in self.leave_out}
        return Answers(kept, dict.fromkeys(self.leave_out, "left out"), ("mirrored",))


def ask(referee, **options):
    return compare(URDF, referee, **{"base": "fixed", "states": 4, "steps": 20} | options)


def test_a_mirror_agrees():
    report = ask(Mirror())
    assert report.passed and report.verdict == "treesim and mirror agree on all 19 rows"
    assert {row.tier for row in report.rows} == {"raw", "canonical"}
    assert all(row.largest == 0.0 for row in report.rows if row.quantity != "trajectory")
    assert report.versions["mirror"] == "1.0" and report.changes["raw"] == ("mirrored",)


def test_the_referee_sees_the_file_and_our_bodies():
    mirror = Mirror()
    ask(mirror)
    raw, canonical = mirror.asked
    assert 'damping="0.5"' in raw.urdf and "damping" not in canonical.urdf
    assert raw.steps == 0 and canonical.steps == 20
    assert not raw.robot.damping.any() and not raw.robot.friction.any()
    np.testing.assert_array_equal(raw.q, canonical.q)


@pytest.mark.parametrize(
    ("quantity", "entry", "where", "cause"),
    [
        ("mass", (1,), "body 'lower'", "merged"),
        ("com", (0, 1), "body 'upper'", "centre of mass"),
        ("inertia", (0, 0, 1), "body 'upper'", "off-diagonal"),
        ("pose", (2, 1, 0, 3), "body 'lower'", "<origin>"),
        ("mass_matrix", (3, 1, 1), "joint 'elbow'", "composite"),
        ("inverse_mass_matrix", (0, 0, 0), "joint 'shoulder'", "motor"),
        ("bias", (1, 0), "joint 'shoulder'", "gyroscopic"),
        ("inverse_dynamics", (1, 1), "joint 'elbow'", "accelerations"),
        ("forward_dynamics", (1, 1), "joint 'elbow'", "forward dynamics"),
    ],
)
@pytest.mark.parametrize("fault", [1e-5, np.nan])
def test_a_fault_is_located_and_explained(quantity, entry, where, cause, fault):
    def distort(values):
        values[quantity][entry] += fault

    report = ask(Mirror(distort))
    assert not report.passed
    assert [row.quantity for row in report.rows if not row.passed] == [quantity, quantity]
    assert report.row(quantity, "raw").where == where
    assert where in report.verdict and cause in report.verdict and quantity.replace("_", " ") in report.verdict
    assert ("not a number" in report.verdict) == np.isnan(fault)


@pytest.mark.parametrize("fault", [1e-9, np.nan])
def test_a_fault_in_the_trajectory_fails(fault):
    def distort(values):
        if "trajectory_q" in values:
            values["trajectory_q"][7, 1] += fault

    report = ask(Mirror(distort))
    row = report.row("trajectory", "canonical")
    assert not report.passed and not row.passed and row.where == "step 7"
    assert "valid for 20 of 20 steps" in row.note and "stepping rule" in report.verdict


def test_the_tolerances_differ_by_tier():
    def distort(values):
        values["bias"] *= 1 + 1e-11

    report = ask(Mirror(distort))
    assert report.row("bias", "raw").passed and not report.row("bias", "canonical").passed


def test_what_the_referee_leaves_out_is_listed():
    report = ask(Mirror(leave_out=("bias",)))
    assert report.passed and report.skipped == {"bias": "left out"}
    with pytest.raises(KeyError, match="bias"):
        report.row("bias", "raw")


def test_a_tree_is_compared_in_the_canonical_tier_only():
    report = compare(treesim.load(URDF), Mirror(), states=2, steps=0)
    assert report.passed and {row.tier for row in report.rows} == {"canonical"}
    assert report.sha256 is None and "raw tier" in report.skipped


def test_a_stream_is_read_once(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(URDF)
    with path.open() as stream:
        from_stream = read(stream, "fixed")
    assert from_stream.sha256 == read(path, "fixed").sha256
    assert from_stream.robot.joint_names == ("shoulder", "elbow")


def test_the_trajectory_is_that_of_the_rule_that_is_asked_for():
    report = compare_described(read(URDF, "fixed"), Mirror(), states=1, steps=20, own=Own("explicit_euler"))
    assert [row.quantity for row in report.rows if not row.passed] == ["trajectory"]


def test_a_referee_without_a_stepping_rule_is_not_asked_for_a_trajectory():
    mirror = Mirror()
    mirror.integrator = None
    report = ask(mirror)
    assert report.passed and all(question.steps == 0 for question in mirror.asked)
    assert "trajectory" not in {row.quantity for row in report.rows}


def test_a_run_of_ours_that_breaks_down_fails():
    class Broken(Own):
        def trajectory(self, question, q0, v0):
            q, v = super().trajectory(question, q0, v0)
            q[15:], v[15:] = np.nan, np.nan
            return q, v

    report = compare_described(read(URDF, "fixed"), Mirror(), states=1, steps=20, own=Broken("bullet"))
    row = report.row("trajectory", "canonical")
    assert not row.passed and row.where == "step 15" and "not a number" in report.verdict


def test_a_referee_may_refuse():
    robot = treesim.load(URDF)
    body = replace(robot.bodies[0], joint=replace(robot.bodies[0].joint, name="hip"))
    with pytest.raises(UnsupportedError, match="mirror cannot judge 'leg': it has no elbow"):
        compare_described(Described(treesim.Tree("leg", [body])), Mirror())


def test_a_referees_failure_passes_through():
    class Broken(Mirror):
        def answer(self, question):
            raise RefereeError("lost")

    with pytest.raises(RefereeError, match="lost"):
        ask(Broken())


def test_a_referee_that_is_not_installed_is_named():
    with pytest.raises(PluginError, match=r"'mirror'.*treesim-pybullet"):
        compare("no such robot", "mirror")


@pytest.mark.parametrize("options", [{"states": 0}, {"steps": -1}, {"dt": 0.0}])
def test_nonsense_is_refused(options):
    with pytest.raises(ArgumentError, match=f"{next(iter(options))} must be"):
        ask(Mirror(), **options)


def test_the_report_is_plain():
    plain = ask(Mirror()).to_dict()
    assert plain["passed"] is True and plain["rows"][0]["quantity"] == "mass"
