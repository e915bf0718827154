"""Pages of a simulation that stall, are killed, or reconnect: none loses anything or affects others."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tornado.websocket import WebSocketClientConnection, websocket_connect
from treesim_meshcat import MeshcatViewer

import treesim
from tests.waiting import PATIENCE
from treesim.viewing.live import LiveSession, Scene, Settings

STALL = 1.0  # s
MB = 1 << 20


class Page:
    """Open page: its last state, and the numbers of its frames."""

    def __init__(self, socket: WebSocketClientConnection) -> None:
        self.socket, self.state, self.frames = socket, {}, list[bytes]()

    @classmethod
    async def joined(cls, url: str) -> Page:
        return cls(await websocket_connect(url.replace("http", "ws", 1) + "socket", max_message_size=64 * MB))

    async def ask(self, **message: Any) -> None:
        await self.socket.write_message(json.dumps(message))

    async def until(self, condition: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """Receive messages, and acknowledge frames, until a state satisfies a condition; return that state."""

        async def taken() -> None:
            while not (self.state and condition(self.state)):
                message = await self.socket.read_message()
                assert message is not None, "the server hung up"
                if isinstance(message, bytes):
                    self.frames.append(message)
                    await self.ask(ack=int.from_bytes(message[4:8], "little"))
                else:
                    self.state = json.loads(message).get("state", self.state)

        await asyncio.wait_for(taken(), PATIENCE)
        return self.state

    def kill(self) -> None:
        """Disconnect without closing, as a killed browser does."""
        raw = self.socket.stream.socket
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.stream.close()


@pytest.fixture
def session() -> Iterator[LiveSession]:
    """Yield a playing session of a robot without weight under position control."""
    robot, viewer = treesim.load("ur5"), MeshcatViewer()
    scene = Scene(treesim.World(robot), robot.neutral(), np.zeros(robot.nv))
    playing = LiveSession(scene, viewer, Settings(gravity=(0.0, 0.0, 0.0), dt=5e-3, controller="hold"))
    playing._compiled.warm_others = lambda physics: None
    yield playing.start()
    playing.close()
    viewer.close()


def pull(session: LiveSession) -> dict[str, Any]:
    robot = session.physics.robot
    return {"do": "pull", "body": robot.body_names[-1], "point": [0, 0, 0], "target": [0.3, 0.3, 0.3]}


def test_the_pull_of_a_page_that_is_killed_ends_and_others_go_on(session):
    async def visits() -> None:
        url = session._viewer.url
        bystander, puller = await Page.joined(url), await Page.joined(url)
        await puller.ask(**pull(session))
        held = await bystander.until(lambda state: state["pull"])
        puller.kill()
        let_go = await bystander.until(lambda state: not state["pull"])
        assert let_go["running"] and let_go["t"] >= held["t"] and session.physics.pull is None
        await bystander.until(lambda state: state["t"] > let_go["t"])

    asyncio.run(visits())


@pytest.mark.slow
def test_a_pull_of_one_page_outlives_another_that_let_go(session):
    async def visits() -> None:
        url = session._viewer.url
        first, second = await Page.joined(url), await Page.joined(url)
        await first.ask(**pull(session))
        await first.until(lambda state: state["pull"])
        await first.ask(do="release")
        await first.until(lambda state: not state["pull"])
        await second.ask(**pull(session))
        held = await second.until(lambda state: state["pull"])
        first.kill()
        assert (await second.until(lambda state: state["t"] > held["t"] + 0.2))["pull"]

    asyncio.run(visits())


def test_a_page_that_stalls_gets_the_latest_and_nothing_of_the_run_is_lost(session):
    async def visits() -> None:
        url = session._viewer.url
        stalled, bystander = await Page.joined(url), await Page.joined(url)
        seen = await stalled.until(lambda state: state["t"] > 0)
        frames = len(stalled.frames)
        now = await bystander.until(
            lambda state: state["t"] > seen["t"] + STALL
        )  # the other one reads nothing meanwhile
        caught_up = await stalled.until(lambda state: state["t"] >= now["t"])
        assert len(stalled.frames) - frames < len(bystander.frames), "frames of the stall are left out"
        assert caught_up["history"][0] == 0 and caught_up["history"][1] >= now["t"]
        await stalled.ask(do="seek", t=seen["t"])
        assert (await stalled.until(lambda state: not state["running"]))["t"] <= seen["t"], "what it missed is there"

    asyncio.run(visits())


@pytest.mark.slow
def test_a_program_that_is_stopped_for_a_while_goes_on_where_it_was():
    command = [sys.executable, "-m", "treesim", "view", "ur5", "--no-browser", "--json"]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    async def visit(url: str) -> None:
        page = await Page.joined(url)
        await page.until(lambda state: state["t"] > 0.1)
        await page.ask(set={"running": False})
        before, began = await page.until(lambda state: not state["running"]), time.monotonic()
        await page.ask(set={"running": True})
        await page.until(lambda state: state["running"])
        program.send_signal(signal.SIGSTOP)
        await asyncio.sleep(3 * STALL)
        program.send_signal(signal.SIGCONT)
        after = await page.until(lambda state: state["t"] > before["t"] + 0.2)
        away = time.monotonic() - began - (after["t"] - before["t"])
        assert away > 2 * STALL, "it does not make up for the time that it was away"
        await page.ask(set={"running": False})
        assert not (await page.until(lambda state: not state["running"]))["message"]

    try:
        assert program.stdout is not None
        asyncio.run(visit(json.loads(program.stdout.readline())["url"]))
    finally:
        program.send_signal(signal.SIGINT)
        assert program.wait(PATIENCE) == 0
