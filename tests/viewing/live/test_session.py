"""A live session: everything that a page can ask for reaches the physics, and nothing that it sends ends it."""

import math
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import treesim
from tests.viewing.live.driven import ROBOT, STILL, Driven, Screen
from tests.waiting import PATIENCE, wait_until
from treesim.simulation.player import Frame
from treesim.viewing.live import LiveSession, compiled_methods
from treesim.viewing.live.physics import Scene
from treesim.viewing.live.settings import Settings
from treesim.viewing.protocols import GroundViewer, InteractiveViewer


def test_the_screen_is_an_interactive_viewer():
    assert isinstance(Screen(), InteractiveViewer) and isinstance(Screen(), GroundViewer)


def test_the_panel_tells_what_there_is():
    panel = Driven().screen.panels[-1]
    assert [joint["name"] for joint in panel["joints"]] == list(ROBOT.joint_names)
    assert panel["joints"][0]["unit"] == "rad" and panel["joints"][0]["lower"] == pytest.approx(ROBOT.lower[0])
    assert panel["bodies"] == ["base", *ROBOT.body_names]
    assert panel["backends"] == treesim.available("dynamics") and "rk4" in panel["integrators"]
    assert panel["can"] == ["pull", "seek", "com", "momentum"]


def test_physics_that_is_slow_says_so_and_no_backlog_grows():
    driven = Driven()
    step = driven.player.simulation.step

    def slow(*state):
        driven.now += 4e-3  # of real time, for 1 ms
        if driven.now > driven.end:  # nothing else does: there is no time left to sleep
            raise TimeoutError
        return step(*state)

    driven.player.simulation.step = slow
    with pytest.warns(treesim.SlowWarning):
        driven.play(3.0)
    assert driven.state["realTimeFactor"] == pytest.approx(0.25, rel=0.1)
    assert "0.25 times real time" in driven.state["message"]
    frames = [state["t"] for state in driven.screen.states]
    assert np.diff(frames).max() < 0.05, "it is slow, but it does not jump"


@pytest.mark.parametrize(("pace", "expected"), [(1.82, False), (1.78, True)])
def test_a_motion_at_nine_tenths_of_its_speed_is_not_slow(pace, expected):
    driven = Driven()
    state = {**driven.physics.state(), "speed": 2.0, "realTimeFactor": pace}
    driven.physics.state = lambda: state
    driven.session._send_state()
    assert (driven.state["message"] is not None) == expected


@pytest.mark.parametrize(("seconds", "states"), [(0.049, 0), (0.051, 1)])
def test_states_are_sent_twenty_times_a_second(seconds, states):
    driven = Driven()
    driven.session._send_state()
    before, driven.now = len(driven.screen.states), seconds
    driven.session._shown(Frame(0.1, driven.player.q, driven.player.v, None))
    assert len(driven.screen.states) == before + states


def test_what_may_be_needed_later_is_compiled_with_the_least_priority(monkeypatch):
    asked, methods = [], compiled_methods.CompiledMethods()
    monkeypatch.setattr(compiled_methods.os, "setpriority", lambda *given: asked.append(given[2]), raising=False)
    monkeypatch.setattr(compiled_methods.os, "PRIO_PROCESS", 0, raising=False)
    methods.over = True
    methods.warm_others(None)
    assert asked == [19]


def test_a_thousand_requests_wait():
    driven, replies = Driven(), []
    for _ in range(1000):
        driven.screen.receive({"set": {"speed": 0.5}}, replies.append)
    assert replies == []
    driven.screen.receive({"set": {"speed": 0.5}}, replies.append)
    assert replies == ["too many requests at once: this one is dropped"]


