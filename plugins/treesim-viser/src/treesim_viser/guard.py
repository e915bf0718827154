"""Access control of viser's server, which has none: a request needs the secret address and the page's own origin.

The number of connections is limited, too: before the request of a connection is known, any program of this machine can
open some, and each takes one of the files that this process may open.
"""

from __future__ import annotations

import dataclasses
import inspect
import logging
import threading
from asyncio import BaseTransport
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import Any

from websockets.asyncio import server as websocket_server
from websockets.asyncio.server import ServerConnection
from websockets.frames import CloseCode
from websockets.http11 import Request, Response

from treesim.viewing.address import (
    ADDRESS,
    ORIGINS,
    is_host,
    is_same_origin,
    listening,
    page_url,
    path_behind,
    token_for,
)

Process = Callable[[ServerConnection, Request], Any]
Handler = Callable[[ServerConnection], Any]

HEADERS = {
    "Cache-Control": "no-store",  # the address is the key
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "object-src 'none'; frame-src 'none'; base-uri 'none'; form-action 'none'; "
    "img-src 'self' data: blob:; connect-src 'self' ws://127.0.0.1:* ws://localhost:* data: blob:",
}
MOST_WAITING = 64  # connections that are no open pages; beyond, the oldest is closed
MOST_PAGES = 64  # that are open at once
REQUEST_SECONDS = 10.0  # for a request to arrive
_STARTING = threading.Lock()
_LOGGER = logging.getLogger(__name__)  # of connections, whose errors are not logged
_LOGGER.addHandler(logging.NullHandler())
_LOGGER.propagate = False


class _Host(str):
    """Host of one server; identifies the call that starts it among those that start others."""


class _Connections:
    """Connections of one server: those that are no open pages, the oldest first, and the number of open pages."""

    def __init__(self) -> None:
        self.waiting: dict[_Connection, None] = {}
        self.pages = 0

    def made(self, *arguments: Any, **options: Any) -> _Connection:
        """Return a new connection."""
        return _Connection(self, *arguments, **options)

    def add(self, connection: _Connection) -> None:
        """Add a new connection; if there are too many, end the oldest."""
        if len(self.waiting) >= MOST_WAITING:
            oldest = next(iter(self.waiting))
            del self.waiting[oldest]
            oldest.transport.abort()
        self.waiting[connection] = None

    def counting(self, handler: Handler) -> Handler:
        """Return a handler of open pages that refuses one beyond the limit."""

        async def counted(connection: ServerConnection) -> None:
            self.waiting.pop(connection, None)  # type: ignore[call-overload]
            if self.pages >= MOST_PAGES:
                await connection.close(CloseCode.TRY_AGAIN_LATER, "too many pages")
                return
            self.pages += 1
            try:
                await handler(connection)
            finally:
                self.pages -= 1

        return counted


class _Connection(ServerConnection):
    """Connection that counts as waiting until it is an open page or lost."""

    def __init__(self, connections: _Connections, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._connections = connections

    def connection_made(self, transport: BaseTransport) -> None:
        """Count the connection before its request is read."""
        super().connection_made(transport)
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._connections.waiting.pop(self, None)
        super().connection_lost(exc)

    def send_data(self) -> None:
        """Send what is due, but not to a closed connection: asyncio logs a line for each such message."""
        for data in self.protocol.data_to_send():
            if self.transport.is_closing():
                return
            if data:
                self.transport.write(data)
            else:  # nothing follows
                with suppress(OSError, RuntimeError):
                    self.transport.write_eof()


class Guard:
    """Filter that answers 403, before viser's server, to requests without the token, or with another Host or Origin.

    Raises ArgumentError for a port that is not available. url: address of the page. in_place: whether a server
    uses it.
    """

    def __init__(self, port: int = 0) -> None:
        self._socket = listening(port)
        self._token = token_for(port)
        self.url = page_url(self._socket.getsockname()[1], self._token)
        self.in_place = False

    @contextmanager
    def starting(self) -> Iterator[str]:
        """Make a server that is started in the block, for the host that this yields, listen at the guarded port.

        viser does not pass on the request hook of `websockets.asyncio.server.serve`; in the block that function is
        replaced for this host.
        """
        host = _Host(ADDRESS)
        with _STARTING:
            serve = websocket_server.serve

            def guarded(handler: Any, address: Any = None, port: Any = None, **options: Any) -> Any:
                if address is not host:
                    return serve(handler, address, port, **options)
                options["process_request"] = self._before(options.get("process_request"))
                connections = _Connections()
                limits = {"create_connection": connections.made, "open_timeout": REQUEST_SECONDS}
                self.in_place = True
                return serve(connections.counting(handler), sock=self._socket, logger=_LOGGER, **{**options, **limits})

            websocket_server.serve = guarded  # type: ignore[misc, assignment]
            try:
                yield host
            finally:
                websocket_server.serve = serve  # type: ignore[misc]

    def close(self) -> None:
        """Free the port; the server that listens there also does so when it ends."""
        self._socket.close()

    def _before(self, process: Process | None) -> Process:
        """Return a request hook that applies `process`, if there is one, to admitted requests only."""

        async def guarded(connection: ServerConnection, request: Request) -> Response | None:
            path = self._admitted(request)
            if path is None:
                return connection.respond(HTTPStatus.FORBIDDEN, "forbidden\n")
            answer = process(connection, dataclasses.replace(request, path=path)) if process else None
            response: Response | None = await answer if inspect.isawaitable(answer) else answer
            if response is not None:
                response.headers.update(HEADERS)
            return response

        return guarded

    def _admitted(self, request: Request) -> str | None:
        """Return the path of a request after the token; None for a request that is not admitted."""
        hosts = request.headers.get_all("Host")
        origins = [origin for name in ORIGINS for origin in request.headers.get_all(name)]
        if len(hosts) != 1 or not is_host(hosts[0]) or not all(is_same_origin(origin, hosts[0]) for origin in origins):
            return None
        return path_behind(self._token, request.path)
