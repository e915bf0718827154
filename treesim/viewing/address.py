"""Address of a viewer's page: port, secret token, and checks of requests.

A page is served to this computer only. A request must have the token in its path and a Host header of this
computer; this excludes DNS rebinding. A browser's request must also have the page's own Origin header.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import socket
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from ..errors import ArgumentError
from ..system.user_cache import cache_folder, make_cache_folder

ADDRESS = "127.0.0.1"
HOSTS = r"(127\.0\.0\.1|localhost)"
TOKEN_BYTES = 18
LARGEST_PORT = 65535
WAITING = 128  # pending connections


def listening(port: int) -> socket.socket:
    """Return a socket that listens at a port of this computer, 0 for any; raises ArgumentError if it is taken."""
    if not 0 <= port <= LARGEST_PORT:
        raise ArgumentError(f"port must be 0 to {LARGEST_PORT}, got {port}")
    try:
        bound = socket.create_server((ADDRESS, port), backlog=WAITING)
    except OSError as error:
        raise ArgumentError(
            f"port {port} of {ADDRESS} cannot be had ({os.strerror(error.errno or 0)}): "
            "take another, or 0 for any that is free"
        ) from None
    bound.setblocking(False)
    return bound


def page_url(port: int, token: str) -> str:
    """Return the URL of the page."""
    return f"http://{ADDRESS}:{port}/{token}/"


def token_for(port: int) -> str:
    """Return the secret token of an address: random for port 0; a requested port has the same token every time.

    The latter is stored in a file that only its owner can read, so that open pages find a restarted program.
    """
    path = _token_file(port) if port else None
    if path is None:
        return secrets.token_urlsafe(TOKEN_BYTES)
    with suppress(OSError, ValueError):
        kept = path.read_text("ascii")
        owner = path.stat()
        if len(kept) == len(secrets.token_urlsafe(TOKEN_BYTES)) and (
            not hasattr(os, "getuid") or (owner.st_uid == os.getuid() and not owner.st_mode & 0o77)
        ):
            return kept
    token = secrets.token_urlsafe(TOKEN_BYTES)
    with suppress(OSError):  # without a file, pages must be opened again after a restart
        make_cache_folder()
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(token)
    return token


def path_behind(token: str, path: str) -> str | None:
    """Return the part of a request's path after the token, beginning with "/"; None without the token."""
    _, first, *rest = path.partition("?")[0].split("/") if path.startswith("/") else ("", "")
    known = hmac.compare_digest(first.encode("utf-8", "replace"), token.encode())
    return "/" + "/".join(rest) if known else None


def is_host(host: str) -> bool:
    """Return whether a Host header names this computer, at any port."""
    return re.fullmatch(rf"{HOSTS}(:\d{{1,5}})?", host, re.IGNORECASE) is not None


ORIGINS = ("Origin", "Sec-WebSocket-Origin")  # headers; the second of older drafts of the protocol


def is_same_origin(origin: str | None, host: str) -> bool:
    """Return whether an Origin header is the page's own by the Host header; True without one (no browser)."""
    if origin is None:
        return True
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme == "http" and parts.netloc.lower() == host.lower()


def _token_file(port: int) -> Path | None:
    """Return the file of a port's token; None if the cache folder is unknown."""
    folder = cache_folder()
    return folder / f"viewer_{port}" if folder and folder.is_absolute() else None
