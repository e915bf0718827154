"""Parts of trees: bodies with their joints, frames, and visual shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from typing import Any, get_args

import numpy as np

from ..errors import ArgumentError, ModelError, quoted
from ..system.display import ReprMixin, vector
from ..types import ShapeKind
from ..validation.values import (
    MOST,
    checked_file,
    checked_part,
    checked_parts,
    checked_text,
    finite_vector,
    index_or_none,
    is_name_of,
    known_name,
    short_repr,
    whole_number,
)
from .frozen import record
from .inertia import IDENTITY, NOTHING, Inertia, Placement
from .joints import Joint
from .solids import SOLIDS

SHAPE_KINDS = get_args(ShapeKind)
LENGTHS = {kind: solid.lengths for kind, solid in SOLIDS.items()} | {"mesh": 3}  # of a size, of a mesh its scale


@record(eq=False)
class Body(ReprMixin):
    """A moving body of a tree, and the joint that connects this body to its parent.

    Parameters
    ----------
    name : str
        Name of the body. In a URDF it is the name of the link.
    parent : int
        Number of the parent body, from 1; 0 is the fixed base.
    joint : Joint
        Joint between the parent and this body.
    inertia : Inertia
        Inertia in the body's frame, which is the joint's child frame, with all links welded to it. Zero by default.
    line : int, optional
        Line of the source file in which the link is defined.
    own : Inertia, optional
        Inertia of the body's own link, without the links welded to it (`Tree.welds`). None if it is `inertia`. If `own`
        and the welds do not add up to `inertia`, as after `dataclasses.replace`, `inertia` alone counts: `to_urdf`
        then writes the welded links without mass.

    Raises
    ------
    ModelError
        If `parent` is not the number of a body.
    ArgumentError
        If an argument has another type.

    Examples
    --------
    >>> pole = treesim.Joint("hinge", "revolute", axis=(0, 1, 0))
    >>> treesim.Body("pole", 0, pole, treesim.Inertia(1.5, com=(0, 0, -0.5)))
    <Body 'pole': 1.5 kg, on body 0 by the revolute joint 'hinge'>
    """

    name: str
    parent: int
    joint: Joint
    inertia: Inertia = NOTHING
    _: KW_ONLY
    line: int | None = None
    own: Inertia | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", checked_text("name of a body", self.name))
        owner = f"body {quoted(self.name)}"
        object.__setattr__(self, "parent", body_number(f"parent of {owner}", self.parent))
        checked_part(f"joint of {owner}", self.joint, Joint)
        checked_part(f"inertia of {owner}", self.inertia, Inertia)
        if self.own is not None:
            checked_part(f"own inertia of {owner}", self.own, Inertia)
        if self.line is not None:
            whole_number(f"line of {owner}", self.line)

    _row_labels = ("parent", "joint", "inertia")

    def __repr__(self) -> str:
        joint = f"{self.joint.type} joint {self.joint.name!r}"
        return f"<Body {self.name!r}: {self.inertia.mass:.6g} kg, on body {self.parent} by the {joint}>"


@record(eq=False)
class Frame(ReprMixin):
    """A named operational frame, fixed to a body.

    Parameters
    ----------
    name : str
        Name of the frame.
    body : int
        Number of the body, from 1; 0 is the fixed base.
    placement : Placement
        Pose of the frame in the body's frame. Identity by default.

    Raises
    ------
    ModelError
        If `body` is not the number of a body.
    ArgumentError
        If an argument has another type.

    Examples
    --------
    >>> treesim.Frame("tip", 1, treesim.Placement(translation=(0, 0, -1)))
    <Frame 'tip': on body 1 at (0, 0, -1)>
    """

    name: str
    body: int
    placement: Placement = IDENTITY

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", checked_text("name of a frame", self.name))
        owner = f"frame {quoted(self.name)}"
        object.__setattr__(self, "body", body_number(f"body of {owner}", self.body))
        checked_part(f"placement of {owner}", self.placement, Placement)

    _row_labels = ("body", "placement")

    def __repr__(self) -> str:
        return f"<Frame {self.name!r}: on body {self.body} at {vector(self.placement.translation)}>"


@record(eq=False)
class Visual(ReprMixin):
    """A shape to draw, fixed to a body.

    Parameters
    ----------
    body : int
        Number of the body, from 1; 0 is the fixed base.
    placement : Placement
        Pose of the shape in the body's frame.
    kind : str
        "box", "sphere", "cylinder", "capsule" or "mesh".
    size : tuple of float
        Lengths x, y, z of a box; radius of a sphere; radius and length along z of a cylinder or capsule [m]; scale
        factors along x, y, z of a mesh.
    file : str, optional
        Path of a mesh. Viewers report missing files.
    color : tuple of float, optional
        Red, green, blue and alpha.
    texture : str, optional
        Image file (PNG or JPEG). It is used for a mesh that has texture coordinates and no image of its own.
    link : str
        Name of the link that has the shape; empty for the body's own link.

    Raises
    ------
    UnknownNameError
        If the kind is unknown.
    ModelError
        If a size is negative or `body` is not the number of a body.
    ArgumentError
        If an argument has another type or another number of elements.

    Examples
    --------
    >>> treesim.Visual(1, treesim.Placement(), "sphere", (0.1,), color=(1, 0, 0, 1))
    <Visual: sphere (0.1), on body 1 at (0, 0, 0)>
    """

    body: int
    placement: Placement
    kind: ShapeKind
    size: tuple[float, ...]
    _: KW_ONLY
    file: str | None = None
    color: tuple[float, float, float, float] | None = None
    texture: str | None = None
    link: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", known_name("kind of a visual", self.kind, SHAPE_KINDS))
        object.__setattr__(self, "body", body_number(f"body of a {self.kind}", self.body))
        checked_part(f"placement of a {self.kind}", self.placement, Placement)
        size = finite_vector(f"size of a {self.kind}", self.size, LENGTHS[self.kind])
        if self.kind != "mesh" and size.min() < 0:
            raise ModelError(f"size of a {self.kind} must be {len(size)} lengths [m], got {short_repr(self.size)}")
        object.__setattr__(self, "size", tuple(size.tolist()))
        object.__setattr__(self, "file", checked_file(f"file of a {self.kind}", self.file))
        object.__setattr__(self, "texture", checked_file(f"texture of a {self.kind}", self.texture))
        if type(self.link) is not str or not self.link.isascii():
            object.__setattr__(self, "link", checked_text(f"link of a {self.kind}", self.link))
        if self.color is not None:
            color = finite_vector(f"color of a {self.kind}", self.color, 4)
            object.__setattr__(self, "color", tuple(color.tolist()))

    def __repr__(self) -> str:
        return f"<Visual: {self.kind} {vector(self.size)}, on body {self.body} at {vector(self.placement.translation)}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [("body", self.body), ("placement", self.placement), ("file", self.file), ("color", self.color),
                ("texture", self.texture), ("link", self.link)]  # fmt: skip


def changed_joints(bodies: Iterable[Body], change: Callable[[Joint], Mapping[str, Any]]) -> list[Body]:
    """Return bodies with other arguments of their joints, which `change` returns by name for each joint."""
    return [replace(body, joint=replace(body.joint, **change(body.joint))) for body in bodies]


def operational_frames(frames: Any, bodies: Sequence[Body]) -> tuple[Frame, ...]:
    """Return the frames in an argument of a tree: of a sequence, or of a mapping without bodies' own frames."""
    if not isinstance(frames, Mapping):
        return checked_parts("frames", frames, Frame)
    wrong = [key for key, frame in frames.items() if not (isinstance(frame, Frame) and is_name_of(key, (frame.name,)))]
    if wrong:
        raise ArgumentError(f"frames must be a sequence of Frame, or {{name: Frame}}, got {short_repr(frames)}")
    own = {body.name: number for number, body in enumerate(bodies, start=1)}
    found = checked_parts("frames", list(frames.values()), Frame)
    still = np.eye(4)
    return tuple(x for x in found if own.get(x.name) != x.body or (x.placement.matrix() != still).any())


def body_number(label: str, value: Any) -> int:
    """Return `value` as an int; raises ModelError, naming `label`, unless it is an integer of 0 or more."""
    number = value if type(value) is int else index_or_none(value)
    if number is None or not 0 <= number <= MOST:
        raise ModelError(f"{label} must be the number of a body, got {short_repr(value)}")
    return number
