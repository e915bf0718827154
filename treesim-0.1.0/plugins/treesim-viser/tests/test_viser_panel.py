"""Panel: users' choices reach the simulation, and the simulation's state is shown without causing requests."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import treesim
from tests.waiting import wait_until
from treesim import Body, Inertia, Joint, Tree
from treesim.errors import ArgumentError
from treesim.viewing.live import LiveSession, Scene, Settings
from treesim.viewing.live.panel import panel_of
from treesim.viewing.protocols import InteractiveViewer

pytest.importorskip("viser", reason="needs viser (pip install viser)")

from treesim_viser import ViserViewer
from treesim_viser.panel import status
from viser import GuiEvent


@pytest.fixture
def robot() -> Tree:
    """Return a pendulum with limits, and a wheel without."""
    inertia = Inertia(1.0, np.array([0, 0, -0.3]), np.eye(3))
    bodies = [
        Body("arm", 0, Joint("hinge", "revolute", axis=(0, 1, 0), lower=0.5, upper=2), inertia),
        Body("wheel", 1, Joint("axle", "continuous", axis=(0, 1, 0)), inertia),
    ]
    return Tree("pendulum", bodies)


@pytest.fixture
def shown(robot: Tree) -> Iterator[tuple[ViserViewer, list[Any]]]:
    """Yield a viewer with the panel of a pendulum, and the list of its requests."""
    viewer, heard = ViserViewer(), []
    viewer.show(robot, robot.neutral())
    viewer.listen(lambda message, reply: heard.append(message))
    viewer.show_panel(panel_of(treesim.World(robot), {"robots": ["pendulum", "ur5"], "bases": ["fixed"]}))
    yield viewer, heard
    viewer.close()


def choose(widget: Any, value: Any = True) -> None:
    """Call what viser calls when a page sends a value."""
    widget._impl.value = value
    for call in widget._impl.update_cb:
        call(GuiEvent(None, 7, widget))


CHOICES = [
    ("backend", "crba_ltdl", {"backend": "crba_ltdl"}),
    ("integrator", "semi_implicit_euler", {"integrator": "semi_implicit_euler"}),
    ("controller", "hold", {"controller": "hold"}),
    ("robot", "ur5", {"robot": "ur5"}),
    ("speed", "0.5", {"speed": 0.5}),
    ("dt", 0.002, {"dt": 0.002}),
    ("kp", 77.0, {"kp": 77.0}),
    ("gravity", (0.0, 0.0, -1.62), {"gravity": [0.0, 0.0, -1.62]}),
    ("joints hinge", 1.25, {"joints": {"hinge": 1.25}}),
    ("joints axle", -0.5, {"joints": {"axle": -0.5}}),
]


@pytest.mark.parametrize(("name", "value", "message"), CHOICES)
def test_what_a_user_chooses_is_asked_for(shown, name, value, message):
    viewer, heard = shown
    choose(viewer._panel._shown[name], value)
    assert heard == [{"set": message}]


def test_play_step_and_reset(shown):
    viewer, heard = shown
    choose(viewer._panel._play)
    viewer.show_state({"t": 0.5, "running": False})
    assert viewer._panel._play.label == "play"
    choose(viewer._panel._play)
    assert heard == [{"set": {"running": False}}, {"set": {"running": True}}]


def test_a_state_is_shown_and_asks_for_nothing(shown):
    viewer, heard = shown
    viewer.show_state({
        "t": 1.5, "running": True, "speed": 2.0, "backend": "rjk", "gravity": [0, 0, -3.7], "kp": 12.0, "energy": None,
        "joints": {"hinge": 0.75, "axle": 99.0}, "targets": {"hinge": 1.0, "axle": 99.0}, "message": "slow",
    })  # fmt: skip
    panel = viewer._panel
    values = {name: panel._shown[name].value for name in ("speed", "backend", "gravity", "kp", "joints hinge")}
    assert values == {"speed": "2", "backend": "rjk", "gravity": (0, 0, -3.7), "kp": 12.0, "joints hinge": 1.0}
    assert panel._shown["joints axle"].value == pytest.approx(np.pi), "as far as its slider goes"
    assert (panel._status.value, panel._message.value, panel._message.visible) == ("1.50 s", "slow", True)
    assert heard == []
    viewer.show_state({"t": 1.5})
    assert not panel._message.visible


def test_what_a_user_has_just_chosen_is_not_taken_back_by_a_state_from_before(shown):
    viewer, _ = shown
    choose(viewer._panel._shown["joints hinge"], 1.75)
    viewer.show_state({"t": 0.0, "running": False, "joints": {"hinge": 0.5, "axle": 0.0}})
    assert viewer._panel._shown["joints hinge"].value == 1.75


def test_a_recorded_motion_has_time_alone(shown, robot):
    viewer, _ = shown
    viewer.show_panel({"robot": "pendulum", "joints": [], "bodies": [], "can": [], "replay": True})
    assert [folder.visible for folder in viewer._panel._folders] == [True, False, False, False]
    assert set(viewer._panel._shown) == {"speed"}


def test_status_in_one_line():
    assert status({"t": 2.0, "realTimeFactor": 0.987, "energy": 12.3456}) == "2.00 s, 0.99 x real time, 12.35 J"


def test_a_session_is_steered(robot):
    viewer = ViserViewer()
    assert isinstance(viewer, InteractiveViewer)
    scene = Scene(treesim.World(robot), np.array([1.0, 0.0]), np.zeros(2))
    session = LiveSession(scene, viewer, Settings(gravity=(0.0, 0.0, 0.0)))
    session._compiled.warm_others = lambda physics: None
    session.start()
    try:
        panel, player = viewer._panel, session.physics.player
        for condition, act in (
            (lambda: player.t > 0 and panel._running, lambda: choose(panel._play)),
            (lambda: player.paused and not panel._running, lambda: choose(panel._shown["joints hinge"], 1.5)),
            (lambda: player.q[0] == 1.5, lambda: choose(panel._play)),
            (lambda: not player.paused, lambda: None),
        ):
            wait_until(condition)
            act()
    finally:
        session.close()
        viewer.close()


def test_a_port_that_is_taken_is_named(robot):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        viewer = ViserViewer()
        viewer.port = taken.getsockname()[1]
        with pytest.raises(ArgumentError, match=f"port {viewer.port} of"):
            viewer.show(robot, robot.neutral())
