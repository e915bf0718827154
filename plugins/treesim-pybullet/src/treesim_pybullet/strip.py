"""Edits that make PyBullet read the physics of a URDF file and nothing else; each edit is reported.

The numbers of the file stay as they are: a loader that misreads the file still disagrees with Bullet afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable

from lxml import etree

from treesim import Placement
from treesim.urdf.export import rpy_from_rotation

IGNORED = ("visual", "collision", "dynamics", "mimic", "safety_controller", "calibration")
ZERO_INERTIA = {"ixx": "0", "ixy": "0", "ixz": "0", "iyy": "0", "iyz": "0", "izz": "0"}


class StripError(ValueError):
    """A file that cannot be made fit for Bullet; the message says why."""


def strip(text: str, floating: bool) -> tuple[str, list[str]]:
    """Return the URDF `text` fit for Bullet, and what was changed.

    floating: whether the base is to be free; then a root without mass gets that of the link fixed to it, because
    Bullet holds a massless root fast. Raises StripError if there is none.
    """
    parser = etree.XMLParser(resolve_entities=False, remove_comments=True)
    root = etree.fromstring(text.encode(), parser)
    changes = _drop_ignored(root)
    changes += _free_limits(root)
    changes += _drop_floating_root_joint(root)
    changes += _complete_inertials(root)
    if floating:
        changes += _weigh_root(root)
    return etree.tostring(root, encoding="unicode"), changes


def _drop_ignored(root: etree._Element) -> list[str]:
    counts = []
    for tag in IGNORED:
        found = list(root.iter(tag))
        for element in found:
            element.getparent().remove(element)
        if found:
            counts.append(f"{len(found)} <{tag}>")
    return [f"removed {', '.join(counts)}"] if counts else []


def _free_limits(root: etree._Element) -> list[str]:
    """Bullet enforces limits as constraints: a revolute joint becomes continuous, a prismatic one gets lower > upper."""
    count = 0
    for joint in root.findall("joint"):
        if joint.get("type") == "revolute":
            joint.set("type", "continuous")
        elif joint.get("type") != "prismatic":
            continue
        for limit in joint.findall("limit"):
            joint.remove(limit)
        if joint.get("type") == "prismatic":
            etree.SubElement(joint, "limit", lower="1", upper="-1", effort="1", velocity="1")
        count += 1
    return [f"limits removed from joints: {count}"] if count else []


def _drop_floating_root_joint(root: etree._Element) -> list[str]:
    """Bullet takes a floating joint for a fixed one: its child becomes the root, which Bullet lets float."""
    top = _root_link(root)
    joints = [joint for joint in root.findall("joint") if _end(joint, "parent") == top]
    if len(joints) != 1 or joints[0].get("type") != "floating":
        return []
    root.remove(joints[0])
    root.remove(_link(root, top))
    return [f"removed floating joint {joints[0].get('name')!r} and its parent {top!r}: the base floats by itself"]


def _complete_inertials(root: etree._Element) -> list[str]:
    """Bullet gives 1 kg and 1 kg m^2 to a link without <inertial>."""
    bare = [link for link in root.findall("link") if link.find("inertial") is None]
    for link in bare:
        _add_zero_inertial(link)
    return [f"explicit zero given to links without <inertial>: {len(bare)}"] if bare else []


def _weigh_root(root: etree._Element) -> list[str]:
    name = _root_link(root)
    top = _link(root, name)
    if _mass(top) > 0:
        return []
    placement = Placement()
    while True:
        joints = [j for j in root.findall("joint") if _end(j, "parent") == name and j.get("type") == "fixed"]
        if len(joints) != 1:
            raise StripError(
                f"Bullet holds a massless root fast, and {name!r} has {len(joints)} fixed joints to take a mass from"
            )
        name = _end(joints[0], "child")
        placement = placement @ _origin(joints[0])
        heavy = _link(root, name)
        if _mass(heavy) > 0:
            break
    inertial = heavy.find("inertial")
    placement = placement @ _origin(inertial)
    for old in inertial.findall("origin"):
        inertial.remove(old)
    inertial.insert(
        0,
        etree.Element(
            "origin", xyz=_numbers(placement.translation), rpy=_numbers(rpy_from_rotation(placement.rotation))
        ),
    )
    top.remove(top.find("inertial"))
    top.append(inertial)
    _add_zero_inertial(heavy)
    return [f"moved the inertial of {name!r}, which is fixed to it, to the massless root {top.get('name')!r}"]


def _root_link(root: etree._Element) -> str:
    children = {_end(joint, "child") for joint in root.findall("joint")}
    tops = [link.get("name") for link in root.findall("link") if link.get("name") not in children]
    if len(tops) != 1:
        raise StripError(f"the file has {len(tops)} root links")
    return str(tops[0])


def _link(root: etree._Element, name: str) -> etree._Element:
    return next(link for link in root.findall("link") if link.get("name") == name)


def _end(joint: etree._Element, side: str) -> str:
    return str(joint.find(side).get("link"))


def _mass(link: etree._Element) -> float:
    return float(link.find("inertial/mass").get("value"))


def _add_zero_inertial(link: etree._Element) -> None:
    inertial = etree.SubElement(link, "inertial")
    etree.SubElement(inertial, "mass", value="0")
    etree.SubElement(inertial, "inertia", ZERO_INERTIA)


def _origin(element: etree._Element) -> Placement:
    origin = element.find("origin")
    values = {} if origin is None else dict(origin.attrib)
    xyz, rpy = ([float(x) for x in values.get(key, "0 0 0").split()] for key in ("xyz", "rpy"))
    return Placement.from_xyz_rpy(xyz, rpy)


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)
