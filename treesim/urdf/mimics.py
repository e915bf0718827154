"""Mimic joints: checks of `<mimic>`, and joints that it fixes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import listed, quoted
from ..model.joints import JOINT_TYPES
from ..model.mimic import Mimic, mimicked_limits
from .findings import Findings, title
from .numbers import read_numbers

if TYPE_CHECKING:
    from lxml.etree import _Element

    from ..model.joints import Joint

Line = tuple[str, float, float]  # mimicked joint, multiplier, offset [rad, m]
FREE_HINT = 'load with mimic="free" to let it move freely'
FOLLOWING = ("revolute", "continuous", "prismatic")  # types of joints that may mimic others


def check_mimics(joints: Mapping[str, _Element], findings: Findings, mimic: str | None) -> None:
    """Add a finding for every invalid `<mimic>`, and for those that are left free or fix a joint.

    joints: the document's, by name. mimic: as for `treesim.load`.
    """
    mimicked_joints = {}
    for name, joint in joints.items():
        element = joint.find("mimic")
        if element is None:
            continue
        read_numbers(element, ("multiplier", "offset"), 1, findings)
        mimicked = element.get("joint")
        if mimicked not in joints:
            findings.add("U407", f"{title(joint)} mimics the unknown joint {quoted(mimicked)}", element)
        elif joint.get("type") == "fixed":
            findings.add("U213", f"{title(joint)} is fixed and cannot mimic {quoted(mimicked)}: ignored", element)
        elif joint.get("type") in FOLLOWING:
            mimicked_joints[name] = mimicked
        else:
            findings.add("U407", f"{title(joint)} ({quoted(joint.get('type'))}) cannot mimic another", element)
    for cycle in list(cycles(mimicked_joints)):
        _report_cycle(cycle, joints[cycle[0]], findings)
        for name in cycle:
            del mimicked_joints[name]
    for name, mimicked in mimicked_joints.items():
        _check_mimicked(joints[name], joints[mimicked], findings, mimic)


def _report_cycle(cycle: list[str], first: _Element, findings: Findings) -> None:
    text = "itself" if len(cycle) == 1 else f"itself through others: {around(cycle)}"
    findings.add("U407", f"{title(first)} mimics {text}", first.find("mimic"))


def cycles(next_of: Mapping[str, str]) -> Iterator[list[str]]:
    """Yield each cycle once, as its names in order. O(N).

    next_of: successor of each name.
    """
    cleared: set[str] = set()
    for start in next_of:
        path: dict[str, None] = {}  # an ordered set
        name = start
        while name in next_of and name not in cleared and name not in path:
            path[name] = None
            name = next_of[name]
        if name in path:
            members = list(path)
            yield members[members.index(name) :]
        cleared.update(path)


def around(cycle: list[str]) -> str:
    """Return a cycle as text for messages."""
    return f"{listed(cycle, separator=' -> ')} -> {quoted(cycle[0])}"


def resolved(lines: Mapping[str, Line]) -> dict[str, Line]:
    """Return the lines of mimic joints with the joint at the end of each chain; the lines have no cycle."""
    found = {}
    for name, (mimicked, multiplier, offset) in lines.items():
        while mimicked in lines:
            mimicked, k, o = lines[mimicked]
            multiplier, offset = multiplier * k, multiplier * o + offset
        found[name] = mimicked, multiplier, offset
    return found


def _check_mimicked(joint: _Element, mimicked: _Element, findings: Findings, mimic: str | None) -> None:
    text, element = f"{title(joint)} mimics {quoted(mimicked.get('name'))}", joint.find("mimic")
    kind = JOINT_TYPES.get(mimicked.get("type", ""))
    if mimic == "free":
        findings.add("U409", f"{text}, but moves independently", element)
    elif kind is not None and kind.nv != 1:
        findings.add("U408", f"{text}, a {kind.name} joint of {kind.nv} degrees of freedom", element, FREE_HINT)


class Mimics:
    """Mimic joints of a checked document, {name: Mimic}, and joints that mimic fixes, {name: position}.

    A joint is fixed if it mimics a fixed joint or has a multiplier of zero; joints that mimic it are fixed in
    turn.
    """

    def __init__(self, joints: Mapping[str, _Element], mimic: str | None) -> None:
        self.lines: dict[str, Line] = {}
        for name, joint in joints.items() if mimic != "free" else ():
            element = joint.find("mimic")
            if element is not None and joint.get("type") in FOLLOWING:
                numbers = (float(element.get(label, default)) for label, default in (("multiplier", 1), ("offset", 0)))
                self.lines[name] = (element.get("joint", ""), *numbers)
        self.still = {name: 0.0 for name, joint in joints.items() if joint.get("type") == "fixed"}
        for name in self.lines:
            self._hold(name)
        self.mimic_joints = {name: Mimic(*line) for name, line in self.lines.items() if name not in self.still}

    def _hold(self, name: str) -> None:
        """Mark a joint, and those that it mimics in turn, as fixed if this chain ends at a fixed position."""
        chain = [name]
        while chain[-1] in self.lines and chain[-1] not in self.still and self.lines[chain[-1]][1] != 0:
            chain.append(self.lines[chain[-1]][0])
        if chain[-1] in self.lines or chain[-1] in self.still:
            for one in reversed(chain):
                if one not in self.still:
                    mimicked, multiplier, offset = self.lines[one]
                    self.still[one] = (multiplier * self.still[mimicked] if multiplier else 0.0) + offset

    def report_still(self, joints: Mapping[str, _Element], findings: Findings) -> None:
        """Add a finding for each mimic joint that is fixed."""
        for name in self.lines:
            if name in self.still:
                text = f"{title(joints[name])} is held at {self.still[name]:g} by its <mimic>, so it becomes fixed"
                findings.add("U413", text, joints[name].find("mimic"))


def report_limits(joints: Sequence[Joint], elements: Mapping[str, _Element], findings: Findings) -> None:
    """Add an error for each mimic joint whose limits exclude all positions within the mimicked joint's limits.

    Limits of other joints that mimic the same one are included. elements: joints of the document, by name.
    """
    mimics = [(joint.name, joint.mimic) for joint in joints if joint.mimic]
    if not mimics:
        return
    lines = resolved({name: (mimic.joint, mimic.multiplier, mimic.offset) for name, mimic in mimics})
    left = {joint.name: np.ravel([joint.lower, joint.upper]).tolist() for joint in joints if joint.nq == 1}
    for name, (mimicked, multiplier, offset) in lines.items():
        lower, upper = left[name]
        low, high = mimicked_limits(lower, upper, multiplier, offset)
        first, second = left[mimicked]
        if max(low, first) > min(high, second):
            text = f"{title(elements[name])}: its limits leave no position to {quoted(mimicked)}, which it mimics"
            findings.add("U408", text, elements[name].find("mimic"), FREE_HINT)
        else:
            left[mimicked] = [max(low, first), min(high, second)]
