"""Colours and materials of visuals: unusable ones are reported, with a warning for each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import listed, shortened
from .findings import Findings
from .numbers import BadNumberError, number_text, parse_numbers

if TYPE_CHECKING:
    from lxml.etree import _Element


def clean_materials(root: _Element, findings: Findings) -> None:
    """Remove colours without numbers, clamp those out of range, and report materials without a colour."""
    _report_materials(root, findings)
    for color in list(root.iter("color")):
        if "rgba" in color.attrib:
            _clean_color(color, findings)
    for path in ("material/color", "link/visual/material/color"):  # other elements, as of simulators, have their own
        for color in root.findall(path):
            if "rgba" not in color.attrib:
                findings.add("U503", "<color> has no rgba", color, 'give it four numbers: rgba="0.5 0.5 0.5 1"')
                color.getparent().remove(color)


def _clean_color(color: _Element, findings: Findings) -> None:
    try:
        given = parse_numbers(color, "rgba", 4)
    except BadNumberError as problem:
        findings.add("U503", str(problem), color)
        color.getparent().remove(color)
        return
    clamped = " ".join(number_text(min(max(value, 0.0), 1.0)) for value in given)
    if not all(0 <= value <= 1 for value in given):
        hint = "four numbers from 0 to 1" + (": divide by 255" if max(given) > 1 else "")
        findings.add("U509", f'rgba="{shortened(color.get("rgba", ""))}" is drawn as "{clamped}"', color, hint)
        color.set("rgba", clamped)


def _report_materials(root: _Element, findings: Findings) -> None:
    """Add one warning for undefined materials, and one for textures of shapes other than meshes."""
    defined = {material.get("name") for material in root.iter("material") if material.find("color") is not None}
    textures = {material.get("name"): file for material in root.iter("material") if (file := _texture(material))}
    undefined = [
        material
        for material in root.iterfind("link/visual/material")
        if not len(material) and material.get("name") not in defined | set(textures)
    ]
    if undefined:
        names = listed(sorted({material.get("name") or "" for material in undefined}))
        what = f"materials that nothing defines: {names}; drawn in the viewer's default colour"
        findings.add("U510", what, undefined[0], 'define it: <material name="..."><color rgba="..."/></material>')
    solids = [
        (material, file)
        for material in root.iterfind("link/visual/material")
        if material.getparent().find("geometry/mesh") is None
        and (file := _texture(material) or ("" if len(material) else textures.get(material.get("name"), "")))
    ]
    if solids:
        files = listed(sorted({file for _, file in solids}))
        what = f"textures of boxes, spheres and cylinders are not drawn: {files}"
        hint = "give the material a <color>, or draw the shape by a mesh file with texture coordinates"
        findings.add("U510", what, solids[0][0], hint)


def _texture(material: _Element) -> str:
    texture = material.find("texture")
    return "" if texture is None else texture.get("filename", "").strip()
