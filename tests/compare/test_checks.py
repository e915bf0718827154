"""A comparison with an engine whose faults are known: agreement passes, and every fault is found and located."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import treesim
from tests import layouts
from treesim.compare import CANONICAL, RAW, EngineAdapter, EngineError, EngineModel, Results, RobotSource, compare
from treesim.compare.checks import compare_source
from treesim.compare.diagnosis import CAUSES
from treesim.compare.source import read, without_losses
from treesim.compare.treesim_engine import TreesimEngine, TreesimModel, random_batch
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


class MirrorModel(EngineModel):
    """treesim's results, distorted, and with some left out; tells its adapter of the batches that it gets."""

    changes = ("mirrored",)

    def __init__(self, mirror, robot):
        super().__init__(robot)
        self.mirror = mirror

    def evaluate(self, states):
        self.mirror.batches.append(states)
        results = TreesimModel(self.robot, self.mirror.integrator).evaluate(states)
        values = {key: np.array(value) for key, value in results.values.items()}
        self.mirror.distort(values)
        left_out = self.mirror.leave_out
        kept = {key: value for key, value in values.items() if key not in left_out}
        return Results(kept, dict.fromkeys(left_out, "left out"), self.changes)


class Mirror:
    """An engine that is treesim itself, except for what `distort` does to its results."""

    name = title = "mirror"
    integrator: str | None = "bullet"
    levels = (RAW, CANONICAL)
    timed = RAW

    def __init__(self, distort=None, leave_out=()):
        self.distort = distort or (lambda values: None)
        self.leave_out = leave_out
        self.read_texts: list[tuple] = []
        self.batches: list = []

    def version(self):
        return "1.0"

    def refuses(self, robot):
        return "it has no elbow" if "elbow" not in robot.joint_names else None

    def read(self, robot, urdf, level):
        self.read_texts.append((robot, urdf, level))
        return MirrorModel(self, robot)


def ask(engine, **options):
    return compare(URDF, engine, **{"base": "fixed", "states": 4, "steps": 20} | options)


def test_a_mirror_agrees():
    report = ask(Mirror())
    assert report.passed and report.summary == "treesim and mirror agree on all 19 rows"
    assert {row.level for row in report.rows} == {"raw", "canonical"}
    assert all(row.largest == 0.0 for row in report.rows if row.quantity != "trajectory")
    assert report.versions["mirror"] == "1.0" and report.changes["raw"] == ("mirrored",)


def test_it_is_an_engine_adapter():
    assert isinstance(Mirror(), EngineAdapter) and isinstance(TreesimEngine(None), EngineAdapter)


def test_treesim_s_own_layout():
    robot = layouts.robot(0, True, ("revolute", "continuous", "spherical", "planar"))
    layouts.check(robot, TreesimEngine(None).read(robot).layout, 1)


def test_single_calls_and_batches_give_the_same():
    model = TreesimEngine("bullet").read(without_losses(treesim.load(URDF)))
    batch = random_batch(model.robot, 3, 0, 5, 1e-3)
    together, singly = model.evaluate(batch).values, EngineModel.evaluate(model, batch).values
    assert together.keys() == singly.keys()
    for quantity, values in together.items():
        np.testing.assert_allclose(singly[quantity], values, rtol=1e-12, atol=1e-12)


def test_the_engine_gets_the_file_and_our_bodies():
    mirror = Mirror()
    ask(mirror)
    (robot, raw, _), (_, canonical, _) = mirror.read_texts
    assert [level for *_, level in mirror.read_texts] == [RAW, CANONICAL]
    assert 'damping="0.5"' in raw and "damping" not in canonical
    assert not robot.damping.any() and not robot.joint_friction.any()
    first, second = mirror.batches
    assert first.steps == 0 and second.steps == 20
    np.testing.assert_array_equal(first.q, second.q)


def test_a_level_that_the_engine_does_not_read_is_left_out():
    mirror = Mirror()
    mirror.levels = (CANONICAL,)
    report = ask(mirror)
    assert report.passed and {row.level for row in report.rows} == {"canonical"} and "raw level" in report.skipped