def test_joints_are_the_configuration_while_paused_and_targets_while_running():
    driven = Driven(settings=Settings(gravity=(0, 0, 0), controller="hold", kp=400.0, kd=40.0))
    name = ROBOT.joint_names[2]
    driven.set(running=False)
    driven.set(joints={name: 0.7})
    assert driven.player.q[2] == 0.7 and driven.state["joints"][name] == 0.7
    driven.set(running=True)
    driven.play(0.5)
    assert driven.player.q[2] == pytest.approx(0.7, abs=1e-6), "what was set is what is held"
    driven.set(joints={name: -0.4})
    assert driven.player.q[2] == pytest.approx(0.7, abs=1e-6) and driven.state["targets"][name] == -0.4
    driven.play(3.0)
    assert driven.player.q[2] == pytest.approx(-0.4, abs=1e-2)


def test_what_diverges_pauses_and_can_be_reset():
    driven = Driven(settings=Settings(integrator="explicit_euler", dt=0.05))
    driven.set(joints={})
    driven.player.v[:] = 1e3
    driven.play(30.0)
    assert not driven.state["running"] and "cannot go on" in driven.state["message"]
    assert np.isfinite(driven.state["q"]).all()
    driven.ask(do="reset")
    assert driven.state["message"] is None and driven.state["t"] == 0


NONSENSE = [
    {"set": None},
    {"set": {"running": "yes"}},
    {"set": {"joints": [1, 2]}},
    {"set": {"joints": {"nothing": 1}}},
    {"set": {"joints": {ROBOT.joint_names[0]: "x"}}},
    {"set": {"joints": {ROBOT.joint_names[0]: 1e9}}},
    {"set": {"joints": {ROBOT.joint_names[0]: math.nan}}},
    {"set": {"backend": "abba"}},
    {"set": {"speed": 1000, "dt": 1e-12}},
    {"set": {"wings": 2}},
    {"set": {"robot": "panda"}},
    {"do": "fly"},
    {"do": ["step"]},
    {"do": "seek", "t": "now"},
    {"do": "seek"},
    {"do": "pull"},
    {"do": "pull", "body": ROBOT.body_names[0], "point": [0, 0], "target": [0, 0, 0]},
    {"do": "pull", "body": {"a": 1}, "point": [0, 0, 0], "target": [0, 0, 0]},
]


@pytest.mark.parametrize("message", NONSENSE, ids=str)
def test_nonsense_is_told_to_its_page_and_changes_nothing(message):
    driven = Driven()
    before = {**driven.state}
    replies = driven.ask(**message)
    assert len(replies) == 1 and replies[0]
    assert driven.state == before
    driven.play(0.1)
    assert driven.player.t > 0.05


def test_a_bad_value_beside_good_ones_sets_none_of_them():
    driven = Driven()
    assert driven.set(kp=7.0, dt=-1)
    assert driven.state["kp"] == Settings().kp


def test_warnings_are_told_to_the_page():
    rough = treesim.Joint("hinge", "revolute", axis=(0, 1, 0), joint_friction=0.1)
    robot = treesim.Tree("rough", [treesim.Body("pole", 0, rough, treesim.Inertia(1.0, (0, 0, -0.5)))])
    driven = Driven(robot)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        replies = driven.set(integrator="rk4")
    assert any("friction" in reply for reply in replies), replies


class Shelf:
    """Robots to choose from."""

    robots, bases = ("ur5", "panda"), ("fixed",)

    def load(self, robot, base):
        tree = treesim.load(robot)
        return Scene(treesim.World(tree), tree.neutral(), np.zeros(tree.nv), base), STILL


def test_a_page_is_told_warnings_of_its_request_and_none_of_what_is_garbage():
    driven, replies = Driven(), []

    def act():
        warnings.warn("the robot is heavy", treesim.LimitWarning, stacklevel=1)
        warnings.warn("unclosed file", ResourceWarning, stacklevel=1)

    with pytest.warns(ResourceWarning, match="unclosed file"):
        driven.session._handle(act, replies.append)
    assert replies == ["the robot is heavy"]


