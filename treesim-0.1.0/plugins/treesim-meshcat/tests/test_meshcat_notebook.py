"""Page inside a notebook's: in a frame of another origin it works in the same way, and its address stays secret."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from treesim_meshcat import MeshcatViewer

import treesim

HOST = '<!DOCTYPE html><link rel="icon" href="data:,"><body>{}</body>'


class Quiet(SimpleHTTPRequestHandler):
    """File server without messages."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def notebook(tmp_path: Path) -> Iterator[str]:
    """Yield the address of a folder's pages, as a notebook's server would serve them."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow
def test_a_view_is_its_page_in_a_notebook(robot, watch, notebook, tmp_path, body_rows):
    with treesim.viewer(robot, MeshcatViewer()) as view:
        assert view.slider("gain", -1, 1) == 0
        (tmp_path / "index.html").write_text(HOST.format(view._repr_html_()))
        watched = watch(notebook)
        (frame,) = watched.page.main_frame.child_frames
        watched.page = frame  # whose state is waited for from here on
        q = robot.random(np.random.default_rng(0))
        view.update(q)
        watched.wait_for_poses(body_rows(robot, q), atol=1e-6)
        frame.evaluate("treesim.set({sliders: {gain: 0.5}})")
        watched.wait("treesim.program().sliders[0].value === 0.5")
        assert view.slider("gain", -1, 1) == 0.5
        assert watched.errors == []


def test_the_notebook_s_own_page_cannot_reach_into_the_frame_or_open_the_socket(robot, watch, notebook, tmp_path):
    with treesim.viewer(robot, MeshcatViewer()) as view:
        (tmp_path / "index.html").write_text(HOST.format(view._repr_html_()))
        watched = watch(notebook)
        assert watched.page.evaluate("document.querySelector('iframe').contentDocument") is None
        opened = watched.page.evaluate(
            """(url) => new Promise((resolve) => {
                const socket = new WebSocket(url);
                socket.onopen = () => resolve("open");
                socket.onerror = () => resolve("refused");
            })""",
            view.url.replace("http", "ws", 1) + "socket",
        )
        assert opened == "refused", "even with the address: its origin is another"
