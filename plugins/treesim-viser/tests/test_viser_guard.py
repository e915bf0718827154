"""Access control of viser's server: a request needs the page's secret address and origin."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from urllib.parse import urlsplit

import pytest

import treesim
from tests.ports import at_free_port, is_served
from tests.waiting import PATIENCE
from treesim.errors import PluginError

pytest.importorskip("viser", reason="needs viser (pip install viser)")

import viser
from treesim_viser import ViserViewer, guard
from treesim_viser.server import open_server
from websockets.asyncio import server as websocket_server
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

ROBOT = treesim.Tree("rod", [treesim.Body("rod", 0, treesim.Joint("pin", "revolute"), treesim.Inertia(1.0))])


@pytest.fixture
def url() -> Iterator[str]:
    """Yield the address of the page of a viewer that shows a robot."""
    viewer = ViserViewer()
    yield viewer.show(ROBOT, ROBOT.neutral())
    viewer.close()


def answer(url: str, path: str | None = None, **headers: str) -> http.client.HTTPResponse:
    """Return the answer of the server behind `url` to a path and headers."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)
    connection.request("GET", parts.path if path is None else path, headers={"Host": parts.netloc, **headers})
    response = connection.getresponse()
    response.read()
    connection.close()
    return response


def joined(url: str, origin: str | None = None) -> bytes:
    """Return the first message that a page gets."""
    version = websocket_server.Subprotocol(f"viser-v{viser.__version__}")
    address = url.replace("http", "ws", 1).rstrip("/")
    with connect(address, subprotocols=[version], origin=origin, open_timeout=PATIENCE, compression=None) as page:
        message = page.recv(PATIENCE)
    assert isinstance(message, bytes)
    return message


def test_the_page_is_served_to_who_has_the_address(url):
    for path in (None, urlsplit(url).path.rstrip("/"), urlsplit(url).path + "?websocket=ws://127.0.0.1:1"):
        served = answer(url, path)
        assert served.status == 200 and served.getheader("Content-Type", "").startswith("text/html")
        assert served.getheader("Cache-Control") == "no-store" and served.getheader("Referrer-Policy") == "no-referrer"
    assert answer(url, Host=f"localhost:{urlsplit(url).port}").status == 200
    assert answer(url, urlsplit(url).path + "none.js").status == 404


def test_its_page_may_connect(url):
    parts = urlsplit(url)
    assert joined(url, f"{parts.scheme}://{parts.netloc}") and joined(url)


@pytest.mark.parametrize("path", ["", "/", "/index.html", "/wrong-token/", "/wrong-token/index.html", "//", "/?token"])
def test_without_the_token_forbidden(url, path):
    assert answer(url, path).status == 403
    with pytest.raises(InvalidStatus, match="403"):
        joined(f"http://{urlsplit(url).netloc}{path}")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", ""])
def test_another_host_forbidden(url, host):
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    assert answer(url, Host=host).status == 403
    assert answer(url, Host=host, **upgrade, **{"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}).status == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://localhost:1"])
def test_another_origin_forbidden(url, origin):
    assert answer(url, Origin=origin).status == 403
    with pytest.raises(InvalidStatus, match="403"):
        joined(url, origin)


def test_two_hosts_or_origins_forbidden(url):
    parts = urlsplit(url)
    for more in ("Host: evil.example", "Origin: http://evil.example", "Sec-WebSocket-Origin: http://evil.example"):
        lines = (f"GET {parts.path} HTTP/1.1", f"Host: {parts.netloc}", f"Origin: http://{parts.netloc}", more, "", "")
        with socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE) as wire:
            wire.sendall("\r\n".join(lines).encode())
            assert b" 403 " in wire.recv(1000).splitlines()[0]


