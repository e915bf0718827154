"""Server of the live page: tornado in a thread of its own, for this computer only.

Clients are not trusted. One without the address gets no information, before any request body is read. Slow,
malformed or broken connections get an answer or end in bounded time and memory (see guard.py), and do not
delay others.

The server sends the scene, the panel, states and errors (JSON) and pose frames (binary). A page sends
acknowledgements, and its user's requests as JSON. A new page gets the latest message of each kind. At most
a few frames are in transit to a page. States and frames that come faster than it takes them are skipped,
and the latest always arrives in the end.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from tornado.web import Application, HTTPError, RequestHandler, stream_request_body
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from treesim.viewing.address import HOSTS, ORIGINS, is_same_origin, listening, page_url, token_for

from .encoding import frame_number
from .guard import GuardedServer, Limits
from .pages import page

FRAMES_UNDER_WAY = 2  # per page, not yet acknowledged
KINDS = ("ground", "panel", "program", "state")  # of messages of which the latest counts, most important first
MOST_ERRORS = 16  # waiting for a page; beyond, the oldest are dropped
MAX_MESSAGE = 64 * 1024  # [bytes] from a page
RELOAD_SECONDS = 2.0  # after the last page was closed, for a reload
_FAREWELL_SECONDS = 1.0  # for pages to confirm closing
_JOIN_SECONDS = 5.0


Receive = Callable[[dict[str, Any], Callable[[str], object]], object]


def ignore(message: dict[str, Any], reply: Callable[[str], object]) -> None:
    """Ignore a user's request."""


class LiveServer:
    """Server of one scene with moving bodies at `url`, until closed. Methods may be called from any one thread.

    limits: of clients. port: 0 for any; a requested port has the same address again after a restart.
    receive(message, reply): called in the server's thread with users' requests; reply(text) may be called from
    any thread. Raises ArgumentError for a port that is not available.
    """

    def __init__(self, limits: Limits | None = None, port: int = 0, receive: Receive = ignore) -> None:
        self._limits = limits or Limits()
        self._socket = listening(port)
        self._token = token_for(port)
        self.receive = receive
        self.left: Callable[[], object] = lambda: None  # called in the server's thread after the last page was closed
        self._latest: dict[str, str] = {}  # of each kind, as JSON
        self.port = self._socket.getsockname()[1]
        self.url = page_url(self.port, self._token)
        self._pages: set[LivePage] = set()
        self._scene: str | None = None
        self._frame: bytes | None = None
        self._generation = 0  # of the scene, in the caller's thread
        self._shown = 0  # generation shown by the server's thread
        self._slot: tuple[int, bytes] | None = None  # latest frame from the caller, with its scene's generation
        self._wake_pending = False
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="treesim-meshcat", daemon=True)
        self._thread.start()

    def show(self, scene: str, frame: bytes) -> None:
        """Replace the scene (JSON text) and the pose frame on all pages."""
        self._generation += 1
        self._slot = (self._generation, frame)
        self._loop.call_soon_threadsafe(self._show, self._generation, scene)

    def move(self, frame: bytes) -> None:
        """Send the latest pose frame to all pages; frames that come faster than they can take are skipped."""
        self._slot = (self._generation, frame)
        if not self._wake_pending:
            self._wake_pending = True
            self._loop.call_soon_threadsafe(self._move)

    def send(self, kind: str, message: str) -> None:
        """Send a message (JSON text) of a kind, one of KINDS, to all pages; replaces the one before."""
        self._loop.call_soon_threadsafe(self._send, kind, message)

    def close(self) -> None:
        """Close all pages' connections, free the port and end the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(_JOIN_SECONDS)

    # ---- in the server's thread ----

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        server = GuardedServer(self._application(), self._limits)
        server.add_socket(self._socket)
        await self._stopping.wait()
        server.stop()
        for live_page in list(self._pages):
            live_page.close(1001, "the program closed the viewer")
        deadline = self._loop.time() + _FAREWELL_SECONDS
        while self._pages and self._loop.time() < deadline:
            await asyncio.sleep(0.01)
        await server.close_all_connections()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        if left:  # their connections are being closed
            await asyncio.wait(left, timeout=_FAREWELL_SECONDS)

    def _application(self) -> Application:
        settings: dict[str, Any] = {
            "default_handler_class": Forbidden,
            "log_function": lambda handler: None,
            "websocket_max_message_size": MAX_MESSAGE,
            "compress_response": True,  # compresses the page to a quarter; scenes of numbers hardly at all
        }
        application = Application(**settings)
        application.add_handlers(
            HOSTS,
            [(f"/{self._token}/", PageHandler), (f"/{self._token}/socket", LivePage, {"server": self})],
        )
        return application

    def _show(self, generation: int, scene: str) -> None:
        self._shown, self._scene, self._frame = generation, scene, None
        self._latest.pop("ground", None)  # it belongs to the scene before
        for live_page in list(self._pages):
            live_page.send_scene(scene)
        self._move()

    def _move(self) -> None:
        self._wake_pending = False  # before the slot is read, so that no frame is missed
        if self._slot is None or self._slot[0] != self._shown:
            return  # of a scene later in the queue, which calls this again
        self._frame = self._slot[1]
        for live_page in list(self._pages):
            live_page.offer(self._frame)

    def _send(self, kind: str, message: str) -> None:
        self._latest[kind] = message
        for live_page in list(self._pages):
            live_page.send(kind, message)

    def ask(self, live_page: LivePage, message: dict[str, Any]) -> None:
        """Pass on a request of a page's user."""
        self.receive(message, lambda text: self._loop.call_soon_threadsafe(live_page.complain, text))

    def has_room(self) -> bool:
        """Return whether another page may be opened."""
        return len(self._pages) < self._limits.pages

    def join(self, live_page: LivePage) -> None:
        """Send the scene and the latest frame to a new page."""
        self._pages.add(live_page)
        if self._scene is not None:
            live_page.send_scene(self._scene)
        for kind, message in self._latest.items():
            live_page.send(kind, message)
        if self._frame is not None:
            live_page.offer(self._frame)

    def leave(self, live_page: LivePage) -> None:
        """Remove a closed page, and release the mouse spring of its user."""
        if live_page in self._pages:
            self._pages.remove(live_page)
            if live_page.pulls:
                self.receive({"do": "release"}, lambda text: None)
            self._loop.call_later(RELOAD_SECONDS, lambda: None if self._pages else self.left())