def test_a_file_that_the_engine_does_not_know_is_left_out():
    class Partial(Mirror):
        def read(self, robot, urdf, level):
            if level == RAW:
                raise UnsupportedError("it reads no such joints")
            return super().read(robot, urdf, level)

    assert ask(Partial()).skipped == {"raw level": "it reads no such joints"}


def test_an_engine_without_functions_says_so():
    class Weighing(EngineModel):
        engine = "scales"

        def bodies(self):
            return TreesimModel(self.robot, None).bodies()

    mirror = Mirror()
    mirror.read = lambda robot, urdf, level: Weighing(robot)
    report = ask(mirror)
    assert report.passed and {row.quantity for row in report.rows} == {"mass", "com", "inertia"}
    assert report.skipped["bias"] == "scales has no function for inverse dynamics"
    assert report.skipped["trajectory (canonical level)"] == "scales has no function for trajectories"


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
    assert where in report.summary and cause in report.summary and quantity.replace("_", " ") in report.summary
    assert ("not a number" in report.summary) == np.isnan(fault)


@pytest.mark.parametrize("fault", [1e-9, np.nan])
def test_a_fault_in_the_trajectory_fails(fault):
    def distort(values):
        if "trajectory_q" in values:
            values["trajectory_q"][7, 1] += fault

    report = ask(Mirror(distort))
    row = report.row("trajectory", "canonical")
    assert not report.passed and not row.passed and row.where == "step 7"
    assert "valid for 20 of 20 steps" in row.note and "the integrator differs" in report.summary


def test_the_tolerances_differ_by_level():
    def distort(values):
        values["bias"] *= 1 + 1e-11

    report = ask(Mirror(distort))
    assert report.row("bias", "raw").passed and not report.row("bias", "canonical").passed


def test_what_the_engine_leaves_out_is_listed():
    report = ask(Mirror(leave_out=("bias",)))
    assert report.passed and report.skipped == {"bias": "left out"}
    with pytest.raises(KeyError, match="bias"):
        report.row("bias", "raw")


@pytest.mark.parametrize("quantity", CAUSES)
def test_what_an_adapter_forgets_is_listed_too(quantity):
    def forget(values):
        for key in ("trajectory_v",) if quantity == "trajectory" else (quantity,):
            values.pop(key, None)

    report = ask(Mirror(forget))
    where = " (canonical level)" if quantity == "trajectory" else ""
    assert report.passed and report.skipped == {quantity + where: "the adapter returns none"}
    assert report.summary.endswith(f"; not compared: {(quantity + where).replace('_', ' ')}")


def test_an_engine_that_gives_nothing_does_not_pass():
    report = ask(Mirror(dict.clear))
    assert not report.passed and not report.rows
    assert report.summary.startswith("nothing was compared: mirror left out") and "mass matrix" in report.summary

    mirror = Mirror()
    mirror.read = lambda robot, urdf, level: EngineModel(robot)
    report = ask(mirror)
    assert not report.passed and report.skipped["mass"] == "the engine has no function for bodies"


@pytest.mark.parametrize("integrator, source, steps, reason", [
    ("bullet", URDF, 0, "no steps were requested"),
    (None, URDF, 5, "integrator equal to that of mirror"),
    ("semi_implicit_euler", treesim.free_body("brick", "box", (0.1, 0.2, 0.3), 2.0), 5, "gyroscopic term of free"),
])  # fmt: skip
def test_why_there_is_no_trajectory_is_reported(integrator, source, steps, reason):
    mirror = Mirror()
    mirror.integrator, mirror.refuses = integrator, lambda robot: None
    report = compare(source, mirror, "auto", states=2, steps=steps)
    (found,) = [why for quantity, why in report.skipped.items() if quantity.startswith("trajectory")]
    assert reason in found


def test_a_tree_is_compared_at_the_canonical_level_only():
    report = compare(treesim.load(URDF), Mirror(), states=2, steps=0)
    assert report.passed and {row.level for row in report.rows} == {"canonical"}
    assert report.sha256 is None and "raw level" in report.skipped


def test_springs_are_left_out_with_a_note():
    robot = treesim.load(URDF)
    assert not any("springs" in note for note in compare(robot, Mirror(), states=1, steps=0).changes["both"])
    sprung = robot.with_joint(robot.joint_names[-1], stiffness=5.0, rest=1.0)
    report = compare(sprung, Mirror(), states=1, steps=0)
    assert report.passed and "springs of joints set to zero" in report.changes["both"]


