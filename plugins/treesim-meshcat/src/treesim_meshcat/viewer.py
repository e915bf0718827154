"""Viewer "meshcat" of treesim."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

import treesim
from treesim import Tree
from treesim.contact.surface import StaticSurface
from treesim.errors import ArgumentError
from treesim.simulation.trajectory import Trajectory
from treesim.system.files import checked_output
from treesim.viewing import gltf

from .encoding import pose_frame, pose_rows, to_json
from .film import check_film, check_picture, write_film, write_picture
from .offline import write_page
from .overlays import add_overlays
from .program import Program
from .recording import write_recording
from .scene import ground_message, robot_parts, scene_message
from .server import LiveServer, Receive, ignore


class MeshcatViewer:
    """Viewer that shows a robot on a page of this computer, and writes recordings.

    The page is served to this computer only, by a thread of this process, at a secret `url`. Use one viewer
    from one thread. url: address of the live page, None before the first `show`. port: for the next `show`, 0
    for any; a requested port has the same address again after a restart.
    """

    formats = (".html", ".htm", ".mp4", ".png", *gltf.SUFFIXES)

    def __init__(self) -> None:
        self.url: str | None = None
        self.port = 0
        self._receive: Receive = ignore
        self._left: Callable[[], object] = lambda: None
        self._server: LiveServer | None = None
        self._program = Program(self._send_program)
        self._robot: Tree | None = None
        self._view: dict[str, Any] = {}  # of the scene
        self._poses = np.empty((0, 4, 4))  # as shown last
        self._reference: np.ndarray | None = None  # poses of the reference's bodies
        self._started = 0.0
        self._sequence = 0

    def open(self) -> str:
        """Serve the page, which waits for a robot, and return its address; raises ArgumentError for a taken port."""
        self._server = self._server or LiveServer(port=self.port, receive=self._take)
        self._server.left = self._left
        self.url = self._server.url
        return self.url

    def show(self, robot: Tree, q: np.ndarray) -> str:
        """Draw `robot` at configuration q (nq,) and return the address of the page.

        Open pages switch to the new robot. Warns once if mesh files cannot be read. Raises ArgumentError if the
        port is taken.
        """
        poses = treesim.body_poses(robot, q)
        message = scene_message(robot, robot_parts(robot), poses[None], robot.name)
        add_overlays(message, robot)
        self._view = message["view"]
        self._view["follow"] = robot.base == "floating"
        url = self.open()
        assert self._server is not None
        self._robot, self._poses, self._reference, self._started = robot, poses, None, time.perf_counter()
        self._server.show(to_json(message), self._frame(poses))
        return url

    def show_ground(self, ground: Sequence[StaticSurface]) -> None:
        """Draw a world's ground; replaces any before. `show` removes it.

        Raises ArgumentError before `show`.
        """
        if self._server is None or self._robot is None:
            raise ArgumentError("show_ground: no robot is shown; call show(robot, q) first")
        self._server.send("ground", to_json({"ground": ground_message(self._view, self._poses[None], ground)}))

    def update(self, q: np.ndarray) -> None:
        """Move the robot to configuration q (nq,). Never blocks: a slow page skips to the latest pose.

        Raises ArgumentError before `show`.
        """
        if self._server is None or self._robot is None:
            raise ArgumentError("update: no robot is shown; call show(robot, q) first")
        self._poses = treesim.body_poses(self._robot, q)
        self._server.move(self._frame(self._poses))

    def set_reference(self, q: np.ndarray | None) -> None:
        """Draw a translucent copy of the robot at configuration q (nq,), or none, from the next `update` on.

        Raises ArgumentError before `show`.
        """
        if self._robot is None:
            raise ArgumentError("set_reference: no robot is shown; call show(robot, q) first")
        self._reference = None if q is None else treesim.body_poses(self._robot, q)

    def listen(self, receive: Receive) -> None:
        """Register receive(message, reply), called in the server's thread with users' requests.

        reply(text) sends an error to that user.
        """
        self._receive = receive

    def _take(self, message: dict[str, Any], reply: Callable[[str], object]) -> None:
        """Pass on a user's request to the program that uses this viewer, or to the registered receiver."""
        if not self._program.take(message, self._body_names()):
            self._receive(message, reply)

    def _body_names(self) -> tuple[str, ...]:
        robot = self._robot
        return () if robot is None else ("base", *robot.body_names)

    def _send_program(self, details: Mapping[str, Any]) -> None:
        if self._server is not None:
            self._server.send("program", to_json({"program": details}))

    def set_slider(
        self, name: str, lower: float, upper: float, value: float, unit: str, moved: Callable[[float], object]
    ) -> None:
        """Add a slider on all pages, until `close`; moved(value) is called in the server's thread."""
        self._program.set_slider(name, lower, upper, value, unit, moved)

    def set_arrow(self, name: str, origin: np.ndarray, vector: np.ndarray, color: Sequence[float]) -> None:
        """Draw an arrow from origin (3,) along vector (3,) [m] in a color (3,); never blocks."""
        self._program.set_mark(name, {"origin": origin.tolist(), "vector": vector.tolist(), "color": list(color)})

    def set_frame(self, name: str, pose: np.ndarray, length: float) -> None:
        """Draw a frame's axes of a length [m] at a pose (4, 4); never blocks."""
        self._program.set_mark(name, {"pose": pose_rows(pose[None])[0].tolist(), "length": length})

    def remove_mark(self, name: str) -> None:
        """Remove an arrow or a frame."""
        self._program.set_mark(name, None)

    def listen_clicks(self, clicked: Callable[[str, np.ndarray], object]) -> None:
        """Register clicked(body, point), called in the server's thread at a click on a body at a point (3,) [m]."""
        self._program.listen(clicked)

    def when_left(self, left: Callable[[], object]) -> None:
        """Register left(), called in the server's thread two seconds after the last page was closed.

        It is not called if a page is opened again in this time.
        """
        self._left = left
        if self._server is not None:
            self._server.left = left

    def show_panel(self, panel: Mapping[str, Any]) -> None:
        """Offer the available settings on all pages; does nothing before `show`."""
        if self._server is not None:
            self._server.send("panel", to_json({"panel": panel}))

    def show_state(self, state: Mapping[str, Any]) -> None:
        """Show the current state on all pages; does nothing before `show`.

        Never blocks: a slow page skips to the latest state.
        """
        if self._server is not None:
            self._server.send("state", to_json({"state": state}))

    def close(self) -> None:
        """Stop the server; open pages display this. A second call does nothing; `show` may follow."""
        if self._server is not None:
            self._server.close()
        self._server = self._robot = None
        self._program = Program(self._send_program)

    def record(self, robot: Tree, trajectory: Trajectory, path: str | PathLike[str], fps: float = 30) -> Path:
        """Write the motion to a file; its suffix, one of `formats`, selects the kind.

        An HTML file that replays from disk (see recording.write_recording), a film, a picture of the last state
        (see film), or glTF (treesim.viewing.gltf). Raises ArgumentError for another suffix, and what these raise.
        """
        target = checked_output(path, self.formats)
        if target.suffix.lower() == ".mp4":
            return write_film(robot, trajectory, target, fps)
        if target.suffix.lower() == ".png":
            return write_picture(robot, trajectory, target)
        if target.suffix.lower() in gltf.SUFFIXES:
            return gltf.write_gltf(robot, trajectory, target, fps)
        return write_recording(robot, trajectory, target, fps)

    def check_record(self, path: str | PathLike[str]) -> None:
        """Raise what `record` would raise for this path with any motion: ArgumentError, PluginError."""
        suffix = checked_output(path, self.formats).suffix.lower()
        if suffix in (".mp4", ".png"):
            (check_film if suffix == ".mp4" else check_picture)()

    def write_page(self, robot: Tree, path: str | PathLike[str], q0: np.ndarray | None = None, **settings: Any) -> Path:
        """Write the robot with its physics to one HTML file that simulates from disk (see offline.write_page)."""
        return write_page(robot, path, q0, **settings)

    def _frame(self, poses: np.ndarray) -> bytes:
        self._sequence = (self._sequence + 1) % 2**32
        both = poses if self._reference is None else np.concatenate([poses, self._reference])
        return pose_frame(self._sequence, time.perf_counter() - self._started, both)
