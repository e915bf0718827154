"""Welds: links of the source that are part of a body, or of the base, with the fixed joints that hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any

from ..errors import ModelError, quoted
from ..system.display import ReprMixin
from ..validation.values import checked_part, checked_text, checked_texts
from .frozen import record
from .inertia import NOTHING, Inertia
from .names import unique

if TYPE_CHECKING:
    from .parts import Body, Frame


@record(eq=False)
class Weld(ReprMixin):
    """A link that is fixed to another link or to the world, and therefore part of a body or of the base.

    The body's inertia includes the link's inertia. The link's pose is the pose of the frame with the same name. The
    list `Tree.welds` has no effect on the motion; `treesim.joint_wrenches` uses it for wrenches across fixed joints.

    Parameters
    ----------
    link : str
        Name of the link, which is an operational frame of the tree.
    joint : str
        Name of the fixed joint; empty for the root link of a fixed base.
    parent : str
        Name of the other link, to which this link is fixed; empty for the world.
    inertia : Inertia
        Inertia of this link alone, in its own frame. Zero by default.
    joints : sequence of str
        Names of the moving joints whose parent is this link.

    Raises
    ------
    ArgumentError
        If an argument has another type.

    Examples
    --------
    >>> treesim.Weld("gripper", "mount", "hand", inertia=treesim.Inertia(0.2), joints=("finger",))
    <Weld 'gripper': 0.2 kg, on 'hand' by 'mount'>
    """

    link: str
    joint: str = ""
    parent: str = ""
    _: KW_ONLY
    inertia: Inertia = NOTHING
    joints: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "link", checked_text("link of a weld", self.link))
        whose = f"weld of link {quoted(self.link)}"
        for label in ("joint", "parent"):
            object.__setattr__(self, label, checked_text(f"{label} of the {whose}", getattr(self, label)))
        checked_part(f"inertia of the {whose}", self.inertia, Inertia)
        object.__setattr__(self, "joints", checked_texts(f"joints of the {whose}", self.joints))

    def __repr__(self) -> str:
        by = f" by {self.joint!r}" if self.joint else ""
        return f"<Weld {self.link!r}: {self.inertia.mass:.6g} kg, on {self.parent or 'world'!r}{by}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [(label, getattr(self, label)) for label in ("joint", "parent", "inertia", "joints")]


def checked_welds(
    robot: str, welds: Sequence[Weld], frames: Mapping[str, Frame], bodies: Sequence[Body]
) -> tuple[Weld, ...]:
    """Return the welds of a tree; raises ModelError for one that does not fit its frames, joints and earlier welds."""
    names = unique("weld", [weld.link for weld in welds])
    by_joint = {body.joint.name: body.parent for body in bodies}
    unique("joint", [*by_joint, *(weld.joint for weld in welds if weld.joint)])
    unique("joint of the welds", [joint for weld in welds for joint in weld.joints])
    own = {body.name: number for number, body in enumerate(bodies, start=1)}
    for k, weld in enumerate(welds):
        whose = f"weld of link {quoted(weld.link)} of {robot!r}"
        if weld.link not in frames or weld.link in own:
            raise ModelError(f"{whose}: it is no operational frame: give the tree a Frame of this name")
        body = frames[weld.link].body
        on = body if weld.parent in names[:k] and frames[weld.parent].body == body else own.get(weld.parent, 0)
        if on != body or (not weld.parent and body):
            raise ModelError(f"{whose}: parent {quoted(weld.parent)} is no link of its body, nor an earlier weld on it")
        wrong = [joint for joint in weld.joints if by_joint.get(joint) != body]
        if wrong:
            raise ModelError(f"{whose}: {quoted(wrong[0])} is no joint on its body")
    return tuple(welds)