def test_nonsense_is_answered_or_ended_and_prints_nothing(url, capfd):
    parts = urlsplit(url)
    for sent in (
        b"\x16\x03\x01",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n",
        b"\r\n" * 9,
    ):
        with socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE) as wire:
            wire.sendall(sent)
            wire.shutdown(socket.SHUT_WR)
            with suppress(ConnectionError):
                while wire.recv(1000):
                    pass
    assert joined(url)
    assert capfd.readouterr() == ("", "")


def test_of_too_many_connections_the_oldest_is_ended_before_its_request(url, monkeypatch):
    """Who has no token can open connections, but cannot use up the files of this process."""
    monkeypatch.setattr(guard, "MOST_WAITING", 3)
    parts = urlsplit(url)
    with ExitStack() as opened:
        wires = []
        for _ in range(4):
            wires.append(opened.enter_context(socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE)))
            joined(url)  # after which the server has accepted it
        with suppress(ConnectionError):
            assert wires[0].recv(1) == b""
        wires[-1].setblocking(False)
        with pytest.raises(BlockingIOError):
            wires[-1].recv(1)


def test_so_many_pages_are_open_at_once(url, monkeypatch):
    monkeypatch.setattr(guard, "MOST_PAGES", 1)
    version = websocket_server.Subprotocol(f"viser-v{viser.__version__}")
    address = url.replace("http", "ws", 1).rstrip("/")
    with connect(address, subprotocols=[version], open_timeout=PATIENCE, compression=None) as page:
        assert page.recv(PATIENCE)
        with pytest.raises(ConnectionClosed, match="too many pages"):
            joined(url)
        assert answer(url).status == 200


def test_a_flood_of_a_page_that_is_gone_logs_nothing(url, caplog):
    """asyncio logs a line for each message to a closed connection."""
    parts, frame = urlsplit(url), bytes([0x89, 0x81]) + bytes(4) + b"p"
    version = f"viser-v{viser.__version__}"
    lines = (
        f"GET {parts.path} HTTP/1.1", f"Host: {parts.netloc}", "Upgrade: websocket", "Connection: Upgrade",
        "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: MDAwMDAwMDAwMDAwMDAwMA==",
        f"Sec-WebSocket-Protocol: {version}", "", "",
    )  # fmt: skip
    with socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE) as wire:
        wire.sendall("\r\n".join(lines).encode())
        wire.recv(100)
        wire.sendall(frame * 3000)
    assert joined(url)
    assert not [record for record in caplog.records if record.name == "asyncio"]


def test_only_this_computer_is_served(url):
    found = guard.Guard()
    assert found._socket.getsockname()[0] == "127.0.0.1"
    found.close()


def test_another_address_each_time_but_the_same_at_a_port_that_was_asked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("TREESIM_CACHE_DIR", str(tmp_path))
    viewer = ViserViewer()

    def addresses(port: int) -> list[str]:
        urls = []
        for asked in (0, 0, port, port):
            viewer.port = asked
            urls.append(viewer.show(ROBOT, ROBOT.neutral()))
            viewer.close()
            assert not is_served(urls[-1])
        return urls

    urls = at_free_port(addresses)
    tokens = [urlsplit(url).path for url in urls]
    assert len(set(tokens)) == 3 and urls[2] == urls[3]


def test_other_servers_of_the_program_are_as_they_were(url):
    assert websocket_server.serve.__module__ == "websockets.asyncio.server"
    other = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        assert answer(f"http://127.0.0.1:{other.get_port()}/").status == 200
    finally:
        other.stop()


def test_a_viser_that_cannot_be_guarded_is_not_started(monkeypatch):
    servers = []

    class Unguarded(viser.ViserServer):
        """Stand-in for a version that starts its server in another way."""

        def __init__(self, host: str, **options: object) -> None:
            super().__init__(host=str(host), **options)
            servers.append(self.get_port())

    monkeypatch.setattr("treesim_viser.server.ViserServer", Unguarded)
    with pytest.raises(PluginError, match="cannot be guarded"):
        open_server()
    assert not is_served(f"http://127.0.0.1:{servers[0]}/")
