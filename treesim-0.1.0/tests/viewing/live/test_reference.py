"""The reference: by the robot's own methods it is the robot, by others it is a simulation by these."""

import json
import math

import numpy as np
import pytest

import treesim
from tests.viewing.live.driven import ROBOT, Driven, ReferenceScreen
from treesim import ArgumentError, Trajectory
from treesim.errors import UnknownNameError
from treesim.viewing.live import ReferenceSettings
from treesim.viewing.live.reference import METHODS, RecordedReference, apart
from treesim.viewing.live.settings import Settings
from treesim.viewing.protocols import ReferenceViewer

TIP = ROBOT.body_names[-1]
EULER = {"referenceIntegrator": "semi_implicit_euler"}


def haunted(**options):
    """A session before a screen that shows two robots, and what it is."""
    driven = Driven(settings=Settings(), screen=ReferenceScreen(), **options)
    assert isinstance(driven.screen, ReferenceViewer)
    return driven


def simulated(integrator, seconds, **options):
    made = treesim.Simulation(ROBOT, integrator=integrator, gravity=(0, 0, -9.81), engine="generic", **options)
    return made.run(seconds).q[-1]


def test_by_the_same_methods_it_is_where_the_robot_is_whatever_acts_on_it():
    driven = haunted()
    assert driven.set(reference="simulation", controller="hold") == []
    driven.ask(do="pull", body=TIP, point=[0, 0, 0], target=[0.3, 0.3, 0.3])
    driven.ask(do="force", name="wind", body=TIP, point=[0, 0, 0.1], force=[0, 10, 0])
    driven.play(0.2)
    driven.set(joints={ROBOT.joint_names[1]: -0.5})
    driven.play(0.2)
    assert np.abs(driven.player.q).max() > 0.1
    np.testing.assert_array_equal(driven.physics.reference.q, driven.player.q)
    np.testing.assert_array_equal(driven.screen.references[-1], driven.screen.shown[-1])
    assert driven.state["apart"] == {"distance": 0.0, "body": ROBOT.body_names[0], "angle": 0.0}


def test_by_another_rule_it_is_the_simulation_by_that():
    driven = haunted()
    assert driven.set(**EULER) == [] and driven.state["reference"] == "simulation", (
        "whoever chooses a rule wants to see it"
    )
    driven.play(0.3)
    t = round(driven.player.t / 1e-3) * 1e-3
    np.testing.assert_array_equal(driven.player.q, simulated("implicit_midpoint", t))
    np.testing.assert_array_equal(driven.physics.reference.q, simulated("semi_implicit_euler", t))
    state = driven.state
    assert (
        state["referenceIntegrator"] == "semi_implicit_euler"
        and state["referenceBackend"] == state["referenceSolver"] == "same"
    )
    assert (
        state["apart"] == apart(ROBOT, driven.player.q, driven.physics.reference.q)
        and state["apart"]["distance"] > 1e-4
    )
    assert state["stepTime"] > 0 and state["referenceStepTime"] > 0
    json.dumps(state, allow_nan=False)


def test_substeps_of_the_reference_alone():
    driven = haunted(reference=ReferenceSettings("simulation", substeps=4))
    driven.play(0.1)
    t = round(driven.player.t / 1e-3) * 1e-3
    np.testing.assert_array_equal(driven.physics.reference.q, simulated("implicit_midpoint", t, substeps=4))
    assert 0 < driven.state["apart"]["distance"] < 1e-4


def test_it_goes_back_in_time_with_the_robot_and_meets_it():
    driven = haunted()
    driven.set(**EULER)
    driven.play(0.4)
    pairs = {
        state["t"]: reference for state, reference in zip(driven.screen.states, driven.screen.references, strict=False)
    }
    moments = {moment.t: moment.q for moment in driven.physics.reference.history._moments}
    t = sorted(set(pairs) & set(moments))[-3]
    driven.ask(do="seek", t=t)
    np.testing.assert_array_equal(driven.screen.references[-1], moments[t])
    assert driven.state["apart"]["distance"] > 0
    driven.ask(do="meet")
    assert driven.state["apart"]["distance"] == 0
    driven.set(running=True)
    driven.play(0.1)
    assert driven.state["apart"]["distance"] > 0
    driven.ask(do="seek", t=0.0)
    assert driven.state["apart"]["distance"] == 0, "before there was this reference, it is where the robot is"
    driven.ask(do="reset")
    assert driven.state["apart"]["distance"] == 0 and driven.state["t"] == 0
    assert driven.set(joints={ROBOT.joint_names[0]: 0.5}) == [] and driven.state["apart"]["distance"] == 0


