"""Serialization of ground surfaces to plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ..errors import ArgumentError
from ..model.inertia import Placement
from ..validation.values import checked_part, known_name
from .ground import Ground
from .height_field import HeightField
from .static_box import StaticBox
from .static_mesh import StaticMesh
from .surface import StaticSurface, Surface

GROUNDS: dict[str, type[StaticSurface]] = {kind.__name__: kind for kind in (Ground, StaticBox, HeightField, StaticMesh)}


def described(surface: Surface) -> dict[str, Any]:
    """Return a surface as a JSON-compatible dictionary of its class name ("kind") and all of its fields.

    Examples
    --------
    >>> from treesim.contact.description import described
    >>> plain = described(treesim.Ground(height=0.1))
    >>> plain["kind"], plain["height"], plain["normal"]
    ('Ground', 0.1, [0.0, 0.0, 1.0])
    """
    return {"kind": type(surface).__name__} | {
        field.name: _plain(getattr(surface, field.name)) for field in fields(surface)
    }


def surface_of(description: Mapping[str, Any]) -> StaticSurface:
    """Return the surface of a dictionary that `described` returned; the normal of a plane is equal to rounding.

    Raises UnknownNameError for an unknown kind, ArgumentError for invalid values.

    Examples
    --------
    >>> from treesim.contact.description import described, surface_of
    >>> box = treesim.StaticBox((1, 1, 0.2))
    >>> surface_of(described(box)) == box
    True
    """
    values = dict(checked_part("the description of a surface", description, Mapping))  # type: ignore[type-abstract]
    kind = known_name("kind of ground", values.pop("kind", None), tuple(GROUNDS))
    try:
        if "placement" in values:
            values["placement"] = Placement(**values["placement"])
        return GROUNDS[kind](**values)
    except TypeError as error:
        raise ArgumentError(f"the description of a {kind} does not fit: {error}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, Placement):
        return {"rotation": value.rotation.tolist(), "translation": value.translation.tolist()}
    if isinstance(value, tuple):
        return list(value)
    return value.tolist() if hasattr(value, "tolist") else value
