"""Collision shapes of links, from `<collision>`; an unusable shape is a warning, not an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import ModelError, listed, quoted
from ..model.convex_parts import parts_of_file
from ..model.inertia import Placement
from ..model.shapes import MISSING_MESH, UNUSABLE, CollisionShape
from .findings import Findings, Place, place_of
from .geometry import Geometry
from .visuals import MeshFinder, draw_collisions, usable_shapes

if TYPE_CHECKING:
    from lxml.etree import _Element

    from ..model.tree import Tree


class Collisions:
    """Collision shapes of a document's links, and of its bodies as links are welded.

    root: the document; its collisions are removed, with a warning for each unusable one. In a robot without
    visuals they remain, to be drawn (draw_collisions). find_mesh: name -> (file, whether it exists).
    """

    def __init__(self, root: _Element, find_mesh: MeshFinder, findings: Findings) -> None:
        self.find_mesh = find_mesh
        self.shapes: list[CollisionShape] = []
        self._missing: dict[str, tuple[str, Place]] = {}  # link -> its first mesh that was not found, and where
        self._declared: dict[str, list[tuple[Geometry, Place | None]]] = {}  # and the places of missing meshes
        for link in root.iterfind("link"):
            self._declared[link.get("name", "")] = [
                (found, None if found.mesh is None or find_mesh(found.mesh)[1] else place_of(element))
                for element, found in usable_shapes(link, "collision", UNUSABLE, "left out", findings)
            ]
        draw_collisions(root, findings)
        for element in root.findall("link/collision"):
            element.getparent().remove(element)

    def of_link(self, link: str) -> list[Geometry]:
        """Return the geometries of a link's collisions."""
        return [geometry for geometry, _ in self._declared.get(link, ())]

    def weld(self, link: str, body: int, placement: Placement) -> None:
        """Add a link's shapes to its body, in which the link has this placement; missing meshes are left out."""
        for geometry, lost in self._declared[link]:
            place, size = geometry.in_body(placement), geometry.size
            if geometry.mesh is None:
                kind: Any = geometry.kind
                self.shapes.append(CollisionShape(body, place, kind, size=size, link=link))
                continue
            file, _ = self.find_mesh(geometry.mesh)
            if lost is None:
                self.shapes.append(CollisionShape(body, place, "hull", link=link, file=file, scale=size))
            else:
                self._missing.setdefault(link, (file, lost))

    def report_missing(self, findings: Findings) -> None:
        """Add one warning that lists the links whose collision meshes were not found."""
        if not self._missing:
            return
        (file, first), links = next(iter(self._missing.values())), listed([*self._missing])
        what = f"collision mesh {quoted(file)} not found; links that lack collision meshes: {links}"
        hint = "missing meshes have no contact; set ROS_PACKAGE_PATH to the folders of packages"
        findings.add(MISSING_MESH, what, first, hint)


def in_convex_parts(tree: Tree, findings: Findings) -> Tree:
    """Return a tree with each collision mesh replaced by its convex parts, and a note for each.

    A mesh that has no parts stays, with a warning.
    """
    shapes = [part for shape in tree.shapes for part in ([shape] if shape.file is None else _parts(shape, findings))]
    return tree._with(shapes=shapes, notes=tuple(findings))


def _parts(shape: CollisionShape, findings: Findings) -> list[CollisionShape]:
    at, file = Place(None, shape.link, ""), str(shape.file)
    try:
        parts = parts_of_file(file, shape.scale)
    except ModelError as error:
        findings.add("U513", f"link {quoted(shape.link)}: {error}; the hull of the mesh is used", at)
        return [shape]
    number = f"{len(parts.vertices)} convex part{'s' * (len(parts.vertices) > 1)}"
    findings.add("U512", f"link {quoted(shape.link)}: mesh {quoted(file)} has {number}, {parts.errors}", at)
    if len(parts.vertices) == 1:
        return [shape]
    each: list[dict[str, Any]] = [{"file": file, "scale": shape.scale} for file in parts.files]
    each = each or [{"vertices": vertices * shape.scale} for vertices in parts.vertices]
    return [CollisionShape(shape.body, shape.placement, "hull", link=shape.link, **part) for part in each]
