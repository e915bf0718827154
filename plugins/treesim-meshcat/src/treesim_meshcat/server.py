"""The live page's server: tornado on a thread of its own, for this computer alone.

Down to a page go the scene (text) and pose frames (binary); up come acknowledgements, as JSON. A page gets the whole
scene when it joins. It never has more than a few frames under way, and the latest frame always reaches it in the end.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from .pages import page

ADDRESS = "127.0.0.1"
HOSTS = r"(127\.0\.0\.1|localhost)"
FRAMES_UNDER_WAY = 2  # per page, not yet acknowledged
MAX_MESSAGE = 64 * 1024  # [bytes] from a page
_FAREWELL_SECONDS = 1.0  # for pages to answer that they close
_JOIN_SECONDS = 5.0


class LiveServer:
    """Serves one scene and its moving bodies at `url` until closed. Methods may be called from any one thread."""

    def __init__(self) -> None:
        self._token = secrets.token_urlsafe(18)
        self._sockets = bind_sockets(0, ADDRESS)
        self.port = self._sockets[0].getsockname()[1]
        self.url = f"http://{ADDRESS}:{self.port}/{self._token}/"
        self._pages: set[LivePage] = set()
        self._scene: str | None = None
        self._frame: bytes | None = None
        self._generation = 0  # of the scene, as the caller's thread knows it
        self._shown = 0  # generation that the server's thread shows
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
        """Offer the latest pose frame to all pages; frames that come faster than they can take are skipped."""
        self._slot = (self._generation, frame)
        if not self._wake_pending:
            self._wake_pending = True
            self._loop.call_soon_threadsafe(self._move)

    def close(self) -> None:
        """Close all pages' connections, free the port and end the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(_JOIN_SECONDS)

    # ---- on the server's thread ----

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        server = HTTPServer(self._application())
        server.add_sockets(self._sockets)
        await self._stopping.wait()
        server.stop()
        for live_page in list(self._pages):
            live_page.close(1001, "the program closed the viewer")
        deadline = self._loop.time() + _FAREWELL_SECONDS
        while self._pages and self._loop.time() < deadline:
            await asyncio.sleep(0.01)
        await server.close_all_connections()

    def _application(self) -> Application:
        settings: dict[str, Any] = {
            "default_handler_class": Forbidden,
            "log_function": lambda handler: None,
            "websocket_max_message_size": MAX_MESSAGE,
        }
        application = Application(**settings)
        application.add_handlers(
            HOSTS,
            [(f"/{self._token}/", PageHandler), (f"/{self._token}/socket", LivePage, {"server": self})],
        )
        return application

    def _show(self, generation: int, scene: str) -> None:
        self._shown, self._scene, self._frame = generation, scene, None
        for live_page in list(self._pages):
            live_page.send_scene(scene)
        self._move()

    def _move(self) -> None:
        self._wake_pending = False  # before the slot is read, so that no frame is missed
        if self._slot is None or self._slot[0] != self._shown:
            return  # of a scene that comes later in the queue, which calls again
        self._frame = self._slot[1]
        for live_page in list(self._pages):
            live_page.offer(self._frame)

    def join(self, live_page: LivePage) -> None:
        """Give a new page the scene and the latest frame."""
        self._pages.add(live_page)
        if self._scene is not None:
            live_page.send_scene(self._scene)
        if self._frame is not None:
            live_page.offer(self._frame)

    def leave(self, live_page: LivePage) -> None:
        """Forget a page that is gone."""
        self._pages.discard(live_page)


class Forbidden(RequestHandler):
    """Whatever has another path, token or Host than the page's."""

    def prepare(self) -> None:
        """Answer 403 to any method."""
        self.send_error(403)


class PageHandler(RequestHandler):
    """The live page itself."""

    def get(self) -> None:
        """Answer with the whole page, to be kept by nobody: its address is the key."""
        self.set_header("Cache-Control", "no-store")
        self.set_header("Referrer-Policy", "no-referrer")
        self.write(page("live", "treesim"))


class LivePage(WebSocketHandler):
    """The connection to one open page."""

    def initialize(self, server: LiveServer) -> None:
        """Start with nothing under way to the page."""
        self._server = server
        self._under_way = 0
        self._waiting: bytes | None = None

    def open(self, *args: str, **kwargs: str) -> None:
        """Ask the server for the scene."""
        self.set_nodelay(True)
        self._server.join(self)

    def on_close(self) -> None:
        """Take the page off the server's list."""
        self._server.leave(self)

    def on_message(self, message: str | bytes) -> None:
        """Make room for the next frame when the page acknowledges one; anything else is ignored."""
        if "ack" in _json_object(message):
            self._under_way = max(0, self._under_way - 1)
            self._send_waiting()

    def send_scene(self, scene: str) -> None:
        """Send a scene; frames of the one before are dropped."""
        self._waiting = None
        self._send(scene)

    def offer(self, frame: bytes) -> None:
        """Send a frame as soon as the page has room for it, unless a newer one comes first."""
        self._waiting = frame
        self._send_waiting()

    def _send_waiting(self) -> None:
        if self._waiting is not None and self._under_way < FRAMES_UNDER_WAY:
            frame, self._waiting = self._waiting, None
            self._under_way += 1
            self._send(frame)

    def _send(self, message: str | bytes) -> None:
        try:
            self.write_message(message, binary=isinstance(message, bytes))
        except WebSocketClosedError:
            self._server.leave(self)


def _json_object(message: str | bytes) -> dict[str, Any]:
    """The JSON object in a message; empty for anything else, since pages are not trusted."""
    try:
        value = json.loads(message)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
