"""Mirror images of trees, such as a left arm from a right one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from ..errors import ModelError, quoted
from ..types import Renaming
from ..validation.values import known_name
from .inertia import Inertia, Placement
from .joints import Joint
from .matrices import product
from .pack import axis_rotation
from .parts import Body, Visual
from .renaming import renamed
from .shapes import reflected

if TYPE_CHECKING:
    from .tree import Tree

T = TypeVar("T", bound="Tree")
PLANES = {"xy": (1.0, 1.0, -1.0), "xz": (1.0, -1.0, 1.0), "yz": (-1.0, 1.0, 1.0)}  # diagonal of the reflection S


def mirrored(self: T, plane: Literal["xy", "xz", "yz"] = "xz", *, rename: Renaming | None = None) -> T:
    """Return the mirror image of the tree in a plane of its base.

    All frames are mirrored in the same plane of their own axes. Joints of one coordinate have the same position,
    velocity, force and limits as the original. Of spherical and floating joints, positions and linear velocities
    are mirrored; of quaternions, angular velocities and planar joints, the other signs change. Gravity is
    mirrored, too.

    Parameters
    ----------
    plane : str
        "xz": left and right are exchanged, "xy" or "yz".
    rename : mapping or callable, optional
        Other names, as in `renamed`.

    Returns
    -------
    Tree
        The tree.

    Raises
    ------
    ModelError
        If the image of a planar joint has other directions x and y, as for most axes but z.

    Examples
    --------
    >>> arm = treesim.load("ur5")
    >>> image, q = arm.mirrored(), np.full(6, 0.5)
    >>> pose, mirror = treesim.frame_pose(arm, q, "tool0"), np.diag([1, -1, 1, 1])
    >>> np.allclose(treesim.frame_pose(image, q, "tool0"), mirror @ pose @ mirror)
    True
    """
    S = np.array(PLANES[known_name("plane", plane, PLANES)])

    def pose(placement: Placement) -> Placement:
        return Placement(_both_sides(S, placement.rotation), _signed(S, placement.translation))

    def inertia(x: Inertia) -> Inertia:
        return Inertia(x.mass, _signed(S, x.com), _both_sides(S, x.rotational))

    def body(x: Body) -> Body:
        joint, own = _mirrored_joint(x.joint, S, pose(x.joint.placement)), None if x.own is None else inertia(x.own)
        return replace(x, joint=joint, inertia=inertia(x.inertia), own=own)

    def visual(x: Visual) -> Visual:
        return replace(x, placement=pose(x.placement), size=reflected(S, x.size) if x.kind == "mesh" else x.size)

    found = self._with(
        bodies=[body(x) for x in self.bodies],
        frames=[replace(x, placement=pose(x.placement)) for x in self._parts()["frames"]],
        visuals=[visual(x) for x in self.visuals],
        shapes=[x._reflected(S, pose(x.placement)) for x in self.shapes],
        loops=[replace(x, axis=_signed(S, x.axis)) for x in self.loops],
        welds=[replace(x, inertia=inertia(x.inertia)) for x in self.welds],
        gravity=_signed(S, self.gravity),
    )
    return found if rename is None else renamed(found, rename)


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
