"""Malformed clients of the live server: each gets an answer or an end, silently, and delays no other client."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import numpy as np
import pytest
from treesim_meshcat.encoding import frame_number, pose_frame
from treesim_meshcat.guard import Limits
from treesim_meshcat.server import LiveServer

from tests.waiting import PATIENCE

NEVER = 3600.0  # [s]
TEXT, BINARY, CLOSE, PING, PONG = 0x1, 0x2, 0x8, 0x9, 0xA


class Wire:
    """Raw connection to a server."""

    def __init__(self, server: LiveServer, sent: bytes = b"", receive_buffer: int | None = None) -> None:
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(("127.0.0.1", server.port))
        self.send(sent)

    def send(self, sent: bytes) -> None:
        """Send as much as the server accepts before it closes the connection."""
        with suppress(ConnectionError):
            self.socket.sendall(sent)

    def exactly(self, count: int) -> bytes:
        """Receive `count` bytes; fails if the server closes the connection before."""
        received = bytearray()
        while len(received) < count:
            some = self.socket.recv(count - len(received))
            assert some, "the server hung up"
            received += some
        return bytes(received)

    def rest(self) -> bytes:
        """Receive everything until the server closes the connection."""
        received = bytearray()
        with suppress(ConnectionError):
            while some := self.socket.recv(1 << 16):
                received += some
        return bytes(received)

    def reset(self) -> None:
        """Reset the connection without closing it properly."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


class Page(Wire):
    """Open page at the level of raw websocket frames."""

    def __init__(self, server: LiveServer, *lines: str, receive_buffer: int | None = None) -> None:
        super().__init__(server, handshake(server, *lines), receive_buffer)
        self.status = bytearray()
        while not self.status.endswith(b"\r\n\r\n") and (some := self.socket.recv(1)):
            self.status += some

    def receive(self) -> tuple[int, bytes]:
        """Return kind and contents of the next message."""
        kind, size = self.exactly(2)
        if size > 125:
            size = int.from_bytes(self.exactly(2 if size == 126 else 8), "big")
        return kind & 0xF, self.exactly(size)

    def say(self, contents: bytes, kind: int = TEXT) -> None:
        self.send(message(contents, kind))


def message(contents: bytes, kind: int = TEXT, first: int = 0x80) -> bytes:
    """Return a message of a page, with a mask of zeros; first: flags in the first byte besides the kind."""
    size = len(contents)
    length = bytes([0x80 | size]) if size < 126 else b"\xfe" + struct.pack(">H", size) if size < 1 << 16 else None
    return bytes([first | kind]) + (length or b"\xff" + struct.pack(">Q", size)) + bytes(4) + contents


def path(server: LiveServer) -> str:
    return urlsplit(server.url).path


def handshake(server: LiveServer, *more: str) -> bytes:
    known = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
    return request(f"{path(server)}socket", *known, "Sec-WebSocket-Version: 13", *more)


def request(path: str, *lines: str, method: str = "GET", host: str = "127.0.0.1", body: bytes = b"") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {host}", *lines, "", ""]).encode() + body


def frame(number: int) -> bytes:
    return pose_frame(number, 0.0, np.eye(4)[None])


@pytest.fixture
def serve() -> Iterator[Callable[..., LiveServer]]:
    """Yield a function from limits to a server that shows a scene."""
    servers = []

    def started(**limits: float) -> LiveServer:
        servers.append(LiveServer(Limits(**limits)))
        servers[-1].show('{"title": "a scene"}', frame(1))
        return servers[-1]

    yield started
    for server in servers:
        server.close()


@pytest.fixture(scope="module", autouse=True)
def nothing_is_said_at_the_end() -> Iterator[None]:
    """Fail at errors that nobody looked at: they are logged when they are thrown away, here after all tests."""
    logged: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: logged.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger().addHandler(handler)
    yield
    gc.collect()  # takes half a second where many tests have run before
    logging.getLogger().removeHandler(handler)
    assert logged == []


@pytest.fixture(autouse=True)
def nothing_is_said(caplog, capfd):
    """Fail at log records of warnings and above: without handlers they would go to stderr."""
    yield
    assert [record.getMessage() for record in caplog.get_records("call")] == []
    assert capfd.readouterr().err == ""