def test_a_stream_is_read_once(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(URDF)
    with path.open() as stream:
        from_stream = read(stream, "fixed")
    assert from_stream.sha256 == read(path, "fixed").sha256
    assert from_stream.robot.joint_names == ("shoulder", "elbow")


def test_the_trajectory_is_that_of_the_rule_that_is_asked_for():
    report = compare_source(read(URDF, "fixed"), Mirror(), states=1, steps=20, own=TreesimEngine("explicit_euler"))
    assert [row.quantity for row in report.rows if not row.passed] == ["trajectory"]


def test_an_engine_without_a_stepping_rule_is_not_asked_for_a_trajectory():
    mirror = Mirror()
    mirror.integrator = None
    report = ask(mirror)
    assert report.passed and all(batch.steps == 0 for batch in mirror.batches)
    assert "trajectory" not in {row.quantity for row in report.rows}


def test_a_run_of_ours_that_breaks_down_fails():
    class BrokenModel(TreesimModel):
        def trajectory(self, *motion):
            q, v = super().trajectory(*motion)
            q[15:], v[15:] = np.nan, np.nan
            return q, v

    class Broken(TreesimEngine):
        def read(self, robot, urdf="", level=CANONICAL):
            return BrokenModel(robot, self.integrator)

    report = compare_source(read(URDF, "fixed"), Mirror(), states=1, steps=20, own=Broken("bullet"))
    row = report.row("trajectory", "canonical")
    assert not row.passed and row.where == "step 15" and "not a number" in report.summary


def test_an_engine_may_refuse():
    robot = treesim.load(URDF)
    body = replace(robot.bodies[0], joint=replace(robot.bodies[0].joint, name="hip"))
    with pytest.raises(UnsupportedError, match="mirror cannot evaluate 'leg': it has no elbow"):
        compare_source(RobotSource(treesim.Tree("leg", [body])), Mirror())


@pytest.mark.parametrize("level", [RAW, CANONICAL])
def test_an_engine_s_failure_is_a_finding(level):
    class Broken(Mirror):
        def read(self, robot, urdf, at):
            if at == level:
                raise EngineError("it lost the robot")
            return super().read(robot, urdf, at)

    report = ask(Broken())
    assert not report.passed and report.failures == {level: "it lost the robot"}
    assert report.rows and all(row.passed and row.level != level for row in report.rows)
    assert report.summary.startswith("mirror failed: it lost the robot; treesim and mirror agree on all")


@pytest.mark.parametrize("quantity", ["mass", "bias", "trajectory_q", "ends_v"])
def test_results_of_other_shapes_are_a_finding(quantity):
    def distort(values):
        if quantity in values:
            values[quantity] = values[quantity][:, None]

    report = ask(Mirror(distort))
    where = f"it gives {quantity.replace('_', ' ')} of shape"
    assert not report.passed and where in report.failures["canonical"]


def test_an_engine_that_fails_everywhere_compares_nothing():
    class Broken(Mirror):
        def read(self, robot, urdf, at):
            raise EngineError(f"lost {at}")

    report = ask(Broken())
    assert not report.passed and report.rows == ()
    assert report.summary == "mirror failed: lost raw; mirror failed: lost canonical; nothing was compared"


@pytest.mark.parametrize(("name", "plugin"), [("mirror", "pybullet"), ("mujoco", "mujoco"), ("pinocchio", "pinocchio")])
def test_an_engine_that_is_not_installed_is_named(name, plugin, monkeypatch):
    monkeypatch.setattr(treesim.plugins, "_entry_points", lambda kind: {})
    with pytest.raises(PluginError, match=rf"'{name}'.*treesim-{plugin}"):
        compare("no such robot", name)


@pytest.mark.parametrize("options", [{"states": 0}, {"steps": -1}, {"dt": 0.0}])
def test_nonsense_is_refused(options):
    with pytest.raises(ArgumentError, match=f"{next(iter(options))} must be"):
        ask(Mirror(), **options)


def test_the_report_is_plain():
    plain = ask(Mirror()).to_dict()
    assert plain["passed"] is True and plain["rows"][0]["quantity"] == "mass"
