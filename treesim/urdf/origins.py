"""Text of `<origin>` elements, from which the same poses are read back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product as combinations

import numpy as np

from ..engine.trigonometry import arctangent, sincos
from ..model.inertia import IDENTITY, Placement
from ..model.matrices import product, rotation_from_rpy
from .numbers import number_text

DECIMALS = (15, 14, 13, 12, 9, 6)  # of the numbers in most files, from which rounding has led away
SMALLEST = 16  # decimals, below which numbers are rounding errors

RIGHT_ANGLE = math.pi / 2


def origin_text(placement: Placement, within: Placement = IDENTITY) -> str:
    """Return the `<origin>` of a pose; within: pose of the parent link in the same frame.

    If there are numbers from which the pose is read back to the last bit, they are nearly always found.
    """
    relative = placement if within is IDENTITY else within.inverse() @ placement
    rpy = _found(
        _same_rotations(rpy_from_rotation(relative.rotation)),
        lambda angles: product(within.rotation, rotation_from_rpy(angles)),
        placement.rotation,
    )
    xyz = _found(
        [relative.translation.tolist()],
        lambda point: product(within.rotation, np.array(point)) + within.translation,
        placement.translation,
    )
    return f'<origin xyz="{" ".join(map(number_text, xyz))}" rpy="{" ".join(map(number_text, rpy))}"/>'


def rpy_from_rotation(rotation: np.ndarray) -> tuple[float, float, float]:
    """Return roll, pitch, yaw [rad] of a rotation matrix, Rz(yaw) Ry(pitch) Rx(roll); yaw is 0 at pitch ±90°.

    Roll is computed after undoing yaw, so that the three together are exact for any pitch near ±90°.
    """
    (xx, xy, xz), (yx, yy, yz), (zx, _, _) = rotation.tolist()
    yaw = arctangent(yx, xx)  # type: ignore[no-untyped-call]  # unlike NumPy's, the same on every processor
    pitch = arctangent(-zx, math.sqrt(yx * yx + xx * xx))  # type: ignore[no-untyped-call]
    s, c = sincos(yaw)  # type: ignore[no-untyped-call]
    roll = arctangent(s * xz - c * yz, c * yy - s * xy)  # type: ignore[no-untyped-call]
    return float(roll), float(pitch), float(yaw)


def _same_rotations(rpy: Sequence[float]) -> list[Sequence[float]]:
    """Return roll, pitch and yaw, then other angles of the same rotation, such as 3.15 rad for -3.13 rad."""
    half = [math.copysign(math.pi, angle) for angle in rpy]
    flipped = rpy[0] - half[0], half[1] - rpy[1], rpy[2] - half[2]
    return [
        angles for each in (rpy, flipped)
        for angles in combinations(*((angle, angle - math.copysign(2 * math.pi, angle)) for angle in each))
    ]  # fmt: skip


def _found(
    starts: Sequence[Sequence[float]], read: Callable[[Sequence[float]], np.ndarray], wanted: np.ndarray
) -> Sequence[float]:
    """Return numbers near one of `starts` from which `wanted` is read; the first of `starts` if there are none."""
    candidates = (numbers for near in (_rounded, _neighbours) for start in starts for numbers in near(start))
    return next((numbers for numbers in candidates if np.array_equal(read(numbers), wanted)), starts[0])


def _rounded(start: Sequence[float]) -> Iterator[Sequence[float]]:
    """Yield three numbers, then the same with fewer decimals."""
    yield start
    for decimals in DECIMALS:
        yield [_round(number, decimals) for number in start]


def _neighbours(start: Sequence[float]) -> Iterator[Sequence[float]]:
    """Yield all combinations of three numbers and the floating-point numbers next to them."""
    for numbers in start, [_round(number, SMALLEST) for number in start]:
        yield from combinations(*((x, math.nextafter(x, math.inf), math.nextafter(x, -math.inf)) for x in numbers))


def _round(number: float, decimals: int) -> float:
    """Return a number rounded to decimals, or to a multiple of a right angle if it is one up to rounding."""
    angle = round(number / RIGHT_ANGLE) * RIGHT_ANGLE
    return angle if angle and abs(number - angle) < 1e-15 else round(number, decimals) + 0.0
