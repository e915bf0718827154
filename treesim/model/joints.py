"""Joint types: each joint is a sequence of unit screws fixed in the frame of the body that it moves.

A revolute joint is one rotation about z, a spherical joint the rotations about x, y, z, a floating joint three
translations and three rotations. The screws of one joint share one frame. Treating them one after the other
therefore gives the multi-DoF joint exactly, and no kernel needs special code for a joint type.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, field
from operator import gt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..engine.trigonometry import sincos
from ..errors import ModelError, quoted
from ..kernels.algebra.joints import FLOATING, PLANAR, PRISMATIC, REVOLUTE, SPHERICAL
from ..kernels.algebra.spatial import VX, VY, VZ, WX, WY, WZ
from ..system.display import ReprMixin, vector
from ..validation.arrays import real_numbers
from ..validation.values import checked_part, checked_text, known_name, short_repr
from .frozen import frozen, record
from .inertia import IDENTITY, Placement
from .matrices import cross_matrix, product, rotation_of, unit_vector
from .mimic import Mimic
from .pack import axis_rotation

if TYPE_CHECKING:
    from ..types import ArrayField

FINITE = ("damping", "joint_friction", "armature", "stiffness", "rest")  # limits may be infinite: then there are none
POSITIONS = ("lower", "upper")  # of each coordinate; the others are of each degree of freedom
MOTION_LIMITS = ("acceleration_limit", "deceleration_limit", "jerk_limit")  # data that no simulation enforces
VECTORS = (*POSITIONS, "velocity_limit", "effort_limit", *FINITE, *MOTION_LIMITS)
ROOT_JOINT = "root_joint"  # name of the joint of a floating base
NO_DIRECTION = 1e-12  # an axis shorter than this is zero up to rounding


@record()
class JointType:
    """Joint type: its `code` in kernels, number of coordinates `nq`, and unit screws of its degrees of freedom."""

    name: str
    code: int
    nq: int
    screws: tuple[int, ...]
    has_axis: bool
    nv: int = field(init=False)  # number of degrees of freedom

    def __post_init__(self) -> None:
        object.__setattr__(self, "nv", len(self.screws))


JOINT_TYPES: dict[str, JointType] = {
    kind.name: kind
    for kind in (
        JointType("revolute", REVOLUTE, 1, (WZ,), has_axis=True),
        JointType("continuous", REVOLUTE, 1, (WZ,), has_axis=True),
        JointType("prismatic", PRISMATIC, 1, (VZ,), has_axis=True),
        JointType("planar", PLANAR, 3, (VX, VY, WZ), has_axis=True),
        JointType("spherical", SPHERICAL, 4, (WX, WY, WZ), has_axis=False),
        JointType("floating", FLOATING, 7, (VX, VY, VZ, WX, WY, WZ), has_axis=False),
    )
}

# no kernel knows fixed joints: a `Tree` has welds instead
WITH_FIXED = JOINT_TYPES | {"fixed": JointType("fixed", -1, 0, (), has_axis=False)}
INFINITE: Any = np.inf  # defaults of fields that are read as arrays
ZERO: Any = 0.0
Z_AXIS: Any = (0.0, 0.0, 1.0)
NONE: Any = None
ZEROS = {kind.nv: frozen(np.zeros(kind.nv)) for kind in WITH_FIXED.values()}


@record()
class Joint(ReprMixin):
    """A joint of a tree: its placement on the parent body, its type, limits and friction.

    A scalar argument applies to all coordinates of the joint.

    Parameters
    ----------
    name : str
        Name of the joint.
    type : str
        "revolute", "continuous", "prismatic", "planar", "spherical", "floating" or "fixed". A `Tree` makes the body of
        a fixed joint a part of its parent: a frame and a weld.
    placement : Placement
        Pose of the child body's frame in the parent body's frame, at the neutral configuration.
    axis : array_like
        (3,) axis of rotation or translation, or normal of a planar joint, in the child's frame; scaled to length 1.
        Spherical and floating joints do not use it.
    lower, upper : array_like
        (nq,) position limits [rad, m]; infinite for no limit.
    velocity_limit : array_like
        (nv,) velocity limits [rad/s, m/s]; infinite for no limit.
    effort_limit : array_like
        (nv,) effort limits [N m, N]; infinite for no limit.
    damping : array_like
        (nv,) viscous damping [N m s/rad, N s/m].
    joint_friction : array_like
        (nv,) Coulomb friction [N m, N].
    armature : array_like
        (nv,) rotor inertia [kg m^2, kg].
    stiffness : array_like
        (nv,) stiffness k of a spring with the force -k (q - rest) [N m/rad, N/m], to which effort limits do not apply.
        Only joints with one degree of freedom have springs.
    rest : array_like
        (nv,) position at which the spring has no force [rad, m].
    mimic : Mimic, optional
        Relation to a mimicked joint. With it, the joint is a mimic joint, which has no coordinate of its own in a tree.
    acceleration_limit : array_like
        (nv,) largest accelerations [rad/s^2, m/s^2]; infinite for no limit. No simulation enforces this limit and the
        next two, which planners and controllers read.
    deceleration_limit : array_like, optional
        (nv,) largest accelerations against the velocity [rad/s^2, m/s^2]. `acceleration_limit` by default.
    jerk_limit : array_like
        (nv,) largest rates of change of the acceleration [rad/s^3, m/s^3]; infinite for no limit.

    Raises
    ------
    UnknownNameError
        If the type is unknown.
    ModelError
        If a number is not allowed: a lower limit above the upper, an axis of length zero, a negative armature,
        stiffness or limit of acceleration, a spring of a joint with several degrees of freedom.
    ArgumentError
        If an argument has another type.

    Examples
    --------
    >>> treesim.Joint("elbow", "revolute", axis=(0, 1, 0), lower=-2, upper=2)
    <Joint 'elbow': revolute, axis (0, 1, 0), -2 ... 2>
    >>> treesim.Joint("shoulder", "spherical").nv
    3
    """

    name: str
    type: str
    _: KW_ONLY
    placement: Placement = IDENTITY
    axis: ArrayField = Z_AXIS
    lower: ArrayField = -INFINITE
    upper: ArrayField = INFINITE
    velocity_limit: ArrayField = INFINITE
    effort_limit: ArrayField = INFINITE
    damping: ArrayField = ZERO
    joint_friction: ArrayField = ZERO
    armature: ArrayField = ZERO
    stiffness: ArrayField = ZERO
    rest: ArrayField = ZERO
    mimic: Mimic | None = None
    acceleration_limit: ArrayField = INFINITE
    deceleration_limit: ArrayField = NONE
    jerk_limit: ArrayField = INFINITE

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", checked_text("name of a joint", self.name))
        own = known_name("type", self.type, WITH_FIXED, of=f"joint {self.name!r}")
        object.__setattr__(self, "type", own)
        checked_part("placement of a joint", self.placement, Placement)
        if self.mimic is not None:
            checked_part("mimic of a joint", self.mimic, Mimic)
        kind = WITH_FIXED[self.type]
        zero = ZEROS[kind.nv]
        for label in VECTORS:
            given = getattr(self, label)
            if label in FINITE and (given is zero or (type(given) is float and not given)):
                object.__setattr__(self, label, zero)  # of most joints, without a call
            elif label == "deceleration_limit" and self.deceleration_limit is None:
                object.__setattr__(self, label, self.acceleration_limit)
            else:
                object.__setattr__(self, label, self._vector(label, kind.nq if label in POSITIONS else kind.nv))
        object.__setattr__(self, "axis", self._unit_axis(kind))
        lower, upper = np.asarray(self.lower).tolist(), np.asarray(self.upper).tolist()
        if any(map(gt, lower, upper)):
            raise ModelError(
                f"joint {quoted(self.name)}: lower limit {self.lower} is above the upper limit {self.upper}"
            )
        if math.inf in lower or -math.inf in upper:
            limits = f"lower limit {self.lower} and upper limit {self.upper}"
            raise ModelError(f"joint {quoted(self.name)}: {limits} leave no position")
        for label in ("armature", "stiffness", *MOTION_LIMITS):
            if min(getattr(self, label).tolist(), default=0.0) < 0:
                raise ModelError(f"joint {quoted(self.name)}: {label} {getattr(self, label)} is negative")
        if kind.nv > 1 and any(np.asarray(self.stiffness).tolist()):
            raise ModelError(
                f"joint {quoted(self.name)}: a {self.type} joint has several degrees of freedom, and no spring: "
                f"stiffness must be 0"
            )
        if self.mimic is not None and kind.nv != 1:
            raise ModelError(f"joint {quoted(self.name)}: a {self.type} joint cannot mimic another one")

    def __repr__(self) -> str:
        axis = f", axis {vector(np.asarray(self.axis, float))}" if self.kind.has_axis else ""
        lower, upper = np.asarray(self.lower, float), np.asarray(self.upper, float)
        limits = f", {lower[0]:.4g} ... {upper[0]:.4g}" if self.nq == 1 else ""
        follows = "" if self.mimic is None else f", follows {self.mimic.joint!r}"
        return f"<Joint {self.name!r}: {self.type}{axis}{limits}{follows}>"

    def _repr_fields(self) -> list[tuple[str, Any]]:
        facts = [("placement", self.placement), *((label, vector(getattr(self, label))) for label in VECTORS)]
        return facts if self.mimic is None else [*facts, ("mimic", self.mimic)]

    @property
    def kind(self) -> JointType:
        """The joint's type as an object."""
        return WITH_FIXED[self.type]

    @property
    def nq(self) -> int:
        """Number of the joint's configuration coordinates."""
        return WITH_FIXED[self.type].nq

    @property
    def nv(self) -> int:
        """Number of the joint's degrees of freedom."""
        return WITH_FIXED[self.type].nv

    def _vector(self, label: str, size: int) -> np.ndarray:
        given = getattr(self, label)
        if type(given) is float and (math.isfinite(given) or (label not in FINITE and given == given)):
            return np.ndarray(size, float, np.array([given] * size).tobytes())
        value = real_numbers(f"joint {quoted(self.name)}: {label}", given)
        fault = None
        if value.shape not in ((), (1,), (size,)):
            fault = f"must be {'one number' if size == 1 else f'one number, or {size}'}, got {short_repr(given)}"
        elif np.isnan(value).any():
            fault = "is not a number"
        elif label in FINITE and not np.isfinite(value).all():
            fault = f"must be finite, got {short_repr(given)}"
        if fault is not None:
            raise ModelError(f"joint {quoted(self.name)}: {label} {fault}")
        return frozen(np.full(size, value))

    def _unit_axis(self, kind: JointType) -> np.ndarray:
        own = type(self.axis) is np.ndarray and self.axis.dtype == float
        axis = np.asarray(self.axis if own else real_numbers(f"joint {quoted(self.name)}: axis", self.axis))
        if axis.shape != (3,) or not all(map(math.isfinite, axis.tolist())):
            raise ModelError(f"joint {quoted(self.name)}: axis {self.axis} must be three finite numbers")
        if kind.has_axis and math.hypot(*axis) < NO_DIRECTION:
            raise ModelError(
                f"joint {quoted(self.name)}: axis is zero or as good as zero; a {self.type} joint needs a direction"
            )
        return frozen(unit_vector(axis))


def displacement(joint: Joint, position: ArrayLike) -> Placement:
    """Return the pose of a joint's body in the joint's own frame at a position (nq,), or at a number [rad, m]."""
    q, axis = np.ravel(position).tolist(), np.asarray(joint.axis)
    if joint.type == "prismatic":
        return Placement(translation=q[0] * axis)
    if joint.type in ("spherical", "floating"):
        return Placement(rotation_of(np.array(q[-4:])), q[:-4] or np.zeros(3))
    across = cross_matrix(axis)
    sine, cosine = sincos(float(q[-1]))  # type: ignore[no-untyped-call]
    turned = np.eye(3) + sine * across + product((1 - cosine) * across, across)
    return Placement(turned, product(axis_rotation(axis), np.array([*q[:2], 0.0]))) if q[1:] else Placement(turned)
