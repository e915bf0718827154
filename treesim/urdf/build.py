"""Build a Tree from a checked robot description: fixed joints are merged, every link becomes a body or frame."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import quoted
from ..kernels.algebra.limits import UNLIMITED
from ..model.inertia import IDENTITY, NOTHING, Inertia, Placement, welded
from ..model.joints import JOINT_TYPES, MOTION_LIMITS, Joint, displacement
from ..model.matrices import unit_vector, vector_length
from ..model.mimic import Mimic
from ..model.tree import Body, Frame, Tree, Visual
from ..model.welds import Weld
from ..validation.values import one_of
from .base import ROOT_JOINT, base_of
from .collisions import Collisions
from .document import Document, origin_of
from .findings import Findings, title
from .inertias import Inertias
from .link_friction import report_link_friction
from .loops import Loops
from .materials import clean_materials
from .mimics import Mimics, report_limits
from .read import SourceBytes, parse, typed_model
from .resolve import MeshResolver, check_meshes
from .schema import ATTRIBUTES, clean
from .singular import report_singular
from .validate import report_degrees, validate
from .versions import report_version
from .visuals import MeshFinder, clean_visuals, named_materials, visuals_of

if TYPE_CHECKING:
    import yourdfpy
    from lxml.etree import _Element

OPTIONS = {"base": ("fixed", "floating", "auto"), "mimic": (None, "free")}


def check_options(**options: object) -> None:
    """Raise ArgumentError, which lists the allowed values, if an option of the builder has another value."""
    for name, value in options.items():
        one_of(name, value, OPTIONS[name])


def build_tree(source: SourceBytes, base: str, mimic: str | None, findings: Findings) -> Tree:
    """Read, check and build one document; the tree's notes contain all findings.

    Raises UrdfError with all errors.
    """
    return tree_of(parse(source, findings), MeshResolver(source.path).find, base, mimic, findings)


def tree_of(document: Document, find_mesh: MeshFinder, base: str, mimic: str | None, findings: Findings) -> Tree:
    """Check and build a document; elements that treesim ignores are removed from it.

    Raises UrdfError with all errors.
    """
    root = document.root
    report_version(root, findings)
    report_link_friction(root, findings)
    report_degrees(root, findings)
    collisions = Collisions(root, find_mesh, findings)
    clean(root, findings)
    inertias = Inertias(collisions, findings)
    validate(document, findings, mimic, inertias)
    clean_materials(root, findings)
    clean_visuals(root, findings)
    findings.stop_on_errors()
    tree = Builder(document, collisions, inertias, find_mesh, findings, mimic).build(base)
    looks = [file for visual in tree.visuals for file in (visual.file, visual.texture)]
    check_meshes([*looks, *[shape.file for shape in tree.shapes]], findings)
    return tree


@dataclass
class _Body:
    """Body under construction, to which links are welded one after the other."""

    name: str
    parent: int
    joint: Joint
    line: int
    inertia: Inertia = NOTHING
    own: Inertia = NOTHING


class Builder:
    """Traverses a robot depth-first in file order and collects bodies, frames and shapes.

    document: checked; lines, poses and elements that yourdfpy does not read are taken from it.
    collisions: collision shapes of the links. inertias: the checked inertias.
    find_mesh: name -> (file, whether it exists). findings: further findings are added. mimic: as for
    `treesim.load`.
    """

    def __init__(
        self,
        document: Document,
        collisions: Collisions,
        inertias: Inertias,
        find_mesh: MeshFinder,
        findings: Findings,
        mimic: str | None,
    ) -> None:
        self.robot = robot = typed_model(document.root)
        self.find_mesh, self.findings = find_mesh, findings
        self.collisions, self.inertias = collisions, inertias
        self.document = document
        self.links = {link.name: link for link in robot.links}
        self.mimics = Mimics(document.joint, mimic)
        self.children: dict[str, list[yourdfpy.Joint]] = {name: [] for name in self.links}
        for joint in robot.joints:
            self.children[joint.parent].append(joint)
        self.materials = named_materials(robot)
        self.bodies: list[_Body] = []
        self.frames: list[Frame] = []
        self.visuals: list[Visual] = []
        self.welded: dict[str, Inertia] = {}  # of each link that is no body's own
        self.missing_meshes: dict[str, _Element] = {}  # and the first link with each
        self.missing_textures: dict[str, _Element] = {}

    def build(self, base: str) -> Tree:
        """Return the tree; its root link is fixed to the world, or has a floating joint called root_joint.

        base: "fixed", "floating" or "auto", see `base_of`.
        """
        document, root_link, root_body = self.document, self.document.root_link, 0
        if base == "auto":
            base = base_of(document, self.children, self.mimics.still)
        if base == "floating":
            if ROOT_JOINT in document.joint:
                hint = f'rename it, or load with base="fixed" if {ROOT_JOINT!r} already is the floating base'
                element = document.joint[ROOT_JOINT]
                raise self.findings.fail("U410", f"the file has a joint {ROOT_JOINT!r} of its own", element, hint)
            root_body = self._new_body(root_link, 0, Joint(ROOT_JOINT, "floating"))
        self._walk(root_link, root_body)
        self._report_missing_files()
        self.mimics.report_still(document.joint, self.findings)
        self.collisions.report_missing(self.findings)
        bodies = [Body(**vars(body)) for body in self.bodies]
        self.inertias.report(bodies)
        report_limits([body.joint for body in bodies], document.joint, self.findings)
        loops = Loops(document.root.findall("loop_joint"), [body.name for body in bodies], self.frames, self.findings)
        self.findings.stop_on_errors()
        report_singular(bodies, {ROOT_JOINT: document.link[root_link], **document.joint}, self.findings)
        self.findings.stop_on_errors()
        notes, shapes = tuple(self.findings), self.collisions.shapes
        frames = [*self.frames, *loops.frames]
        return Tree(
            self.robot.name, bodies, frames=frames, visuals=self.visuals, notes=notes, shapes=shapes, loops=loops.loops,
            welds=self._welds(),
        )  # fmt: skip

    def _welds(self) -> list[Weld]:
        """Return the welds of all links that are no body's own, in the order in which they were visited."""
        by_child = {joint.child: joint for joint in self.robot.joints}
        moving, welds = {body.joint.name for body in self.bodies}, []
        for link, inertia in self.welded.items():
            held = by_child.get(link)
            ends = ("", "") if held is None else (held.name, held.parent)
            carried = tuple(joint.name for joint in self.children[link] if joint.name in moving)
            welds.append(Weld(link, *ends, inertia=inertia, joints=carried))
        return welds

    def _walk(self, root_link: str, root_body: int) -> None:
        """Visit all links depth-first in file order, with a stack instead of recursion, as chains may be long."""
        self._weld(self.links[root_link], root_body, IDENTITY)
        pending = [(joint, root_body, IDENTITY) for joint in reversed(self.children[root_link])]
        while pending:
            joint, parent_body, parent_placement = pending.pop()
            body, placement = self._follow(joint, parent_body, parent_placement)
            self._weld(self.links[joint.child], body, placement)
            pending.extend((child, body, placement) for child in reversed(self.children[joint.child]))

    def _follow(self, joint: yourdfpy.Joint, body: int, placement: Placement) -> tuple[int, Placement]:
        """Return the body of a joint's child link, and the link's pose in it."""
        place = placement @ origin_of(self.document.joint[joint.name])
        if joint.type == "fixed":
            return body, place
        made = make_joint(joint, self.document.joint[joint.name], place, self.mimics.mimic_joints.get(joint.name))
        if joint.name in self.mimics.still:
            return body, place @ displacement(made, self.mimics.still[joint.name])
        return self._new_body(joint.child, body, made), IDENTITY

    def _new_body(self, name: str, parent: int, joint: Joint) -> int:
        self.bodies.append(_Body(name, parent, joint, self.document.link[name].sourceline))
        return len(self.bodies)

    def _weld(self, link: yourdfpy.Link, body: int, placement: Placement) -> None:
        """Add a link's inertia, frame and shapes to its body."""
        inertia = self._inertia(link, body)
        if body:
            self.bodies[body - 1].inertia = welded(self.bodies[body - 1].inertia, inertia, placement)
        if not body or self.bodies[body - 1].name != link.name:
            self.frames.append(Frame(link.name, body, placement))
            self.welded[link.name] = inertia
        else:
            self.bodies[body - 1].own = inertia
        element = self.document.link[link.name]
        found = visuals_of(link, element, self.materials, self.find_mesh, body, placement)
        for visual, lost_mesh, lost_texture in found:
            self.visuals.append(visual)
            for name, missing in ((lost_mesh, self.missing_meshes), (lost_texture, self.missing_textures)):
                if name is not None:
                    missing.setdefault(name, element)
        self.collisions.weld(link.name, body, placement)

    def _inertia(self, link: yourdfpy.Link, body: int) -> Inertia:
        """Return a link's inertia in the link's frame."""
        inertial = link.inertial
        if inertial is None:
            return NOTHING
        rotational = self.inertias.of_body(link.name, np.asarray(inertial.inertia, dtype=float), body)
        own = Inertia(float(inertial.mass), np.zeros(3), rotational)
        element = self.document.link[link.name].find("inertial")
        return own if element.find("origin") is None else own.in_frame(origin_of(element))

    def _report_missing_files(self) -> None:
        places = "set ROS_PACKAGE_PATH to the folders of packages"
        for code, what, hint, missing in (
            ("U502", "mesh", f"viewers draw a placeholder; {places}", self.missing_meshes),
            ("U510", "texture", f"viewers draw the mesh in its colour; {places}", self.missing_textures),
        ):
            if missing:
                name, link = next(iter(missing.items()))
                more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
                self.findings.add(code, f"{title(link)}: {what} {quoted(name)}{more} not found", link, hint)


