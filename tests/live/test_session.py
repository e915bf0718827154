"""A live session: everything that a page can ask for reaches the physics, and nothing that it sends ends it."""

import math
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import treesim
from treesim.live import LiveSession
from treesim.live.physics import Scene
from treesim.live.settings import Settings
from treesim.model.support import gaps
from treesim.viewers.base import GroundViewer, InteractiveViewer

ROBOT = treesim.load("ur5")
STILL = Settings(gravity=(0.0, 0.0, 0.0))
PATIENCE = 120.0  # s


class Screen:
    """A viewer that remembers, and whose user says in advance what is to be done, one thing each time it is told."""

    def __init__(self):
        self.url, self.port = None, 0
        self.shown, self.panels, self.states, self.grounds, self.replies = [], [], [], [], []

    def show(self, robot, q):
        self.shown = [(robot, q.copy())]

    def show_ground(self, ground):
        self.grounds.append(ground)

    def update(self, q):
        self.shown.append(q.copy())

    def close(self):
        pass

    def listen(self, receive):
        self.receive = receive

    def show_panel(self, panel):
        self.panels.append(panel)

    def show_state(self, state):
        self.states.append(state)


class Driven:
    """A session that is played in steps of the test, with a clock of its own, and no other thread."""

    def __init__(self, world=ROBOT, q=None, settings=STILL, **options):
        world = treesim.World(world) if isinstance(world, treesim.Tree) else world
        robot = world.robot
        self.now, self.screen = 0.0, Screen()
        scene = Scene(world, robot.neutral() if q is None else q, np.zeros(robot.nv), "fixed")
        self.session = LiveSession(scene, self.screen, settings, clock=lambda: self.now, **options)
        self.session._sleep = self.sleep
        self.session.physics.player._sleep = self.sleep
        self.physics, self.player = self.session.physics, self.session.physics.player

    def sleep(self, seconds):
        self.session._take_events()
        self.now += seconds
        if self.now >= self.end:
            raise TimeoutError

    def play(self, seconds):
        """Let real time pass."""
        self.end = self.now + seconds
        while self.now < self.end:
            try:
                self.player.run()
            except TimeoutError:
                return
            except treesim.errors.TreesimError as error:
                self.session._stop(error)

    def ask(self, **message):
        """Do what a page asks for, and return what that page is told."""
        replies = []
        self.screen.receive(message, replies.append)
        self.session._take_events()
        self.settle()
        return replies

    def settle(self):
        """Wait until nothing is compiled or loaded any more."""
        end = time.monotonic() + PATIENCE
        while (thread := self.session._preparing) is not None and time.monotonic() < end:
            thread.join(PATIENCE)
            self.session._preparing = None
        self.session._take_events()

    def set(self, **values):
        return self.ask(set=values)

    @property
    def state(self):
        return self.screen.states[-1]


def test_the_screen_is_an_interactive_viewer():
    assert isinstance(Screen(), InteractiveViewer) and isinstance(Screen(), GroundViewer)


def test_the_panel_tells_what_there_is():
    panel = Driven().screen.panels[-1]
    assert [joint["name"] for joint in panel["joints"]] == list(ROBOT.joint_names)
    assert panel["joints"][0]["unit"] == "rad" and panel["joints"][0]["lower"] == pytest.approx(ROBOT.lower[0])
    assert panel["bodies"] == ["base", *ROBOT.body_names]
    assert panel["backends"] == treesim.available("dynamics") and "rk4" in panel["integrators"]
    assert panel["can"] == ["pull", "seek", "com"]


def test_motion_is_the_simulation_s():
    driven = Driven(q=np.full(6, 0.3), settings=Settings(controller="hold", kp=500.0, kd=20.0))
    driven.play(0.5)
    steps = round(driven.player.t / 1e-3)
    hold = treesim.control.Hold(ROBOT, np.full(6, 0.3), 500.0, 20.0)
    same = treesim.Simulation(ROBOT, controller=hold, gravity=(0, 0, -9.81), engine="generic")
    run = same.run(steps * 1e-3, np.full(6, 0.3))
    assert steps > 400 and np.array_equal(driven.player.q, run.q[-1])


