"""Checks before a robot is built: names, connectivity, numbers, inertias, limits; all errors are listed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from ..errors import listed, quoted
from ..model.joints import JOINT_TYPES, NO_DIRECTION
from .document import Document, child_of, name_of, parent_of
from .findings import Findings, title
from .inertias import INERTIA_ENTRIES, Inertias, inertia_matrix
from .loops import check_loops, checked_link
from .mimics import around, check_mimics, cycles
from .numbers import BadNumberError, attribute_text, parse_numbers, read_numbers, read_pose
from .versions import LATER_LIMITS, version_of

if TYPE_CHECKING:
    from lxml.etree import _Element

ALLOWED_TYPES = ("fixed", *JOINT_TYPES)
MOST_JOINTS = 8  # of a cycle that a message lists
_AXIS_TOLERANCE = 1e-6  # larger deviations from a unit axis are a warning, smaller ones rounding

SLACK = 1.001  # for turns that are rounded up, such as 6.2832
LARGEST_RPY = 2 * math.pi * SLACK  # [rad] one turn
LARGEST_LIMIT = 4 * math.pi * SLACK  # [rad] two turns
UNLIMITED_ABOVE = 3600.0  # ten turns in degrees: larger limits, such as 1e16, are written for "no limit"
ANGLE_OWNERS = ("link", "joint", "loop_joint")


def validate(document: Document, findings: Findings, mimic: str | None, inertias: Inertias) -> None:
    """Add a finding for everything wrong or doubtful in a cleaned document; raises nothing.

    inertias: checks the inertias of the links.
    """
    root, links, joints, version = document.root, document.links, document.joints, version_of(document.root)
    if not root.get("name"):
        findings.add("U201", "<robot> has no name", root)
    for link in links:
        _check_inertial(link, findings, inertias)
    for joint in joints:
        _check_joint(joint, findings, version)
    _note_missing_inertials(root, findings)
    named_links = _named(links, findings)
    named_joints = _named(joints, findings)
    check_mimics(named_joints, findings, mimic)
    _check_connectivity(named_links, joints, root, findings)
    loops = root.findall("loop_joint")
    check_loops(loops, named_links, named_joints, findings)
    for loop in loops:
        if loop.get("type") in ("revolute", "continuous"):
            _check_axis(loop, title(loop), findings)


def _named(elements: Sequence[_Element], findings: Findings) -> dict[str, _Element]:
    table: dict[str, _Element] = {}
    for element in elements:
        name = element.get("name")
        if not name:
            findings.add("U201", f"<{element.tag}> has no name", element)
        elif name in table:
            first = table[name].sourceline
            findings.add("U202", f"{title(element)} is defined twice, first in line {first}", element)
        else:
            table[name] = element
    return table


def _check_origin(parent: _Element, findings: Findings) -> None:
    origin = parent.find("origin")
    if origin is not None:
        read_pose(origin, findings)


def _check_inertial(link: _Element, findings: Findings, inertias: Inertias) -> None:
    inertial = link.find("inertial")
    if inertial is None:
        return
    _check_origin(inertial, findings)
    mass, inertia = inertial.find("mass"), inertial.find("inertia")
    for tag, element in (("mass", mass), ("inertia", inertia)):
        if element is None:
            findings.add("U203", f"{title(link)}: <inertial> has no <{tag}>", inertial)
    given = {} if mass is None else read_numbers(mass, ("value",), 1, findings, required=True)
    value = given["value"][0] if given else None
    if value is not None and value < 0:
        findings.add("U304", f"{title(link)}: {attribute_text(mass, 'value')} is negative", mass)
    if inertia is None:
        return
    entries = read_numbers(inertia, INERTIA_ENTRIES, 1, findings, required=True)
    if len(entries) == len(INERTIA_ENTRIES):
        inertias.check(link, inertia_matrix([*chain(*entries.values())]), value, inertia)


def moving_without_inertial(root: _Element) -> list[_Element]:
    """Return the moving links of a document that have no inertial."""
    moved = {child_of(joint) for joint in root.iterfind("joint") if joint.get("type") != "fixed"}
    return [link for link in root.iterfind("link") if link.get("name") in moved and link.find("inertial") is None]


def _note_missing_inertials(root: _Element, findings: Findings) -> None:
    """Add one note on moving links without inertial, which other readers give 1 kg."""
    without = moving_without_inertial(root)
    if without:
        names = listed([link.get("name", "") for link in without])
        findings.add("U309", f"moving links without <inertial> have no mass: {names}", without[0])


def _check_joint(joint: _Element, findings: Findings, version: str) -> None:
    kind, owner = joint.get("type"), title(joint)
    if kind not in ALLOWED_TYPES:
        text = "has no type" if kind is None else f"has the unknown type {quoted(kind)}"
        findings.add("U401", f"{owner} {text}", joint, f"allowed are {', '.join(ALLOWED_TYPES)}")
    _check_origin(joint, findings)
    _check_axis(joint, owner, findings)
    _check_limits(joint, owner, findings, version)
    _check_dynamics(joint, owner, findings)


def _check_axis(joint: _Element, owner: str, findings: Findings) -> None:
    axis, kind = joint.find("axis"), JOINT_TYPES.get(joint.get("type", ""))
    has_axis = kind is not None and kind.has_axis
    if axis is None:
        return  # the standard's (1, 0, 0)
    if "xyz" not in axis.attrib:
        if has_axis:
            hint = 'write <axis xyz="1 0 0"/> if this axis is intended'
            findings.add("U412", f"{owner}: <axis> has no xyz; 1 0 0 is used", axis, hint)
        return
    given = read_numbers(axis, ("xyz",), 3, findings, largest=math.inf)
    if not given or not has_axis:
        return
    (values,) = given.values()
    length, text = math.hypot(*values), f"{owner}: {attribute_text(axis, 'xyz')}"
    if length < NO_DIRECTION:
        size = f"{length:.3g} long, which is as good as zero" if length else "zero"
        findings.add("U402", f"{text} is {size}", axis, "give a direction such as 0 0 1")
    elif abs(length - 1) > _AXIS_TOLERANCE:
        findings.add("U403", f"{text} has length {length:.9g}; normalised", axis)


def _check_limits(joint: _Element, owner: str, findings: Findings, version: str) -> None:
    limit, kind = joint.find("limit"), joint.get("type")
    names = ("lower", "upper", "effort", "velocity", *LATER_LIMITS)
    given = {} if limit is None else read_numbers(limit, names, 1, findings, largest=math.inf)
    if "lower" in given and "upper" in given and given["lower"] > given["upper"]:
        (lower,), (upper,) = given["lower"], given["upper"]
        hint = 'exchange the limits, or load with repair="limits", which drops both'
        findings.add("U404", f"{owner}: lower limit {lower:g} is above the upper limit {upper:g}", limit, hint)
    for name in ("effort", "velocity", *LATER_LIMITS):
        (value,) = given.get(name, (0.0,))
        if value < 0:
            code = "U304" if name in LATER_LIMITS else "U406"
            findings.add(code, f"{owner}: {name} limit {value:g} is negative", limit)
    missing = [name for name in ("lower", "upper") if limit is None or name not in limit.attrib]
    if kind in ("revolute", "prismatic") and missing:
        at, text = joint if limit is None else limit, f"{owner} ({kind}) has no {' and no '.join(missing)} limit"
        if version < "1.2":
            findings.add("U405", f"{text}: unlimited", at)
        else:
            hint = 'without limits, write type="continuous"' if kind == "revolute" else "1e30 is read as no limit"
            findings.add("U417", f"{text}, which URDF {version} requires", at, hint)
    elif kind not in ("revolute", "prismatic", "fixed") and len(missing) < 2:
        findings.add("U411", f"{owner}: position limits of a {quoted(kind)} joint are ignored", limit)


def _check_dynamics(joint: _Element, owner: str, findings: Findings) -> None:
    dynamics = joint.find("dynamics")
    if dynamics is None:
        return
    for name, (value,) in read_numbers(dynamics, ("damping", "friction", "armature"), 1, findings).items():
        if value >= 0:
            continue
        if name == "armature":
            findings.add("U304", f"{owner}: armature {value:g} is negative", dynamics)
        else:
            findings.add("U406", f"{owner}: {name} {value:g} is negative", dynamics, "it adds energy to the robot")


def _check_connectivity(
    links: dict[str, _Element], joints: Sequence[_Element], root: _Element, findings: Findings
) -> None:
    parents: dict[str, str] = {}
    joint_to: dict[str, _Element] = {}  # parent joint of each link
    complete = True
    for joint in joints:
        ends = [checked_link(joint, role, f"{role} link", links, findings) for role in ("parent", "child")]
        parent, child = ends
        if parent is None or child is None:
            complete = False
        elif child in parents:
            text = f"link {quoted(child)} has two parents: {quoted(parents[child])} and {quoted(parent)}"
            findings.add("U205", text, joint, "a tree needs one parent per link")
        else:
            parents[child], joint_to[child] = parent, joint
    found = [upward[::-1] for upward in cycles(parents)]  # each link the parent of the next
    for cycle in found:
        _report_cycle(cycle, [joint_to[link] for link in cycle[1:] + cycle[:1]], links, findings)
    if complete and not found:
        _check_root([name for name in links if name not in parents], root, findings)


def _report_cycle(cycle: list[str], joints: Sequence[_Element], links: dict[str, _Element], findings: Findings) -> None:
    """Add a finding on a cycle of links, at a `<parent>` that names a link further down in the file, if there is one.

    joints: below each link of the cycle.
    """
    lines = {name: element.sourceline or 0 for name, element in links.items()}
    upward = [joint for joint in joints if lines[parent_of(joint)] >= lines[child_of(joint)]]
    parents = [joint.find("parent") for joint in joints]
    named = [f"{quoted(name_of(joint))} in line {at.sourceline}" for joint, at in zip(joints, parents, strict=True)]
    more = f", ... ({len(named)} in all)" if len(named) > MOST_JOINTS else ""
    which = "by joint" if len(named) == 1 else "by joints"
    text = f"links form a cycle: {around(cycle)}, from parent to child, {which} {', '.join(named[:MOST_JOINTS])}{more}"
    hint = "correct one of these <parent> elements, so that the chain ends at the root link"
    findings.add("U206", text, (upward or list(joints))[0].find("parent"), hint)


def _check_root(roots: list[str], root: _Element, findings: Findings) -> None:
    if not roots:
        findings.add("U207", "the robot has no link", root)
    elif len(roots) > 1:
        findings.add(
            "U207", f"{len(roots)} links have no parent: {listed(roots)}", root, "a robot has exactly one root link"
        )


def report_degrees(root: _Element, findings: Findings) -> None:
    """Warn of limits of revolute joints beyond two turns, and of roll, pitch or yaw beyond one."""
    for owner in root.iterchildren(*ANGLE_OWNERS):
        limit = owner.find("limit")
        if owner.get("type") == "revolute" and limit is not None:
            _check_angles(owner, limit, ("lower", "upper"), 1, LARGEST_LIMIT, findings)
        for element in owner.iter("origin", "link1", "link2"):
            _check_angles(owner, element, ("rpy",), 3, LARGEST_RPY, findings)


def _check_angles(
    owner: _Element, element: _Element, names: tuple[str, ...], count: int, largest: float, findings: Findings
) -> None:
    """Add a finding if an angle of an element is larger than `largest`, with all its angles in radians as hint."""
    given: dict[str, tuple[float, ...]] = {}
    try:
        for name in names:
            if name in element.attrib:
                given[name] = parse_numbers(element, name, count)
    except BadNumberError:
        return  # reported where the numbers are read
    if not largest < max(map(abs, chain(*given.values())), default=0.0) <= UNLIMITED_ABOVE:
        return
    text = " ".join(f'{name}="{_listed(angles)}"' for name, angles in given.items())
    hint = " ".join(f'{name}="{_listed(map(math.radians, angles))}"' for name, angles in given.items())
    message = f"{title(owner)}: <{element.tag} {text}>: the values look like degrees, but are read as radians"
    findings.add("U315", message, element, f"if in degrees, write {hint}")


def _listed(angles: Iterable[float]) -> str:
    return " ".join(f"{angle:.6g}" for angle in angles)
