"""Visual shapes of links; an unusable shape is a warning, not an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from ..model.inertia import Placement
from ..types import ShapeKind
from .document import origin_of
from .findings import Findings, title
from .geometry import SIZES, BadGeometryError, read_geometry, report_other_shapes
from .numbers import BadNumberError
from .schema import report_attributes

if TYPE_CHECKING:
    import yourdfpy
    from lxml.etree import _Element

Color = tuple[float, float, float, float]
MeshFinder = Callable[[str], tuple[str, bool]]


@dataclass(frozen=True, eq=False)
class Shape:
    """One shape in the link's frame, with the fields of treesim.Visual."""

    placement: Placement
    kind: ShapeKind
    size: tuple[float, ...]
    file: str | None = None
    color: Color | None = None
    texture: str | None = None


class Materials(NamedTuple):
    """Colours and texture files of named materials."""

    colors: dict[str, Color]
    textures: dict[str, str]


def draw_collisions(root: _Element, findings: Findings) -> None:
    """Use collision shapes as visuals if a robot has no visual, and most of its massive links have collisions.

    A few collision shapes among many links do not resemble the robot; viewers draw such a robot's skeleton.
    """
    massive = [link for link in root.iterfind("link") if link.find("inertial") is not None]
    covered = [link for link in massive if link.find("collision") is not None]
    if root.find("link/visual") is not None or not covered or 2 * len(covered) < len(massive):
        return
    findings.add("U504", "no <visual>: collision shapes are drawn", covered[0])
    for collision in root.iterfind("link/collision"):
        collision.tag = "visual"


def clean_visuals(root: _Element, findings: Findings) -> set[tuple[str, int]]:
    """Remove unusable visuals, with a warning each, so that the typed model can be read.

    Capsules, which yourdfpy does not support, become cylinders; their (link name, index of the visual) are
    returned.
    """
    capsules: set[tuple[str, int]] = set()
    for link in root.iterfind("link"):
        kept = 0
        for visual in link.findall("visual"):
            try:
                kind = read_geometry(visual).kind
            except (BadGeometryError, BadNumberError) as problem:
                findings.add("U501", f"{title(link)}: {problem}; not drawn", visual)
                link.remove(visual)
                continue
            report_other_shapes(visual, link, findings)
            report_attributes(visual, findings)
            if kind == "capsule":
                visual.find("geometry")[0].tag = "cylinder"
                capsules.add((link.get("name"), kept))
            kept += 1
    return capsules


def named_materials(robot: yourdfpy.Robot) -> Materials:
    """Return the definitions of named materials; the robot's own take precedence over those of visuals."""
    inline = (visual.material for link in robot.links for visual in link.visuals if visual.material is not None)
    named = Materials({}, {})
    for material in (*robot.materials, *inline):
        if material.name and material.color is not None:
            named.colors.setdefault(material.name, _rgba(material.color))
        if material.name and (file := _texture_of(material)):
            named.textures.setdefault(material.name, file)
    return named


class FoundShape(NamedTuple):
    """Shape of a link, and the names of its mesh and texture files if they were not found."""

    shape: Shape
    lost_mesh: str | None
    lost_texture: str | None


def shapes_of(
    link: yourdfpy.Link,
    element: _Element,
    capsules: set[tuple[str, int]],
    materials: Materials,
    find_mesh: MeshFinder,
) -> Iterator[FoundShape]:
    """Yield the link's visual shapes; element: the link in the document, whose visuals have the same order."""
    for index, (visual, drawn) in enumerate(zip(link.visuals, element.iterfind("visual"), strict=True)):
        geometry = visual.geometry
        kind, size = _kind_and_size(geometry)
        if (link.name, index) in capsules:
            kind = "capsule"
        file, found = find_mesh(geometry.mesh.filename) if kind == "mesh" else (None, True)
        color, texture = _look_of(visual.material, materials)
        texture, seen = find_mesh(texture) if kind == "mesh" and texture else (None, True)
        shape = Shape(origin_of(drawn), kind, size, file, color, texture)
        yield FoundShape(shape, None if found else file, None if seen else texture)


def _kind_and_size(geometry: yourdfpy.Geometry) -> tuple[ShapeKind, tuple[float, ...]]:
    for kind, attributes in SIZES.items():
        if (solid := getattr(geometry, kind, None)) is not None:
            values = np.hstack([getattr(solid, name) for name in attributes])
            return cast("ShapeKind", kind), tuple(map(float, values))
    scale = geometry.mesh.scale
    return "mesh", (1.0, 1.0, 1.0) if scale is None else tuple(map(float, np.broadcast_to(scale, (3,))))


def _look_of(material: yourdfpy.Material | None, named: Materials) -> tuple[Color | None, str | None]:
    """Return a visual's colour and texture name; a material without either takes those defined under its name."""
    if material is None:
        return None, None
    color, texture = None if material.color is None else _rgba(material.color), _texture_of(material)
    if color is None:
        color = named.colors.get(material.name)
    if material.color is None and texture is None:
        texture = named.textures.get(material.name)
    return color, texture


def _texture_of(material: yourdfpy.Material) -> str | None:
    name = None if material.texture is None else (material.texture.filename or "").strip()
    return name or None


def _rgba(color: yourdfpy.Color) -> Color:
    red, green, blue, alpha = map(float, color.rgba)
    return red, green, blue, alpha
