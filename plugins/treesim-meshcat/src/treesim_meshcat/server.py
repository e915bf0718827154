"""The live page's server: tornado on a thread of its own, for this computer alone.

Clients are not trusted: who has not the address learns nothing, before any body is read; who is slow, rude or gone gets
an answer or an end in bounded time and memory (see guard.py), and holds up nobody else.

Down to a page go the scene (text) and pose frames (binary); up come acknowledgements, as JSON. A page gets the whole
scene when it joins. It never has more than a few frames under way, and the latest frame always reaches it in the end.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
from collections import deque
from typing import Any

from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler, stream_request_body
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from .encoding import frame_number
from .guard import GuardedServer, Limits
from .pages import page

ADDRESS = "127.0.0.1"
HOSTS = r"(127\.0\.0\.1|localhost)"
FRAMES_UNDER_WAY = 2  # per page, not yet acknowledged
MAX_MESSAGE = 64 * 1024  # [bytes] from a page
_FAREWELL_SECONDS = 1.0  # for pages to answer that they close
_JOIN_SECONDS = 5.0


class LiveServer:
    """Serves one scene and its moving bodies at `url` until closed. Methods may be called from any one thread.

    limits: what clients may take.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
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
        server = GuardedServer(self._application(), self._limits)
        server.add_sockets(self._sockets)
        await self._stopping.wait()
        server.stop()
        for live_page in list(self._pages):
            live_page.close(1001, "the program closed the viewer")
        deadline = self._loop.time() + _FAREWELL_SECONDS
        while self._pages and self._loop.time() < deadline:
            await asyncio.sleep(0.01)
        await server.close_all_connections()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        if left:  # they hear that their connections are closed
            await asyncio.wait(left, timeout=_FAREWELL_SECONDS)

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

    def has_room(self) -> bool:
        """Whether another page may be opened."""
        return len(self._pages) < self._limits.pages

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


@stream_request_body
class Forbidden(RequestHandler):
    """Whatever has another path, token or Host than the page's."""

    def prepare(self) -> None:
        """Answer 403 to any method as soon as the headers are there."""
        self.send_error(403)

    def data_received(self, chunk: bytes) -> None:
        """Leave alone what came before the connection was closed."""


class PageHandler(RequestHandler):
    """The live page itself."""

    def get(self) -> None:
        """Answer with the whole page, to be kept by nobody: its address is the key."""
        self.set_header("Cache-Control", "no-store")
        self.set_header("Referrer-Policy", "no-referrer")
        self.write(page("live", "treesim"))


class LivePage(WebSocketHandler):
    """The connection to one open page. One message at a time is on its way into the socket."""

    def initialize(self, server: LiveServer) -> None:
        """Start with nothing under way to the page."""
        self._server = server
        self._scene: str | None = None  # the next to be sent
        self._frame: bytes | None = None
        self._under_way: deque[int] = deque()  # numbers of frames that the page has not acknowledged
        self._writing = False

    def prepare(self) -> None:
        """Answer 503 where too many pages are open."""
        if not self._server.has_room():
            raise HTTPError(503)

    def open(self, *args: str, **kwargs: str) -> None:
        """Ask the server for the scene."""
        self.set_nodelay(True)
        self._server.join(self)

    def on_close(self) -> None:
        """Take the page off the server's list."""
        self._server.leave(self)

    def on_message(self, message: str | bytes) -> None:
        """Make room for the next frame when the page acknowledges one; anything else is ignored."""
        number = _json_object(message).get("ack")
        if number in self._under_way:
            while self._under_way.popleft() != number:
                pass
            self._send_next()

    def send_scene(self, scene: str) -> None:
        """Send a scene; frames of the one before are dropped."""
        self._scene, self._frame = scene, None
        self._send_next()

    def offer(self, frame: bytes) -> None:
        """Send a frame as soon as the page has room for it, unless a newer one comes first."""
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
        """Take the scene, or else the frame, that is to be sent now, if there is one."""
        if self._scene is not None:
            scene, self._scene = self._scene, None
            return scene
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
    """The JSON object in a message; empty for anything else, however deep, since pages are not trusted."""
    try:
        value = json.loads(message)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
