"""Warnings, when a world is built, of geometry and friction that the contact model does not cover."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ..errors import ArgumentError, ShapeWarning, listed
from ..model.tree import Tree
from ..states.support import candidates
from ..urdf.link_friction import LINK_FRICTION
from .ground import HeightField, StaticBox, Surface
from .tables import surface_names

AT_POINTS = ("hull", "cylinder")  # shapes of which only points touch static boxes


def warn_of_uncovered(robot: Tree, surfaces: Sequence[Surface], stacklevel: int) -> None:
    """Warn of shapes that edges of static boxes and height fields may penetrate, and of link friction in the URDF."""
    if not surfaces:
        return
    try:
        shapes = tuple(dict.fromkeys(candidates(robot).shapes))
    except ArgumentError:  # nothing touches
        return
    named = list(zip(surface_names(surfaces), surfaces, strict=True))
    for kind, names, links in (
        ("StaticBox", [name for name, x in named if isinstance(x, StaticBox)], _links(shapes, AT_POINTS)),
        ("HeightField", [name for name, x in named if isinstance(x, HeightField)], _links(shapes, None)),
    ):
        if names and links:
            warnings.warn(
                f"edges of {kind} {listed(names)} collide only with points of the robot's shapes: they may penetrate "
                f"those of links {listed(links)}. {_REMEDY[kind]}",
                ShapeWarning,
                stacklevel=stacklevel + 1,
            )
    notes: tuple[Any, ...] = robot.notes
    for note in notes:
        if getattr(note, "code", "") == LINK_FRICTION:
            warnings.warn(f"{note.message} ({note.hint})", ShapeWarning, stacklevel=stacklevel + 1)


_REMEDY = {
    "StaticBox": "Boxes and capsules collide with all of a StaticBox: give these links such shapes, or replace it by a "
    'tree with a fixed base and a box, bodies=[...] with collision="coal"',
    "HeightField": "Ridges, peaks and the border collide as they should if they are StaticBox surfaces, or if cells "
    "are larger than what stands on them",
}


def _links(shapes: Sequence[Any], kinds: tuple[str, ...] | None) -> list[str]:
    """Return the links of shapes of some kinds (None: all)."""
    return list(dict.fromkeys(shape.link for shape in shapes if kinds is None or shape.kind in kinds))
