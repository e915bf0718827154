"""Visual shapes of links; an unusable shape is a warning, not an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, cast

from ..model.inertia import Placement
from ..model.parts import Visual
from ..types import ShapeKind
from .findings import Findings, title
from .geometry import BadGeometryError, Geometry, read_geometry, report_other_shapes
from .numbers import BadNumberError, report_length
from .schema import report_attributes

if TYPE_CHECKING:
    import yourdfpy
    from lxml.etree import _Element

Color = tuple[float, float, float, float]
MeshFinder = Callable[[str], tuple[str, bool]]


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


def clean_visuals(root: _Element, findings: Findings) -> None:
    """Remove unusable visuals, with a warning each, so that the typed model can be read."""
    for link in root.iterfind("link"):
        usable_shapes(link, "visual", "U501", "not drawn", findings)


def usable_shapes(
    link: _Element, tag: str, code: str, remark: str, findings: Findings
) -> list[tuple[_Element, Geometry]]:
    """Return the usable visuals or collisions of a link with their geometries; others are removed, with a warning."""
    usable = []
    for element in link.findall(tag):
        try:
            geometry = read_geometry(element)
        except (BadGeometryError, BadNumberError) as problem:
            findings.add(code, f"{title(link)}: {problem}; {remark}", element)
            link.remove(element)
            continue
        report_other_shapes(element, link, findings)
        report_attributes(element, findings)
        if geometry.origin is not None and "quat_xyzw" in geometry.origin.attrib:
            report_length(geometry.origin, findings)
        usable.append((element, geometry))
    return usable


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


class FoundVisual(NamedTuple):
    """Visual of a link, and the names of its mesh and texture files if they were not found."""

    visual: Visual
    lost_mesh: str | None
    lost_texture: str | None


def visuals_of(
    link: yourdfpy.Link,
    element: _Element,
    materials: Materials,
    find_mesh: MeshFinder,
    body: int,
    placement: Placement,
) -> Iterator[FoundVisual]:
    """Yield the visuals of a link with a placement in a body; element: the link in the document."""
    for typed, drawn in zip(link.visuals, element.iterfind("visual"), strict=True):
        geometry = read_geometry(drawn)
        is_mesh = geometry.kind == "mesh"
        file, found = find_mesh(geometry.mesh or "") if is_mesh else (None, True)
        color, texture = _look_of(typed.material, materials)
        texture, seen = find_mesh(texture) if is_mesh and texture else (None, True)
        place, kind = geometry.in_body(placement), cast("ShapeKind", geometry.kind)
        visual = Visual(body, place, kind, geometry.size, file=file, color=color, texture=texture, link=link.name)
        yield FoundVisual(visual, None if found else file, None if seen else texture)


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
