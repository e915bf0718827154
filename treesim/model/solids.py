"""Kinds of solids, which collision shapes, visuals and URDF elements have in common: one record for each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
ENDS = np.array([[0.0, 0.0, -0.5], [0.0, 0.0, 0.5]])
BALLS, RIMS = "balls", "rims"


class SolidKind(NamedTuple):
    """Geometry of one kind of solid; functions take the size, whose lengths [m] are in the order of `attributes`.

    attributes: of the URDF element, and their numbers of values. points: points (k, 3) about which there are, with
    the first length as radius, balls or discs across z, as `round` says, or nothing. Their hull is the solid. reach:
    radius of the bounding sphere [m]. gyration: rotational inertia (3,) per mass about the principal axes [m^2].
    """

    attributes: Mapping[str, int]
    points: Callable[[tuple[float, ...]], np.ndarray]
    reach: Callable[[tuple[float, ...]], float]
    gyration: Callable[[tuple[float, ...]], np.ndarray]
    round: str = ""

    @property
    def lengths(self) -> int:
        """Number of elements of a size."""
        return sum(self.attributes.values())


def _of_box(size: tuple[float, ...]) -> np.ndarray:
    a, b, c = (x * x / 12 for x in size)
    return np.array([b + c, a + c, a + b])


def _of_rod(size: tuple[float, ...], caps: float) -> np.ndarray:
    """Return the inertia per mass of a cylinder with caps, which are a ball cut in two; caps: 1 with these, else 0."""
    r, length = size
    rod = np.pi * r * r * length
    share = rod / (rod + caps * (4 / 3 * np.pi * r**3))  # of the mass
    across = share * (r * r / 4 + length * length / 12)
    across += (1 - share) * (0.4 * r * r + length * length / 4 + 3 / 8 * length * r)
    return np.array([across, across, share * r * r / 2 + (1 - share) * 0.4 * r * r])


SOLIDS = {
    "box": SolidKind({"size": 3}, lambda size: CORNERS * size, lambda size: math.hypot(*size) / 2, _of_box),
    "sphere": SolidKind(
        {"radius": 1}, lambda size: np.zeros((1, 3)), lambda size: size[0], lambda size: np.full(3, 0.4 * size[0] ** 2),
        BALLS,
    ),
    "cylinder": SolidKind(
        {"radius": 1, "length": 1}, lambda size: ENDS * size[1], lambda size: math.hypot(size[0], size[1] / 2),
        lambda size: _of_rod(size, 0.0), RIMS,
    ),
    "capsule": SolidKind(
        {"radius": 1, "length": 1}, lambda size: ENDS * size[1], lambda size: size[0] + size[1] / 2,
        lambda size: _of_rod(size, 1.0), BALLS,
    ),
}  # fmt: skip


def roundness(kind: str) -> str:
    """Return `round` of a kind of shape; "" for hulls, which are no solids of a size."""
    return SOLIDS[kind].round if kind in SOLIDS else ""
