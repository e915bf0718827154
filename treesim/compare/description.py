"""URDF documents as the search for causes edits them: elements with line numbers, edited on copies, built again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np
from lxml.etree import SubElement, _Element

import treesim

from ..model.inertia import Placement
from ..model.matrices import rotation_from_rpy
from ..model.parts import changed_joints
from ..model.tree import Tree
from ..types import Base, BaseChoice
from ..urdf.base import ROOT_JOINT
from ..urdf.build import Builder
from ..urdf.collisions import Collisions
from ..urdf.document import ZERO, Document, name_of, numbers, parent_of, remove, rotation_of
from ..urdf.export import to_urdf, without_springs
from ..urdf.findings import Findings
from ..urdf.inertias import Inertias
from ..urdf.mimics import Line, Mimics, resolved
from ..urdf.origins import rpy_from_rotation
from ..urdf.read import Source, SourceBytes, parse
from ..urdf.resolve import is_robot_name, open_source
from ..urdf.schema import clean
from .source import without_losses

Edit = Callable[[Any], None]
PHYSICS = ("link", "joint")
SHAPES = ("visual", "collision")


@dataclass(frozen=True, eq=False)
class Description(Document):
    """A checked URDF document without shapes.

    base: "fixed" or "floating". springs: stiffness and rest position of joints, which URDF does not have, by joint.
    """

    base: Base = "fixed"
    springs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @cached_property
    def mimics(self) -> dict[str, Line]:
        """Mimicked joint, multiplier and offset of each mimic joint; chains of mimic joints are resolved."""
        return resolved(Mimics(self.joint, None).lines)

    @cached_property
    def robot(self) -> Tree:
        """Tree of the document, with mimic joints free."""
        findings = Findings(self.file)
        shapes = Collisions(self.root, _no_mesh, findings)
        inertias = Inertias(shapes, findings)
        robot = Builder(self, shapes, inertias, _no_mesh, findings, "free").build(self.base)
        if not self.springs:
            return robot
        return robot._with(bodies=changed_joints(robot.bodies, lambda joint: self.springs.get(joint.name, {})))

    @cached_property
    def bodies_alone(self) -> Tree:
        """Tree without damping, friction, armature and springs, as engines are compared."""
        return without_losses(self.robot)

    @cached_property
    def members(self) -> list[list[str]]:
        """Links merged into each body, the body's own link first."""
        found: list[list[str]] = [[name] for name in self.robot.body_names]
        for name, frame in self.robot.frames.items():
            if frame.body and name in self.link and name not in found[frame.body - 1]:
                found[frame.body - 1].append(name)
        return found

    def placement(self, body: int, link: str) -> Placement:
        """Return the pose of a link of body number `body` in the body's frame."""
        robot = self.robot
        return Placement() if robot.body_names[body - 1] == link else robot.frames[link].placement

    def carrying(self, body: int) -> list[str]:
        """Return the joints between body number `body` and its parent: its own, and the fixed joints before it."""
        own = set(self.robot.body_names)
        link, found = self.robot.body_names[body - 1], []
        for joint in self.path_to(link):
            found.append(name_of(joint))
            if parent_of(joint) in own:
                break
        return found

    def welding(self, body: int) -> list[str]:
        """Return the fixed joints between the links of body number `body`."""
        return [name_of(self.parent_joint[link]) for link in self.members[body - 1][1:]]


def read_description(source: object, base: BaseChoice) -> Description:
    """Return the description of any source that `treesim.load` reads, or of a Tree, which is written as URDF.

    Raises as `treesim.load`.
    """
    findings, springs = Findings("<source>", strict=False), {}
    if isinstance(source, Tree):
        sprung = (joint for joint in source.joints.values() if np.any(joint.stiffness))
        springs = {joint.name: {"stiffness": joint.stiffness, "rest": joint.rest} for joint in sprung}
        given = SourceBytes(to_urdf(without_springs(source.spanning), shapes=False).encode(), f"<{source.name}>")
    else:
        given = open_source(cast(Source, source), findings)
    robot = treesim.load(given.path or given.data, base=base, mimic="free")  # raises and warns about all errors
    root = parse(given, findings).root
    remove(root.iter(*SHAPES))
    remove(child for child in root if child.tag not in PHYSICS)
    clean(root, findings)
    own = any(joint.get("name") == ROOT_JOINT for joint in root.iterfind("joint"))  # the file's floating base
    chosen = "fixed" if own else robot.base
    short = given.path is not None and is_robot_name(source)  # else as the user wrote it
    return Description(root, given.path.name if short and given.path else given.label, base=chosen, springs=springs)


def named(root: _Element, tag: str, name: str) -> _Element:
    """Return the link or joint of a document by name."""
    return next(element for element in root.iterfind(tag) if element.get("name") == name)


def write(parent: _Element, tag: str, **values: object) -> None:
    """Set attributes of a child element, creating it if needed; numbers are written exactly."""
    element = parent.find(tag)
    if element is None:
        element = SubElement(parent, tag)
    if "rpy" in values and "quat_xyzw" in element.attrib:
        del element.attrib["quat_xyzw"]
    for attribute, value in values.items():
        element.set(attribute, " ".join(repr(float(x)) for x in np.atleast_1d(np.asarray(value, dtype=float))))


def origin_numbers(owner: _Element | None) -> tuple[np.ndarray, np.ndarray]:
    """Return xyz [m] and rpy [rad] of the <origin> of a joint or inertial, also of a quaternion; zeros by default."""
    xyz, rpy = (numbers(owner, "origin", name, ZERO) for name in ("xyz", "rpy"))
    origin = None if owner is None else owner.find("origin")
    if origin is not None and "quat_xyzw" in origin.attrib:
        rpy = np.array(rpy_from_rotation(rotation_of(origin)))
    return xyz, rpy


def rotation_xyz(rpy: np.ndarray) -> np.ndarray:
    """Return Rx(roll) Ry(pitch) Rz(yaw): URDF's angles applied in the opposite order."""
    return np.asarray(rotation_from_rpy((-rpy).tolist()).T)  # (Rz(-y) Ry(-p) Rx(-r))^T = Rx(r) Ry(p) Rz(y)


def _no_mesh(name: str) -> tuple[str, bool]:
    return name, False