def test_another_robot_takes_the_place_of_the_first():
    driven = Driven(library=Shelf())
    driven.set(reference="simulation")
    driven.session.set_force("wind", ROBOT.body_names[-1], (1, 0, 0))
    driven.play(0.1)
    assert driven.state["apart"]["distance"] == 0
    (details,) = driven.set(robot="panda")
    assert "joint 'panda_joint4' at 0 rad is 0.0698 rad above its upper limit" in details
    assert driven.state["robot"] == "panda" and len(driven.state["q"]) == driven.screen.shown[0][0].nq == 8
    assert driven.screen.panels[-1]["joints"][0]["name"].startswith("panda")
    assert driven.state["reference"] == "none" and driven.state["forces"] == {}
    driven.play(0.1)
    assert driven.set(robot="nobody")[0].startswith("there is no robot 'nobody'")


def test_threads_that_compile_are_waited_for_and_begin_nothing_new_when_the_session_is_over(monkeypatch):
    """LLVM would be taken down under threads that Python leaves behind."""
    session = LiveSession(Scene(treesim.World(ROBOT), ROBOT.neutral(), np.zeros(6)), Screen(), STILL)
    go_on, threads = threading.Event(), []

    def warm(settings):
        threads.append(threading.current_thread())
        assert len(threads) == 1 or go_on.wait(PATIENCE)

    monkeypatch.setattr(session.physics, "warm", warm)
    monkeypatch.setattr(session, "_play", lambda duration: wait_until(lambda: len(threads) == 2))
    session.run(1e-3)
    here, thread = threads
    assert here is threading.current_thread() is not thread and not thread.daemon
    go_on.set()
    thread.join(PATIENCE)
    assert not thread.is_alive() and len(threads) == 2, "no more than the first of the other backends"


def test_a_session_plays_beside_a_notebook_and_is_its_page_there():
    screen = Screen()
    screen.url = "http://127.0.0.1:7000/a&b/"
    session = LiveSession(Scene(treesim.World(ROBOT), ROBOT.neutral(), np.zeros(6)), screen, STILL)
    session._compiled.warm_others = lambda physics: None
    assert repr(session) == "<LiveSession of 'ur5' by Screen>"
    assert session.start()._repr_html_().startswith('<iframe src="http://127.0.0.1:7000/a&amp;b/"')
    with pytest.raises(treesim.ArgumentError, match="plays already"):
        session.start()
    wait_until(lambda: screen.states[-1]["t"] > 0)
    session.close()
    session.close()
    t = session.physics.player.t
    assert t > 0 and "<iframe" not in session._repr_html_() and f"{t:.6g} s" in session._repr_html_()


def test_a_session_ends_with_the_program_that_started_it():
    program = """
import numpy as np, treesim
from tests.viewing.live.test_session import ROBOT, STILL, Screen
from treesim.viewing.live import LiveSession, Scene
LiveSession(Scene(treesim.World(ROBOT), ROBOT.neutral(), np.zeros(6)), Screen(), STILL).start()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0, ended.stderr


def test_events_are_taken_while_it_runs_and_run_ends_by_itself():
    """With real time and threads: a page pauses, then goes on from another thread to the end."""
    seen = []

    class Pausing(Screen):
        def show_state(self, state):
            super().show_state(state)
            if state["t"] > 0 and not seen:
                seen.append("pause")
                self.receive({"set": {"running": False}}, seen.append)

    screen = Pausing()
    scene = Scene(treesim.World(ROBOT), ROBOT.neutral(), np.zeros(6))
    session = LiveSession(scene, screen, STILL)
    session._compiled.warm_others = lambda physics: None

    def user():
        wait_until(lambda: screen.states and not screen.states[-1]["running"])
        screen.receive({"set": {"running": True}}, seen.append)

    worker = threading.Thread(target=user)
    worker.start()
    assert session.run(0.3) == pytest.approx(0.3)
    worker.join()
    running = [state["running"] for state in screen.states]
    assert seen == ["pause"] and sorted(running, reverse=True) != running, "it goes on after a pause"