def make_joint(joint: yourdfpy.Joint, element: _Element, placement: Placement, mimic: Mimic | None) -> Joint:
    """Return the model's joint; element: the joint in the document, from which limits, damping and friction are read.

    Position limits are used for revolute and prismatic joints only. Limits of 1e30 and more are infinite. Other
    limits, damping, friction and armature apply to each degree of freedom of the joint.
    """
    bounds = ("lower", "upper") if joint.type in ("revolute", "prismatic") else ()
    given = _given(element.find("limit"), (*bounds, "effort_limit", "velocity_limit", *MOTION_LIMITS))
    limits = {
        name: value if abs(value) < UNLIMITED else math.copysign(math.inf, value) for name, value in given.items()
    }
    resistance = _given(element.find("dynamics"), ("damping", "joint_friction", "armature"))
    axis = {"axis": _direction(joint.axis)} if JOINT_TYPES[joint.type].has_axis else {}
    options: dict[str, Any] = {**axis, **limits, **resistance}
    return Joint(joint.name, joint.type, placement=placement, mimic=mimic, **options)


def _direction(axis: np.ndarray) -> np.ndarray:
    """Return an axis scaled to length 1, twice as by earlier versions: the second changes last digits."""
    unit = unit_vector(axis)
    return axis if unit is axis else unit / vector_length(unit)


def _given(source: _Element | None, names: tuple[str, ...]) -> dict[str, float]:
    """Return those of a joint's arguments that an element has."""
    if source is None:
        return {}
    return {name: float(text) for name in names if (text := source.get(ATTRIBUTES.get(name, name))) is not None}
