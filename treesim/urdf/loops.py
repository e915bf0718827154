"""Joints that close loops, `<loop_joint>`, for which URDF itself has no element: checks and frames.

    <loop_joint name="pin" type="revolute">
      <link1 link="coupler" xyz="0.4 0 0" rpy="0 0 0"/>
      <link2 link="rocker" xyz="0.3 0 0" rpy="0 0 0"/>
      <axis xyz="0 1 0"/>
    </loop_joint>

The element, its two ends and their poses are read by Isaac Sim too; the types are those of URDF's joints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import quoted
from ..model.loops import LOOP_TYPES, Loop
from ..model.parts import Frame
from .document import end_of, numbers, pose_in
from .findings import Findings, title
from .numbers import read_pose

if TYPE_CHECKING:
    from lxml.etree import _Element

ENDS = ("link1", "link2")
TYPES = {"continuous": "revolute", **{name: name for name in LOOP_TYPES}}  # the model's types by URDF's names


def check_loops(
    loops: Sequence[_Element], links: Mapping[str, _Element], joints: Mapping[str, _Element], findings: Findings
) -> None:
    """Add a finding for every error in a document's loops; links, joints: the document's, by name."""
    known = dict(joints)
    for loop in loops:
        name = loop.get("name")
        if not name:
            findings.add("U201", f"<{loop.tag}> has no name", loop)
        elif name in known:
            text = f"{title(loop)} has the name of {title(known[name])} in line {known[name].sourceline}"
            findings.add("U202", text, loop)
        else:
            known[name] = loop
        if loop.get("type") not in TYPES:
            kind = loop.get("type")
            text = "has no type" if kind is None else f"has the unknown type {quoted(kind)}"
            findings.add("U401", f"{title(loop)} {text}", loop, f"allowed are {', '.join(sorted(TYPES))}")
        ends = [_checked_end(loop, end, links, findings) for end in ENDS]
        if ends[0] is not None and ends[0] == ends[1]:
            findings.add("U414", f"{title(loop)} joins link {quoted(ends[0])} to itself", loop)


def _checked_end(loop: _Element, end: str, links: Mapping[str, _Element], findings: Findings) -> str | None:
    """Return the link at one end of a loop; None, with a finding, if there is none."""
    if end_of(loop, end):
        read_pose(loop.find(end), findings)
    return checked_link(loop, end, "link", links, findings)


def checked_link(owner: _Element, end: str, what: str, links: Mapping[str, _Element], findings: Findings) -> str | None:
    """Return the link at one end of a joint or loop; None, with a finding that calls it `what`, if there is none."""
    element, name = owner.find(end), end_of(owner, end)
    if not name:
        findings.add("U203", f"{title(owner)} has no <{end} link=...>", owner if element is None else element)
        return None
    if name not in links:
        findings.add("U204", f"{title(owner)}: {what} {quoted(name)} does not exist", element)
        return None
    return name


class Loops:
    """Loops of a checked document; ends with a pose of their own get additional frames.

    bodies: names of the bodies, in order. frames: of all links that are not bodies.
    """

    def __init__(
        self, elements: Sequence[_Element], bodies: Sequence[str], frames: Sequence[Frame], findings: Findings
    ) -> None:
        self._frames = {name: Frame(name, i) for i, name in enumerate(bodies, start=1)} if elements else {}
        self._frames |= {frame.name: frame for frame in frames}
        self.frames: list[Frame] = []  # the new ones
        self.loops = [self._loop(element, findings) for element in elements]

    def _loop(self, element: _Element, findings: Findings) -> Loop:
        first, second = (self._end(element, end, findings) for end in ENDS)
        if first.body == second.body:
            text = f"{title(element)} joins links of one body: no joint of the tree moves one of them alone"
            findings.add("U414", text, element)
        kind: Any = TYPES[element.get("type", "")]
        axis = numbers(element, "axis", "xyz", (1.0, 0.0, 0.0))
        return Loop(element.get("name", ""), first.name, second.name, type=kind, axis=axis)

    def _end(self, loop: _Element, end: str, findings: Findings) -> Frame:
        """Return the frame at one end: its link's own, or a new one on the link, named after the loop."""
        link = self._frames[end_of(loop, end)]
        place = pose_in(loop.find(end))
        if np.array_equal(place.matrix(), np.eye(4)):
            return link
        name = f"{loop.get('name')}_{end}"
        if name in self._frames:
            findings.add("U202", f"{title(loop)}: its frame {quoted(name)} has the name of a link", loop.find(end))
        frame = self._frames[name] = Frame(name, link.body, link.placement @ place)
        self.frames.append(frame)
        return frame
