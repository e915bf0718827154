"""Protocols of viewers, and the shapes that every viewer draws.

A viewer is an entry point of the group `treesim.viewers`: a class without constructor arguments whose
instances satisfy `Viewer`. Further protocols are optional: `GroundViewer` draws surfaces,
`InteractiveViewer` controls a simulation, `OpeningViewer` serves its page before a robot is shown, and
`ReferenceViewer` draws the robot twice. `SliderViewer`, `MarkViewer` and `ClickViewer` provide sliders, arrows
and frames, and clicks to programs (`treesim.viewer`). `Recorder` writes a trajectory to a file,
`FormatRecorder` to several kinds of files, and `PageWriter` writes a robot as a page that simulates it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from ..contact.surface import StaticSurface
from ..errors import quoted
from ..model.inertia import Placement
from ..model.matrices import unit_vector
from ..model.pack import axis_rotation
from ..model.tree import Tree, Visual
from ..system.user_warnings import warn
from .meshes import read_meshes

if TYPE_CHECKING:
    from ..simulation.trajectory import Trajectory
    from ..simulation.world import World

Message = Mapping[str, Any]  # of JSON values
Reply = Callable[[str], object]

BONE_COLOR = (0.62, 0.67, 0.73, 1.0)
JOINT_COLOR = (0.93, 0.45, 0.13, 1.0)
_THICKNESS = 0.12  # radius of a bone over the median distance between joints
_DEFAULT_LENGTH = 0.3  # [m], for a tree whose joints all coincide
_TINY = 1e-9  # [m], below this two points are the same


@runtime_checkable
class Viewer(Protocol):
    """Interface of a viewer: shows a robot and updates its configuration while a program runs."""

    def show(self, robot: Tree, q: np.ndarray) -> object:
        """Draw `robot` at configuration q (nq,); replaces everything shown before."""

    def update(self, q: np.ndarray) -> None:
        """Move the shown robot to configuration q (nq,); cheap enough for every step."""

    def close(self) -> None:
        """Release all resources; `show` may follow. A second call does nothing."""


@runtime_checkable
class GroundViewer(Viewer, Protocol):
    """Viewer that draws the surfaces of the ground; optional."""

    def show_ground(self, ground: Sequence[StaticSurface]) -> None:
        """Draw the ground of a world with the shown robot; replaces any before. `show` removes it."""


@runtime_checkable
class InteractiveViewer(Viewer, Protocol):
    """Viewer whose users control the simulation that it shows (`treesim.viewing.live.LiveSession`).

    url: address of its page, None before `show` or if there is none. port: for the next `show`, 0 for any.
    """

    url: str | None
    port: int

    def listen(self, receive: Callable[[Message, Reply], object]) -> None:
        """Register receive(message, reply), called from any thread with each request of a user.

        A message is {"set": {name: value}}, or {"do": action} with the actions "reset", "step", "seek" (with "t"),
        "pull" (with "body", "point", "target"), "release". reply(text) sends an error to that user only.
        """

    def show_panel(self, panel: Message) -> None:
        """Offer the available settings (`treesim.viewing.live.panel`); replaces those before."""

    def show_state(self, state: Message) -> None:
        """Show the current state, also to pages opened later; cheap enough for twenty calls a second."""


@runtime_checkable
class OpeningViewer(InteractiveViewer, Protocol):
    """Interactive viewer whose page can be opened before the robot is shown, while code is compiled.

    It is opened after the robot's file was read, since an invalid file opens no page.
    """

    def open(self) -> str:
        """Serve the page, which displays a loading message until `show`; return its URL."""


@runtime_checkable
class ReferenceViewer(Viewer, Protocol):
    """Viewer that draws a second, translucent copy of the robot, to compare two motions."""

    def set_reference(self, q: np.ndarray | None) -> None:
        """Draw the reference run of the shown robot at configuration q (nq,), or none, from the next `update` on.

        `show` removes it.
        """


@runtime_checkable
class SliderViewer(Viewer, Protocol):
    """Viewer that offers a program's sliders to its user."""

    def set_slider(
        self, name: str, lower: float, upper: float, value: float, unit: str, moved: Callable[[float], object]
    ) -> None:
        """Add a slider from lower to upper at a value, or replace the one of its name; `close` removes it.

        moved(value) is called, from any thread, with each value that a user chooses.
        """


@runtime_checkable
class MarkViewer(Viewer, Protocol):
    """Viewer that draws a program's arrows and frames; `close` removes them."""

    def set_arrow(self, name: str, origin: np.ndarray, vector: np.ndarray, color: Sequence[float]) -> None:
        """Draw an arrow from origin (3,) along vector (3,) [m], in the world's axes; replaces the mark of its name.

        color: red, green, blue from 0 to 1.
        """

    def set_frame(self, name: str, pose: np.ndarray, length: float) -> None:
        """Draw the axes of a frame at its pose (4, 4) in the world; replaces the mark of its name.

        length: of the axes [m].
        """

    def remove_mark(self, name: str) -> None:
        """Remove an arrow or a frame by its name, if it exists."""


@runtime_checkable
class ClickViewer(Viewer, Protocol):
    """Viewer that reports clicks of its users."""

    def listen_clicks(self, clicked: Callable[[str, np.ndarray], object]) -> None:
        """Register clicked(body, point), called from any thread at a click on a body.

        point (3,): in the world [m].
        """


