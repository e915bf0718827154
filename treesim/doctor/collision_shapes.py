"""Collision shapes: overlaps of links in the neutral pose, and hulls with much more volume than their meshes."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ..contact.bodies import meeting, wholly
from ..contact.convex_pairs import ConvexPairs
from ..contact.convex_shapes import convex_shape
from ..contact.overlaps import overlapping
from ..contact.tables import Shapes, touching
from ..errors import ArgumentError, ModelError, ShapeWarning, quoted
from ..meshes import read_triangles
from ..meshes.triangles import merged, parts_of
from ..model.hulls import convex_hull
from ..model.shapes import CollisionShape
from ..model.tree import Tree
from ..simulation.world import World
from ..states.support import usable_shapes
from ..system.progress import counted
from ..urdf.findings import Findings

if TYPE_CHECKING:
    from lxml.etree import _Element

DEEP = 1e-3  # [m] of overlap below which shapes merely touch
MUCH = 1.25  # volume of a hull over that of the mesh
NAMED = 4  # pairs or links named in a message


def check_overlaps(robot: Tree, links: Mapping[str, _Element], findings: Findings) -> Iterator[str]:
    """Note links on non-adjacent bodies whose collision shapes overlap by more than 1 mm in the neutral pose.

    Without the package coal, only spheres, capsules and boxes are checked. Yields a description of shapes that
    were skipped. links: elements of the document, by name.
    """
    with warnings.catch_warnings(action="ignore", category=ShapeWarning):
        shapes = usable_shapes(robot)
    pairs = list(meeting(robot, shapes, [0] * len(shapes), True))
    with_coal = importlib.util.find_spec("coal") is not None
    looked_at = list(_solid(pairs)) if with_coal else [pair for pair in pairs if wholly(*pair)]
    deepest: dict[tuple[str, str], float] = {}
    for k, depth in _depths(robot, looked_at, with_coal).items():
        between = looked_at[k][0].link, looked_at[k][1].link
        deepest[between] = max(depth, deepest.get(between, DEEP))
    found = sorted(((depth, *pair) for pair, depth in deepest.items() if depth > DEEP), reverse=True)
    if found:
        named = _first("pairs", [f"{quoted(a)} and {quoted(b)} by {1e3 * depth:.3g} mm" for depth, a, b in found])
        findings.add("U608", f"in the neutral pose links overlap: {named}", links.get(found[0][1]))
    if not with_coal and len(looked_at) < len(pairs):
        yield "overlaps of hulls and cylinders: `python -m pip install coal` brings what finds them"


def _first(kind: str, texts: Sequence[str]) -> str:
    """Return the first texts for a message, and the number of others of their kind."""
    more = f", and {len(texts) - NAMED} more {kind}" if len(texts) > NAMED else ""
    return ", ".join(texts[:NAMED]) + more


def _solid(pairs: Sequence[Shapes]) -> Iterator[Shapes]:
    """Yield the pairs without flat hulls."""
    flat: dict[CollisionShape, bool] = {}
    for pair in pairs:
        for shape in pair:
            if shape not in flat:
                flat[shape] = _is_flat(shape)
        if not any(flat[shape] for shape in pair):
            yield pair


def _is_flat(shape: CollisionShape) -> bool:
    try:
        convex_shape(shape)
    except ArgumentError:
        return True
    return False


def _depths(robot: Tree, pairs: Sequence[Shapes], with_coal: bool) -> dict[int, float]:
    """Return the penetration depths [m] of the pairs that touch in the neutral pose, by their index in `pairs`."""
    if with_coal:
        return ConvexPairs(robot, pairs, 0).depths(robot.neutral())
    tables = touching(robot, (), False, False, World(robot, use_loops=False).constants[:2], pairs)
    return overlapping(robot, tables, robot.neutral())


def check_cavities(robot: Tree, links: Mapping[str, _Element], findings: Findings) -> None:
    """Note the links with closed collision meshes whose hulls have at least a quarter more volume.

    links: elements of the document, by name.
    """
    ratios: dict[str, float] = {}
    for shape in counted(robot.shapes, lambda shape: "volumes of hulls"):
        if shape.file is not None:
            ratios[shape.link] = max(_ratio(shape.file), ratios.get(shape.link, 0.0))
    found = sorted(((ratio, link) for link, ratio in ratios.items() if ratio > MUCH), reverse=True)
    if found:
        named = _first("links", [f"{quoted(link)} {ratio:.3g} times" for ratio, link in found])
        text = f"convex hulls have more volume than the collision meshes of links: {named}"
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
