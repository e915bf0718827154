"""Live server: access control, messages to a page, and their rate."""

from __future__ import annotations

import asyncio
import gzip
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import numpy as np
import pytest
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect
from treesim_meshcat import MeshcatViewer, server

import treesim
from tests.ports import at_free_port, is_served
from tests.waiting import PATIENCE, wait_until
from treesim.errors import ArgumentError

HEAD = np.dtype([("magic", "S4"), ("number", "<u4"), ("time", "<f8")])


@pytest.fixture
def viewer(robot, monkeypatch) -> Iterator[MeshcatViewer]:
    monkeypatch.setattr(server, "_FAREWELL_SECONDS", 0.05)  # most pages here leave without a word
    viewer = MeshcatViewer()
    viewer.show(robot, robot.neutral())
    yield viewer
    viewer.close()


def status(url: str, path: str | None = None, host: str | None = None) -> int:
    """Return the HTTP status of the server behind `url` for a path and a Host header."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
    connection.request("GET", path or parts.path, headers={"Host": host or parts.netloc})
    code = connection.getresponse().status
    connection.close()
    return code


async def join(url: str, origin: str | None = None) -> WebSocketClientConnection:
    address = url.replace("http", "ws", 1) + "socket"
    return await connect(HTTPRequest(address, headers={"Origin": origin} if origin else None))


async def connect(request: HTTPRequest) -> WebSocketClientConnection:
    return await websocket_connect(request)


async def receive(page: WebSocketClientConnection) -> str | bytes | None:
    return await asyncio.wait_for(page.read_message(), PATIENCE)


async def answer_to_ping(page: WebSocketClientConnection) -> None:
    """Wait until the page has received everything that the server sent before the page's ping."""
    answered = asyncio.Event()
    page.on_pong = lambda data: answered.set()
    page.ping(b"now")
    await asyncio.wait_for(answered.wait(), PATIENCE)


def number(frame: bytes) -> int:
    return int(np.frombuffer(frame[:16], HEAD)["number"][0])


def rows(frame: bytes) -> np.ndarray:
    return np.frombuffer(frame[16:], "<f4").reshape(-1, 7)


def test_the_page_is_served(viewer):
    assert status(viewer.url) == 200
    assert status(viewer.url, host=f"localhost:{urlsplit(viewer.url).port}") == 200


def test_the_page_travels_compressed_to_who_can_read_that(viewer):
    parts = urlsplit(viewer.url)
    bodies = {}
    for encoding in ("identity", "gzip"):
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
        connection.request("GET", parts.path, headers={"Accept-Encoding": encoding})
        answer = connection.getresponse()
        assert answer.getheader("Content-Encoding", "identity") == encoding
        bodies[encoding] = answer.read()
        connection.close()
    assert gzip.decompress(bodies["gzip"]) == bodies["identity"]
    assert len(bodies["gzip"]) < 0.3 * len(bodies["identity"])


@pytest.mark.parametrize("path", ["/", "/wrong-token/", "/wrong-token/socket", "/static/main.min.js"])
def test_without_the_token_forbidden(viewer, path):
    assert status(viewer.url, path=path) == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80"])
def test_another_host_forbidden(viewer, host):
    assert status(viewer.url, host=host) == 403
    assert status(viewer.url, path=urlsplit(viewer.url).path + "socket", host=host) == 403


@pytest.mark.parametrize("header", ["Origin", "Sec-WebSocket-Origin"])
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://{}"])
@pytest.mark.parametrize("site", [None, "same-origin"])
def test_another_origin_forbidden(viewer, header, origin, site):
    """Also by headers of which libraries make exceptions."""
    headers = {header: origin.format(urlsplit(viewer.url).netloc)} | ({} if site is None else {"Sec-Fetch-Site": site})
    request = HTTPRequest(viewer.url.replace("http", "ws", 1) + "socket", headers=headers)
    with pytest.raises(HTTPClientError) as caught:
        asyncio.run(connect(request))
    assert caught.value.code == 403


@pytest.mark.parametrize("origin", [None, "http://evil.example"])
def test_a_websocket_without_the_token_is_forbidden_with_an_origin_or_without(viewer, origin):
    parts = urlsplit(viewer.url)
    with pytest.raises(HTTPClientError) as caught:
        asyncio.run(join(f"http://{parts.netloc}/wrong-token/", origin))
    assert caught.value.code == 403


def test_only_this_computer_is_served(viewer):
    assert viewer._server._socket.getsockname()[0] == "127.0.0.1"


