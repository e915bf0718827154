"""Geometry of visuals and collisions: reading and checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import shortened
from ..model.inertia import Placement
from ..model.solids import SOLIDS
from .document import pose_in
from .findings import Findings, title
from .numbers import BadNumberError, attribute_text, checked_pose, parse_numbers

if TYPE_CHECKING:
    from lxml.etree import _Element

Numbers = tuple[float, ...]

SIZES = {kind: solid.attributes for kind, solid in SOLIDS.items()}  # attributes, and their number of values
NO_SOLID = 0.01  # [m] assumed size of links without solids


class BadGeometryError(ValueError):
    """Raised if a visual or collision contains no usable geometry; the message gives the reason."""


@dataclass(frozen=True)
class Geometry:
    """Geometry of a visual or collision.

    kind: name of the URDF element. size: x, y, z of a box; radius of a sphere; radius and length of a cylinder
    or capsule [m]; three scale factors of a mesh. mesh: name of the mesh file, if it is a mesh. origin:
    checked element of the pose in the link; None for the link's own frame.
    """

    kind: str
    size: Numbers
    mesh: str | None
    origin: _Element | None = None

    def in_body(self, link: Placement) -> Placement:
        """Return the placement in a body; link: placement of the link in the body."""
        return link if self.origin is None else link @ pose_in(self.origin)


def reach_of(link: _Element, shapes: Iterable[Geometry]) -> float:
    """Return the largest radius [m] of a link's visual and other shapes about their own centres.

    NO_SOLID if it has only meshes, whose size is unknown before they are read.
    """
    solids = (shape for shape in (*_visuals(link), *shapes) if shape.kind in SOLIDS)
    return max((SOLIDS[shape.kind].reach(shape.size) for shape in solids), default=0.0) or NO_SOLID


def _visuals(link: _Element) -> Iterator[Geometry]:
    for visual in link.iterfind("visual"):
        with suppress(BadGeometryError, BadNumberError):
            yield read_geometry(visual)


def read_geometry(owner: _Element) -> Geometry:
    """Return the geometry of a visual or collision; raises BadGeometryError or BadNumberError if it is unusable."""
    geometry = owner.find("geometry")
    if geometry is None or not len(geometry):
        raise BadGeometryError(f"<{owner.tag}> has no geometry")
    origin = owner.find("origin")
    if origin is not None and not checked_pose(origin):
        origin = None
    shape = geometry[0]
    if shape.tag == "mesh" and not shape.get("filename"):
        raise BadGeometryError("<mesh> has no file name")
    return Geometry(shape.tag, _scale(shape) if shape.tag == "mesh" else _size(shape), shape.get("filename"), origin)


def report_other_shapes(owner: _Element, link: _Element, findings: Findings) -> None:
    """Warn of further shapes in the geometry of a visual or collision of a link, and remove them."""
    geometry = owner.find("geometry")
    first, *others = geometry
    if others:
        shapes, taken = len(others) + 1, shortened(first.tag)
        what = f"{title(link)}: <{owner.tag}> has {shapes} shapes: <{taken}>, the first, is taken"
        findings.add("U508", what, others[0], f"give each shape a <{owner.tag}> of its own")
        for other in others:
            geometry.remove(other)


def _size(shape: _Element) -> Numbers:
    if shape.tag not in SIZES:
        raise BadGeometryError(f"unknown shape <{shortened(shape.tag)}>")
    size: Numbers = ()
    for attribute, count in SIZES[shape.tag].items():
        if attribute not in shape.attrib:
            raise BadGeometryError(f"<{shape.tag}> has no {attribute}")
        size += parse_numbers(shape, attribute, count)
        if min(size) < 0:
            raise BadGeometryError(f"{attribute_text(shape, attribute)} is negative")
    return size


def _scale(mesh: _Element) -> Numbers:
    """Return a mesh's scale factors along x, y, z; a single factor applies to all three."""
    if "scale" not in mesh.attrib:
        return (1.0, 1.0, 1.0)
    try:
        return parse_numbers(mesh, "scale", 1) * 3
    except BadNumberError:
        return parse_numbers(mesh, "scale", 3)
