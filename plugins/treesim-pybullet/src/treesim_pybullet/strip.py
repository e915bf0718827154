"""Edits of a URDF file so that PyBullet reads its physics only; each edit is reported.

Frames, axes, masses and inertias of the file keep their meaning, so that a loader that misreads the file
still disagrees with Bullet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
from lxml import etree

from treesim import Placement
from treesim.compare.description import named
from treesim.errors import UnsupportedError, quoted
from treesim.urdf.document import Document, child_of, origin_of, parent_of, remove
from treesim.urdf.origins import rpy_from_rotation

IGNORED = ("visual", "collision", "contact", "dynamics", "mimic", "safety_controller", "calibration")
ZERO_INERTIA = {"ixx": "0", "ixy": "0", "ixz": "0", "iyy": "0", "iyz": "0", "izz": "0"}

PRINCIPAL = ("ixx", "iyy", "izz")
MOST_JOINTS = 127  # largest number of joints, fixed ones included, whose states Bullet returns


@dataclass(frozen=True)
class Stripped:
    """A text prepared for Bullet.

    urdf: the text. changes: those made to it. moments: principal moments [kg m^2] by link that Bullet sets to
    zero because they are physically impossible; they must be restored.
    """

    urdf: str
    changes: tuple[str, ...]
    moments: dict[str, list[float]]


def strip(text: str, floating: bool, keep: Collection[str] = (), limited: Collection[str] = ()) -> Stripped:
    """Return the URDF `text` prepared for Bullet.

    floating: True for a floating base; then a massless root gets the mass of the link fixed to it, because
    Bullet fixes a massless root. keep: tags among IGNORED that stay. limited: joints whose limits stay. Raises
    UnsupportedError if nothing has a mass there, and for more joints than Bullet supports.
    """
    document = Document.of_text(text)
    root, removed = document.root, remove(document.tagged(tuple(tag for tag in IGNORED if tag not in keep)))
    changes = [f"removed {', '.join(removed)}"] if removed else []
    changes += _free_limits(root, limited)
    changes += _normalise_axes(root)
    changes += _drop_floating_root_joint(root)
    if (joints := len(root.findall("joint"))) > MOST_JOINTS:
        raise UnsupportedError(
            f"PyBullet returns no states of a robot with {joints} joints, fixed ones too: {MOST_JOINTS} at most"
        )
    changes += _complete_inertials(root)
    changes += _turn_to_principal_axes(root)
    if floating:
        changes += _weigh_root(root)
    moments = _impossible_moments(root)
    if moments:
        changes.append(f"inertias put back that Bullet sets to zero (triangle inequality): {', '.join(moments)}")
    return Stripped(document.to_text(), tuple(changes), moments)


def _free_limits(root: etree._Element, limited: Collection[str]) -> list[str]:
    """Remove limits, which Bullet enforces.

    A revolute joint becomes continuous, a spherical one loses its limits, a prismatic one gets lower > upper.
    """
    count = 0
    for joint in root.findall("joint"):
        if joint.get("name") in limited:
            continue
        if joint.get("type") == "revolute":
            joint.set("type", "continuous")
        elif joint.get("type") != "prismatic" and not (joint.get("type") == "spherical" and joint.findall("limit")):
            continue
        for limit in joint.findall("limit"):
            joint.remove(limit)
        if joint.get("type") == "prismatic":
            etree.SubElement(joint, "limit", lower="1", upper="-1", effort="1", velocity="1")
        count += 1
    return [f"limits removed from joints: {count}"] if count else []


def _normalise_axes(root: etree._Element) -> list[str]:
    """Normalise axes: Bullet scales a joint's motion by the length of its axis, but not its mass matrix."""
    count = 0
    for axis in root.iterfind("joint/axis"):
        xyz = np.array(axis.get("xyz", "1 0 0").split(), dtype=float)
        length = np.linalg.norm(xyz)
        if length > 0 and abs(length - 1) > 1e-15:  # a fixed joint may have a zero axis
            axis.set("xyz", " ".join(map(_number, xyz / length)))
            count += 1
    return [f"axes normalised: {count}"] if count else []


