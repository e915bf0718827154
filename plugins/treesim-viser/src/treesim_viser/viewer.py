"""Viewer "viser" of treesim."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from viser import ViserServer

import treesim
from treesim import Tree
from treesim.contact.surface import StaticSurface
from treesim.errors import ArgumentError
from treesim.simulation.trajectory import Trajectory

from .panel import Panel, Receive, sendable
from .recording import write_recording
from .scene import MARKS, Part, add_ground, add_robot, hit, move, place
from .server import close_server, look_at, open_server

STEPS = 1000  # of a slider


class ViserViewer:
    """Viewer that shows a robot on a page of this computer, whose users may control it, and writes recordings.

    The page is served to this computer only, by threads of this process, at a secret `url`, None before the
    first `show`. port: for the next `show`, 0 for any; a requested port has the same address again after a
    restart. Methods may be called from any one thread.
    """

    def __init__(self) -> None:
        self.url: str | None = None
        self.port = 0
        self._receive: Receive | None = None
        self._panel: Panel | None = None
        self._server: ViserServer | None = None
        self._robot: Tree | None = None
        self._frames: list[Any] = []
        self._parts: list[Part] = []
        self._poses = np.empty((0, 4, 4))  # as shown last
        self._clicked: Callable[[str, np.ndarray], object] | None = None
        self._sliders: dict[str, Any] = {}
        self._view = np.zeros(3), 1.0  # centre and radius of what is shown [m]

    def show(self, robot: Tree, q: np.ndarray) -> str:
        """Draw `robot` at configuration q (nq,), replacing any before, and return the address of the page.

        Warns once if mesh files cannot be read. Raises ArgumentError if the port is taken.
        """
        poses = treesim.body_poses(robot, q)
        if self._server is None:
            self._server, self.url = open_server(self.port)
        self._robot, self._view = robot, look_at(self._server, poses)
        with self._server.atomic():
            self._frames, self._parts = add_robot(self._server.scene, robot, poses)
            self._draw_ground(())
        self._poses = poses
        if self._clicked is not None:
            self.listen_clicks(self._clicked)
        assert self.url is not None
        return self.url

    def show_ground(self, ground: Sequence[StaticSurface]) -> None:
        """Draw a world's ground; replaces any before. `show` removes it.

        Raises ArgumentError before `show`.
        """
        with self._opened("show_ground").atomic():
            self._draw_ground(ground)

    def _draw_ground(self, ground: Sequence[StaticSurface]) -> None:
        assert self._server is not None
        center, radius = self._view
        add_ground(self._server.scene, ground, center, 10 * radius, min(0.0, float(center[2] - radius)))

    def update(self, q: np.ndarray) -> None:
        """Move the robot to configuration q (nq,); raises ArgumentError before `show`."""
        server = self._opened("update")
        assert self._robot is not None
        self._poses = treesim.body_poses(self._robot, q)
        with server.atomic():
            move(self._frames, self._poses)

    def listen(self, receive: Receive) -> None:
        """Register receive(message, reply), called in viser's threads with users' requests."""
        self._receive = receive

    def show_panel(self, panel: Mapping[str, Any]) -> None:
        """Offer the available settings; replaces those before. Raises ArgumentError before `show`."""
        server = self._opened("show_panel")
        if self._panel is not None:
            self._panel.remove()
        self._panel = Panel(server, panel, self._take)

    def _take(self, message: Mapping[str, Any], reply: Callable[[str], object]) -> None:
        if self._receive is not None:
            self._receive(message, reply)

    def show_state(self, state: Mapping[str, Any]) -> None:
        """Show the current state on the panel; does nothing without one."""
        if self._server is not None and self._panel is not None:
            with self._server.atomic():
                self._panel.update(state)

    def set_slider(
        self, name: str, lower: float, upper: float, value: float, unit: str, moved: Callable[[float], object]
    ) -> None:
        """Add a slider, until `close`; moved(value) is called in one of viser's threads."""
        server = self._opened("set_slider")
        if name in self._sliders:
            self._sliders.pop(name).remove()
        label = sendable(f"{name} [{unit}]" if unit else name)
        slider = server.gui.add_slider(label, float(lower), float(upper), (upper - lower) / STEPS, float(value))
        slider.on_update(lambda event: moved(float(event.target.value)))
        self._sliders[name] = slider

    def set_arrow(self, name: str, origin: np.ndarray, vector: np.ndarray, color: Sequence[float]) -> None:
        """Draw an arrow from origin (3,) along vector (3,) [m] in a color (3,); replaces the mark of its name."""
        size = self._view[1]
        head = min(0.08 * size, float(np.linalg.norm(vector)))
        self._opened("set_arrow").scene.add_arrows(
            _path(name), np.array([[origin, origin + vector]]), tuple(color), shaft_radius=0.008 * size,
            head_radius=0.025 * size, head_length=head,
        )  # fmt: skip

    def set_frame(self, name: str, pose: np.ndarray, length: float) -> None:
        """Draw a frame's axes of a length [m] at a pose (4, 4); replaces the mark of its name."""
        scene = self._opened("set_frame").scene
        scene.add_frame(_path(name), axes_length=length, axes_radius=length / 30, **place(pose))

    def remove_mark(self, name: str) -> None:
        """Remove an arrow or a frame, if there is one."""
        self._opened("remove_mark").scene.remove_by_name(_path(name))

    def listen_clicks(self, clicked: Callable[[str, np.ndarray], object]) -> None:
        """Register clicked(body, point), called in viser's threads at a click on a body at a point (3,) [m]."""
        self._opened("listen_clicks")
        self._clicked = clicked
        for part in self._parts:
            part.handle.remove_click_callback()
            part.handle.on_click(partial(self._click, part))

    def _click(self, part: Part, event: Any) -> None:
        """Report the point where the ray of a click meets a part; nothing if the part has moved away meanwhile."""
        robot, ray = self._robot, (np.array(event.ray_origin), np.array(event.ray_direction))
        point = hit(part.triangles, self._poses[part.body], *ray)
        if robot is not None and self._clicked is not None and point is not None:
            self._clicked(("base", *robot.body_names)[part.body], point)

    def close(self) -> None:
        """Stop the server. A second call does nothing; `show` may follow."""
        if self._server is not None:
            close_server(self._server)
        self._server = self._robot = self.url = self._panel = None
        self._frames, self._parts, self._sliders, self._clicked = [], [], {}, None

    def record(self, robot: Tree, trajectory: Trajectory, path: str | PathLike[str], fps: float = 30) -> Path:
        """Write the motion to one HTML file that replays from disk (see recording.write_recording)."""
        return write_recording(robot, trajectory, path, fps)

    def _opened(self, what: str) -> ViserServer:
        if self._server is None:
            raise ArgumentError(f"{what}: no robot is shown; call show(robot, q) first")
        return self._server


def _path(name: str) -> str:
    return f"{MARKS}/{quote(sendable(name), safe='')}"
