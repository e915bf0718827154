"""A robot set down on the ground: its floating base moved until its lowest collision shape touches."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, quoted
from ..model.tree import Body, Tree
from ..validation.arrays import Argument, coerce
from .arguments import checked_robot, short_repr
from .support import checked_plane, gaps


class Plane(Protocol):
    """A plane to stand on: points x with n . x = height [m] in world axes, n the `normal` (3,) scaled to length 1."""

    @property
    def normal(self) -> Any:
        """(3,) normal, out of the ground."""

    @property
    def height(self) -> float:
        """How far the plane is from the origin along the normal [m]."""


class Surface(Protocol):
    """What else a robot can be set down on, such as treesim.StaticBox and treesim.HeightField."""

    def set_down(self, robot: Tree, q: np.ndarray) -> np.ndarray:
        """Return q (nq,) with the base moved until the first collision shape touches the surface from above."""


def standing(robot: Tree, q: ArrayLike, ground: Plane | Surface | None = None) -> np.ndarray:
    """Return q (..., nq) with the base moved along the ground's normal until the lowest collision shape touches.

    ground: anything with a `normal` (3,) and a `height` [m]; None is the plane z = 0. On a treesim.StaticBox the base
    moves across the face that is turned upward most, over a treesim.HeightField along z, until what is first above the
    surface touches. Joints and the base's attitude stay; shapes of a link that q presses into another are not looked
    at. Each state's least gap is then 0 to rounding, on other grounds than planes to 1e-12 m.
    Raises ArgumentError for a robot without one floating base, or without collision shapes that can be used, for a
    q or a ground that does not fit, and where nothing is above the surface; NonFiniteError. O(N + shapes) per state,
    some ms for each shape on other grounds than planes; mesh files are read at the first call.

    Example:
        >>> robot = treesim.load("g1_29dof_rev_1_0", base="floating")
        >>> q = treesim.standing(robot, robot.neutral())
        >>> q[:3].round(3).tolist()
        [0.0, 0.0, 0.792]
    """
    _floating_base(checked_robot(robot))
    if ground is not None and hasattr(ground, "set_down"):
        states = np.array(coerce(Argument("q", q, (robot.nq,))), float)
        rows = [ground.set_down(robot, state) for state in states.reshape(-1, robot.nq)]
        return np.array(rows).reshape(states.shape)
    normal, height = ((0.0, 0.0, 1.0), 0.0) if ground is None else _plane_of(ground)
    n, d = checked_plane(normal, height)
    return moved(robot, q, n, -gaps(robot, q, n, d).min(axis=-1))


def moved(robot: Tree, q: ArrayLike, direction: np.ndarray, distance: ArrayLike) -> np.ndarray:
    """Return q (..., nq) with the floating base moved by so much (...) [m] along a direction (3,) of the world."""
    base = _floating_base(robot)
    start = robot.q_index[base.joint.name].start
    placed = np.array(q, float)
    placed[..., start : start + 3] += np.asarray(distance)[..., None] * (direction @ base.joint.placement.rotation)
    return placed


def _plane_of(ground: Any) -> tuple[Any, Any]:
    try:
        return ground.normal, ground.height
    except AttributeError:
        what = "ground must have a normal (3,) and a height [m], or be a StaticBox or HeightField"
        raise ArgumentError(f"{what}, got {short_repr(ground)}") from None


def _floating_base(robot: Tree) -> Body:
    """The one body on the world that carries all others, if a floating joint lets it move."""
    bases = [body for body in robot.bodies if body.parent == 0]
    if len(bases) != 1 or bases[0].joint.type != "floating":
        why = f"has {len(bases)} bodies on the fixed base" if len(bases) != 1 else "has a fixed base"
        hint = 'load it with base="floating"'
        raise ArgumentError(f"{quoted(robot.name)} {why}, and cannot be moved to the ground as a whole: {hint}")
    return bases[0]
