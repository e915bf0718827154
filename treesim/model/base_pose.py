"""Trees whose fixed base is placed elsewhere in the world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, quoted
from ..validation.arrays import real_numbers
from ..validation.values import short_repr
from .inertia import Placement
from .rehosting import kept_bodies, moved_parts, renumbered

if TYPE_CHECKING:
    from .tree import Tree


def placement_of(label: str, pose: Placement | ArrayLike) -> Placement:
    """Return a pose (4, 4) as a Placement; raises ModelError, naming `label`, for other values."""
    if isinstance(pose, Placement):
        return pose
    matrix = real_numbers(label, pose)
    if matrix.shape != (4, 4) or not np.array_equal(matrix[3], [0, 0, 0, 1]):
        raise ModelError(
            f"{label} must be a Placement or a pose (4, 4) whose last row is 0 0 0 1, got {short_repr(pose)}"
        )
    try:
        return Placement(matrix[:3, :3], matrix[:3, 3])
    except ModelError as error:
        raise ModelError(f"{label}: {error}") from None


def moved_base(tree: Tree, pose: Placement | ArrayLike, parts: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments `parts` of a tree, with what is fixed to its base moved by `pose`."""
    at = placement_of("base_pose", pose)
    floating = [body.name for body in tree.bodies if body.parent == 0 and body.joint.type == "floating"]
    if floating:
        raise ModelError(
            f"base_pose places a fixed base, but {quoted(floating[0])} of {quoted(tree.name)} floats: set its pose in "
            "q, the first coordinates of its joint"
        )

    numbers = range(1, tree.n_bodies + 1)
    place = {0: (0, at)} | renumbered(numbers)
    return {**parts, **moved_parts(parts, place), "bodies": kept_bodies(tree, place, numbers)}
