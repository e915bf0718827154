"""Mirror images of trees, such as a left arm from a right one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ..errors import ModelError, quoted
from ..validation.values import known_name
from .inertia import Inertia, Placement
from .joints import Joint
from .matrices import product
from .pack import axis_rotation
from .shapes import reflected

if TYPE_CHECKING:
    from .tree import Tree

T = TypeVar("T", bound="Tree")
PLANES = {"xy": (1.0, 1.0, -1.0), "xz": (1.0, -1.0, 1.0), "yz": (-1.0, 1.0, 1.0)}  # diagonal of the reflection S


def mirrored(tree: T, plane: str) -> T:
    """Return the mirror image of a tree in a coordinate plane of its base; all frames are mirrored in the same way."""
    S = np.array(PLANES[known_name("plane", plane, PLANES)])

    def pose(placement: Placement) -> Placement:
        return Placement(_both_sides(S, placement.rotation), _signed(S, placement.translation))

    def inertia(x: Inertia) -> Inertia:
        return Inertia(x.mass, _signed(S, x.com), _both_sides(S, x.rotational))

    return tree._with(
        bodies=[
            replace(
                body,
                joint=_mirrored_joint(body.joint, S, pose(body.joint.placement)),
                inertia=inertia(body.inertia),
                own=None if body.own is None else inertia(body.own),
            )
            for body in tree.bodies
        ],
        frames=[replace(frame, placement=pose(frame.placement)) for frame in tree._parts()["frames"]],
        visuals=[
            replace(x, placement=pose(x.placement), size=reflected(S, x.size) if x.kind == "mesh" else x.size)
            for x in tree.visuals
        ],
        shapes=[x._reflected(S, pose(x.placement)) for x in tree.shapes],
        loops=[replace(loop, axis=_signed(S, loop.axis)) for loop in tree.loops],
        welds=[replace(weld, inertia=inertia(weld.inertia)) for weld in tree.welds],
        gravity=_signed(S, tree.gravity),
    )


def _mirrored_joint(joint: Joint, S: np.ndarray, placement: Placement) -> Joint:
    """Return a joint whose coordinates are those of the original: a rotation S R S about a is one about -S a."""
    if not joint.kind.has_axis:
        return replace(joint, placement=placement)
    axis = _signed(S if joint.type == "prismatic" else -S, np.asarray(joint.axis))
    if joint.type == "planar":  # its x and y may change their signs only
        D = product(axis_rotation(axis).T, S[:, None] * axis_rotation(np.asarray(joint.axis)))
        if not np.array_equal(np.abs(D), np.eye(3)):
            why = "the directions x and y of its image are other ones; those of an axis z are not"
            raise ModelError(f"planar joint {quoted(joint.name)} cannot be mirrored: {why}")
    return replace(joint, placement=placement, axis=axis)


def _signed(S: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.asarray(S * values + 0.0)  # no negative zeros


def _both_sides(S: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    return _signed(S[:, None] * S, matrix)
