"""Placement of a robot on ground: its floating base moves until the lowest collision shape touches."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, quoted
from ..model.matrices import product
from ..model.named_axes import coordinate_argument
from ..model.tree import Body, Tree
from ..validation.arrays import coerce
from .arguments import checked_robot, short_repr
from .support import checked_plane, gaps


class Plane(Protocol):
    """Protocol of a ground plane: points x with n . x = height [m] in world axes, n = normal / |normal|."""

    @property
    def normal(self) -> Any:
        """Normal (3,) that points out of the ground."""

    @property
    def height(self) -> float:
        """Distance of the plane from the origin along the normal [m]."""


class Surface(Protocol):
    """Protocol of ground other than planes, such as treesim.StaticBox, HeightField and StaticMesh."""

    def set_down(self, robot: Tree, q: np.ndarray) -> np.ndarray:
        """Return q (nq,) with the base moved until the first collision shape touches the surface from above."""


def standing(robot: Tree, q: ArrayLike, ground: Plane | Surface | None = None) -> np.ndarray:
    """Return q with the floating base moved until the lowest collision shape touches the ground.

    Joint positions and the orientation of the base do not change. Collisions between links of the robot are ignored.

    Parameters
    ----------
    robot : Tree
        Robot with one floating base and collision shapes.
    q : array_like
        Configurations (..., nq).
    ground : Ground, StaticBox, HeightField or StaticMesh, optional
        Surface to stand on; the plane z = 0 by default. An object with a `normal` (3,) and a `height` [m] is a plane.
        On a StaticBox, the base moves along the normal of the uppermost face. On a HeightField or a StaticMesh, the
        base moves along z.

    Returns
    -------
    numpy.ndarray
        Configurations (..., nq). The smallest gap between robot and ground is zero: to rounding on a plane, to 1e-12 m
        on other surfaces.

    Raises
    ------
    ArgumentError
        If the robot has no single floating base, or no usable collision shapes. If q or the ground does not fit. If no
        shape is above the surface.
    NonFiniteError
        If q is not finite.

    Notes
    -----
    Cost per state: O(N + shapes) on a plane; on other surfaces, some milliseconds more for each shape. Mesh files are
    read at the first call.

    Examples
    --------
    >>> robot = treesim.load("g1_29dof_rev_1_0", base="floating")
    >>> q = treesim.standing(robot, robot.neutral())
    >>> q[:3].round(3).tolist()
    [0.0, 0.0, 0.792]
    """
    _floating_base(checked_robot(robot))
    if ground is not None and hasattr(ground, "set_down"):
        states = np.array(coerce(coordinate_argument(robot, "q", q)), float)
        rows = [ground.set_down(robot, state) for state in states.reshape(-1, robot.nq)]
        return np.array(rows).reshape(states.shape)
    normal, height = ((0.0, 0.0, 1.0), 0.0) if ground is None else _plane_of(ground)
    n, d = checked_plane(normal, height)
    return moved(robot, q, n, -gaps(robot, q, n, d).min(axis=-1))


def moved(robot: Tree, q: ArrayLike, direction: np.ndarray, distance: ArrayLike) -> np.ndarray:
    """Return q (..., nq) with the floating base translated by distances (...) [m] along a world direction (3,)."""
    base = _floating_base(robot)
    start = robot.q_index[base.joint.name].start
    placed = np.array(coerce(coordinate_argument(robot, "q", q)), float)
    placed[..., start : start + 3] += np.asarray(distance)[..., None] * product(
        base.joint.placement.rotation.T, direction
    )
    return placed


def _plane_of(ground: Any) -> tuple[Any, Any]:
    try:
        return ground.normal, ground.height
    except AttributeError:
        what = "ground must have a normal (3,) and a height [m], or be a StaticBox, HeightField or StaticMesh"
        raise ArgumentError(f"{what}, got {short_repr(ground)}") from None


def _floating_base(robot: Tree) -> Body:
    """Return the floating base, the only body on the fixed base; raises ArgumentError if there is none."""
    bases = [body for body in robot.bodies if body.parent == 0]
    if len(bases) != 1 or bases[0].joint.type != "floating":
        why = f"has {len(bases)} bodies on the fixed base" if len(bases) != 1 else "has a fixed base"
        hint = 'load it with base="floating"'
        raise ArgumentError(f"{quoted(robot.name)} {why}, and cannot be moved to the ground as a whole: {hint}")
    return bases[0]
