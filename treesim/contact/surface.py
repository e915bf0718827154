"""Contact parameters of surfaces, and the base class of surfaces that do not move."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..model.inertia import Placement
from ..model.shapes import CollisionShape
from ..system.display import ReprMixin
from ..validation.values import checked_text, finite_or_nan, short_repr
from .solid import Solid

FARTHEST = 1e9  # m: so that squares do not overflow
LEAST = 1e-9  # m: smallest length, so that squares do not underflow
UPRIGHT = 1e-12  # z of a normal below which a face has no height
ON_BORDER = 1e-9  # as far outside of a face a point still counts as inside


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Surface(ReprMixin):
    """Contact properties of a surface: friction, restitution and stiffness.

    Parameters
    ----------
    friction : float
        Coulomb's coefficient mu of static and of dynamic friction, 0 or more. 0.8 by default.
    restitution : float
        Newton's coefficient of restitution in [0, 1], for impacts faster than 0.05 m/s. 0 by default.
    stiffness : float, optional
        Stiffness of a pair of shapes [N/m], divided among the contact points of the pair. None, the default, means
        rigid.
    dissipation_time : float
        Ratio of damping to stiffness [s]. 0 by default.
    torsional_friction : float
        Largest torque about the contact normal, divided by the normal force [m]. 0 by default, which means no torque.
    rolling_friction : float
        Largest torque about tangential axes of the contact, divided by the normal force [m]. 0 by default, which means
        no torque.
    name : str
        Name of the surface in contact reports. If it is empty, the k-th surface of a world is called "ground[k]", from
        0.

    Raises
    ------
    ArgumentError
        If a value is not a number or is out of bounds. The bound of positions and lengths is 1e9 m.

    Examples
    --------
    >>> treesim.Surface(friction=0.5)
    <Surface: friction 0.5, restitution 0, rigid>
    """

    friction: float = 0.8
    restitution: float = 0.0
    stiffness: float | None = None
    dissipation_time: float = 0.0
    torsional_friction: float = 0.0
    rolling_friction: float = 0.0
    name: str = ""

    def __post_init__(self) -> None:
        for name in ("friction", "restitution", "dissipation_time", "torsional_friction", "rolling_friction"):
            low, high = 0, 1 if name == "restitution" else np.inf
            object.__setattr__(self, name, checked_number(name, getattr(self, name), low, high))
        if self.stiffness is not None:
            object.__setattr__(self, "stiffness", checked_number("stiffness", self.stiffness, 0, np.inf))
            if not self.stiffness:
                raise ArgumentError("stiffness must be positive [N/m], or None for a rigid surface")
        object.__setattr__(self, "name", checked_text("name of a surface", self.name))

    def __repr__(self) -> str:
        yields = "rigid" if self.stiffness is None else f"{self.stiffness:g} N/m"
        about = f"friction {self.friction:g}, restitution {self.restitution:g}, {yields}"
        angular = (("torsional", self.torsional_friction), ("rolling", self.rolling_friction))
        about += "".join(f", {kind} friction {value:g} m" for kind, value in angular if value)
        named = f" {self.name!r}" if self.name else ""
        return f"<{type(self).__name__}{named}: {', '.join(filter(None, (self._place(), about)))}>"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._numbers() == other._numbers()

    def __hash__(self) -> int:
        return hash(self._numbers())

    def _numbers(self) -> tuple[Any, ...]:
        """Return all fields in comparable and hashable form."""
        return tuple(_plain(getattr(self, field.name)) for field in fields(self))

    def _place(self) -> str:
        return ""

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [("friction", self.friction), ("restitution", self.restitution), ("stiffness [N/m]", self.stiffness)]


class Drawing(NamedTuple):
    """Pose (4, 4) in the world of the lengths of a box, or of triangles: vertices (n, 3) [m] and faces (m, 3)."""

    pose: np.ndarray
    box: tuple[float, ...] = ()
    triangles: tuple[np.ndarray, np.ndarray] | None = None


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class StaticSurface(Surface, ABC):
    """Base of the surfaces that do not move; methods with an underscore are called within treesim."""

    _has_edges = False  # True if edges and corners of the surface collide with faces of shapes
    _has_internal_edges = False  # True if faces of the surface itself cover some of its edges
    _hides_shapes = False  # True if shapes inside of the surface as a whole have no contacts with it

    @abstractmethod
    def _solid(self) -> Solid:
        """Return the collision geometry."""

    @abstractmethod
    def _heights(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the largest height (n,) on the lines through points x, y, z (n,) of solids that begin at most at z.

        -inf where there is none. Everything below a plane, a height field, and a mesh without an underside is solid.
        """

    @abstractmethod
    def _drawing(self, center: np.ndarray, reach: float) -> Drawing:
        """Return what viewers draw.

        An infinite plane becomes a square about its point nearest to `center` (3,), with half-width `reach` [m].
        """

    def _corners(self, link: str) -> CollisionShape | None:
        """Return the shape whose corners collide with boxes of robots, None without one; link: the surface's name."""
        return None

    def _depth_of(self, p: np.ndarray) -> float:
        """Return the depth along z of a world point (3,) inside a surface that hides shapes; 0 for points outside."""
        return 0.0


def _plain(value: Any) -> Any:
    """Return a field's value in comparable and hashable form."""
    if isinstance(value, Placement):
        return value.rotation.tobytes(), value.translation.tobytes()
    return (value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value


def checked_number(name: str, value: Any, low: float, high: float) -> float:
    """Return `value` as a float; raises ArgumentError unless it lies in low ... high, where infinite means no bound."""
    number = finite_or_nan(value)
    if not low <= number <= high:
        allowed = "finite" if low == -np.inf else f"{low:g} or more" if high == np.inf else f"{low:g} ... {high:g}"
        raise ArgumentError(f"{name} must be a number, {allowed}, got {short_repr(value)}")
    return number
