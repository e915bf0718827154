"""Collision meshes whose convex hulls, which collide instead of them, have much more volume."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ModelError, quoted
from ..meshes import read_triangles
from ..meshes.triangles import merged, parts_of
from ..model.hulls import convex_hull
from ..model.tree import Tree
from ..urdf.findings import Findings

if TYPE_CHECKING:
    from lxml.etree import _Element

MUCH = 1.25  # volume of the hull over that of the mesh
NAMED = 4  # links named in a message


def check_cavities(robot: Tree, links: Mapping[str, _Element], findings: Findings) -> None:
    """Note the links with closed collision meshes whose hulls have at least a quarter more volume.

    links: elements of the document, by name.
    """
    ratios: dict[str, float] = {}
    for shape in robot.shapes:
        if shape.file is not None:
            ratios[shape.link] = max(_ratio(shape.file), ratios.get(shape.link, 0.0))
    found = sorted(((ratio, link) for link, ratio in ratios.items() if ratio > MUCH), reverse=True)
    if found:
        named = ", ".join(f"{quoted(link)} {ratio:.3g} times" for ratio, link in found[:NAMED])
        more = f", and {len(found) - NAMED} more links" if len(found) > NAMED else ""
        text = f"convex hulls have more volume than the collision meshes of links: {named}{more}"
        findings.add("U612", text, links.get(found[0][1]), "load with convex_parts=True")


@lru_cache(maxsize=4096)
def _ratio(file: str) -> float:
    """Return the volume of a mesh's hull over that of the mesh; 0 if it cannot be read, or is not closed."""
    try:
        points, triangles, _ = merged(*read_triangles(file))
    except ModelError:
        return 0.0
    parts, hull = parts_of(points, triangles), convex_hull(points)
    closed = hull is not None and (parts.solid | parts.flat).all() and parts.solid.any()
    return float(hull.volume / np.abs(parts.volume).sum()) if closed else 0.0
