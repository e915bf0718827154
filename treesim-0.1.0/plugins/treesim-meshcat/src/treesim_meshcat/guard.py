"""Limits on the time and memory that a client of the live page's server may use."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream

REQUEST_BYTES = 64 * 1024  # of a request's line and headers
BODY_BYTES = 1  # of a request's body; none is needed, but tornado replaces 0 by its default
BUFFER_BYTES = 256 * 1024  # that are read ahead


@dataclass(frozen=True)
class Limits:
    """Limits of clients.

    connections: at once, without open pages; beyond, the oldest is closed. pages: open at once.
    request_seconds: time for a request to arrive. answer_seconds: lifetime of a connection, until its last
    answer is received.
    """

    connections: int = 64
    pages: int = 64
    request_seconds: float = 10.0
    answer_seconds: float = 60.0


class GuardedServer(HTTPServer):
    """HTTP server with a limited number and lifetime of connections, however slow or busy the clients."""

    def initialize(self, application: Any, limits: Limits) -> None:  # type: ignore[override]
        """Serve `application` within `limits`."""
        super().initialize(
            application,
            idle_connection_timeout=limits.request_seconds,
            body_timeout=limits.request_seconds,
            max_header_size=REQUEST_BYTES,
            max_body_size=BODY_BYTES,
            max_buffer_size=BUFFER_BYTES,
        )
        self._limits = limits
        self._timers: dict[IOStream, asyncio.TimerHandle] = {}  # of connections, the oldest first
        self._upgraded: WeakSet[IOStream] = WeakSet()

    def handle_stream(self, stream: IOStream, address: Any) -> None:
        """Serve a new connection for a limited time; if there are too many, close the oldest."""
        if len(self._timers) >= self._limits.connections:
            oldest = next(iter(self._timers))
            self._release(oldest)
            oldest.close()
        loop = asyncio.get_running_loop()
        self._timers[stream] = loop.call_later(self._limits.answer_seconds, stream.close)
        super().handle_stream(stream, address)

    def on_close(self, server_conn: Any) -> None:
        """Forget a connection that has ended, or has become an open page, which has no time limit."""
        self._release(server_conn.stream)
        if not server_conn.stream.closed():
            self._upgraded.add(server_conn.stream)
        super().on_close(server_conn)

    async def close_all_connections(self) -> None:
        """Close all connections, including open pages."""
        for stream in list(self._upgraded):
            stream.close()
        await super().close_all_connections()

    def _release(self, stream: IOStream) -> None:
        timer = self._timers.pop(stream, None)
        if timer is not None:
            timer.cancel()