@runtime_checkable
class Recorder(Protocol):
    """Interface of a writer of trajectories, which needs neither a screen nor a call of `show`.

    It may also draw `trajectory.ground` and forces of `trajectory.contact`, which are () and None if there were
    none.
    """

    def record(self, robot: Tree, trajectory: Trajectory, path: str | PathLike[str], fps: float = 30) -> Path:
        """Write the motion of a robot along a trajectory to `path`, about `fps` poses per second; return the path."""


@runtime_checkable
class FormatRecorder(Recorder, Protocol):
    """Recorder of other kinds of files than .html.

    formats: suffixes of files that `record` writes.
    """

    formats: tuple[str, ...]

    def check_record(self, path: str | PathLike[str]) -> None:
        """Raise what `record` would raise for a path with any motion.

        ArgumentError for a suffix or a place that cannot be written, PluginError for a missing program.
        """


@runtime_checkable
class PageWriter(Protocol):
    """Interface of a writer of pages that simulate a robot without this program."""

    def write_page(
        self, robot: Tree | World, path: str | PathLike[str], q0: np.ndarray | None = None, **settings: Any
    ) -> Path:
        """Write a robot, or a world with its ground, to `path`; return the path.

        q0 (nq,): initial configuration, neutral by default. settings: other initial settings, by default the
        viewer's: v0 (nv,), controller, kp, kd, gravity (3,), backend, integrator, contact_solver, dt [s], speed,
        policy, and its command. None also selects a default.
        """


def drawables(robot: Tree, readable: Callable[[str], bool] | None = None) -> tuple[Visual, ...]:
    """Return the shapes to draw for a robot: its visuals, or its skeleton if it has none.

    readable: returns whether the viewer can read a mesh file; by default, whether treesim can. Meshes that
    cannot be read are replaced by a part of the skeleton if their body has no other shape, with one warning.
    Images that cannot be read give another one.
    """
    if not robot.visuals:
        return skeleton(robot)
    if readable is None:
        _warn_of_images(robot)
    readable = readable or (lambda file: read_meshes(file).meshes is not None)
    files = sorted({visual.file or "" for visual in robot.visuals if visual.kind == "mesh"})
    lost = {file: None for file in files if not readable(file)}  # an ordered set
    if not lost:
        return robot.visuals
    warn(_lost_message(robot, list(lost)))
    kept = tuple(visual for visual in robot.visuals if visual.kind != "mesh" or (visual.file or "") not in lost)
    bodies = {visual.body for visual in robot.visuals} - {visual.body for visual in kept}
    return kept + tuple(visual for visual in skeleton(robot) if visual.body in bodies)


def _warn_of_images(robot: Tree) -> None:
    """Warn once of images of meshes that are not drawn."""
    files = sorted({(each.file or "", each.texture or "") for each in robot.visuals if each.kind == "mesh"})
    lost = [(file, fault) for file, texture in files for fault in read_meshes(file, texture or None).lost_images]
    if lost:
        file, fault = lost[0]
        more = f"; {len(lost) - 1} more images are lost" if len(lost) > 1 else ""
        what = f"meshes of {quoted(robot.name)} are drawn without images: mesh {quoted(file)}: {fault}{more}"
        warn(what)


def skeleton(robot: Tree) -> tuple[Visual, ...]:
    """Return sticks from joint to joint and a sphere at every joint, for a tree without visuals.

    A stick belongs to the body that it represents: it goes from the body's origin to the joint of each child,
    or to the centre of mass if no child is elsewhere. The base has sticks to joints that do not move away,
    neither floating nor planar.
    """
    bones = list(_bones(robot))
    lengths = [math.hypot(*end) for _, end in bones]
    radius = _THICKNESS * (float(np.median(lengths)) if lengths else _DEFAULT_LENGTH)
    sticks = [_stick(body, end, radius) for body, end in bones]
    moving = range(1, robot.n_bodies + 1)
    joints = [Visual(i, Placement(), "sphere", (1.5 * radius,), color=JOINT_COLOR) for i in moving]
    return (*sticks, *joints)


def _bones(robot: Tree) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the sticks of the skeleton: body, and end point (3,) in its frame [m], never at its origin."""
    bare = set(range(1, robot.n_bodies + 1))
    for body in robot.bodies:
        end = body.joint.placement.translation
        moves_away = body.parent == 0 and body.joint.type in ("floating", "planar")
        if math.hypot(*end) > _TINY and not moves_away:
            bare.discard(body.parent)
            yield body.parent, end
    for i in sorted(bare):
        com = robot.bodies[i - 1].inertia.com
        if math.hypot(*com) > _TINY:
            yield i, com


def _stick(body: int, end: np.ndarray, radius: float) -> Visual:
    placement = Placement(axis_rotation(unit_vector(end)), end / 2)
    return Visual(body, placement, "cylinder", (radius, math.hypot(*end)), color=BONE_COLOR)


def _lost_message(robot: Tree, lost: Sequence[str]) -> str:
    total = len({visual.file for visual in robot.visuals if visual.kind == "mesh"})
    fault = read_meshes(lost[0]).fault or f"such as {quoted(lost[0] or '(no file name)')}"
    count = f"{len(lost)} of {total} mesh files of {quoted(robot.name)}"
    return f"{count} cannot be read; sticks are drawn in their place: {fault}"