def test_pause_step_and_play():
    driven = Driven(settings=Settings())
    driven.play(0.2)
    assert driven.set(running=False) == []
    t = driven.player.t
    driven.play(0.2)
    assert driven.player.t == t and not driven.state["running"]
    np.testing.assert_array_equal(driven.screen.shown[-1], driven.state["q"])
    driven.ask(do="step")
    assert driven.state["t"] == pytest.approx(t + 1e-3)
    driven.set(running=True)
    driven.play(0.2)
    assert driven.state["running"] and driven.player.t > t + 0.15


def test_speed_and_the_real_time_factor():
    driven = Driven()
    driven.set(speed=0.5)
    driven.play(2.0)
    assert driven.player.t == pytest.approx(1.0, abs=0.05)
    assert driven.state["realTimeFactor"] == pytest.approx(0.5, rel=0.05) and driven.state["message"] is None


def test_physics_that_is_slow_says_so_and_no_backlog_grows():
    driven = Driven()
    step = driven.player.simulation.step

    def slow(*state):
        driven.now += 4e-3  # of real time, for 1 ms
        if driven.now > driven.end:  # nothing else does: there is no time left to sleep
            raise TimeoutError
        return step(*state)

    driven.player.simulation.step = slow
    with pytest.warns(treesim.player.SlowWarning):
        driven.play(3.0)
    assert driven.state["realTimeFactor"] == pytest.approx(0.25, rel=0.1)
    assert "0.25 times real time" in driven.state["message"]
    frames = [state["t"] for state in driven.screen.states]
    assert np.diff(frames).max() < 0.05, "it is slow, but it does not jump"


@pytest.mark.parametrize("backend", ["crba_ltdl", "crba_ltl"])
def test_the_backend_is_switched_while_the_motion_goes_on(backend):
    driven = Driven(settings=Settings())
    driven.play(0.1)
    q = driven.player.q.copy()
    assert driven.set(backend=backend) == []
    assert driven.state["backend"] == backend and driven.player.simulation.backend == backend
    assert np.array_equal(driven.player.q, q)
    driven.play(0.1)
    other = treesim.Simulation(ROBOT, backend="aba", gravity=(0, 0, -9.81), engine="generic")
    run = other.run(round(driven.player.t / 1e-3) * 1e-3)
    np.testing.assert_allclose(driven.player.q, run.q[-1], atol=1e-9)


def test_other_settings_take_effect_at_once():
    driven = Driven(settings=Settings())
    driven.play(0.1)
    wanted = {
        "gravity": [1.0, 2.0, -3.0],
        "dt": 2e-3,
        "controller": "hold",
        "kp": 40.0,
        "kd": 4.0,
        "integrator": "semi_implicit_euler",
    }
    assert driven.set(**wanted) == []
    assert {name: driven.state[name] for name in wanted} == wanted
    simulation = driven.player.simulation
    assert simulation.dt == 2e-3 and list(simulation.gravity) == wanted["gravity"]
    t = driven.player.t
    driven.play(0.2)
    assert driven.player.t - t == pytest.approx(0.2, abs=0.02)


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


def test_a_slider_of_a_running_robot_that_nothing_drives_lets_it_hold():
    driven = Driven()
    driven.set(joints={ROBOT.joint_names[0]: 0.5})
    assert driven.state["controller"] == "hold"
    driven.play(3.0)
    assert driven.player.q[0] == pytest.approx(0.5, abs=0.05)
    np.testing.assert_allclose(driven.player.q[1:], 0.0, atol=0.05)


def test_reset_begins_again():
    driven = Driven(q=np.full(6, 0.2), settings=Settings())
    driven.play(0.3)
    driven.ask(do="pull", body=ROBOT.body_names[-1], point=[0, 0, 0], target=[1, 1, 1])
    driven.ask(do="reset")
    assert driven.state["t"] == 0 and driven.state["q"] == [0.2] * 6 and driven.state["pull"] is None
    assert driven.state["history"] == [0, 0]


