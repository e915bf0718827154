"""Groups of links connected by fixed joints, as the file describes them: mass, inertia and shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ModelError
from ..model.inertia import Inertia, Placement
from ..urdf.findings import title
from ..urdf.geometry import BadGeometryError, read_geometry
from ..urdf.numbers import BadNumberError, parse_numbers
from ..urdf.visuals import MeshFinder
from .hull import Hull, Meshes, points_of

if TYPE_CHECKING:
    from lxml.etree import _Element


@dataclass(frozen=True)
class Link:
    """A link in its group.

    element: of the document. place: pose in the group's axes. inertia: in the group's axes; None if it has
    none, or none that can be read.
    """

    element: _Element
    place: Placement
    inertia: Inertia | None

    @property
    def inertial(self) -> _Element:
        """Element of the link's inertial, or of the link if it has none."""
        found = self.element.find("inertial")
        return self.element if found is None else found


@dataclass(frozen=True)
class Group:
    """Links connected by fixed joints, in the axes of the first one.

    points (n, 3): of all visual and collision shapes [m]. whole: True if all shapes could be read.
    """

    links: tuple[Link, ...]
    points: np.ndarray
    whole: bool

    @cached_property
    def hull(self) -> Hull:
        """Convex hull of all shapes."""
        return Hull(self.points)

    @cached_property
    def inertia(self) -> Inertia:
        """Inertia of all links together."""
        return sum((link.inertia for link in self.links if link.inertia is not None), start=Inertia())

    @property
    def heaviest(self) -> Link:
        """Link with the largest mass, after which findings name the group."""
        return max(self.links, key=lambda link: -1.0 if link.inertia is None else link.inertia.mass)

    @property
    def title(self) -> str:
        """Title of the group in messages."""
        others = len(self.links) - 1
        more = f" with the {others} link{'s' * (others > 1)} fixed to it" if others else ""
        return f"{title(self.heaviest.element)}{more}"

    @property
    def comparable(self) -> bool:
        """True if the group has mass, and shapes that were all read and have a volume."""
        return self.whole and self.inertia.mass > 0 and self.hull.volume > 0


def rigid_groups(root: _Element, find_mesh: MeshFinder, meshes: Meshes | None) -> list[Group]:
    """Return the groups of links connected by fixed joints; the document may contain errors.

    find_mesh: name -> (file, whether it exists). meshes: reads mesh files; with None, groups with meshes are
    incomplete.
    """
    links = {link.get("name", ""): link for link in root.iterfind("link")}
    fixed = _fixed_joints(root)
    members: dict[str, list[tuple[_Element, Placement]]] = {}
    for name, element in links.items():
        top, place = _carried_by(name, fixed)
        members.setdefault(top, []).append((element, place))
    return [_group(group, find_mesh, meshes) for group in members.values()]


def _fixed_joints(root: _Element) -> dict[str, tuple[str, Placement]]:
    """Return the parent of each child link of a fixed joint, and the link's pose in it."""
    fixed: dict[str, tuple[str, Placement]] = {}
    for joint in root.iterfind("joint"):
        parent, child = joint.find("parent"), joint.find("child")
        if joint.get("type") == "fixed" and parent is not None and child is not None:
            try:
                fixed.setdefault(child.get("link", ""), (parent.get("link", ""), _origin(joint)))
            except BadNumberError:
                continue
    return fixed


def _carried_by(name: str, fixed: Mapping[str, tuple[str, Placement]]) -> tuple[str, Placement]:
    """Return the first link of a link's group, and the link's pose in its axes; cycles are cut."""
    place, seen = Placement(), {name}
    while name in fixed and fixed[name][0] not in seen:
        name, step = fixed[name]
        place = step @ place
        seen.add(name)
    return name, place


def _group(members: list[tuple[_Element, Placement]], find_mesh: MeshFinder, meshes: Meshes | None) -> Group:
    found = [points for element, place in members for points in _points(element, place, find_mesh, meshes)]
    known = [points for points in found if points is not None]
    links = tuple(Link(element, place, _inertia(element, place)) for element, place in members)
    return Group(links, np.concatenate([np.zeros((0, 3)), *known]), len(known) == len(found))


def _points(
    link: _Element, place: Placement, find_mesh: MeshFinder, meshes: Meshes | None
) -> Iterator[np.ndarray | None]:
    """Yield the points of each shape of a link in the axes of its group; None for an unreadable shape."""
    for owner in (*link.iterfind("visual"), *link.iterfind("collision")):
        try:
            geometry = read_geometry(owner)
        except (BadGeometryError, BadNumberError):
            yield None
            continue
        at = geometry.in_body(place)
        points: np.ndarray | None
        if geometry.mesh is None:
            points = points_of(geometry)
        else:
            file, exists = find_mesh(geometry.mesh)
            points = meshes.vertices(file) if meshes is not None and exists else None
            points = None if points is None else points * geometry.size
        yield None if points is None else points @ at.rotation.T + at.translation


def _inertia(link: _Element, place: Placement) -> Inertia | None:
    """Return a link's inertia in the axes of its group; None if it has none, or an invalid one reported elsewhere."""
    inertial = link.find("inertial")
    if inertial is None:
        return None
    mass, inertia = inertial.find("mass"), inertial.find("inertia")
    try:
        xx, xy, xz, yy, yz, zz = (parse_numbers(inertia, name, 1)[0] for name in ENTRIES)
        rotational = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        own = Inertia(parse_numbers(mass, "value", 1)[0], np.zeros(3), rotational)
        return own.in_frame(place @ _origin(inertial))
    except (BadNumberError, ModelError, KeyError, AttributeError):  # the last two for missing elements and attributes
        return None


ENTRIES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def _origin(owner: _Element) -> Placement:
    """Return the placement of an element's <origin>; raises BadNumberError."""
    origin = owner.find("origin")
    if origin is None:
        return Placement()
    xyz, rpy = (parse_numbers(origin, name, 3) if name in origin.attrib else (0.0,) * 3 for name in ("xyz", "rpy"))
    return Placement.from_xyz_rpy(xyz, rpy)
