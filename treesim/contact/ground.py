"""Ground surfaces: planes, static boxes and height fields, with their contact parameters."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError
from ..model.inertia import Placement
from ..model.matrices import unit_vector
from ..system.display import ReprMixin, vector
from ..validation.arrays import check_copy, real_numbers
from ..validation.values import checked_part, checked_text, finite_or_nan, finite_vector, short_repr

if TYPE_CHECKING:
    from ..model.tree import Tree

FARTHEST = 1e9  # m: so that squares do not overflow
LEAST = 1e-9  # m: smallest length, so that squares do not underflow


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
            object.__setattr__(self, name, _within(name, getattr(self, name), low, high))
        if self.stiffness is not None:
            object.__setattr__(self, "stiffness", _within("stiffness", self.stiffness, 0, np.inf))
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


@dataclass(frozen=True, repr=False, eq=False)
class Ground(Surface):
    """Ground plane. A point x is inside the ground if n . x <= height, where n is the normal.

    Parameters
    ----------
    friction, restitution : float
        As in `treesim.Surface`.
    stiffness : float, optional
        As in `treesim.Surface`.
    dissipation_time : float
        As in `treesim.Surface`.
    torsional_friction, rolling_friction : float
        As in `treesim.Surface`.
    name : str
        As in `treesim.Surface`.
    normal : array_like
        (3,) normal n in world axes, scaled to length 1. z by default.
    height : float
        Distance of the plane from the origin along the normal [m]. 0 by default.

    Examples
    --------
    >>> treesim.Ground(friction=0.8)
    <Ground: normal (0, 0, 1), height 0 m, friction 0.8, restitution 0, rigid>
    """

    normal: ArrayLike = field(default=(0.0, 0.0, 1.0), kw_only=True)
    height: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        n = finite_vector("normal", self.normal, 3)
        if not n.any():
            raise ArgumentError(f"normal must be a direction, got {short_repr(self.normal)}")
        object.__setattr__(self, "normal", tuple(unit_vector(n).tolist()))
        object.__setattr__(self, "height", _within("height", self.height, -FARTHEST, FARTHEST))

    def _place(self) -> str:
        return f"normal {vector(np.asarray(self.normal))}, height {self.height:g} m"


@dataclass(frozen=True, repr=False, eq=False)
class SolidSurface(Surface):
    """Base of the surfaces on which `treesim.standing` places robots by their first contact."""

    def set_down(self, robot: Tree, q: np.ndarray) -> np.ndarray:
        """Return q with the floating base moved until the first shape touches the surface, as `treesim.standing` does.

        Parameters
        ----------
        robot : Tree
            Robot with a floating base.
        q : numpy.ndarray
            Configuration (nq,).

        Returns
        -------
        numpy.ndarray
            Configuration (nq,).
        """
        from .standing import set_down

        return set_down(robot, q, self)


@dataclass(frozen=True, repr=False, eq=False)
class StaticBox(SolidSurface):
    """A box that does not move; its faces, edges and corners collide with all shapes.

    Parameters
    ----------
    size : array_like
        (3,) full lengths along the axes x, y, z of the box [m].
    placement : Placement
        Pose of the box's centre in the world. Identity by default.
    friction, restitution : float
        As in `treesim.Surface`.
    stiffness : float, optional
        As in `treesim.Surface`.
    dissipation_time : float
        As in `treesim.Surface`.
    torsional_friction, rolling_friction : float
        As in `treesim.Surface`.
    name : str
        As in `treesim.Surface`.

    Examples
    --------
    >>> treesim.StaticBox((1, 1, 0.2), treesim.Placement(translation=(0, 0, 0.1)), friction=0.6)
    <StaticBox: 1 x 1 x 0.2 m at (0, 0, 0.1), friction 0.6, restitution 0, rigid>
    """

    size: ArrayLike
    placement: Placement = field(default_factory=Placement)

    def __post_init__(self) -> None:
        super().__post_init__()
        size = finite_vector("size", self.size, 3, FARTHEST)
        if not (size >= LEAST).all():
            raise ArgumentError(
                f"size must be three positive lengths [m], {LEAST:g} at least, got {short_repr(self.size)}"
            )
        checked_part("placement of a static box", self.placement, Placement)
        object.__setattr__(self, "size", tuple(size.tolist()))

    def _place(self) -> str:
        lengths = " x ".join(f"{x:g}" for x in np.asarray(self.size))
        return f"{lengths} m at {vector(self.placement.translation)}"


@dataclass(frozen=True, repr=False, eq=False)
class HeightField(SolidSurface):
    """Terrain given by heights over a regular grid.

    Each cell of the grid consists of two triangles. Their common edge is the diagonal from the corner with the least x
    and y. All shapes collide with triangles, ridges, peaks and border edges of the terrain. Outside of the grid there
    is no ground.

    Parameters
    ----------
    heights : array_like
        (nx, ny) heights of the grid's nodes [m].
    spacing : array_like
        (2,) distances of the nodes along x and y [m]. 0.1 by default.
    center : array_like
        (2,) x and y of the grid's centre [m]. Origin by default.
    friction, restitution : float
        As in `treesim.Surface`.
    stiffness : float, optional
        As in `treesim.Surface`.
    dissipation_time : float
        As in `treesim.Surface`.
    torsional_friction, rolling_friction : float
        As in `treesim.Surface`.
    name : str
        As in `treesim.Surface`.

    Examples
    --------
    >>> treesim.HeightField(np.zeros((20, 20)), spacing=(0.1, 0.1))
    <HeightField: 20 x 20 heights, friction 0.8, restitution 0, rigid>
    """

    heights: ArrayLike
    spacing: ArrayLike = (0.1, 0.1)
    center: ArrayLike = (0.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        heights = real_numbers("heights", self.heights)
        grid = heights.ndim == 2 and min(heights.shape) >= 2
        if grid:
            check_copy("heights", heights.shape)
        if not grid or not (np.abs(heights) <= FARTHEST).all():
            raise ArgumentError(
                f"heights must be finite numbers (nx, ny), two or more each way, none beyond {FARTHEST:g} m, got "
                f"{short_repr(self.heights)}"
            )
        heights = heights.copy()
        heights.setflags(write=False)
        object.__setattr__(self, "heights", heights)
        for name in ("spacing", "center"):
            object.__setattr__(self, name, tuple(finite_vector(name, getattr(self, name), 2, FARTHEST).tolist()))
        if not (np.asarray(self.spacing) >= LEAST).all():
            given = short_repr(self.spacing)
            raise ArgumentError(f"spacing must be two positive lengths [m], {LEAST:g} at least, got {given}")

    @classmethod
    def from_mesh(cls, mesh: Any, spacing: ArrayLike = (0.1, 0.1), **parameters: Any) -> HeightField:
        """Return a height field that approximates the upper surface of a triangle mesh.

        At the nodes of the grid, heights are equal to those of the mesh. Between the nodes, they are linear on each
        triangle. A vertical wall of the mesh therefore becomes a slope of one cell. The space below an overhang is
        filled.

        Parameters
        ----------
        mesh : str or tuple
            Mesh file (STL, COLLADA, OBJ, PLY, OFF, glTF); or a pair of vertices (n, 3) [m] and faces (m, 3), which are
            indices of vertices. Seen from above, the mesh must cover its bounding rectangle.
        spacing : array_like
            (2,) distances of the nodes along x and y [m]. They are adjusted so that the field ends at the border of the
            mesh. 0.1 by default.
        **parameters
            Contact parameters and name, as in `treesim.Surface`.

        Returns
        -------
        HeightField
            Height field with the same border as the mesh.

        Raises
        ------
        ArgumentError
            If an argument does not fit, or the mesh has a hole.
        ModelError
            If the file cannot be read.

        Examples
        --------
        >>> vertices = [[0, 0, 0], [2, 0, 1], [2, 1, 1], [0, 1, 0]]
        >>> treesim.HeightField.from_mesh((vertices, [[0, 1, 2], [0, 2, 3]]), spacing=(0.5, 0.5), friction=0.5)
        <HeightField: 5 x 3 heights, friction 0.5, restitution 0, rigid>
        """
        from .mesh_heights import field_of_mesh

        lengths = finite_vector("spacing", spacing, 2, FARTHEST)
        if not (lengths >= LEAST).all():
            raise ArgumentError(f"spacing must be two positive lengths [m], got {short_repr(spacing)}")
        heights, own, center = field_of_mesh(mesh, lengths)
        return cls(heights, own, center, **parameters)

    def _place(self) -> str:
        nx, ny = np.shape(self.heights)
        return f"{nx} x {ny} heights"


def _plain(value: Any) -> Any:
    """Return a field's value in comparable and hashable form."""
    if isinstance(value, Placement):
        return value.rotation.tobytes(), value.translation.tobytes()
    return (value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value


def _within(name: str, value: Any, low: float, high: float) -> float:
    """Return `value` as a float; raises ArgumentError unless it lies in low ... high, where infinite means no bound."""
    number = finite_or_nan(value)
    if not low <= number <= high:
        allowed = "finite" if low == -np.inf else f"{low:g} or more" if high == np.inf else f"{low:g} ... {high:g}"
        raise ArgumentError(f"{name} must be a number, {allowed}, got {short_repr(value)}")
    return number
