"""What trees are made of: bodies with their joints, frames, and shapes to draw."""

from __future__ import annotations

from dataclasses import field
from operator import index
from typing import Any

from ..display import Shown, vector
from ..errors import ModelError
from ..types import ShapeKind
from .frozen import record
from .inertia import Inertia, Placement
from .joints import Joint


@record(eq=False)
class Body(Shown):
    """A moving body: its name, its parent (number, 0 = the fixed base), the joint that carries it, its inertia in its
    own frame (the frame that the joint places), and the line of the file in which its link stands, if it has one.

    Example:
        >>> pole = treesim.Joint("hinge", "revolute", axis=(0, 1, 0))
        >>> treesim.Body("pole", 0, pole, treesim.Inertia(1.5, com=(0, 0, -0.5)))
        <Body 'pole': 1.5 kg, on body 0 by the revolute joint 'hinge'>
    """

    name: str
    parent: int
    joint: Joint
    inertia: Inertia = field(default_factory=Inertia)
    line: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "parent", body_number(f"parent of body {self.name!r}", self.parent))

    def __repr__(self) -> str:
        joint = f"{self.joint.type} joint {self.joint.name!r}"
        return f"<Body {self.name!r}: {self.inertia.mass:.6g} kg, on body {self.parent} by the {joint}>"

    def _facts(self) -> list[tuple[str, Any]]:
        return [("parent", self.parent), ("joint", self.joint), ("inertia", self.inertia)]


@record(eq=False)
class Frame(Shown):
    """A named frame fixed to body number `body` (0 = the fixed base) at `placement` in that body's frame.

    Example:
        >>> treesim.Frame("tip", 1, treesim.Placement(translation=(0, 0, -1)))
        <Frame 'tip': on body 1 at (0, 0, -1)>
    """

    name: str
    body: int
    placement: Placement = field(default_factory=Placement)

    def __post_init__(self) -> None:
        object.__setattr__(self, "body", body_number(f"body of frame {self.name!r}", self.body))

    def __repr__(self) -> str:
        return f"<Frame {self.name!r}: on body {self.body} at {vector(self.placement.translation)}>"

    def _facts(self) -> list[tuple[str, Any]]:
        return [("body", self.body), ("placement", self.placement)]


@record(eq=False)
class Visual(Shown):
    """A shape to draw: fixed to body number `body` at `placement`, `kind` "box", "sphere", "cylinder", "capsule" or
    "mesh" with its `size` (box: x y z; sphere: radius; cylinder, capsule: radius and length along z [m]; mesh: scale),
    `file` for a mesh (a path; missing files are the viewer's to report), and an rgba `color` if one is given.

    Example:
        >>> treesim.Visual(1, treesim.Placement(), "sphere", (0.1,), color=(1, 0, 0, 1))
        <Visual: sphere (0.1), on body 1 at (0, 0, 0)>
    """

    body: int
    placement: Placement
    kind: ShapeKind
    size: tuple[float, ...]
    file: str | None = None
    color: tuple[float, float, float, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "body", body_number(f"body of a {self.kind}", self.body))
        object.__setattr__(self, "size", tuple(self.size))
        object.__setattr__(self, "color", None if self.color is None else tuple(self.color))

    def __repr__(self) -> str:
        return f"<Visual: {self.kind} {vector(self.size)}, on body {self.body} at {vector(self.placement.translation)}>"

    def _facts(self) -> list[tuple[str, Any]]:
        return [("body", self.body), ("placement", self.placement), ("file", self.file), ("color", self.color)]


def body_number(label: str, value: Any) -> int:
    """Return `value` as an int; raises ModelError naming `label` if it is no whole number."""
    try:
        return index(value)
    except TypeError:
        raise ModelError(f"{label} must be the number of a body, got {value!r}") from None
