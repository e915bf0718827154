"""Addresses of pages: whose requests are answered, and which token a port has."""

from __future__ import annotations

import errno
import os
import socket

import pytest

from tests.waiting import PATIENCE
from treesim.errors import ArgumentError
from treesim.viewing.address import is_host, is_same_origin, listening, path_behind, token_for

TOKEN = "a-token_of-24-characters"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:80", "localhost:65535", "LOCALHOST"])
def test_hosts_of_this_computer(host):
    assert is_host(host)


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "evil.example:127.0.0.1", "127x0.0.1",
     "127.0.0.1:", "127.0.0.1:80:80", "127.0.0.1\n", "u@localhost", "localhost/", "[::1]:80"],
)  # fmt: skip
def test_other_hosts(host):
    assert not is_host(host)


def test_the_origin_of_the_page_is_its_host():
    assert is_same_origin(None, "127.0.0.1:80")  # of a program, which has read the token
    assert is_same_origin("http://127.0.0.1:80", "127.0.0.1:80") and is_same_origin("http://LOCALHOST:9", "localhost:9")


@pytest.mark.parametrize(
    "origin",
    ["null", "", "http://evil.example", "http://127.0.0.1", "http://127.0.0.1:81", "http://localhost:80",
     "https://127.0.0.1:80", "file://127.0.0.1:80", "http://127.0.0.1:80.evil.example", "http://evil@127.0.0.1:80",
     "http://[", "127.0.0.1:80"],
)  # fmt: skip
def test_other_origins(origin):
    assert not is_same_origin(origin, "127.0.0.1:80")


def test_what_a_path_asks_for_behind_the_token():
    asked = {f"/{TOKEN}": "/", f"/{TOKEN}/": "/", f"/{TOKEN}/a/b?c=/d": "/a/b", f"/{TOKEN}?websocket=ws://x": "/"}
    assert {path: path_behind(TOKEN, path) for path in asked} == asked


@pytest.mark.parametrize(
    "path",
    ["", "/", "//", TOKEN, f"//{TOKEN}/", f"/{TOKEN[:-1]}/", f"/{TOKEN}x/", f"/?{TOKEN}", f"/a/{TOKEN}/", f"/{TOKEN} /",
     f"http://127.0.0.1/{TOKEN}/", "/\udc80\xe9/"],
)  # fmt: skip
def test_paths_without_the_token(path):
    assert path_behind(TOKEN, path) is None


def test_a_token_is_another_each_time_but_at_a_port_that_was_asked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("TREESIM_CACHE_DIR", str(tmp_path))
    assert token_for(0) != token_for(0) and list(tmp_path.iterdir()) == []
    assert len(token_for(0)) == 24, "144 bits"
    assert token_for(7) == token_for(7) != token_for(8)
    kept = tmp_path / "viewer_7"
    assert kept.stat().st_mode & 0o077 == 0, "its owner alone reads it"
    before = token_for(7)
    kept.chmod(0o644)
    assert token_for(7) != before, "who else has read it is kept out"


def test_a_system_without_user_numbers_keeps_the_token_of_a_port(monkeypatch, tmp_path):
    """On Windows permissions are the folder's."""
    monkeypatch.setenv("TREESIM_CACHE_DIR", str(tmp_path))
    monkeypatch.delattr(os, "getuid")
    assert token_for(7) == token_for(7) != token_for(8)


def is_refused_when_closed() -> bool:
    """Check a taken port, and return whether nobody listens there after it was closed."""
    with listening(0) as taken:
        assert taken.getsockname()[0] == "127.0.0.1"
        port = taken.getsockname()[1]
        with pytest.raises(ArgumentError, match=f"port {port} .*take another"):
            listening(port)
    with socket.socket() as caller:
        caller.settimeout(PATIENCE)
        return caller.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED


def test_ports():
    assert any(is_refused_when_closed() for _ in range(5)), "another process may take one of them at once"
    with pytest.raises(ArgumentError, match="0 to 65535"):
        listening(65536)
