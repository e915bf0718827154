"""What a viewer is, and the shapes that every viewer draws.

A viewer is an entry point of the group `treesim.viewers`: a class without constructor arguments whose instance
satisfies `Viewer`, `GroundViewer` too if it can draw what a robot stands on, `InteractiveViewer` if its users can steer
what it shows, `OpeningViewer` if its page can be opened before that is shown, `ReferenceViewer` if it can draw the
robot twice, `SliderViewer`, `MarkViewer` and `ClickViewer` if programs can add sliders, draw arrows and frames, and
hear clicks (`treesim.viewer`), `Recorder` if it can turn a trajectory into a file, `FormatRecorder` if into several
kinds of files, and `PageWriter` if it can turn a robot into one that simulates.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from ..contact.ground import Surface
from ..errors import quoted
from ..model.inertia import Placement, unit_vector
from ..model.pack import axis_rotation
from ..model.tree import Tree, Visual
from .meshes import read_meshes

if TYPE_CHECKING:
    from ..simulation.trajectory import Trajectory
    from ..simulation.world import World

Message = Mapping[str, Any]  # of values that JSON holds
Reply = Callable[[str], object]

BONE_COLOR = (0.62, 0.67, 0.73, 1.0)
JOINT_COLOR = (0.93, 0.45, 0.13, 1.0)
_THICKNESS = 0.12  # radius of a bone over the median distance between joints
_DEFAULT_LENGTH = 0.3  # [m], for a tree whose joints all coincide
_TINY = 1e-9  # [m], below this two points are the same


@runtime_checkable
class Viewer(Protocol):
    """Shows a robot and follows its configuration while a program runs."""

    def show(self, robot: Tree, q: np.ndarray) -> object:
        """Draw `robot` at configuration q (nq,), in place of whatever was shown before."""

    def update(self, q: np.ndarray) -> None:
        """Move the robot that was shown to configuration q (nq,); cheap enough to call at every step."""

    def close(self) -> None:
        """Release everything the viewer holds; `show` may follow. Closing twice does nothing."""


@runtime_checkable
class GroundViewer(Viewer, Protocol):
    """A viewer that draws what a robot stands on, beside the robot; those that do not need no such method."""

    def show_ground(self, ground: Sequence[Surface]) -> None:
        """Draw the ground of a world beneath the robot that was shown, in place of any before; `show` removes it."""


@runtime_checkable
class InteractiveViewer(Viewer, Protocol):
    """A viewer whose users steer the simulation that it shows (`treesim.viewing.live.LiveSession`).

    url: where it is to be seen, None before `show`, or where there is no such address. port: which one to take at the
    next `show`, 0 for any.
    """

    url: str | None
    port: int

    def listen(self, receive: Callable[[Message, Reply], object]) -> None:
        """Call receive(message, reply), from any thread, with what a user asks for: {"set": {name: value}}, or {"do":
        "reset"}, "step", "seek" (with "t"), "pull" (with "body", "point", "target"), "release". reply(text) tells that
        user alone what cannot be done."""

    def show_panel(self, panel: Message) -> None:
        """Offer what there is to be set (`treesim.viewing.live.panel`), in place of what was offered before."""

    def show_state(self, state: Message) -> None:
        """Show how it stands, to who comes later too; cheap enough to call twenty times a second."""


@runtime_checkable
class OpeningViewer(InteractiveViewer, Protocol):
    """An interactive viewer whose page can be opened before the robot is shown, so that neither waits for the other:
    while its methods are compiled, not while it is read, since a file that is refused opens no address."""

    def open(self) -> str:
        """Serve the page, which says that the robot is being loaded until `show`, and return its address."""


@runtime_checkable
class ReferenceViewer(Viewer, Protocol):
    """A viewer that draws a second, translucent copy of the robot, to compare two motions by."""

    def set_reference(self, q: np.ndarray | None) -> None:
        """Draw the reference of the robot that is shown at configuration q (nq,), or none, from the next `update` on;
        `show` removes it."""


@runtime_checkable
class SliderViewer(Viewer, Protocol):
    """A viewer on which a program can offer sliders to its user."""

    def set_slider(
        self, name: str, lower: float, upper: float, value: float, unit: str, moved: Callable[[float], object]
    ) -> None:
        """Offer a slider from lower to upper that stands at value, in place of any of its name, until `close`;
        moved(value) is called, from any thread, with each value that a user chooses."""


@runtime_checkable
class MarkViewer(Viewer, Protocol):
    """A viewer that draws arrows and frames for a program, over the robot; `close` removes them."""

    def set_arrow(self, name: str, origin: np.ndarray, vector: np.ndarray, color: Sequence[float]) -> None:
        """Draw an arrow from origin (3,) along vector (3,), in the world's axes [m], in place of any mark of its name.
        color: red, green, blue from 0 to 1."""

    def set_frame(self, name: str, pose: np.ndarray, length: float) -> None:
        """Draw the axes of a frame, `length` [m] long, at its pose (4, 4) in the world, in place of any mark of its
        name."""

    def remove_mark(self, name: str) -> None:
        """Remove the arrow or frame of a name; does nothing where there is none."""


@runtime_checkable
class ClickViewer(Viewer, Protocol):
    """A viewer that hears where its users click."""

    def listen_clicks(self, clicked: Callable[[str, np.ndarray], object]) -> None:
        """Call clicked(body, point), from any thread, when a user clicks on a body at a point (3,) of the world [m]."""


@runtime_checkable
class Recorder(Protocol):
    """A viewer that turns a trajectory into a file; needs neither a screen nor a call of `show`.

    What else may be drawn comes with the trajectory, and a recorder may leave it out: `trajectory.ground`, what the
    robot stood on, and `trajectory.contact`, with which forces; () and None where there was nothing.
    """

    def record(self, robot: Tree, trajectory: Trajectory, path: str | PathLike[str], fps: float = 30) -> Path:
        """Write the motion of `robot` along `trajectory` to `path`, about `fps` poses per second, and return it."""


@runtime_checkable
class FormatRecorder(Recorder, Protocol):
    """A recorder of more kinds of files than .html.

    formats: suffixes of files that `record` writes.
    """

    formats: tuple[str, ...]

    def check_record(self, path: str | PathLike[str]) -> None:
        """Raise what `record` would raise for a path, whatever the motion is: ArgumentError for a suffix, or a place
        that cannot be written, PluginError for a program that is missing."""


@runtime_checkable
class PageWriter(Protocol):
    """A viewer that writes a robot with its physics as a file, which simulates it without this program."""

    def write_page(
        self, robot: Tree | World, path: str | PathLike[str], q0: np.ndarray | None = None, **settings: Any
    ) -> Path:
        """Write a robot, or a world with its ground, to `path`, beginning at q0 (nq,), neutral by default; return it.

        settings: with what it begins, each the viewer's choice where it is left out: v0 (nv,), controller, kp, kd,
        gravity (3,), None for that of the viewer's choice too; backend, integrator, contact_solver, dt [s], speed.
        """


def drawables(robot: Tree, readable: Callable[[str], bool] | None = None) -> tuple[Visual, ...]:
    """Return the shapes to draw for `robot`: its visuals, or its skeleton if it has none.

    readable: tells whether the viewer can read a mesh file; by default, whether treesim can. Meshes that cannot be read
    give one warning in all, and each body that lost one shows its part of the skeleton in their place; images that
    cannot be read give another one.
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
    warnings.warn(_lost_message(robot, list(lost)), stacklevel=2)
    kept = tuple(visual for visual in robot.visuals if visual.kind != "mesh" or (visual.file or "") not in lost)
    bodies = {visual.body for visual in robot.visuals} - {visual.body for visual in kept}
    return kept + tuple(visual for visual in skeleton(robot) if visual.body in bodies)


