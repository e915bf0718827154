"""Visual shapes of links; an unusable shape is a warning, not an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..model.inertia import Placement
from ..model.tree import Visual
from .document import name_of, origin_of
from .findings import Findings, title
from .geometry import BadGeometryError, read_geometry, report_other_shapes
from .materials import Color, color_of, texture_of
from .numbers import BadNumberError
from .schema import report_misplaced

if TYPE_CHECKING:
    from lxml.etree import _Element

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
    """Remove unusable visuals, with a warning each."""
    for link in root.iterfind("link"):
        owner = title(link)
        for visual in link.findall("visual"):
            try:
                read_geometry(visual)
            except (BadGeometryError, BadNumberError) as problem:
                findings.add("U501", f"{owner}: {problem}; not drawn", visual)
                link.remove(visual)
            else:
                report_other_shapes(visual, owner, findings)
                report_misplaced(visual, findings)


def named_materials(root: _Element) -> Materials:
    """Return the definitions of named materials; the robot's own take precedence over those of visuals."""
    inline = (visual.find("material") for visual in root.iterfind("link/visual"))
    named = Materials({}, {})
    for material in (*root.iterfind("material"), *inline):
        name, color = ("", None) if material is None else (name_of(material), color_of(material))
        if name and color is not None:
            named.colors.setdefault(name, color)
        if name and (file := texture_of(material)):
            named.textures.setdefault(name, file)
    return named


class FoundVisual(NamedTuple):
    """Visual of a link, and the names of its mesh and texture files if they were not found."""

    visual: Visual
    lost_mesh: str | None
    lost_texture: str | None


def visuals_of(
    link: _Element, body: int, placement: Placement, materials: Materials, find_mesh: MeshFinder
) -> Iterator[FoundVisual]:
    """Yield the visuals of a link whose placement in its body is given."""
    for element in link.iterfind("visual"):
        geometry = read_geometry(element)
        kind: Any = geometry.kind
        file, found = (None, True) if geometry.mesh is None else find_mesh(geometry.mesh)
        color, texture = _look_of(element.find("material"), materials)
        texture, seen = find_mesh(texture) if geometry.mesh is not None and texture else (None, True)
        place = placement @ origin_of(element)
        visual = Visual(body, place, kind, geometry.size, file=file, color=color, texture=texture)
        yield FoundVisual(visual, None if found else file, None if seen else texture)


def _look_of(material: _Element | None, named: Materials) -> tuple[Color | None, str | None]:
    """Return a visual's colour and texture name; a material without either takes those defined under its name."""
    if material is None:
        return None, None
    own, texture, name = color_of(material), texture_of(material) or None, name_of(material)
    if own is None and texture is None:
        texture = named.textures.get(name)
    return named.colors.get(name) if own is None else own, texture
