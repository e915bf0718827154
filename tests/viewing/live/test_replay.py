"""A replay: it shows what was recorded when it was, and does what a page can ask of a recorded motion."""

from __future__ import annotations

import time

import numpy as np
import pytest

import treesim
from tests.viewing.live.driven import ReferenceScreen, Screen
from treesim import ArgumentError, Trajectory
from treesim.contact.history import ContactHistory
from treesim.kernels.contact.layout import STATE_INFO
from treesim.model import generators as make
from treesim.viewing.live import Replay
from treesim.viewing.live.panel import seconds_of
from treesim.viewing.live.reference import apart

ROBOT = make.chain(2, ("revolute", "revolute"))
STATES, DURATION = 101, 0.5


def motion(duration=DURATION, **more):
    """Angles that grow with time, from 2 s on."""
    t = 2 + np.linspace(0, duration, STATES)
    q = np.stack([t - 2, 3 * (t - 2)], axis=1)
    return Trajectory.of(
        ROBOT, t, q, np.tile([1.0, 3.0], (STATES, 1)), np.zeros((STATES, 2)), np.arange(STATES), **more
    )


class Plain:
    """A viewer that nobody steers."""

    def __init__(self):
        self.shown = []

    def show(self, robot, q):
        self.shown.append(q.copy())

    update = lambda self, q: self.show(None, q)  # noqa: E731

    def close(self):
        pass


@pytest.fixture
def replay():
    """One whose events are taken by the test."""
    return Replay(ROBOT, motion(), Screen())


def ask(replay, **message):
    """Do what a page asks for, and return what that page is told."""
    replies = []
    replay.receive(message, replies.append)
    replay._events.run()
    return replies


def test_it_plays_in_real_time_once_before_a_viewer_that_nobody_steers():
    screen = Plain()
    began = time.perf_counter()
    assert Replay(ROBOT, motion(), screen).run() == 2 + DURATION
    assert time.perf_counter() - began >= DURATION - 0.02
    assert np.array_equal(screen.shown[0], [0, 0]) and np.array_equal(screen.shown[-1], motion().q[-1])
    assert (np.diff([q[0] for q in screen.shown]) >= 0).all(), "time goes on"


def test_a_duration_and_a_speed_are_kept():
    assert Replay(ROBOT, motion(500.0), Screen(), speed=1000).run(400.0) == pytest.approx(402.0, abs=1e-9)
    assert Replay(ROBOT, motion(), Screen(), speed=100).run(77.0) == 2.5, "there is no more"


def test_what_is_shown_is_what_was_recorded_last():
    replay = Replay(ROBOT, motion(), Screen())
    for t, k in ((2.0, 0), (2.0049, 0), (2.0051, 1), (2.5, 100), (7.0, 100), (-1.0, 0)):
        assert ask(replay, do="seek", t=t) == [] and not replay.running
        assert np.array_equal(replay._screen.viewer.shown[-1], motion().q[k])
        assert replay._screen.viewer.states[-1]["energy"] == k


def test_bar_of_time(replay):
    assert ask(replay, set={"running": False, "speed": 0.5}) == []
    assert (replay.running, replay.speed) == (False, 0.5)
    ask(replay, do="step")
    assert replay.t == pytest.approx(2.005)
    ask(replay, do="reset")
    assert replay.t == 2
    ask(replay, do="seek", t=2.5)
    ask(replay, set={"running": True})
    assert replay.t == 2 and replay.running, "from the end it begins again"


def test_the_panel_and_the_state_tell_what_a_page_needs(replay):
    (panel,), state = replay._screen.viewer.panels, replay._screen.viewer.states[-1]
    assert panel["replay"] and panel["can"] == ["seek", "com", "momentum"] and "backends" not in panel
    assert [joint["name"] for joint in panel["joints"]] == list(state["joints"]) == list(ROBOT.joint_names)
    assert state["history"] == [2.0, 2.5] and state["t"] == 2.0 and state["message"] is None
    t, q, v = (np.array([each[name] for each in panel["recording"]]) for name in ("t", "q", "v"))
    assert (t[0], t[-1]) == (2.0, 2.5) and (np.diff(t) > 0).all() and len(t) <= 300
    recorded = motion()
    k = np.searchsorted(recorded.t, t)
    np.testing.assert_array_equal(np.c_[q, v], np.c_[recorded.q[k], recorded.v[k]])


def test_contacts_and_the_end_of_a_simulation_are_told():
    wrench = np.zeros((STATES, 1, 6))
    wrench[40, 0] = [0, 0, 5, 1, 1, 1]
    contact = ContactHistory((ROBOT.body_names[1],), wrench, np.zeros((STATES, STATE_INFO)))
    replay = Replay(ROBOT, motion(contact=contact, metadata={"stopped": "it fell"}), Screen())
    assert "contact" in replay._screen.viewer.panels[-1]["can"]
    ask(replay, do="seek", t=float(motion().t[40]))
    state = replay._screen.viewer.states[-1]
    assert state["contactForce"] == 5 and state["contacts"][ROBOT.body_names[1]]["force"] == [0, 0, 5]
    assert state["contacts"][ROBOT.body_names[1]]["at"] == treesim.body_poses(ROBOT, motion().q[40])[2, :3, 3].tolist()
    ask(replay, do="seek", t=9)
    assert "it fell" in replay._screen.viewer.states[-1]["message"]


