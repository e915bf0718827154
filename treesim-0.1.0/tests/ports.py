"""Ports of this computer for tests: another process may take one that was free a moment ago."""

import http.client
import socket
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urlsplit

from tests.waiting import PATIENCE
from treesim.errors import ArgumentError

Result = TypeVar("Result")


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def at_free_port(use: Callable[[int], Result], tries: int = 10) -> Result:
    """Return use(port) at a free port; begin again, at another one, where somebody took it meanwhile."""
    try:
        return use(free_port())
    except ArgumentError as error:
        if "cannot be had" not in str(error) or tries == 1:
            raise
        return at_free_port(use, tries - 1)


def is_served(url: str) -> bool:
    """Return whether the page of an address is there; a server of another process does not know its token."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)
    try:
        connection.request("GET", parts.path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
