"""Viser's server as this viewer uses it: for this computer alone, guarded, silent, its camera on the robot."""

from __future__ import annotations

import io
from contextlib import redirect_stdout

import numpy as np
from viser import ViserServer

from treesim.errors import PluginError

from .guard import Guard

VIEW_DIRECTION = np.array([0.80, 0.52, 0.30])  # from the robot to the camera, z up


def open_server(port: int = 0) -> tuple[ViserServer, str]:
    """Return a server for this computer alone, at a port, 0 for any, that prints nothing, and the address of its page.

    Raises ArgumentError for a port that is taken, PluginError for a viser that cannot be guarded.
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
    """Stop a server, which prints nothing then either."""
    with redirect_stdout(io.StringIO()):
        server.stop()


def look_at(server: ViserServer, poses: np.ndarray) -> tuple[np.ndarray, float]:
    """Let pages that open later look at bodies at poses (n, 4, 4); return the centre (3,) and radius [m] of these."""
    places = poses[:, :3, 3] if len(poses) == 1 else poses[1:, :3, 3]
    lower, upper = places.min(axis=0), places.max(axis=0)
    center, radius = (lower + upper) / 2, max(float(np.linalg.norm(upper - lower)) / 2, 0.1)
    server.initial_camera.look_at = center
    server.initial_camera.position = center + 2.5 * radius * VIEW_DIRECTION
    return center, radius
