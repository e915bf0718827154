"""Placements (rigid displacements) and rigid-body inertias of the model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError
from ..system.display import ReprMixin, matrix, vector
from ..validation.arrays import real_numbers
from ..validation.values import checked_part, finite_or_nan, finite_vector, short_repr
from .frozen import record
from .matrices import cross_matrix, is_rotation, product, rotation_from_rpy


def _finite(value: object, shape: tuple[int, ...], label: str) -> np.ndarray:
    given = value if type(value) is np.ndarray and value.dtype == float else real_numbers(label, value)
    if given.shape != shape:
        raise ModelError(f"{label} must have shape {shape}, got {given.shape}")
    array: np.ndarray = np.ndarray(shape, float, given.tobytes())  # as by `frozen`
    if not all(map(math.isfinite, array.ravel().tolist())):
        raise ModelError(f"{label} holds NaN or infinity: {array.tolist()}")
    return array


@record(eq=False)
class Placement(ReprMixin):
    """Pose of a frame in another frame: a rotation and a translation.

    `A @ B` composes two placements. If A is the pose of frame 2 in frame 1, and B is the pose of frame 3 in frame 2,
    then `A @ B` is the pose of frame 3 in frame 1.

    Parameters
    ----------
    rotation : array_like
        (3, 3) rotation matrix that maps coordinates in the frame to coordinates in the other frame. Identity by
        default.
    translation : array_like
        (3,) origin of the frame in the other frame's coordinates [m]. Zero by default.

    Raises
    ------
    ModelError
        If `rotation` is not a rotation matrix (to 1e-6), or a number is not finite.
    ArgumentError
        If an argument is not an array of real numbers.

    Examples
    --------
    >>> A = treesim.Placement.from_xyz_rpy((1, 0, 0), (0, 0, np.pi / 2))
    >>> A @ treesim.Placement(translation=(2, 0, 0))
    <Placement at (1, 2, 0), turned by 1.571 rad>
    """

    rotation: np.ndarray = field(default_factory=np.eye(3).copy)
    translation: np.ndarray = field(default_factory=np.zeros(3).copy)

    if TYPE_CHECKING:  # what is given becomes arrays

        def __init__(self, rotation: ArrayLike = ..., translation: ArrayLike = ...) -> None: ...

    def __post_init__(self) -> None:
        rotation = _finite(self.rotation, (3, 3), "rotation")
        if not is_rotation(rotation):
            raise ModelError(f"not a rotation matrix: {rotation.tolist()}")
        object.__setattr__(self, "rotation", rotation)
        object.__setattr__(self, "translation", _finite(self.translation, (3,), "translation"))

    @classmethod
    def from_xyz_rpy(cls, xyz: Sequence[float] = (0, 0, 0), rpy: Sequence[float] = (0, 0, 0)) -> Placement:
        """Return the placement that the URDF element `<origin xyz="..." rpy="...">` describes.

        Parameters
        ----------
        xyz : sequence of float
            (3,) translation [m].
        rpy : sequence of float
            (3,) roll, pitch and yaw [rad] about the fixed axes x, y, z.

        Returns
        -------
        Placement
            Pose with rotation Rz(yaw) Ry(pitch) Rx(roll).
        """
        return cls(rotation_from_rpy(finite_vector("rpy", rpy, 3).tolist()), finite_vector("xyz", xyz, 3))

    def __matmul__(self, other: Placement) -> Placement:
        if not isinstance(other, Placement):
            return NotImplemented
        R = self.rotation
        return Placement(product(R, other.rotation), product(R, other.translation) + self.translation)

    def inverse(self) -> Placement:
        """Return the inverse placement: for the pose of frame 2 in frame 1, the pose of frame 1 in frame 2.

        Returns
        -------
        Placement
            Inverse of this placement.
        """
        return Placement(self.rotation.T, product(-self.rotation.T, self.translation))

    def __repr__(self) -> str:
        cosine = np.clip((np.trace(self.rotation) - 1) / 2, -1, 1)
        return f"<Placement at {vector(self.translation)}, turned by {np.arccos(cosine):.4g} rad>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        return [*matrix("rotation", self.rotation), ("translation [m]", vector(self.translation))]

    def matrix(self) -> np.ndarray:
        """Return the placement as a homogeneous transformation matrix.

        Returns
        -------
        numpy.ndarray
            (4, 4) matrix [R p; 0 1], with p in metres.
        """
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = self.rotation, self.translation
        return matrix


IDENTITY = Placement()  # immutable, so that all parts share it


@record(eq=False)
class Inertia(ReprMixin):
    """Inertia of a rigid body in a frame.

    `A + B` is the inertia of two bodies that are welded together. A and B must be given in the same frame.

    Parameters
    ----------
    mass : float
        Mass [kg], 0 or more.
    com : array_like
        (3,) centre of mass in the frame [m].
    rotational : array_like
        (3, 3) rotational inertia about the centre of mass, along the frame's axes [kg m^2].

    Raises
    ------
    ModelError
        If the mass is negative or NaN. If an array has the wrong shape or is not finite. If `rotational` is not
        symmetric.
    ArgumentError
        If an argument is not an array of real numbers.

    Notes
    -----
    The class does not check that the numbers are physically plausible, but `treesim.load` does.

    Examples
    --------
    >>> bob = treesim.Inertia(1.0, com=(0, 0, -0.5))
    >>> bob + treesim.Inertia(3.0, com=(0, 0, -1.0))
    <Inertia of 4 kg at (0, 0, -0.875)>
    """

    mass: float = 0.0
    com: np.ndarray = field(default_factory=np.zeros(3).copy)
    rotational: np.ndarray = field(default_factory=np.zeros((3, 3)).copy)

    if TYPE_CHECKING:  # what is given becomes arrays

        def __init__(self, mass: float = 0.0, com: ArrayLike = ..., rotational: ArrayLike = ...) -> None: ...

    def __post_init__(self) -> None:
        mass = self.mass if type(self.mass) is float else finite_or_nan(self.mass)
        if not 0 <= mass < math.inf:
            raise ModelError(f"mass must be a finite number >= 0, got {short_repr(self.mass)}")
        object.__setattr__(self, "mass", mass)
        object.__setattr__(self, "com", _finite(self.com, (3,), "com"))
        rotational = _finite(self.rotational, (3, 3), "rotational")
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = (0.5 * rotational).tolist()  # whose differences do not overflow
        largest = max(map(abs, (xx, xy, xz, yx, yy, yz, zx, zy, zz)))
        if max(abs(xy - yx), abs(xz - zx), abs(yz - zy)) > 1e-9 * max(0.5e-300, largest):
            raise ModelError(f"rotational inertia is not symmetric: {rotational.tolist()}")
        object.__setattr__(self, "rotational", rotational)

    def __repr__(self) -> str:
        return f"<Inertia of {self.mass:.6g} kg at {vector(self.com)}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        center = ("centre of mass [m]", vector(self.com))
        return [("mass [kg]", self.mass), center, *matrix("rotational [kg m^2]", self.rotational)]

    def in_frame(self, placement: Placement) -> Inertia:
        """Return the body's inertia, expressed in another frame.

        Parameters
        ----------
        placement : Placement
            Pose of this inertia's frame in the other frame.

        Returns
        -------
        Inertia
            Inertia in the other frame.
        """
        R = checked_part("placement", placement, Placement).rotation
        com = product(R, self.com) + placement.translation
        return Inertia(self.mass, com, _symmetric(product(product(R, self.rotational), R.T)))

    def about_origin(self) -> np.ndarray:
        """Return the body's rotational inertia about the origin of the frame.

        Returns
        -------
        numpy.ndarray
            (3, 3) rotational inertia [kg m^2].
        """
        cx = cross_matrix(self.com)
        return self.rotational - product(self.mass * cx, cx)

    def __add__(self, other: Inertia) -> Inertia:
        if not isinstance(other, Inertia):
            return NotImplemented
        mass = self.mass + other.mass
        if mass == 0:
            return Inertia(0.0, np.zeros(3), self.rotational + other.rotational)
        com = (self.mass * self.com + other.mass * other.com) / mass
        rotational = self.rotational + other.rotational
        for part in (self, other):
            dx = cross_matrix(part.com - com)
            rotational = rotational - product(part.mass * dx, dx)
        return Inertia(mass, com, _symmetric(rotational))


NOTHING = Inertia()


def welded(inertia: Inertia, part: Inertia, placement: Placement) -> Inertia:
    """Return the inertia of a body and of a part that is welded to it at a pose in the body's frame.

    A part without mass and rotational inertia changes no bit.
    """
    return inertia + part.in_frame(placement) if part.mass or part.rotational.any() else inertia


def nearly_equal(a: Inertia, b: Inertia, tolerance: float) -> bool:
    """Return whether two inertias are equal to a tolerance, relative to the largest entries of `b` about the origin."""
    rows = [np.concatenate([[x.mass], x.mass * x.com, np.ravel(x.about_origin())]) for x in (a, b)]
    parts = slice(0, 1), slice(1, 4), slice(4, 13)
    return all(np.abs(rows[0][part] - rows[1][part]).max() <= tolerance * np.abs(rows[1][part]).max() for part in parts)


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return 0.5 * (matrix + matrix.T)
