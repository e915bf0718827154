"""Where the live page is to be found: its port, and the token that keeps others out."""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import suppress
from pathlib import Path

from tornado.netutil import bind_sockets

from treesim.errors import ArgumentError

ADDRESS = "127.0.0.1"
TOKEN_BYTES = 18
LARGEST_PORT = 65535


def listening(port: int) -> list[socket.socket]:
    """Return sockets that listen at a port of this computer, 0 for any; raises ArgumentError where it is taken."""
    if not 0 <= port <= LARGEST_PORT:
        raise ArgumentError(f"port must be 0 to {LARGEST_PORT}, got {port}")
    try:
        return bind_sockets(port, ADDRESS)
    except OSError as error:
        raise ArgumentError(
            f"port {port} of {ADDRESS} cannot be had ({error.strerror}): take another, or 0 for any that is free"
        ) from None


def token_for(port: int) -> str:
    """Return what an address holds that nobody can guess: another each time, but at a port that was asked for the same
    as before, kept in a file that its owner alone can read, so that open pages find their program again."""
    path = _token_file(port) if port else None
    if path is None:
        return secrets.token_urlsafe(TOKEN_BYTES)
    with suppress(OSError, ValueError):
        kept = path.read_text("ascii")
        owner = path.stat()
        if (
            len(kept) == len(secrets.token_urlsafe(TOKEN_BYTES))
            and owner.st_uid == os.getuid()
            and not owner.st_mode & 0o77
        ):
            return kept
    token = secrets.token_urlsafe(TOKEN_BYTES)
    with suppress(OSError):  # without a place to keep it, pages are to be opened anew
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(token)
    return token


def _token_file(port: int) -> Path | None:
    """Where a port's token is kept; None for a user without a home."""
    root = os.environ.get("TREESIM_CACHE_DIR") or os.path.expanduser("~/.cache/treesim")
    return Path(root, f"viewer_{port}") if os.path.isabs(root) else None
