"""The kinematic tree: bodies, joints, frames and limits, immutable, with the flat tables that kernels read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from operator import index
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..display import Shown, html_table, vector
from ..engine.call.arguments import Argument, coerce
from ..errors import ArgumentError, ModelError, quoted, unknown_name
from ..kernels.configuration import difference_states, integrate_states
from ..types import ShapeKind
from .frozen import Immutable, frozen, record
from .inertia import Inertia, Placement
from .joints import Joint
from .pack import pack
from .quaternions import unit_quaternions
from .states import state_function
from .topology import Topology

if TYPE_CHECKING:
    from .shapes import CollisionShape
    from .standing import Plane

INTEGRATE, DIFFERENCE = state_function(integrate_states), state_function(difference_states)
STANDARD_GRAVITY = (0.0, 0.0, -9.81)
T = TypeVar("T")
# [rad, m] how far random configurations reach along the coordinates of joints without limits, 1 where nothing is said
REACH = {"revolute": [np.pi], "continuous": [np.pi], "planar": [1.0, 1.0, np.pi]}
FARTHEST = 1e6  # rad, m: limits beyond this are none; rounding hides small motions at such places


@record(eq=False)
class Body(Shown):
    """A moving body: its name, its parent (number, 0 = the fixed base), the joint that carries it, and its inertia in
    its own frame (the frame that the joint places).

    Example:
        >>> pole = treesim.Joint("hinge", "revolute", axis=(0, 1, 0))
        >>> treesim.Body("pole", 0, pole, treesim.Inertia(1.5, com=(0, 0, -0.5)))
        <Body 'pole': 1.5 kg, on body 0 by the revolute joint 'hinge'>
    """

    name: str
    parent: int
    joint: Joint
    inertia: Inertia = field(default_factory=Inertia)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parent", body_number(f"parent of body {self.name!r}", self.parent))

    def __repr__(self) -> str:
        joint = f"{self.joint.type} joint {self.joint.name!r}"
        return f"<Body {self.name!r}: {self.inertia.mass:.6g} kg, on body {self.parent} by the {joint}>"

    def _facts(self) -> list[tuple[str, Any]]:
        return [("parent", self.parent), ("joint", self.joint), ("inertia", self.inertia)]


@record(eq=False)
class Frame(Shown):
    """A named frame fixed to body number `body` (0 = the fixed base) at `placement` in that body's frame.

    Example:
        >>> treesim.Frame("tip", 1, treesim.Placement(translation=(0, 0, -1)))
        <Frame 'tip': on body 1 at (0, 0, -1)>
    """

    name: str
    body: int
    placement: Placement = field(default_factory=Placement)

    def __post_init__(self) -> None:
        object.__setattr__(self, "body", body_number(f"body of frame {self.name!r}", self.body))

    def __repr__(self) -> str:
        return f"<Frame {self.name!r}: on body {self.body} at {vector(self.placement.translation)}>"

    def _facts(self) -> list[tuple[str, Any]]:
        return [("body", self.body), ("placement", self.placement)]


@record(eq=False)
class Visual(Shown):
    """A shape to draw: fixed to body number `body` at `placement`, `kind` "box", "sphere", "cylinder", "capsule" or
    "mesh" with its `size` (box: x y z; sphere: radius; cylinder, capsule: radius and length along z [m]; mesh: scale),
    `file` for a mesh (a path; missing files are the viewer's to report), and an rgba `color` if one is given.

    Example:
        >>> treesim.Visual(1, treesim.Placement(), "sphere", (0.1,), color=(1, 0, 0, 1))
        <Visual: sphere (0.1), on body 1 at (0, 0, 0)>
    """

    body: int
    placement: Placement
    kind: ShapeKind
    size: tuple[float, ...]
    file: str | None = None
    color: tuple[float, float, float, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "body", body_number(f"body of a {self.kind}", self.body))
        object.__setattr__(self, "size", tuple(self.size))
        object.__setattr__(self, "color", None if self.color is None else tuple(self.color))

    def __repr__(self) -> str:
        return f"<Visual: {self.kind} {vector(self.size)}, on body {self.body} at {vector(self.placement.translation)}>"

    def _facts(self) -> list[tuple[str, Any]]:
        return [("body", self.body), ("placement", self.placement), ("file", self.file), ("color", self.color)]


class Tree(Immutable):
    """A kinematic tree of rigid bodies, immutable and safe to share between threads.

    name: the robot's name. bodies: in a regular numbering, body i at bodies[i - 1]; any order in which parents come
    before children. frames: operational frames besides each body's own, which carries the body's name.
    visuals: shapes for viewers. gravity: (3,) [m/s^2] in base axes. notes: findings of the reader of the source.
    shapes: CollisionShapes, those that touch.

    Attributes: n_bodies, nq, nv, nnz (numbers of a packed mass matrix), mass [kg] (a fixed robot's root link is part of
    the world, and does not count), parent = (λ(1) ... λ(N)), dof_parent = (λe(1) ... λe(n)), topology, q_index and
    v_index (joint name -> slice; other names raise UnknownNameError with near misses), dof_names (nv,), lower and
    upper (nq,), velocity_limit, effort_limit, damping, friction, armature (nv,). Arrays are read-only and cannot be
    made writable. A copy is the tree itself; a pickle holds what it is made of, and what comes out has the same bits.
    Raises ModelError naming the body, joint or frame that does not fit.

    Example:
        >>> hinge = treesim.Joint("hinge", "revolute", axis=(0, 1, 0))
        >>> pole = treesim.Body("pole", 0, hinge, treesim.Inertia(1.5, com=(0, 0, -0.5)))
        >>> tip = treesim.Frame("tip", 1, treesim.Placement(translation=(0, 0, -1)))
        >>> treesim.Tree("pendulum", [pole], frames=[tip])
        <Tree 'pendulum': 1 bodies, nq 1, nv 1, 1.5 kg>
    """

    __slots__ = (
        "armature", "bodies", "body_names", "body_rotations", "damping", "effort_limit", "frame_names", "frames",
        "friction", "gravity", "ints", "joint_names", "lower", "mass", "n_bodies", "name", "nnz", "notes", "nq", "nv",
        "q_index", "reals", "shapes", "topology", "upper", "v_index", "velocity_limit", "visuals",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        bodies: Sequence[Body],
        frames: Sequence[Frame] = (),
        visuals: Sequence[Visual] = (),
        gravity: ArrayLike = STANDARD_GRAVITY,
        notes: Sequence[object] = (),
        shapes: Sequence[CollisionShape] = (),
    ) -> None:
        self.name = name
        self.bodies = tuple(bodies)
        self.visuals = tuple(visuals)
        self.notes = tuple(notes)
        self.shapes = tuple(shapes)
        joints = [body.joint for body in self.bodies]
        self.topology = Topology([body.parent for body in self.bodies], [joint.nv for joint in joints])
        self.body_names = _unique("body", [body.name for body in self.bodies])
        self.joint_names = _unique("joint", [joint.name for joint in joints])
        self.n_bodies = len(self.bodies)
        q_ends = np.cumsum([0] + [joint.nq for joint in joints])
        v_ends = np.cumsum([0] + [joint.nv for joint in joints])
        self.nq, self.nv = int(q_ends[-1]), int(v_ends[-1])
        self.nnz = int(self.topology.dof_depth.sum())
        self.q_index = _slices(name, self.joint_names, q_ends)
        self.v_index = _slices(name, self.joint_names, v_ends)
        for shape in self.shapes:
            if not 0 <= shape.body <= self.n_bodies:
                raise ModelError(f"a {shape.kind} sits on body {shape.body}, but there are {self.n_bodies}")
        self.frames: Mapping[str, Frame] = _named(f"frame of {name!r}", self._all_frames(frames))
        self.frame_names = tuple(self.frames)
        self.mass = float(sum(body.inertia.mass for body in self.bodies))
        self.gravity = frozen(gravity)
        if self.gravity.shape != (3,) or not np.isfinite(self.gravity).all():
            raise ModelError(f"gravity must be three finite numbers [m/s^2], got {gravity!s}")
        for label, source in (
            ("lower", "lower"), ("upper", "upper"), ("velocity_limit", "velocity"), ("effort_limit", "effort"),
            ("damping", "damping"), ("friction", "friction"), ("armature", "armature"),
        ):  # fmt: skip
            parts = [getattr(joint, source) for joint in joints]
            setattr(self, label, frozen(np.concatenate(parts) if parts else np.zeros(0)))
        self.ints, self.reals, self.body_rotations = pack(self)
        self._frozen = True

    lower: np.ndarray
    upper: np.ndarray
    velocity_limit: np.ndarray
    effort_limit: np.ndarray
    damping: np.ndarray
    friction: np.ndarray
    armature: np.ndarray

    def __repr__(self) -> str:
        return f"<Tree {self.name!r}: {self.n_bodies} bodies, nq {self.nq}, nv {self.nv}, {self.mass:.6g} kg>"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self._rows(), ("i", "λ(i)", "joint", "type", "q", "v", "body", "mass [kg]"))

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        for i, body in enumerate(self.bodies, start=1):
            q, v = self.q_index[body.joint.name], self.v_index[body.joint.name]
            places = (f"{where.start}:{where.stop}" for where in (q, v))
            yield i, body.parent, body.joint.name, body.joint.type, *places, body.name, f"{body.inertia.mass:.4g}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, *self._parts())

    def with_name(self, name: str) -> Self:
        """Return the same tree under another name."""
        return type(self)(name, *self._parts())

    def _parts(self) -> tuple[Any, ...]:
        frames = tuple(self.frames.values())[self.n_bodies :]  # the bodies' own come first
        return self.bodies, frames, self.visuals, self.gravity, self.notes, self.shapes

    @property
    def parent(self) -> np.ndarray:
        """(N,) λ(1..N)."""
        return self.topology.parent

    @property
    def dof_parent(self) -> np.ndarray:
        """(n,) λe(1..n)."""
        return self.topology.dof_parent

    def frame(self, name: str) -> Frame:
        """Return the frame called `name`; raises UnknownNameError with near misses."""
        try:
            return self.frames[name]
        except TypeError:  # what cannot even be looked for
            raise unknown_name(f"frame of {self.name!r}", name, self.frames) from None

    def joint(self, name: str) -> Joint:
        """Return the joint called `name`; raises UnknownNameError with near misses."""
        if name not in self.q_index:
            raise unknown_name(f"joint of {self.name!r}", name, self.joint_names)
        return self.bodies[self.joint_names.index(name)].joint

    def dof_name(self, k: int) -> str:
        """Return the joint that owns degree of freedom k (from 0), with its place in the joint if it has several."""
        for joint, where in self.v_index.items():
            if where.start <= k < where.stop:
                return _dof_name(joint, where, k)
        raise unknown_name("degree of freedom", k, [f"0 ... {self.nv - 1}"])

    @property
    def dof_names(self) -> tuple[str, ...]:
        """The name of each degree of freedom (nv), as `dof_name` gives it. O(nv)."""
        return tuple(
            _dof_name(joint, where, k) for joint, where in self.v_index.items() for k in range(where.start, where.stop)
        )

    def neutral(self) -> np.ndarray:
        """Return the neutral configuration (nq,): every joint at zero, quaternions at the identity; limits are not
        looked at."""
        q = np.zeros(self.nq)
        for body in self.bodies:
            if body.joint.type in ("spherical", "floating"):
                q[self.q_index[body.joint.name].stop - 1] = 1.0
        return q

    def configuration(self, positions: Mapping[str, ArrayLike]) -> np.ndarray:
        """Return the configuration (nq,) with the given positions, {joint: position}, and all else neutral.

        A position is one number [rad, m] for a joint of one coordinate, else as many numbers as it has: planar x, y, θ;
        spherical a quaternion xyzw; floating x, y, z and a quaternion. Quaternions are scaled to length 1, limits are
        not looked at. Raises UnknownNameError with near misses, ArgumentError naming the joint whose position does not
        fit.
        """
        if not isinstance(positions, Mapping):
            raise ArgumentError(f"positions must be a dictionary {{joint: position}}, got {quoted(positions)}")
        q = self.neutral()
        for joint, position in positions.items():
            where = self.q_index[joint]
            q[where] = _position(f"position of joint {joint!r}", position, where.stop - where.start)
        return unit_quaternions(self, "positions", q)

    def random(self, rng: np.random.Generator | int | None = None) -> np.ndarray:
        """Return a random configuration (nq,): uniform within the limits, one beyond 1e6 rad or m replaced by pi rad or
        1 m from zero, or twice that from the other if zero lies beyond it; uniform rotations. rng: generator or seed.
        """
        rng = np.random.default_rng(rng)
        reach = np.array([x for body in self.bodies for x in REACH.get(body.joint.type, [1.0] * body.joint.nq)])
        low = np.where(self.lower > -FARTHEST, self.lower, np.minimum(-reach, self.upper - 2 * reach))
        high = np.where(self.upper < FARTHEST, self.upper, np.maximum(reach, self.lower + 2 * reach))
        q, start = np.empty(self.nq), 0
        for body in self.bodies:
            if body.joint.type in ("spherical", "floating"):
                stop = self.q_index[body.joint.name].stop
                q[start:stop] = rng.uniform(low[start:stop], high[start:stop])
                quaternion = rng.normal(size=4)
                q[stop - 4 : stop] = quaternion / np.linalg.norm(quaternion)
                start = stop
        q[start:] = rng.uniform(low[start:], high[start:])
        return q

    def integrate(self, q: ArrayLike, displacement: ArrayLike) -> np.ndarray:
        """Return the configuration (..., nq) reached from q (..., nq) by a displacement (..., nv): velocity times time.

        Every joint moves by the exponential of its part (of SE(3) in a floating joint). Raises ArgumentError,
        NonFiniteError.
        """
        return INTEGRATE(self, self.ints, self.reals, q, displacement)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> np.ndarray:
        """Return the displacement (..., nv) from q0 to q1 (..., nq): integrate(q0, difference(q0, q1)) is q1.

        Rotations take the shorter way. Raises ArgumentError, NonFiniteError.
        """
        return DIFFERENCE(self, self.ints, self.reals, q0, q1)

    def standing(self, q: ArrayLike, ground: Plane | None = None) -> np.ndarray:
        """Return q (..., nq) with the base moved along the ground's normal until the lowest collision shape touches.

        ground: see `treesim.standing`, which this is, and which tells the errors.
        """
        from .standing import standing

        return standing(self, q, ground)

    def _all_frames(self, frames: Sequence[Frame]) -> dict[str, Frame]:
        table = {name: Frame(name, i) for i, name in enumerate(self.body_names, start=1)}
        for frame in frames:
            if not 0 <= frame.body <= self.n_bodies:
                raise ModelError(f"frame {frame.name!r} sits on body {frame.body}, but there are {self.n_bodies}")
            if frame.name in table:
                raise ModelError(f"frame {frame.name!r} is defined twice (each body's own frame has the body's name)")
            table[frame.name] = frame
        return table


def _unique(kind: str, names: list[str]) -> tuple[str, ...]:
    seen: set[str] = set()
    for name in names:
        if not name:
            raise ModelError(f"a {kind} has no name")
        if name in seen:
            raise ModelError(f"{kind} {name!r} is defined twice")
        seen.add(name)
    return tuple(names)


def _slices(robot: str, names: Sequence[str], ends: np.ndarray) -> Mapping[str, slice]:
    edges = ends.tolist()
    return _named(f"joint of {robot!r}", {name: slice(edges[i], edges[i + 1]) for i, name in enumerate(names)})


class _Named(dict[str, T]):
    """What has names, by name; `kind` is what an unknown name is called in the error."""

    kind: str

    def __missing__(self, name: str) -> T:
        raise unknown_name(self.kind, name, self)


def _named(kind: str, table: Mapping[str, T]) -> Mapping[str, T]:
    """Return a table that cannot be changed, and that tells near misses of a name that it does not have."""
    named = _Named(table)
    named.kind = kind
    return MappingProxyType(named)


def _dof_name(joint: str, where: slice, k: int) -> str:
    return joint if where.stop - where.start == 1 else f"{joint}[{k - where.start}]"


def _position(label: str, value: Any, size: int) -> np.ndarray:
    array = coerce(Argument(label, value, ()))
    if array.shape != (size,) and not (size == 1 and array.shape == ()):
        wanted = "one number" if size == 1 else f"{size} numbers"
        raise ArgumentError(f"{label} must be {wanted}, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ArgumentError(f"{label} is not finite: {array.tolist()}")
    return array


def body_number(label: str, value: Any) -> int:
    """Return `value` as an int; raises ModelError naming `label` if it is no whole number."""
    try:
        return index(value)
    except TypeError:
        raise ModelError(f"{label} must be the number of a body, got {value!r}") from None
