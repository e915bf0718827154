"""Warnings, when a world is built, of geometry and friction that the contact model does not cover."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import ArgumentError, ShapeWarning, listed
from ..model.tree import Tree
from ..states.support import candidates
from ..system.user_warnings import warn
from ..urdf.link_friction import LINK_FRICTION
from .hull_faces import face_planes
from .surface import StaticSurface
from .tables import surface_names


def warn_of_uncovered(robot: Tree, surfaces: Sequence[StaticSurface], with_links: bool) -> None:
    """Warn of flat hulls, which edges of solids may penetrate, and of link friction in the URDF.

    with_links: whether the world has surfaces of links.
    """
    if not surfaces:
        return
    try:
        shapes = tuple(dict.fromkeys(candidates(robot).shapes))
    except ArgumentError:  # nothing touches
        return
    named = zip(surface_names(surfaces), surfaces, strict=True)
    solids = [name for name, surface in named if surface._has_edges]
    hulls = [shape for shape in shapes if shape.kind == "hull"] if solids else []
    flat = [shape.link for shape in hulls if not len(face_planes(shape.vertices))]
    if flat:
        warn(
            f"the hull of link {listed(list(dict.fromkeys(flat)))} is flat: edges and corners of {listed(solids)} may "
            "penetrate it. Give it a thickness, or use a box",
            ShapeWarning,
        )
    notes: tuple[Any, ...] = robot.notes
    for note in notes:
        if getattr(note, "code", "") == LINK_FRICTION and not with_links:
            warn(f"{note.message} ({note.hint})", ShapeWarning)