def test_a_page_gets_the_scene_and_the_latest_pose_whenever_it_joins(viewer, robot, body_rows):
    q = robot.random(np.random.default_rng(1))
    viewer.update(robot.neutral())
    viewer.update(q)

    async def late_joiner() -> tuple[str | bytes | None, str | bytes | None]:
        page = await join(viewer.url)
        return await receive(page), await receive(page)

    scene, frame = asyncio.run(late_joiner())
    assert json.loads(scene)["title"] == "two limbs"
    shown = rows(frame)
    np.testing.assert_allclose(np.abs(np.sum(shown[:, 3:] * body_rows(robot, q)[:, 3:], axis=1)), 1, atol=1e-6)
    np.testing.assert_allclose(shown[:, :3], treesim.body_poses(robot, q)[:, :3, 3], atol=1e-6)


def test_a_slow_page_skips_to_the_latest_pose(viewer, robot):
    async def slow_page() -> list[int]:
        page = await join(viewer.url)
        await receive(page)
        numbers = [number(await receive(page))]
        viewer.update(robot.neutral())
        numbers.append(number(await receive(page)))
        for _ in range(50):
            viewer.update(robot.neutral())
        page_stays_quiet = asyncio.ensure_future(page.read_message())
        await answer_to_ping(page)
        assert not page_stays_quiet.done(), "more frames under way than allowed"
        await page.write_message(json.dumps({"ack": numbers[0]}))
        return [*numbers, number(await asyncio.wait_for(page_stays_quiet, PATIENCE))]

    numbers = asyncio.run(slow_page())
    assert numbers[0] < numbers[1] < numbers[2] == viewer._sequence


@pytest.mark.parametrize("message", ["{", "[]", "null", "7", '{"other": 1}', b"\xff\xfe"])
def test_nonsense_from_a_page_is_ignored(viewer, robot, message):
    async def rude_page() -> str | bytes | None:
        page = await join(viewer.url)
        await receive(page), await receive(page)
        await page.write_message(message, binary=isinstance(message, bytes))
        viewer.update(robot.neutral())
        return await receive(page)

    assert number(asyncio.run(rude_page())) == viewer._sequence


def test_a_new_robot_replaces_the_old_one_on_open_pages(viewer, robot):
    other = treesim.Tree("rod", [treesim.Body("rod", 0, treesim.Joint("pin", "revolute"), treesim.Inertia(1.0))])

    async def open_page() -> tuple[str, int]:
        page = await join(viewer.url)
        await receive(page), await receive(page)
        viewer.update(robot.neutral())
        viewer.show(other, other.neutral())
        message = await receive(page)
        while isinstance(message, bytes):
            assert len(rows(message)) == robot.n_bodies + 1
            message = await receive(page)
        await page.write_message('{"ack": 1}')
        return json.loads(message)["title"], len(rows(await receive(page)))

    assert asyncio.run(open_page()) == ("rod", other.n_bodies + 1)


def test_close_ends_thread_port_and_pages(robot):
    viewer = MeshcatViewer()
    url = viewer.show(robot, robot.neutral())

    async def page_sees_the_end() -> str | bytes | None:
        page = await join(url)
        await receive(page), await receive(page)
        await asyncio.to_thread(viewer.close)
        return await receive(page)

    thread = viewer._server._thread
    assert asyncio.run(page_sees_the_end()) is None
    thread.join(PATIENCE)
    assert not thread.is_alive() and not is_served(url)
    viewer.close()


def test_show_after_close_serves_again_under_another_token(robot):
    viewer = MeshcatViewer()
    first = viewer.show(robot, robot.neutral())
    viewer.close()
    second = viewer.show(robot, robot.neutral())
    assert urlsplit(first).path != urlsplit(second).path
    assert status(second) == 200
    viewer.close()


def test_a_page_may_be_opened_before_there_is_a_robot(robot):
    viewer = MeshcatViewer()
    url = viewer.open()

    async def early() -> None:
        page = await join(url)
        waiting = asyncio.ensure_future(receive(page))
        await asyncio.sleep(0)
        assert viewer.show(robot, robot.neutral()) == url
        assert json.loads(await waiting)["title"] == "two limbs"
        assert number(await receive(page)) == 1

    asyncio.run(early())
    viewer.close()


def test_update_before_show(robot):
    with pytest.raises(ArgumentError, match="call show"):
        MeshcatViewer().update(robot.neutral())


def test_the_viewer_satisfies_the_protocols():
    from treesim.viewing.protocols import OpeningViewer, Recorder, Viewer

    assert isinstance(MeshcatViewer(), Viewer)
    assert isinstance(MeshcatViewer(), Recorder)
    assert isinstance(MeshcatViewer(), OpeningViewer)