@stream_request_body
class Forbidden(RequestHandler):
    """Handler of requests with another path, token or Host than the page's."""

    def prepare(self) -> None:
        """Answer 403 to any method after the headers."""
        self.send_error(403)

    def data_received(self, chunk: bytes) -> None:
        """Ignore data that came before the connection was closed."""


class PageHandler(RequestHandler):
    """Handler of the live page."""

    def get(self) -> None:
        """Answer with the page, without caching: its address is the key."""
        self.set_header("Cache-Control", "no-store")
        self.set_header("Referrer-Policy", "no-referrer")
        self.write(page("live", "treesim"))


class LivePage(WebSocketHandler):
    """Connection to one open page; one message at a time is written to the socket."""

    def initialize(self, server: LiveServer) -> None:
        """Start without messages in transit."""
        self._server = server
        self._scene: str | None = None  # the next to be sent
        self._texts: dict[str, str] = {}  # the next of each kind
        self._errors: deque[str] = deque(maxlen=MOST_ERRORS)
        self._frame: bytes | None = None
        self._under_way: deque[int] = deque()  # numbers of frames that the page has not acknowledged
        self._writing = False
        self.pulls = False  # whether its user has a mouse spring

    def prepare(self) -> None:
        """Answer 403 to another page than this one, and 503 if too many pages are open.

        Tornado calls `check_origin` for some requests only.
        """
        headers, host = self.request.headers, self.request.host
        if not all(is_same_origin(origin, host) for name in ORIGINS for origin in headers.get_list(name)):
            raise HTTPError(403)
        if not self._server.has_room():
            raise HTTPError(503)

    def check_origin(self, origin: str) -> bool:
        """Return True: `prepare` has checked all origins."""
        return True

    def open(self, *args: str, **kwargs: str) -> None:
        """Request the scene from the server."""
        self.set_nodelay(True)
        self._server.join(self)

    def on_close(self) -> None:
        """Remove the page from the server's list."""
        self._server.leave(self)

    def on_message(self, message: str | bytes) -> None:
        """Process an acknowledgement of a frame, or pass on a user's request; anything but a JSON object is ignored."""
        asked = _json_object(message)
        number = asked.get("ack")
        if isinstance(number, int) and number in self._under_way:
            while self._under_way.popleft() != number:
                pass
            self._send_next()
        elif "set" in asked or "do" in asked:
            if asked.get("do") in ("pull", "release", "reset"):  # which also removes the mouse spring
                self.pulls = asked["do"] == "pull"
            self._server.ask(self, asked)

    def send_scene(self, scene: str) -> None:
        """Send a scene; waiting frames and ground of the one before are dropped."""
        self._scene, self._frame = scene, None
        self._texts.pop("ground", None)
        self._send_next()

    def send(self, kind: str, message: str) -> None:
        """Send a message when there is room for it, unless a newer one of its kind comes first."""
        self._texts[kind] = message
        self._send_next()

    def complain(self, text: str) -> None:
        """Send an error to this page."""
        self._errors.append(json.dumps({"error": text}))
        self._send_next()

    def offer(self, frame: bytes) -> None:
        """Send a frame when the page has room for it, unless a newer one comes first."""
        self._frame = frame
        self._send_next()

    def _send_next(self) -> None:
        message = None if self._writing else self._next()
        if message is None:
            return
        try:
            written = self.write_message(message, binary=isinstance(message, bytes))
        except WebSocketClosedError:
            self._server.leave(self)
            return
        self._writing = True
        written.add_done_callback(self._written)

    def _next(self) -> str | bytes | None:
        """Return the next message to send, if there is one: the scene first, the frame last."""
        if self._scene is not None:
            scene, self._scene = self._scene, None
            return scene
        if self._errors:
            return self._errors.popleft()
        for kind in KINDS:
            if kind in self._texts:
                return self._texts.pop(kind)
        if self._frame is None or len(self._under_way) >= FRAMES_UNDER_WAY:
            return None
        frame, self._frame = self._frame, None
        self._under_way.append(frame_number(frame))
        return frame

    def _written(self, written: asyncio.Future[None]) -> None:
        self._writing = False
        if written.cancelled() or written.exception():
            self._server.leave(self)
        else:
            self._send_next()


def _json_object(message: str | bytes) -> dict[str, Any]:
    """Return the JSON object in a message; empty for anything else, however deeply nested: pages are not trusted."""
    try:
        value = json.loads(message)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