@pytest.fixture
def bystander(serve) -> Iterator[Callable[..., LiveServer]]:
    """Yield a function from limits to a server with an open page, which must still be served after the test."""
    pages = []

    def served(**limits: float) -> LiveServer:
        server = serve(**{"request_seconds": NEVER, "answer_seconds": NEVER} | limits)
        page = joined(server)
        assert page.receive() == (TEXT, b'{"title": "a scene"}')
        assert page.receive() == (BINARY, frame(1))
        pages.append((server, page))
        return server

    yield served
    for server, page in pages:
        page.say(b'{"ack": 1}')
        server.move(frame(2))
        assert page.receive() == (BINARY, frame(2))
        page.socket.close()


def joined(server: LiveServer) -> Page:
    """Return an open page; tries again with a server whose time limits are shorter than this computer needs."""
    page = Page(server)
    while not page.status.startswith(b"HTTP/1.1 101"):
        page = Page(server)
    return page


LENGTH = "Content-Length: {}".format
CHUNKED = "Transfer-Encoding: chunked"
LAST = "Connection: close"
SLOW = {"request_seconds": 0.3}  # limits under which clients that do not go on are given up
# what a client without the address sends, and how the answer begins
STRANGERS = {
    "headers without end": (b"GET / HTTP/1.1\r\n" + 20_000 * b"X: y\r\n", b""),
    "a header without end": (b"GET / HTTP/1.1\r\nX: " + 200_000 * b"y", b""),
    "a line without end": (b"GET /" + 200_000 * b"y", b""),
    "zeros": (bytes(200_000), b""),
    "HTTP/0.9": (b"GET /\r\n\r\n", b"HTTP/1.1 400"),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"HTTP/1.1 400"),
    "no header": (b"GET / HTTP/1.1\r\nnonsense\r\n\r\n", b"HTTP/1.1 400"),
    "no UTF-8": (b"GET /\xff\xfe HTTP/1.1\r\nHost: \xff\r\nX: \xfe\r\n\r\n", b"HTTP/1.1 400"),
    "wrong token": (request("/wrong-token/"), b"HTTP/1.1 403"),
    "wrong token, slow body": (request("/", LENGTH(100), method="POST", body=b"a"), b"HTTP/1.1 403"),
    "wrong token, huge body": (request("/", LENGTH(10**30), method="POST"), b"HTTP/1.1 403"),
    "wrong token, large body": (request("/", LENGTH(10**6), method="POST", body=bytes(10**6)), b"HTTP/1.1 403"),
    "wrong token, chunks": (request("/", CHUNKED, method="POST", body=b"5\r\nab"), b"HTTP/1.1 403"),
    "wrong token, continue?": (request("/", LENGTH(5), "Expect: 100-continue", method="PUT"), b"HTTP/1.1 403"),
    "wrong token, socket": (request("/x/socket", "Upgrade: websocket", "Connection: Upgrade"), b"HTTP/1.1 403"),
    "pipeline": (50 * request("/"), b"HTTP/1.1 403"),
}


@pytest.mark.parametrize("case", STRANGERS)
def test_strangers_are_turned_down(bystander, case):
    sent, answer = STRANGERS[case]
    found = Wire(bystander(), sent).rest()
    assert found[:12] == answer and found.count(b"HTTP/1.1") == bool(answer)