def test_settings_that_are_the_same_follow_the_robot():
    driven = haunted()
    driven.set(reference="simulation")
    driven.play(0.1)
    driven.set(integrator="semi_implicit_euler", dt=2e-3, gravity=[0, 0, -5])
    driven.play(0.1)
    assert driven.state["apart"]["distance"] == 0
    driven.set(reference="none")
    assert driven.physics.reference is None and driven.screen.references[-1] is None and driven.state["apart"] is None


def test_a_reference_that_diverges_is_gone_and_the_robot_goes_on():
    driven = haunted()
    driven.set(dt=0.05, controller="hold", kp=1e5, kd=1e3, referenceIntegrator="explicit_euler")
    driven.play(5.0)
    assert driven.physics.reference is None and "the reference cannot continue" in driven.state["message"]
    assert driven.player.t > 4 and driven.state["running"]
    driven.set(reference="simulation", referenceIntegrator="same")
    assert driven.state["message"] is None and driven.state["apart"]["distance"] == 0


def recording(robot=ROBOT, seconds=0.1):
    return treesim.Simulation(robot, gravity=(0, 0, -9.81), integrator="semi_implicit_euler").run(seconds)


def test_a_recording_is_shown_by_the_clock_of_the_robot():
    motion = recording()
    driven = haunted(reference=ReferenceSettings("run.npz"), recordings={"run.npz": motion})
    assert driven.screen.panels[-1]["references"] == ["none", "simulation", "run.npz"]
    driven.play(0.05)
    np.testing.assert_array_equal(driven.physics.reference.q, motion.q[round(driven.player.t / 1e-3)])
    driven.play(0.2)
    np.testing.assert_array_equal(driven.physics.reference.q, motion.q[-1])
    driven.ask(do="seek", t=0.0)
    np.testing.assert_array_equal(driven.physics.reference.q, motion.q[0])


def test_recordings_of_other_robots_and_empty_ones_are_refused():
    with pytest.raises(ArgumentError, match="does not fit"):
        RecordedReference(ROBOT, recording(treesim.load("panda"), 0.01), 0.0)
    none = np.zeros((0, 6))
    with pytest.raises(ArgumentError, match="empty"):
        RecordedReference(ROBOT, Trajectory.of(ROBOT, np.zeros(0), none, none, none, np.zeros(0)), 0.0)


@pytest.mark.parametrize(
    "values", [{"reference": "nobody"}, {"reference": 3}, *({name: "magic"} for name in METHODS)], ids=str
)
def test_what_is_no_reference_is_told_and_changes_nothing(values):
    driven = haunted()
    before = {**driven.state}
    (reply,) = driven.set(**values)
    assert reply and driven.state == before


def test_programs_are_told_of_references_that_there_are_not():
    for reference, named in (
        (ReferenceSettings("run.npz"), "run.npz"),
        (ReferenceSettings("simulation", "magic"), "magic"),
    ):
        with pytest.raises(UnknownNameError, match=named):
            haunted(reference=reference)


def test_a_viewer_that_shows_one_robot_is_offered_no_reference():
    assert Driven().screen.panels[-1]["references"] == []


def test_how_far_apart_two_configurations_are():
    q = np.full(6, 0.3)
    assert apart(ROBOT, q, q)["distance"] == apart(ROBOT, q, q)["angle"] == 0
    for angle in (1e-9, 0.5, math.pi - 1e-3):
        turned = apart(ROBOT, q, q + angle * np.eye(6)[5])
        assert turned["angle"] == pytest.approx(angle, rel=1e-6) and turned["distance"] == pytest.approx(0, abs=1e-12)
    moved = apart(ROBOT, q, q + 0.5 * np.eye(6)[0])  # about the vertical axis through the base
    place = treesim.body_poses(ROBOT, q)[1:, :3, 3]
    radius = np.hypot(place[:, 0], place[:, 1])
    assert moved["distance"] == pytest.approx(2 * math.sin(0.25) * radius.max())
    assert moved["body"] == ROBOT.body_names[radius.argmax()]