def test_contact_points_and_readings_of_a_run_are_told():
    crate = treesim.free_body("crate", "box", (0.2, 0.2, 0.2), 1.0)
    world = treesim.World(crate, ground=treesim.Ground(), sensors=[treesim.Imu("crate")])
    run = treesim.Simulation(world, contact_points=True).run(0.01, q0=[0, 0, 0.1, 0, 0, 0, 1])
    replay = Replay(crate, run, Screen())
    ask(replay, do="seek", t=0.005)
    (panel,), state = replay._screen.viewer.panels, replay._screen.viewer.states[-1]
    assert "points" in panel["can"] and panel["sensors"][0]["name"] == "imu_crate"
    points = np.array(state["points"])
    np.testing.assert_allclose(points[:, 3:].sum(axis=0), [0, 0, 9.81], atol=1e-9)
    np.testing.assert_array_equal(state["sensors"]["imu_crate"], run.sensors["imu_crate"][5])
    ask(replay, do="seek", t=run.t[-2])
    before = replay._screen.viewer.states[-1]
    ask(replay, do="seek", t=0.01)
    end = replay._screen.viewer.states[-1]
    assert end["points"] == before["points"] != [] and end["contactForce"] == before["contactForce"] > 9
    assert replay._screen.viewer.states[-1]["sensors"]["imu_crate"] == [None] * 6, "the last state starts no step"


def test_a_second_motion_is_its_reference():
    other = Trajectory.of(ROBOT, motion().t, 2 * motion().q, motion().v, motion().tau, motion().energy)
    replay = Replay(ROBOT, motion(), ReferenceScreen(), references={"other.npz": other})
    screen = replay._screen.viewer
    assert screen.panels[-1]["references"] == ["none", "other.npz"]
    ask(replay, do="seek", t=2.2)
    np.testing.assert_array_equal(screen.references[-1], 2 * screen.shown[-1])
    state = screen.states[-1]
    assert state["reference"] == "other.npz" and state["apart"] == apart(ROBOT, screen.shown[-1], screen.references[-1])
    assert ask(replay, set={"reference": "none", "frame": ROBOT.body_names[1]}) == []
    assert screen.references[-1] is None and screen.states[-1]["apart"] is None
    assert screen.states[-1]["effective_mass"]["frame"] == ROBOT.body_names[1]
    with pytest.raises(ArgumentError, match="does not fit"):
        Replay(
            treesim.load("ur5"), treesim.Simulation(treesim.load("ur5")).run(0.01), Screen(), references={"a": other}
        )


def test_momenta_are_told_about_the_centre_of_mass():
    replay = Replay(ROBOT, motion(), Screen())
    q, v = motion().q[0], motion().v[0]
    details, whole = replay.state()["momentum"], treesim.momentum(ROBOT, q, v)
    np.testing.assert_array_equal(details["linear"], whole[:3])
    moment = np.cross(treesim.center_of_mass(ROBOT, q), whole[:3])
    np.testing.assert_allclose(np.array(details["angular"]) + moment, whole[3:], atol=1e-12)


NONSENSE = [
    {"set": {"dt": 0.1}}, {"set": {"joints": {}}}, {"set": 3}, {"set": {"running": 1}}, {"set": {"speed": "fast"}},
    {"set": {"speed": 0}}, {"set": {"frame": "nose"}}, {"set": {"reference": "run"}},
    {"do": "pull"}, {"do": 3}, {}, {"do": "seek"}, {"do": "seek", "t": "2"},
    {"do": "seek", "t": float("nan")},
]  # fmt: skip


@pytest.mark.parametrize("message", NONSENSE, ids=str)
def test_what_cannot_be_done_is_told_and_changes_nothing(replay, message):
    before = replay.t, replay.running, replay.speed
    (reply,) = ask(replay, **message)
    assert reply and (replay.t, replay.running, replay.speed) == before


def test_a_flood_of_events_is_cut(replay):
    replies = []
    for _ in range(5000):
        replay.receive({"do": "reset"}, replies.append)
    assert 0 < len(replies) < 5000


def test_a_page_pauses_a_motion_that_plays():
    now, asks = 0.0, [
        (0.1, lambda: replay.receive({"set": {"running": False}}, pytest.fail)),
        (0.3, lambda: replay._events.post(None)),  # what no page can send ends it
    ]  # fmt: skip

    def clock():
        nonlocal now
        now += 0.01
        while asks and now >= asks[0][0]:
            asks.pop(0)[1]()
        return now

    replay = Replay(ROBOT, motion(), Screen(), speed=0.1, clock=clock)
    with pytest.raises(TypeError):
        replay.run()
    assert not replay.running and replay.t == pytest.approx(2.01, abs=0.005)


def test_another_robot_and_an_empty_motion_are_refused():
    with pytest.raises(ArgumentError, match=r"2 joints, and does not fit 'ur5' with 6"):
        Replay(treesim.load("ur5"), motion(), Screen())
    none = np.zeros((0, 2))
    with pytest.raises(ArgumentError, match="empty"):
        Replay(ROBOT, Trajectory.of(ROBOT, np.zeros(0), none, none, none, np.zeros(0)), Screen())


@pytest.mark.parametrize("t", [10**400, -(10**400), float("nan"), float("inf"), True, "1"])
def test_a_time_that_no_float_holds_is_refused(t):
    with pytest.raises(ArgumentError, match="t must be a number of seconds"):
        seconds_of(t)
    assert seconds_of(10**300) == 1e300