@pytest.mark.parametrize("sent", [b"", b"GET /", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "])
def test_requests_that_do_not_go_on_are_given_up(bystander, sent):
    assert Wire(bystander(**SLOW), sent).rest() == b""


@pytest.mark.parametrize("lines", [LENGTH(1), CHUNKED, f"{CHUNKED}\r\n\r\n1"])
def test_bodies_that_do_not_go_on_are_given_up(bystander, lines):
    server = bystander(**SLOW)
    assert Wire(server, request(path(server), lines)).rest() == b""


# what a client that knows the address sends, after the path, and how the answer begins
INITIATES = {
    "another host": (lambda path: request(path, host="evil.example"), b"HTTP/1.1 403"),
    "another host, slow body": (lambda path: request(path, LENGTH(9), host="evil.example"), b"HTTP/1.1 403"),
    "large body": (lambda path: request(path, LENGTH(10**6), method="POST", body=bytes(10**6)), b"HTTP/1.1 400"),
    "huge body": (lambda path: request(path, LENGTH(10**30)), b"HTTP/1.1 400"),
    "negative length": (lambda path: request(path, LENGTH(-1)), b"HTTP/1.1 400"),
    "length in words": (lambda path: request(path, LENGTH("ten")), b"HTTP/1.1 400"),
    "two lengths": (lambda path: request(path, LENGTH(0), LENGTH(1)), b"HTTP/1.1 400"),
    "large chunk": (lambda path: request(path, CHUNKED, body=b"ffffffff\r\n"), b"HTTP/1.1 400"),
    "endless chunks": (lambda path: request(path, CHUNKED, body=10**5 * b"1\r\nx\r\n"), b"HTTP/1.1 400"),
    "no chunk": (lambda path: request(path, CHUNKED, body=b"many\r\n"), b"HTTP/1.1 400"),
    "another method": (lambda path: request(path, LAST, method="POST"), b"HTTP/1.1 405"),
    "no method": (lambda path: request(path, LAST, method="NONSENSE"), b"HTTP/1.1 405"),
    "pipeline": (lambda path: 49 * request(path, method="DELETE") + request(path, LAST), b"HTTP/1.1 405"),
    "no socket": (lambda path: request(f"{path}socket", LAST), b"HTTP/1.1 400"),
}


@pytest.mark.parametrize("case", INITIATES)
def test_bodies_and_methods_that_nobody_needs_are_turned_down(bystander, case):
    make, answer = INITIATES[case]
    server = bystander()
    found = Wire(server, make(path(server))).rest()
    assert found.startswith(answer) and found.count(b"HTTP/1.1") == (50 if case == "pipeline" else 1)


@pytest.mark.parametrize(("size", "answer"), [(63_000, b"HTTP/1.1 403"), (68_000, b"")])
def test_64_kib_of_headers_are_read(serve, size, answer):
    assert Wire(serve(), request("/", "X: " + size * "y")).rest()[:12] == answer


@pytest.mark.parametrize(("size", "answer"), [(1, b"HTTP/1.1 200"), (2, b"HTTP/1.1 400")])
def test_a_byte_of_a_body_is_read(serve, size, answer):
    server = serve()
    assert Wire(server, request(path(server), LENGTH(size), LAST, body=size * b"a")).rest()[:12] == answer


ORIGINS = [f"Origin: {origin}" for origin in ("http://evil.example", "null", "http://127.0.0.1:1", "\xff")]


@pytest.mark.parametrize("lines", [*ORIGINS, "Upgrade: h2c", "Sec-WebSocket-Version: 12"])
def test_handshakes_that_are_not_the_page_s_are_turned_down(bystander, lines):
    assert Page(bystander(), lines).status.startswith(b"HTTP/1.1 4")


NONSENSE = {
    "deep list": b"[" * 30_000,
    "deep object": b'{"ack":' * 9_000,
    "long number": b'{"ack": ' + 5_000 * b"9" + b"}",
    "NaN": b'{"ack": NaN}',
    "infinity": b'{"ack": 1e999}',
    "string": b'{"ack": "1"}',
    "list": b'{"ack": [1]}',
    "object": b'{"ack": {"ack": 1}}',
    "nothing": b'{"ack": null}',
    "of the future": b'{"ack": 3}',
    "negative": b'{"ack": -1}',
    "key twice": b'{"ack": 1, "ack": 77}',
    "no JSON": b"{",
    "no text": b"\xff\xfe",
    "zeros": bytes(1000),
}


@pytest.mark.parametrize("case", NONSENSE)
def test_nonsense_acknowledges_nothing(serve, case):
    server = serve()
    page = Page(server)
    page.receive(), page.receive()
    server.move(frame(2))
    assert page.receive() == (BINARY, frame(2))
    server.move(frame(3))  # has to wait until the page acknowledges one
    page.say(NONSENSE[case], BINARY if case == "no text" else TEXT)
    page.say(b"still there?", PING)
    assert page.receive() == (PONG, b"still there?")
    page.say(b'{"ack": 1}')
    assert page.receive() == (BINARY, frame(3))


BROKEN = {
    "no UTF-8": message(b"\xff\xfe"),
    "large message": message(bytes(70_000)),
    "huge message": b"\x81\xff" + struct.pack(">Q", 1 << 62) + bytes(4),
    "negative size": b"\x81\xff" + 8 * b"\xff" + bytes(4),
    "large in parts": message(bytes(40_000), first=0) + message(bytes(40_000), kind=0),
    "unknown kind": message(b"x", kind=0x3),
    "reserved bits": message(b"x", first=0xF0),
    "part of nothing": message(b"x", kind=0),
    "ping in parts": message(b"x", kind=PING, first=0),
    "long ping": message(bytes(200), kind=PING),
    "farewell": message(b"\x03\xe8", kind=CLOSE),
    "broken farewell": message(b"\x00", kind=CLOSE),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_frames_end_their_page_alone(bystander, case):
    page = Page(bystander())
    page.send(BROKEN[case])
    page.rest()


@pytest.mark.parametrize(("size", "answer"), [(63_000, PONG), (68_000, CLOSE)])
def test_messages_of_64_kib_are_read(serve, size, answer):
    page = Page(serve())
    page.receive(), page.receive()
    page.say(bytes(size))
    page.say(b"", PING)
    assert page.receive()[0] == answer


@pytest.mark.parametrize("length", [0, 5, 30, 80, 10_000])
def test_pages_that_break_off(bystander, length):
    """Pages disconnect before, during and after the handshake, and in the middle of a message."""
    server = bystander()
    sent = handshake(server) + message(b'{"ack": 1}')[:-3]
    for _ in range(5):
        Wire(server, sent[:length]).reset()
        Wire(server, sent[:length]).socket.close()


def test_pages_that_break_off_while_they_are_served(serve):
    server = serve()
    server.show(json.dumps({"title": 8_000_000 * "x"}), frame(1))
    for _ in range(3):
        page = Page(server)
        page.exactly(1000)
        page.reset()
    server.show('{"title": "small"}', frame(2))
    assert Page(server).receive() == (TEXT, b'{"title": "small"}')


def test_many_connections_do_not_keep_others_out(serve):
    server = serve(connections=8, request_seconds=NEVER, answer_seconds=NEVER)
    silent = [Wire(server, b"GET / HTTP/1.1\r\n") for _ in range(40)]
    assert Wire(server, request(path(server), "Connection: close")).rest().startswith(b"HTTP/1.1 200")
    assert all(wire.rest() == b"" for wire in silent[:32])  # the oldest are gone
    silent[-1].send(b"Host: 127.0.0.1\r\n\r\n")
    assert silent[-1].rest().startswith(b"HTTP/1.1 403")


def test_too_many_pages_are_turned_down(serve):
    server = serve(pages=2)
    pages = [Page(server), Page(server)]
    assert all(page.receive()[0] == TEXT for page in pages)
    assert Page(server).status.startswith(b"HTTP/1.1 503")
    pages[0].say(b"", CLOSE)
    pages[0].rest()
    assert joined(server).receive()[0] == TEXT


def test_an_answer_that_is_not_fetched_is_given_up(serve, monkeypatch):
    """The page's answer never completes, as for any answer that exceeds its time limit."""
    never = threading.Event()

    async def get(self) -> None:
        await asyncio.to_thread(never.wait, PATIENCE)

    monkeypatch.setattr("treesim_meshcat.server.PageHandler.get", get)
    server = serve(answer_seconds=0.3)
    assert Wire(server, request(path(server))).rest() == b""
    never.set()


def test_a_page_that_does_not_read_is_owed_two_scenes_at_most(serve):
    server = serve()
    slow, quick = Page(server, receive_buffer=4096), Page(server)
    for k in range(6):
        server.show(json.dumps({"title": k, "size": 8_000_000 * "x"}), frame(1))
    server.show('{"title": "last"}', frame(9))
    seen = [titles(quick), titles(slow)]
    assert all(found[-1] == "last" and len(found) < 5 for found in seen), seen


def titles(page: Page) -> list[str]:
    """Return the titles of the scenes that a page gets until the last frame."""
    found = []
    while (received := page.receive()) and not (received[0] == BINARY and frame_number(received[1]) == 9):
        if received[0] == TEXT:
            found.append(json.loads(received[1])["title"])
    return found


def test_close_ends_pages_that_do_not_read(serve):
    server = serve()
    server.show(json.dumps({"title": 8_000_000 * "x"}), frame(1))
    page = Page(server, receive_buffer=4096)
    server.close()
    assert len(page.rest()) < 8_000_000