def test_what_users_ask_for_is_handed_over_and_answered_to_them_alone(viewer):
    def answer(message, reply):
        threading.Thread(target=reply, args=(f"no {message['do']}",)).start()

    viewer.listen(answer)

    async def two_pages() -> tuple[str | bytes | None, str | bytes | None]:
        asker, other = await join(viewer.url), await join(viewer.url)
        for page in (asker, other):
            await receive_all(page, 2)
        await asker.write_message('{"do": "reset"}')
        details = await receive(asker)
        viewer.show_state({"t": 1.0})
        return details, await receive(other)

    details, other = asyncio.run(two_pages())
    assert json.loads(details) == {"error": "no reset"}
    assert json.loads(other) == {"state": {"t": 1.0}}, "the other page heard nothing of it"


async def receive_all(page: WebSocketClientConnection, count: int) -> list[str | bytes | None]:
    return [await receive(page) for _ in range(count)]


def test_the_ground_is_told_beside_the_scene_and_goes_with_it(viewer, robot):
    viewer.show_ground([treesim.Ground(height=0.25)])

    async def visits() -> None:
        page = await join(viewer.url)
        assert json.loads(await receive(page))["title"] == "two limbs"
        ground = json.loads(await receive(page))["ground"]
        assert ground["floor"] == 0.25 and ground["commands"][-1]["path"] == "/ground/0 Ground"
        viewer.show(robot, robot.neutral())
        late = await join(viewer.url)
        details = [await receive(late) for _ in range(2)]
        assert json.loads(details[0])["title"] == "two limbs" and isinstance(details[1], bytes), (
            "a frame, and no ground"
        )

    asyncio.run(visits())


def test_who_comes_late_gets_panel_and_latest_state(viewer):
    viewer.show_panel({"robot": "two limbs"})
    for t in range(5):
        viewer.show_state({"t": t})

    async def late() -> list[str | bytes | None]:
        return await receive_all(await join(viewer.url), 4)

    scene, panel, state, frame = asyncio.run(late())
    assert "commands" in json.loads(scene) and isinstance(frame, bytes)
    assert json.loads(panel) == {"panel": {"robot": "two limbs"}} and json.loads(state) == {"state": {"t": 4}}


def test_a_taken_port_is_named(robot):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        viewer = MeshcatViewer()
        viewer.port = taken.getsockname()[1]
        with pytest.raises(ArgumentError, match=f"port {viewer.port} .*take another"):
            viewer.show(robot, robot.neutral())


def test_a_port_that_is_asked_for_has_the_same_address_again(robot, monkeypatch, tmp_path):
    monkeypatch.setenv("TREESIM_CACHE_DIR", str(tmp_path))
    viewer = MeshcatViewer()

    def serves_again(port: int) -> None:
        viewer.port = port
        urls = []
        for _ in range(2):
            urls.append(viewer.show(robot, robot.neutral()))
            viewer.close()
        assert urls[0] == urls[1] and urlsplit(urls[0]).port == port
        kept = tmp_path / f"viewer_{port}"
        assert kept.stat().st_mode & 0o077 == 0, "its owner alone reads it"
        kept.chmod(0o644)
        assert viewer.show(robot, robot.neutral()) != urls[0], "who else has read it is kept out"
        viewer.close()

    at_free_port(serves_again)


def test_the_program_hears_when_the_last_page_has_gone_but_not_of_a_reload(viewer, monkeypatch):
    left, closed, loop = threading.Event(), [], viewer._server._loop
    viewer.when_left(left.set)
    call_later = loop.call_later
    monkeypatch.setattr(server, "RELOAD_SECONDS", float("inf"))  # the test says when they are over
    monkeypatch.setattr(
        loop,
        "call_later",
        lambda seconds, *call, **more: (
            closed.append(call[0]) if seconds == server.RELOAD_SECONDS else call_later(seconds, *call, **more)
        ),
    )

    async def wait_for_a_reload(count: int) -> None:
        """Let the time after that many closed pages be over."""
        await asyncio.to_thread(wait_until, lambda: len(closed) == count)
        loop.call_soon_threadsafe(closed[-1])

    async def visits() -> None:
        first = await join(viewer.url)
        assert await receive(first)
        first.close()
        again = await join(viewer.url)
        assert await receive(again)
        await wait_for_a_reload(1)
        await answer_to_ping(again)
        assert not left.is_set()
        again.close()
        await wait_for_a_reload(2)
        assert await asyncio.to_thread(left.wait, PATIENCE)

    asyncio.run(visits())
