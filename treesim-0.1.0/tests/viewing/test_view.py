"""A view: what a program asks of it reaches its viewer, and what a user does reaches the program."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import treesim
from tests.waiting import PATIENCE, Clock
from treesim import ArgumentError, Ground, UnknownNameError, UnsupportedError, World
from treesim.model import generators as make
from treesim.system.events import EventQueue
from treesim.viewing.view import Click

ROBOT = make.chain(2, ("revolute", "revolute"))


class Plain:
    """A viewer that shows, and can do nothing else."""

    url = None

    def __init__(self):
        self.shown, self.closed = [], 0

    def show(self, robot, q):
        self.shown.append(np.array(q))

    def update(self, q):
        self.shown.append(np.array(q))

    def close(self):
        self.closed += 1


class Full(Plain):
    """A viewer that does all, and remembers."""

    url = "http://127.0.0.1:7000/a&b/"

    def __init__(self):
        super().__init__()
        self.sliders, self.marks, self.ground = {}, {}, ()

    def show_ground(self, ground):
        self.ground = ground

    def set_slider(self, name, lower, upper, value, unit, moved):
        self.sliders[name] = (lower, upper, value, unit, moved)

    def set_arrow(self, name, origin, vector, color):
        self.marks[name] = (origin, vector, color)

    def set_frame(self, name, pose, length):
        self.marks[name] = (pose, length)

    def remove_mark(self, name):
        self.marks.pop(name, None)

    def listen_clicks(self, clicked):
        self.click = clicked


@pytest.fixture
def full():
    with treesim.viewer(ROBOT, Full()) as view:
        yield view


def test_shows_moves_and_closes_the_robot():
    with treesim.viewer(ROBOT, Plain(), q=[0.1, 0.2]) as view:
        view.update([0.3, 0.4])
        assert np.array_equal(view.viewer.shown, [[0.1, 0.2], [0.3, 0.4]])
    assert view.viewer.closed == 1
    with pytest.raises(ArgumentError, match="closed"):
        view.update([0, 0])


def test_a_world_is_shown_with_its_ground():
    floor, ball = Ground(height=-5.0), treesim.free_body("ball", "sphere", (0.1,), 1.0)
    assert treesim.viewer(World(ball, ground=[floor]), Full()).viewer.ground == (floor,)
    treesim.viewer(World(ball, ground=[floor]), Plain())


def test_a_slider_stands_where_its_user_moved_it(full):
    assert full.slider("speed", 0, 4) == 2
    lower, upper, value, unit, moved = full.viewer.sliders["speed"]
    assert (lower, upper, value, unit) == (0, 4, 2, "")
    moved(3.5)
    assert full.slider("speed", 0, 4, value=1.0) == 3.5, "the beginning is over"
    moved(9.0)
    assert full.slider("speed", 0, 4) == 4, "within its limits"


def test_a_slider_with_other_limits_is_made_anew(full):
    full.slider("speed", 0, 4)
    before = full.viewer.sliders["speed"][-1]
    assert full.slider("speed", -1, 1, value=0.5, unit="m/s") == 0.5
    before(3.0)
    assert full.slider("speed", -1, 1) == 0.5, "pages that show it as it was move nothing"


def test_clicks_are_told_on_the_programs_thread(full):
    heard = []

    @full.on_click
    def hear(click):
        heard.append((click, threading.get_ident()))

    thread = threading.Thread(target=full.viewer.click, args=("link_1", np.ones(3)))
    thread.start()
    thread.join()
    assert heard == []
    full.update([0, 0])
    ((click, where),) = heard
    assert click.body == "link_1" and np.array_equal(click.point, [1, 1, 1]) and where == threading.get_ident()


def test_waiting_hears_clicks(full):
    clock, heard = Clock(), []
    full._events = EventQueue(clock)

    @full.on_click
    def hear(click):
        heard.append(click.body)
        clock.now = PATIENCE  # else it is waited for so long

    user = threading.Thread(target=lambda: clock.read.wait(PATIENCE) and full.viewer.click("link_2", np.zeros(3)))
    user.start()
    full.wait(PATIENCE)
    user.join()
    assert heard == ["link_2"]


def test_waiting_takes_its_time(full):
    began = time.monotonic()
    full.wait(0.02)
    assert time.monotonic() - began >= 0.02


def test_more_clicks_than_anybody_makes_are_left_out(full):
    heard = []
    full.on_click(heard.append)
    for _ in range(5000):
        full.viewer.click("link_1", np.zeros(3))
    full.wait(0)
    assert len(heard) == 1000


def test_arrows_and_frames_are_drawn_and_removed(full):
    pose = treesim.frame_pose(ROBOT, [0.3, 0.2], ROBOT.body_names[-1])
    full.arrow("force", (0, 0, 1), (0, 2, 0), (1, 0.5, 0))
    full.frame("tool", pose, 0.25)
    origin, vector, color = full.viewer.marks["force"]
    assert np.array_equal([origin, vector], [[0, 0, 1], [0, 2, 0]]) and color == (1, 0.5, 0)
    assert np.array_equal(full.viewer.marks["tool"][0], pose) and full.viewer.marks["tool"][1] == 0.25
    full.remove("force")
    assert list(full.viewer.marks) == ["tool"]


REFLECTION = np.diag([1.0, 1, -1, 1])
WRONG = {
    "limits": (lambda view: view.slider("a", 2, 1), "slider 'a': lower must be below upper"),
    "a limit": (lambda view: view.slider("a", 0, np.inf), "slider 'a': upper must be a finite number"),
    "a beginning": (lambda view: view.slider("a", 0, 1, value=3), "slider 'a': value must be from 0 to 1"),
    "a name": (lambda view: view.slider(3, 0, 1), "name must be text"),
    "no function": (lambda view: view.on_click("print"), "on_click: call must be a function"),
    "an origin": (lambda view: view.arrow("f", (0, 0), (0, 0, 1)), "arrow 'f': origin"),
    "a vector": (lambda view: view.arrow("f", (0, 0, 0), (0, 0, np.nan)), "arrow 'f': vector must be 3 finite"),
    "a color": (lambda view: view.arrow("f", (0, 0, 0), (0, 0, 1), (255, 0, 0)), "arrow 'f': color"),
    "a pose": (lambda view: view.frame("f", np.eye(3)), "frame 'f': pose"),
    "a reflection": (lambda view: view.frame("f", REFLECTION), "frame 'f': pose must be a rotation"),
    "a length": (lambda view: view.frame("f", np.eye(4), 0), "frame 'f': length"),
    "a time": (lambda view: view.wait(-1), "seconds must be"),
    "a configuration": (lambda view: view.update([0, 0, 0]), "q has shape"),
}


@pytest.mark.parametrize(("ask", "why"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named(full, ask, why):
    with pytest.raises(ArgumentError, match=why):
        ask(full)
    assert not full.viewer.sliders and not full.viewer.marks


BEYOND = {
    "slider": (lambda view: view.slider("a", 0, 1), "slider: Plain has no sliders"),
    "on_click": (lambda view: view.on_click(print), "on_click: Plain reports no clicks"),
    "arrow": (lambda view: view.arrow("a", (0, 0, 0), (0, 0, 1)), "arrow: Plain draws no arrows"),
    "frame": (lambda view: view.frame("a", np.eye(4)), "frame: Plain draws no frames"),
    "remove": (lambda view: view.remove("a"), "remove: Plain draws no"),
}


@pytest.mark.parametrize(("ask", "why"), BEYOND.values(), ids=BEYOND)
def test_what_a_viewer_cannot_do_is_named(ask, why):
    with treesim.viewer(ROBOT, Plain()) as view, pytest.raises(UnsupportedError, match=why):
        ask(view)


def test_viewers_that_there_are_not():
    with pytest.raises(UnknownNameError, match="nothing"):
        treesim.viewer(ROBOT, "nothing")
    with pytest.raises(ArgumentError, match="viewer must be a name, or an object"):
        treesim.viewer(ROBOT, 3)
    with pytest.raises(UnsupportedError, match="port"):
        treesim.viewer(ROBOT, Plain(), port=7000)


def test_the_browser_is_opened_where_it_is_asked_for(monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    treesim.viewer(ROBOT, Full())
    assert opened == []
    treesim.viewer(ROBOT, Full(), browser=True)
    assert opened == [Full.url]


def test_a_notebook_shows_the_page_while_there_is_one(full):
    shown = full._repr_html_()
    assert shown.startswith('<iframe src="http://127.0.0.1:7000/a&amp;b/"')
    full.close()
    assert "<iframe" not in full._repr_html_()


def test_a_click_names_its_body():
    assert repr(Click("hand", np.zeros(3))) == "<Click on 'hand'>"


def test_a_viewer_that_cannot_show_the_robot_is_closed_unless_it_is_the_callers(monkeypatch):
    class Failing(Plain):
        def show(self, robot, q):
            raise ArgumentError("no room")

    window = Failing()
    monkeypatch.setattr(treesim.plugins, "get", lambda group, name: window)
    with pytest.raises(ArgumentError, match="no room"):
        treesim.viewer(ROBOT)
    assert window.closed == 1, "its page would stay open without a robot"
    with pytest.raises(ArgumentError, match="no room"):
        treesim.viewer(ROBOT, window)
    assert window.closed == 1
