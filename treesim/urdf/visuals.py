"""Shapes of links, for viewers: read leniently, since no shape may stop a robot from being loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..model.inertia import Placement
from ..types import ShapeKind
from .findings import Findings, title
from .geometry import BadGeometryError, read_geometry, report_other_shapes
from .numbers import BadNumberError
from .schema import report_misplaced

if TYPE_CHECKING:
    import yourdfpy
    from lxml.etree import _Element

Color = tuple[float, float, float, float]
MeshFinder = Callable[[str], tuple[str, bool]]


@dataclass(frozen=True, eq=False)
class Shape:
    """One shape of a link in the link's frame; the fields are those of treesim.Visual."""

    placement: Placement
    kind: ShapeKind
    size: tuple[float, ...]
    file: str | None = None
    color: Color | None = None


def draw_collisions(root: _Element, findings: Findings) -> None:
    """Take collision shapes for visuals in a robot that has no visual at all, if they cover most of its massive links.

    A few collision shapes among many links do not look like the robot; such a robot is left to the viewer's skeleton.
    """
    massive = [link for link in root.iterfind("link") if link.find("inertial") is not None]
    covered = [link for link in massive if link.find("collision") is not None]
    if root.find("link/visual") is not None or not covered or 2 * len(covered) < len(massive):
        return
    findings.add("U504", "no <visual>: collision shapes are drawn", covered[0])
    for collision in root.iterfind("link/collision"):
        collision.tag = "visual"


def clean_visuals(root: _Element, findings: Findings) -> set[tuple[str, int]]:
    """Remove visuals that cannot be used, with a warning each, so that the typed model can be read.

    Capsules, which yourdfpy does not know, become cylinders; returned are their (link name, index of the visual).
    """
    capsules: set[tuple[str, int]] = set()
    for link in root.iterfind("link"):
        owner, kept = title(link), 0
        for visual in link.findall("visual"):
            try:
                kind = read_geometry(visual).kind
            except (BadGeometryError, BadNumberError) as problem:
                findings.add("U501", f"{owner}: {problem}; not drawn", visual)
                link.remove(visual)
                continue
            report_other_shapes(visual, owner, findings)
            report_misplaced(visual, findings)
            if kind == "capsule":
                visual.find("geometry")[0].tag = "cylinder"
                capsules.add((link.get("name"), kept))
            kept += 1
    return capsules


def named_colors(robot: yourdfpy.Robot) -> dict[str, Color]:
    """Return the colours of named materials, the robot's own first, then those that visuals define."""
    inline = (visual.material for link in robot.links for visual in link.visuals if visual.material is not None)
    colors: dict[str, Color] = {}
    for material in (*robot.materials, *inline):
        if material.name and material.color is not None:
            colors.setdefault(material.name, _rgba(material.color))
    return colors


def shapes_of(
    link: yourdfpy.Link, capsules: set[tuple[str, int]], colors: dict[str, Color], find_mesh: MeshFinder
) -> Iterator[tuple[Shape, bool]]:
    """Yield the link's shapes, each with whether its mesh file, if it has one, was found."""
    for index, visual in enumerate(link.visuals):
        geometry = visual.geometry
        file, found = find_mesh(geometry.mesh.filename) if geometry.mesh is not None else (None, True)
        kind, size = _kind_and_size(geometry)
        if (link.name, index) in capsules:
            kind = "capsule"
        yield Shape(placement_of(visual.origin), kind, size, file, _color_of(visual.material, colors)), found


def placement_of(origin: np.ndarray | None) -> Placement:
    """Return the placement of a (4, 4) homogeneous matrix of yourdfpy; None is the identity."""
    return Placement() if origin is None else Placement(origin[:3, :3], origin[:3, 3])


def _kind_and_size(geometry: yourdfpy.Geometry) -> tuple[ShapeKind, tuple[float, ...]]:
    if geometry.box is not None:
        return "box", tuple(map(float, geometry.box.size))
    if geometry.sphere is not None:
        return "sphere", (float(geometry.sphere.radius),)
    if geometry.cylinder is not None:
        return "cylinder", (float(geometry.cylinder.radius), float(geometry.cylinder.length))
    scale = geometry.mesh.scale
    return "mesh", tuple(map(float, np.broadcast_to(1.0 if scale is None else scale, (3,))))


def _color_of(material: yourdfpy.Material | None, colors: dict[str, Color]) -> Color | None:
    if material is None:
        return None
    return _rgba(material.color) if material.color is not None else colors.get(material.name)


def _rgba(color: yourdfpy.Color) -> Color:
    red, green, blue, alpha = map(float, color.rgba)
    return red, green, blue, alpha
