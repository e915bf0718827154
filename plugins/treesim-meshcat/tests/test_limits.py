"""Limits of the viewer: just below, and just above. Those of clients' messages are in test_meshcat_rude_clients.py."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import numpy as np
import pytest
from treesim_meshcat import server
from treesim_meshcat.encoding import pose_frame
from treesim_meshcat.overlays import ellipsoid, overlays_of
from treesim_meshcat.scene import framing
from treesim_meshcat.server import LivePage, LiveServer

from treesim import Body, CollisionShape, Inertia, Joint, Placement, Tree


@pytest.mark.parametrize(("reach", "far"), [(2.97, False), (3.03, True)])
def test_a_motion_of_three_robot_sizes_is_shown_completely(reach, far):
    """Of a robot of two points 2 m apart, one of which then moves away."""
    poses = np.tile(np.eye(4), (2, 2, 1, 1))
    poses[:, 0, 0, 3], poses[:, 1, 0, 3] = -1.0, [1.0, 2 * reach - 1]
    assert framing([], poses)["radius"] == pytest.approx(1.0 if far else reach)


@pytest.mark.parametrize(("half", "drawn"), [(0.96e-3, 1e-3), (1.04e-3, 1.04e-3)])
def test_ellipsoids_have_a_thousandth_of_their_longest_half_axis(half, drawn):
    """Of 5 kg with half axes of 1 m, 1 m and `half`."""
    found = ellipsoid(Inertia(5.0, np.zeros(3), np.diag([1 + half**2, 1 + half**2, 2.0])))
    assert np.linalg.norm(found[:3, :3], axis=0) == pytest.approx([1.0, 1.0, drawn])


@pytest.mark.parametrize(("points", "drawn"), [(3, []), (4, ["collision"])])
def test_hulls_of_four_points_are_drawn(points, drawn):
    corners = np.array([[0, 0, 0], [1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])[:points]
    body = Body("body", 0, Joint("joint", "floating"))
    robot = Tree("robot", [body], shapes=[CollisionShape(1, Placement(), "hull", vertices=corners)])
    assert [overlay.kind for overlay in overlays_of(robot, 1.0) if overlay.kind == "collision"] == drawn


@pytest.fixture
def page() -> LivePage:
    """A page without a connection, which takes no message yet."""
    page = LivePage.__new__(LivePage)
    page.initialize(None)
    page._writing = True
    return page


def test_two_frames_are_under_way(page):
    frames = [pose_frame(number, 0.0, np.eye(4)[None]) for number in (1, 2, 3)]
    sent = []
    for frame in frames:
        page.offer(frame)
        sent.append(page._next())
    assert sent == [*frames[:2], None]


@pytest.mark.parametrize(("count", "first"), [(16, 0), (17, 1)])
def test_sixteen_errors_wait_for_a_page(page, count, first):
    for k in range(count):
        page.complain(str(k))
    assert [json.loads(error)["error"] for error in page._errors] == [str(k) for k in range(first, count)]


class Clock:
    """Loop of a server that serves nothing; its time passes as it is slept."""

    def __init__(self) -> None:
        self.now, self.waits = 100.0, list[float]()

    def time(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    async def wait(self, tasks: set[int], timeout: float) -> None:
        self.waits.append(timeout)

    def call_later(self, seconds: float, call: object) -> None:
        self.waits.append(seconds)

    def call_soon_threadsafe(self, call: object) -> None:
        """Ignore what another thread would do."""

    def join(self, seconds: float) -> None:
        self.waits.append(seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


class Deaf:
    """Open page that does not confirm closing."""

    pulls = False

    def close(self, code: int, reason: str) -> None:
        """Stay open."""


@pytest.fixture
def live(clock) -> LiveServer:
    """A server without a thread, with an open page."""
    live = LiveServer.__new__(LiveServer)
    live._loop, live._thread = clock, SimpleNamespace(is_alive=lambda: True, join=clock.join)
    live._pages, live._stopping = {Deaf()}, asyncio.Event()
    return live


def test_a_closed_page_has_two_seconds_to_come_back(live, clock):
    live.leave(next(iter(live._pages)))
    assert clock.waits == [2.0]


def test_a_server_has_five_seconds_to_end(live, clock):
    live.close()
    assert clock.waits == [5.0]


def test_pages_and_connections_have_a_second_each_to_end(live, clock, monkeypatch):
    async def ended() -> None:
        """End all connections at once."""

    idle = SimpleNamespace(add_socket=lambda socket: None, stop=lambda: None, close_all_connections=ended)
    monkeypatch.setattr(server, "GuardedServer", lambda application, limits: idle)
    tasks = SimpleNamespace(all_tasks=lambda: {1, 2}, current_task=lambda: 1, sleep=clock.sleep, wait=clock.wait)
    monkeypatch.setattr(server, "asyncio", tasks)
    monkeypatch.setattr(live, "_application", lambda: None)
    live._socket = live._limits = None
    live._stopping.set()
    asyncio.run(live._serve())
    assert 0.98 < clock.now - 100.0 < 1.02 and clock.waits == [1.0]
