"""SI units of coordinates, velocities and generalised forces, by the types of joints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..model.coordinates import Q_PARTS, V_PARTS

LENGTHS = frozenset({"x", "y", "z", "vx", "vy", "vz", "prismatic"})
PURE = frozenset({"qx", "qy", "qz", "qw"})


def configuration_units(types: Sequence[str]) -> tuple[str, ...]:
    """Return a unit for each of the nq coordinates: "m", "rad", or "1" for components of a quaternion.

    Example:
        >>> from treesim.formats.units import configuration_units
        >>> configuration_units(["prismatic", "spherical"])
        ('m', '1', '1', '1', '1')
    """
    parts = (part for kind in types for part in Q_PARTS.get(kind, (kind,)))
    return tuple("1" if part in PURE else "m" if part in LENGTHS else "rad" for part in parts)


def velocity_units(types: Sequence[str]) -> tuple[str, ...]:
    """Return a unit for each of the nv velocities: "m/s" or "rad/s"."""
    return tuple("m/s" if linear else "rad/s" for linear in _linear(types))


def force_units(types: Sequence[str]) -> tuple[str, ...]:
    """Return a unit for each of the nv generalised forces: "N" or "N m"."""
    return tuple("N" if linear else "N m" for linear in _linear(types))


def _linear(types: Sequence[str]) -> Iterator[bool]:
    return (part in LENGTHS for kind in types for part in V_PARTS.get(kind, (kind,)))
