"""Names and indices of joint coordinates and degrees of freedom, by joint type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..validation.arrays import Argument, coerce

# Names of a joint's coordinates and velocities where it has more than one of either.
Q_PARTS = {
    "planar": ("x", "y", "theta"),
    "spherical": ("qx", "qy", "qz", "qw"),
    "floating": ("x", "y", "z", "qx", "qy", "qz", "qw"),
}
V_PARTS = {
    "planar": ("vx", "vy", "wz"),
    "spherical": ("wx", "wy", "wz"),
    "floating": ("vx", "vy", "vz", "wx", "wy", "wz"),
}


def configuration_names(joints: Sequence[str], types: Sequence[str]) -> tuple[str, ...]:
    """Return a name for each of the nq coordinates: the joint's, or "root_joint.qw" for one of several."""
    return _part_names(joints, types, Q_PARTS)


def velocity_names(joints: Sequence[str], types: Sequence[str]) -> tuple[str, ...]:
    """Return a name for each of the nv degrees of freedom: the joint's, or "root_joint.wx" for one of several."""
    return _part_names(joints, types, V_PARTS)


def _part_names(joints: Sequence[str], types: Sequence[str], parts: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    names: list[str] = []
    for joint, kind in zip(joints, types, strict=True):
        names += [f"{joint}.{part}" for part in parts[kind]] if kind in parts else [joint]
    return tuple(names)


def distinct(names: Sequence[str], numbered: str = "{} ({})") -> list[str]:
    """Return names, as of columns, in order, with duplicates numbered: "p.x", "p.x (2)"."""
    given, taken, result = set(names), set[str](), list[str]()
    for name in names:
        new, count = name, 1
        while new in taken or (count > 1 and new in given):
            count += 1
            new = numbered.format(name, count)
        taken.add(new)
        result.append(new)
    return result


def index_of(types: Sequence[str], k: int, parts: Mapping[str, tuple[str, ...]]) -> int | slice:
    """Return the index of joint k among all coordinates, or a slice if the joint has several.

    parts: names of the coordinates of each joint type that has several (`Q_PARTS` or `V_PARTS`).
    """
    sizes = [len(parts[kind]) if kind in parts else 1 for kind in types[: k + 1]]
    end = sum(sizes)
    return end - 1 if sizes[k] == 1 else slice(end - sizes[k], end)


def position_of(label: str, value: Any, size: int) -> np.ndarray:
    """Return a joint position as an array of `size` numbers.

    Raises ArgumentError, naming `label`, if it does not fit.
    """
    array = coerce(Argument(label, value, ()))
    if array.shape != (size,) and not (size == 1 and array.shape == ()):
        wanted = "one number" if size == 1 else f"{size} numbers"
        raise ArgumentError(f"{label} must be {wanted}, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ArgumentError(f"{label} is not finite: {array.tolist()}")
    return array