def _warn_of_images(robot: Tree) -> None:
    """Warn once of the images of meshes that are not drawn."""
    files = sorted({(each.file or "", each.texture or "") for each in robot.visuals if each.kind == "mesh"})
    lost = [(file, fault) for file, texture in files for fault in read_meshes(file, texture or None).lost_images]
    if lost:
        file, fault = lost[0]
        more = f"; {len(lost) - 1} more images are lost" if len(lost) > 1 else ""
        what = f"meshes of {quoted(robot.name)} are drawn without images: mesh {quoted(file)}: {fault}{more}"
        warnings.warn(what, stacklevel=3)


def skeleton(robot: Tree) -> tuple[Visual, ...]:
    """Return sticks from joint to joint and a sphere at every joint, for a tree without shapes of its own.

    A stick belongs to the body it lies on: it leads from the body's origin to the joint of each child, or to the
    centre of mass where there is no child elsewhere. The sticks of the base are drawn only up to joints that stay put.
    """
    bones = list(_bones(robot))
    lengths = [math.hypot(*end) for _, end in bones]
    radius = _THICKNESS * (float(np.median(lengths)) if lengths else _DEFAULT_LENGTH)
    sticks = [_stick(body, end, radius) for body, end in bones]
    moving = range(1, robot.n_bodies + 1)
    joints = [Visual(i, Placement(), "sphere", (1.5 * radius,), color=JOINT_COLOR) for i in moving]
    return (*sticks, *joints)


def _bones(robot: Tree) -> Iterator[tuple[int, np.ndarray]]:
    """The sticks of the skeleton: a body and the end point (3,) in its frame, never at its origin."""
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
