"""Pinocchio's models of real robots, by the adapter, and of one that Pinocchio's own reader does not know."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pinocchio as pin
from treesim_pinocchio import reading
from treesim_pinocchio.model import PinocchioModel

from treesim import Tree


def from_urdf(robot: Tree, path: str | Path, base: str) -> PinocchioModel:
    """Return what Pinocchio reads from the file itself."""
    return reading.from_urdf(robot, Path(path).read_text(errors="replace"))


def from_urdf_by_hand(robot: Tree, path: str | Path, base: str) -> PinocchioModel:
    """Return Pinocchio's model of a URDF with spherical joints, which Pinocchio's own reader does not know.

    Reads inertials with origins and revolute, spherical and fixed joints, nothing else.
    """
    xml = ElementTree.fromstring(Path(path).read_bytes().rstrip(b"\0 \r\n\t"))
    links = {link.get("name"): link for link in xml.iter("link")}
    joints = list(xml.findall("joint"))
    (root,) = links.keys() - {joint.find("child").get("link") for joint in joints}
    model = pin.Model()
    root_joint = (0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint")

    def add(link: str, carrier: int, at: pin.SE3) -> None:
        model.addFrame(pin.Frame(link, carrier, 0, at, pin.BODY))
        inertial = links[link].find("inertial")
        if inertial is not None:
            model.appendBodyToJoint(carrier, read_inertia(inertial), at * read_origin(inertial))
        for joint in joints:
            if joint.find("parent").get("link") == link:
                place, child, kind = at * read_origin(joint), joint.find("child").get("link"), joint.get("type")
                if kind == "fixed":
                    add(child, carrier, place)
                    continue
                axis = joint.find("axis")
                axis = np.array([1.0, 0, 0]) if axis is None else np.array([float(x) for x in axis.get("xyz").split()])
                moved = model.addJoint(
                    carrier, reading.JOINTS[kind](axis / np.linalg.norm(axis)), place, joint.get("name")
                )
                add(child, moved, pin.SE3.Identity())

    add(root, model.addJoint(*root_joint) if base == "floating" else 0, pin.SE3.Identity())
    return PinocchioModel(robot, model)


def read_origin(element: ElementTree.Element) -> pin.SE3:
    """Return the `<origin>` inside `element`."""
    origin = element.find("origin")
    values = {} if origin is None else origin.attrib
    xyz, rpy = (np.array([float(x) for x in values.get(key, "0 0 0").split()]) for key in ("xyz", "rpy"))
    return pin.SE3(pin.rpy.rpyToMatrix(*rpy), xyz)


def read_inertia(inertial: ElementTree.Element) -> pin.Inertia:
    """Return the inertia of an `<inertial>` about its own origin."""
    entry = {key: float(value) for key, value in inertial.find("inertia").attrib.items()}
    xx, yy, zz, xy, xz, yz = (entry.get(key, 0.0) for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return pin.Inertia(float(inertial.find("mass").get("value")), np.zeros(3), matrix)
