"""Viser server of this viewer: for this computer only, with access control, without output, camera at the robot."""

from __future__ import annotations

import io
from contextlib import redirect_stdout

import numpy as np
from viser import ViserServer

from treesim.errors import PluginError

from .guard import Guard

VIEW_DIRECTION = np.array([0.80, 0.52, 0.30])  # from the robot to the camera, z up


def open_server(port: int = 0) -> tuple[ViserServer, str]:
    """Return a server for this computer only, without output, and the address of its page; port: 0 for any.

    Raises ArgumentError for a port that is taken, PluginError for a viser version without access control.
    """
    guard = Guard(port)
    with redirect_stdout(io.StringIO()), guard.starting() as host:
        server = ViserServer(host=host, port=port, label="treesim", verbose=False)
    if not guard.in_place:
        close_server(server)
        guard.close()
        raise PluginError("this version of viser starts its server in a way that cannot be guarded: install viser 1.1")
    server.gui.configure_theme(show_share_button=False, show_logo=False)
    return server, guard.url


def close_server(server: ViserServer) -> None:
    """Stop a server without output."""
    with redirect_stdout(io.StringIO()):
        server.stop()


def look_at(server: ViserServer, poses: np.ndarray) -> tuple[np.ndarray, float]:
    """Point the camera of new pages at bodies at poses (n, 4, 4); return their centre (3,) and radius [m]."""
    places = poses[:, :3, 3] if len(poses) == 1 else poses[1:, :3, 3]
    lower, upper = places.min(axis=0), places.max(axis=0)
    center, radius = (lower + upper) / 2, max(float(np.linalg.norm(upper - lower)) / 2, 0.1)
    server.initial_camera.look_at = center
    server.initial_camera.position = center + 2.5 * radius * VIEW_DIRECTION
    return center, radius
