"""Groups of links connected by fixed joints, as the file describes them: mass, inertia and shapes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ModelError
from ..model.inertia import Inertia, Placement
from ..system.progress import counted
from ..urdf.document import Document, origin_of, parent_of
from ..urdf.findings import title
from ..urdf.geometry import BadGeometryError, read_geometry
from ..urdf.inertias import inertia_in
from ..urdf.numbers import BadNumberError
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


def rigid_groups(document: Document, find_mesh: MeshFinder, meshes: Meshes | None) -> list[Group]:
    """Return the groups of links connected by fixed joints; the document may contain errors.

    find_mesh: name -> (file, whether it exists). meshes: reads mesh files; with None, groups with meshes are
    incomplete.
    """
    members: dict[str, list[tuple[_Element, Placement]]] = {}
    for name, element in document.link.items():
        top, place = _first_of_group(document, name)
        members.setdefault(top, []).append((element, place))
    return [
        _group(group, find_mesh, meshes) for group in counted(list(members.values()), lambda group: "reading shapes")
    ]


def _first_of_group(document: Document, link: str) -> tuple[str, Placement]:
    """Return the first link of a link's group, and the link's pose in its axes; invalid joints are cut."""
    place = Placement()
    for joint in document.fixed_path_to(link):
        try:
            place = origin_of(joint) @ place
        except (ValueError, ModelError):
            break
        link = parent_of(joint)
    return link, place


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
    try:
        return None if inertial is None else inertia_in(inertial).in_frame(place @ origin_of(inertial))
    except (ValueError, ModelError, KeyError, AttributeError):  # the last two for missing elements and attributes
        return None