def test_history_is_gone_back_to_and_goes_on_from_there():
    driven = Driven(settings=Settings())
    driven.play(0.5)
    states = {state["t"]: state["q"] for state in driven.screen.states}
    t = sorted(states)[len(states) // 2]
    driven.ask(do="seek", t=t)
    assert driven.state["t"] == t and driven.state["q"] == states[t] and not driven.state["running"]
    assert driven.state["history"][1] > t, "what comes after is kept"
    driven.ask(do="seek", t=1e9)
    assert driven.state["t"] == driven.state["history"][1]
    driven.ask(do="seek", t=t)
    driven.set(running=True)
    driven.play(0.1)
    assert driven.physics.history.span[1] == pytest.approx(t + 0.1, abs=0.02)


@pytest.mark.parametrize("backend", ["aba", "crba_ltdl"])
def test_a_pull_moves_the_robot_beyond_its_motors_forces(backend):
    driven = Driven(settings=Settings(gravity=(0, 0, 0), backend=backend, controller="hold"))
    tip = ROBOT.body_names[-1]
    before = treesim.frame_pose(ROBOT, driven.player.q, tip)[:3, 3]
    target = before + np.array([0.1, 0.1, 0.2])
    assert driven.ask(do="pull", body=tip, point=[0, 0, 0], target=target.tolist()) == []
    assert driven.state["pull"]["force"] > 0
    driven.play(1.0)
    after = treesim.frame_pose(ROBOT, driven.player.q, tip)[:3, 3]
    assert np.linalg.norm(target - after) < 0.7 * np.linalg.norm(target - before)
    driven.ask(do="release")
    assert driven.state["pull"] is None
    driven.play(3.0)
    np.testing.assert_allclose(driven.player.q, 0, atol=0.05)


def test_motors_keep_their_limits_while_the_hand_has_none():
    joint = treesim.Joint("hinge", "revolute", axis=(0, 1, 0), effort=1.0)
    inertia = treesim.Inertia(1.0, (0, 0, -0.5), np.diag([0.1, 0.1, 0.1]))
    robot = treesim.Tree("weak", [treesim.Body("pole", 0, joint, inertia)])
    driven = Driven(robot, settings=Settings(gravity=(0, 0, 0), controller="hold", kp=1e4, kd=0.0))
    driven.set(running=False)
    driven.physics.target[:] = 1.0
    driven.physics.drive.aim(driven.physics.target)
    q, v = np.zeros(1), np.zeros(1)
    assert driven.physics.drive.torque(0.0, q, v) == pytest.approx(1.0)
    driven.ask(do="pull", body="pole", point=[0, 0, -1.0], target=[10.0, 0, -1.0])
    pull = driven.physics.pull
    assert driven.physics.drive.torque(0.0, q, v)[0] == pytest.approx(1.0 - pull.force[0])
    assert driven.physics.world.robot.effort_limit[0] == math.inf


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
    rough = treesim.Joint("hinge", "revolute", axis=(0, 1, 0), friction=0.1)
    robot = treesim.Tree("rough", [treesim.Body("pole", 0, rough, treesim.Inertia(1.0, (0, 0, -0.5)))])
    driven = Driven(robot)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        replies = driven.set(integrator="rk4")
    assert any("friction" in reply for reply in replies), replies


def test_a_floating_robot_stands_and_its_joints_lift_it_out_of_the_ground():
    robot = treesim.load("anymal", base="floating")
    world, knees = treesim.World(robot, ground=treesim.Ground()), ("LF_KFE", "RF_KFE", "LH_KFE", "RH_KFE")
    q = treesim.standing(robot, robot.configuration({"root_joint": robot.neutral()[:7], **dict.fromkeys(knees, 1.0)}))
    driven = Driven(world, q, Settings(controller="hold", kp=2000.0, kd=100.0))
    driven.physics.scene = driven.physics.scene._replace(base="floating")
    assert len(driven.screen.grounds) == 1 and driven.screen.panels[-1]["can"] == ["pull", "seek", "com", "contact"]
    assert "rk4" not in driven.screen.panels[-1]["integrators"], "it knows no contact"
    driven.play(0.5)
    assert driven.state["contactForce"] == pytest.approx(robot.mass * 9.81, rel=0.2)
    total = sum(np.array(contact["force"]) for contact in driven.state["contacts"].values())
    np.testing.assert_allclose(np.linalg.norm(total), driven.state["contactForce"])
    assert len(driven.state["contacts"]) == 4, "its feet"
    np.testing.assert_allclose(driven.state["com"], treesim.center_of_mass(robot, driven.state["q"]), atol=1e-12)
    driven.set(running=False)
    assert driven.set(joints=dict.fromkeys(knees, 0.0)) == []
    gap = gaps(robot, driven.player.q, np.array([0, 0, 1.0]), 0.0)[0].min()
    assert driven.player.q[2] > q[2] + 0.02 and gap == pytest.approx(0, abs=1e-9)


class Shelf:
    """Robots to choose from."""

    robots, bases = ("ur5", "panda"), ("fixed",)

    def load(self, robot, base):
        tree = treesim.load(robot)
        return Scene(treesim.World(tree), tree.neutral(), np.zeros(tree.nv), base), STILL


def test_another_robot_takes_the_place_of_the_first():
    driven = Driven(library=Shelf())
    driven.play(0.1)
    assert driven.set(robot="panda") == []
    assert driven.state["robot"] == "panda" and len(driven.state["q"]) == driven.screen.shown[0][0].nq == 8
    assert driven.screen.panels[-1]["joints"][0]["name"].startswith("panda")
    driven.play(0.1)
    assert driven.set(robot="nobody")[0].startswith("there is no robot 'nobody'")


def test_threads_that_compile_are_waited_for_and_begin_nothing_new_when_the_session_is_over(monkeypatch):
    """LLVM would be taken down under threads that Python leaves behind."""
    session = LiveSession(Scene(treesim.World(ROBOT), ROBOT.neutral(), np.zeros(6)), Screen(), STILL)
    go_on, warmed = threading.Event(), []
    monkeypatch.setattr(
        session.physics, "warm", lambda settings: warmed.append(settings) or len(warmed) == 1 or go_on.wait()
    )
    before = set(threading.enumerate())
    session.run(1e-3)
    (thread,) = set(threading.enumerate()) - before
    assert not thread.daemon
    go_on.set()
    thread.join(PATIENCE)
    assert len(warmed) == 2, "the session's own settings, and the first backend beside them"


def test_a_session_plays_beside_a_notebook_and_is_its_page_there():
    screen = Screen()
    screen.url = "http://127.0.0.1:7000/a&b/"
    session = LiveSession(Scene(treesim.World(ROBOT), ROBOT.neutral(), np.zeros(6)), screen, STILL)
    session._warm_others = lambda: None
    assert repr(session) == "<LiveSession of 'ur5' by Screen>"
    assert session.start()._repr_html_().startswith('<iframe src="http://127.0.0.1:7000/a&amp;b/"')
    with pytest.raises(treesim.ArgumentError, match="plays already"):
        session.start()
    end = time.perf_counter() + PATIENCE
    while screen.states[-1]["t"] == 0 and time.perf_counter() < end:
        time.sleep(1e-3)
    session.close()
    session.close()
    t = session.physics.player.t
    assert t > 0 and "<iframe" not in session._repr_html_() and f"{t:.6g} s" in session._repr_html_()


def test_a_session_ends_with_the_program_that_started_it():
    program = """
import numpy as np, treesim
from tests.live.test_session import ROBOT, STILL, Screen
from treesim.live import LiveSession, Scene
LiveSession(Scene(treesim.World(ROBOT), ROBOT.neutral(), np.zeros(6)), Screen(), STILL).start()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0, ended.stderr


def test_events_are_taken_while_it_runs_and_run_ends_by_itself():
    """With real time and threads: pause from another thread, then go on to the end."""
    screen = Screen()
    scene = Scene(treesim.World(ROBOT), ROBOT.neutral(), np.zeros(6))
    session = LiveSession(scene, screen, STILL)
    session._warm_others = lambda: None
    seen = []

    def user():
        for running in (False, True):
            sent = time.perf_counter()
            screen.receive({"set": {"running": running}}, seen.append)
            while screen.states[-1]["running"] != running and time.perf_counter() - sent < PATIENCE:
                time.sleep(1e-3)
            seen.append(screen.states[-1]["running"])

    worker = threading.Thread(target=user)
    worker.start()
    assert session.run(0.3) == pytest.approx(0.3)
    worker.join()
    assert seen == [False, True]