def _drop_floating_root_joint(root: etree._Element) -> list[str]:
    """Make the child of a floating root joint the root: Bullet treats a floating joint as fixed."""
    top = _root_link(root)
    joints = [joint for joint in root.findall("joint") if parent_of(joint) == top]
    if len(joints) != 1 or joints[0].get("type") != "floating":
        return []
    root.remove(joints[0])
    root.remove(named(root, "link", top))
    return [f"removed floating joint {joints[0].get('name')!r} and its parent {top!r}: the base floats by itself"]


def _complete_inertials(root: etree._Element) -> list[str]:
    """Add zero inertials: Bullet gives 1 kg and 1 kg m^2 to a link without <inertial>."""
    bare = [link for link in root.findall("link") if link.find("inertial") is None]
    for link in bare:
        _add_zero_inertial(link)
    return [f"explicit zero given to links without <inertial>: {len(bare)}"] if bare else []


def _weigh_root(root: etree._Element) -> list[str]:
    name = _root_link(root)
    top = named(root, "link", name)
    if _mass(top) > 0:
        return []
    massive = [(link, place) for link, place in _fixed_below(root, name, Placement()) if _mass(link) > 0]
    if not massive:
        raise UnsupportedError(f"Bullet holds a massless root fast, and nothing with a mass is fixed to {quoted(name)}")
    heavy, placement = massive[0]
    inertial = heavy.find("inertial")
    _set_origin(inertial, placement @ origin_of(inertial))
    top.remove(top.find("inertial"))
    top.append(inertial)
    _add_zero_inertial(heavy)
    return [f"moved the inertial of {heavy.get('name')!r}, which is fixed to it, to the massless root {name!r}"]


def _fixed_below(root: etree._Element, name: str, placement: Placement) -> Iterator[tuple[etree._Element, Placement]]:
    """Yield the links connected to link `name` by fixed joints, each with its placement relative to `placement`."""
    for joint in root.findall("joint"):
        if joint.get("type") == "fixed" and parent_of(joint) == name:
            place = placement @ origin_of(joint)
            child = child_of(joint)
            yield named(root, "link", child), place
            yield from _fixed_below(root, child, place)


def _turn_to_principal_axes(root: etree._Element) -> list[str]:
    """Rotate inertials to principal axes: Bullet rounds products of inertia at 1e-6."""
    count = 0
    for inertial in root.iterfind("link/inertial"):
        entries = inertial.find("inertia")
        xx, xy, xz, yy, yz, zz = (float(entries.get(key)) for key in ZERO_INERTIA)
        if not (xy or xz or yz):
            continue
        moments, axes = np.linalg.eigh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        entries.attrib.update(ZERO_INERTIA | dict(zip(PRINCIPAL, map(_number, moments), strict=True)))
        _set_origin(inertial, origin_of(inertial) @ Placement(axes * np.linalg.det(axes)))
        count += 1
    return [f"inertias turned to their principal axes: {count}"] if count else []


def _impossible_moments(root: etree._Element) -> dict[str, list[float]]:
    found = {}
    for link in root.findall("link"):
        moments = [float(link.find("inertial/inertia").get(key)) for key in PRINCIPAL]
        if min(moments) < 0 or 2 * max(moments) > sum(moments):
            found[str(link.get("name"))] = moments
    return found


def _root_link(root: etree._Element) -> str:
    children = {child_of(joint) for joint in root.findall("joint")}
    tops = [link.get("name") for link in root.findall("link") if link.get("name") not in children]
    if len(tops) != 1:
        raise UnsupportedError(f"the file has {len(tops)} root links")
    return str(tops[0])


def _mass(link: etree._Element) -> float:
    return float(link.find("inertial/mass").get("value"))


def _add_zero_inertial(link: etree._Element) -> None:
    inertial = etree.SubElement(link, "inertial")
    etree.SubElement(inertial, "mass", value="0")
    etree.SubElement(inertial, "inertia", ZERO_INERTIA)


def _set_origin(inertial: etree._Element, placement: Placement) -> None:
    for old in inertial.findall("origin"):
        inertial.remove(old)
    xyz, rpy = placement.translation, rpy_from_rotation(placement.rotation)
    inertial.insert(0, etree.Element("origin", xyz=" ".join(map(_number, xyz)), rpy=" ".join(map(_number, rpy))))


def _number(value: float) -> str:
    return repr(float(value))
