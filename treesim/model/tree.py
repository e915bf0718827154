"""The kinematic tree: bodies, joints, frames and limits, immutable, with the flat tables that kernels read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, ModelError, quoted, unknown_name
from ..system.display import html_table
from ..validation.arrays import Argument, coerce, real_numbers
from ..validation.values import checked_parts, checked_text, short_repr
from .coordinates import position_of
from .frozen import Immutable, frozen
from .joints import Joint
from .loops import Loop, checked_loops
from .mimic import MimicMap, Withheld, mimic_map_of, no_mimic_joints
from .names import named, slices, unique
from .pack import pack
from .parts import Body, Frame, Visual
from .quaternions import unit_quaternions
from .random_configuration import random_configuration
from .shapes import CollisionShape
from .topology import Topology, elimination_tree

if TYPE_CHECKING:
    from ..states.standing import Plane, Surface

__all__ = ["Body", "Frame", "Tree", "Visual"]

STANDARD_GRAVITY = (0.0, 0.0, -9.81)
T = TypeVar("T")


class Tree(Immutable):
    """A kinematic tree of rigid bodies, immutable and safe to share between threads.

    name: the robot's name. bodies: in a regular numbering, body i at bodies[i - 1]; any order in which parents come
    before children. frames: operational frames besides each body's own, which carries the body's name.
    visuals: shapes for viewers. gravity: (3,) [m/s^2] in base axes. notes: findings of the reader of the source.
    shapes: CollisionShapes, those that touch. loops: Loops, joints between frames that worlds close.

    Attributes: n_bodies, nq, nv, nnz (numbers of a packed mass matrix), mass [kg] (a fixed robot's root link is part of
    the world, and does not count), parent = (λ(1) ... λ(N)), dof_parent = (λe(1) ... λe(n)), topology, q_index and
    v_index (joint name -> slice; other names raise UnknownNameError with near misses), dof_names (nv,), lower and
    upper (nq,), velocity_limit, effort_limit, damping, friction, armature (nv,). Arrays are read-only and cannot be
    made writable.

    A joint whose `mimic` names another one follows it, q_b = k q_a + o, exactly: it has no coordinate of its own, and
    nq, nv, q_index, v_index and the arrays are those of the others, its limits, effort, damping, friction and armature
    part of theirs. followers: their names; spanning: the tree in which they move on their own (else the tree itself),
    whose q and v are `expand(q)` and `expand_velocity(v)`; topology and parent are that one's, dof_parent is the
    robot's own. mimic_map: their numbers.

    A copy is the tree itself; a pickle holds what it is made of, and what comes out has the same bits.
    Raises ModelError naming the body, joint or frame that does not fit, ArgumentError for parts of other types.

    Example:
        >>> hinge = treesim.Joint("hinge", "revolute", axis=(0, 1, 0))
        >>> pole = treesim.Body("pole", 0, hinge, treesim.Inertia(1.5, com=(0, 0, -0.5)))
        >>> tip = treesim.Frame("tip", 1, treesim.Placement(translation=(0, 0, -1)))
        >>> treesim.Tree("pendulum", [pole], frames=[tip])
        <Tree 'pendulum': 1 bodies, nq 1, nv 1, 1.5 kg>
    """

    __slots__ = (
        "_dof_topology",
        "_spanning",
        "armature",
        "bodies",
        "body_names",
        "body_rotations",
        "damping",
        "effort_limit",
        "frame_names",
        "frames",
        "friction",
        "gravity",
        "ints",
        "joint_names",
        "loops",
        "lower",
        "mass",
        "mimic_map",
        "n_bodies",
        "name",
        "nnz",
        "notes",
        "nq",
        "nv",
        "q_index",
        "reals",
        "shapes",
        "topology",
        "upper",
        "v_index",
        "velocity_limit",
        "visuals",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        bodies: Body | Sequence[Body],
        *,
        frames: Frame | Sequence[Frame] = (),
        visuals: Sequence[Visual] = (),
        gravity: ArrayLike = STANDARD_GRAVITY,
        notes: Sequence[object] = (),
        shapes: Sequence[CollisionShape] = (),
        loops: Sequence[Loop] = (),
    ) -> None:
        self.name = checked_text("name of a tree", name)
        self.bodies = checked_parts("bodies", bodies, Body)
        self.visuals = checked_parts("visuals", visuals, Visual)
        self.notes = checked_parts("notes", notes, object)
        self.shapes = checked_parts("shapes", shapes, CollisionShape)
        frames, loops = checked_parts("frames", frames, Frame), checked_parts("loops", loops, Loop)
        joints = [body.joint for body in self.bodies]
        self.topology = Topology([body.parent for body in self.bodies], [joint.nv for joint in joints])
        self.body_names = unique("body", [body.name for body in self.bodies])
        self.joint_names = unique("joint", [joint.name for joint in joints])
        self.n_bodies = len(self.bodies)
        self.mimic_map: MimicMap | None = mimic_map_of(self.bodies)
        moving = [joint for joint in joints if joint.mimic is None]
        self.nq, self.nv = sum(joint.nq for joint in moving), sum(joint.nv for joint in moving)
        self.q_index = slices(name, moving, [joint.nq for joint in moving], self.mimic_map)
        self.v_index = slices(name, moving, [joint.nv for joint in moving], self.mimic_map)
        for shape in self.shapes:
            if not 0 <= shape.body <= self.n_bodies:
                raise ModelError(f"a {shape.kind} sits on body {shape.body}, but there are {self.n_bodies}")
        self.frames: Mapping[str, Frame] = named(f"frame of {name!r}", self._all_frames(frames))
        self.frame_names = tuple(self.frames)
        self.loops = checked_loops(name, loops, self.frames)
        self.mass = float(sum(body.inertia.mass for body in self.bodies))
        self.gravity = frozen(real_numbers("gravity", gravity))
        if self.gravity.shape != (3,) or not np.isfinite(self.gravity).all():
            raise ModelError(f"gravity must be three finite numbers [m/s^2], got {short_repr(gravity)}")
        for label, source in (
            ("lower", "lower"), ("upper", "upper"), ("velocity_limit", "velocity"), ("effort_limit", "effort"),
            ("damping", "damping"), ("friction", "friction"), ("armature", "armature"),
        ):  # fmt: skip
            parts = [getattr(joint, source) for joint in joints]
            setattr(self, label, frozen(np.concatenate(parts) if parts else np.zeros(0)))
        self._spanning: Tree | None = None
        self._dof_topology: Topology | None = None
        if self.mimic_map is None:
            self.nnz = int(self.topology.dof_depth.sum())
            self.ints, self.reals, self.body_rotations = pack(self)
        else:
            self._reduce(self.mimic_map)
        self._frozen = True

    def _reduce(self, mimic_map: MimicMap) -> None:
        """Give the independent coordinates what the joints together have, and keep the spanning tree."""
        alone = [replace(body, joint=replace(body.joint, mimic=None)) for body in self.bodies]
        frames = tuple(self.frames.values())[self.n_bodies :]
        self._spanning = whole = Tree(
            self.name,
            alone,
            frames=frames,
            visuals=self.visuals,
            gravity=self.gravity,
            notes=(),
            shapes=self.shapes,
            loops=self.loops,
        )
        lower, upper = mimic_map.limited(whole.lower, whole.upper)
        for joint, where in self.q_index.items():
            if (lower[where] > upper[where]).any():
                raise ModelError(f"joint {joint!r}: the limits of joints that follow it leave no position")
        slowest = whole.velocity_limit[mimic_map.independent_v]
        np.minimum.at(slowest, mimic_map.onto, whole.velocity_limit[mimic_map.v] / np.abs(mimic_map.multiplier))
        self.lower, self.upper, self.velocity_limit = frozen(lower), frozen(upper), frozen(slowest)
        for label, powers in (("effort_limit", 1), ("friction", 1), ("damping", 2), ("armature", 2)):
            setattr(self, label, frozen(mimic_map.gathered(getattr(whole, label), powers)))
        pattern = self.sparsity()
        self.nnz = int(np.tril(pattern).sum())
        self._dof_topology = Topology(elimination_tree(pattern))
        self.body_rotations = whole.body_rotations
        reason = no_mimic_joints(self.name, mimic_map.names, "this")
        self.ints, self.reals = (Withheld.instead_of(table, reason) for table in (whole.ints, whole.reals))

    @property
    def mimic_joints(self) -> tuple[str, ...]:
        """The names of the joints that follow others, in the order of their bodies."""
        return () if self.mimic_map is None else self.mimic_map.names

    @property
    def spanning(self) -> Tree:
        """The tree in which every joint moves on its own; the tree itself where none follows another."""
        return self if self._spanning is None else self._spanning

    def with_shared_rotors(self) -> Tree:
        """Return the spanning tree with the rotors of each leader and its followers spread evenly over them, as y feels
        them (`kernels.mimic_joints.with_shared_rotors`); itself where there are none. Rotors that are lent, which are
        negative, are in its tables alone."""
        if self.mimic_map is None:
            return self.spanning
        whole, rotors = self.spanning, self.mimic_map.shared(self.armature)
        if not rotors.any():
            return whole
        bodies = [
            replace(body, joint=replace(body.joint, armature=np.maximum(rotors[whole.v_index[body.joint.name]], 0.0)))
            for body in whole.bodies
        ]
        effective = Tree(
            self.name, bodies, frames=tuple(whole.frames.values())[self.n_bodies :], visuals=(), gravity=self.gravity
        )
        if (rotors < 0).any():
            reals = effective.reals.copy()
            reals[reals.size - 3 - whole.nv : reals.size - 3] = rotors
            object.__setattr__(effective, "reals", frozen(reals))
        return effective

    def kept(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the places of all coordinates (nq,) and degrees of freedom (nv,) in the spanning tree."""
        if self.mimic_map is None:
            return np.arange(self.nq), np.arange(self.nv)
        return self.mimic_map.independent_q, self.mimic_map.independent_v

    def spanning_tables(self) -> tuple[np.ndarray, ...]:
        """The tables that entries take first: the spanning tree's, and behind them those of followers, if any."""
        whole = self.spanning
        return (whole.ints, whole.reals) if self.mimic_map is None else (whole.ints, whole.reals, *self.mimic_map[-2:])

    def expand(self, q: ArrayLike) -> np.ndarray:
        """Return the configuration (..., spanning.nq) in which followers have coordinates of their own, from q
        (..., nq): `robot.expand(q)[..., robot.spanning.q_index["finger"]]`. Raises ArgumentError.

        Example:
            >>> hinge = treesim.Joint("a", "revolute")
            >>> follower = treesim.Joint("b", "revolute", mimic=treesim.Mimic("a", -2.0, 0.5))
            >>> robot = treesim.Tree("gear", [treesim.Body("first", 0, hinge), treesim.Body("second", 0, follower)])
            >>> robot.nq, robot.expand([1.0])
            (1, array([ 1. , -1.5]))
        """
        return self._expanded(coerce(Argument("q", q, (self.nq,))), "q")

    def expand_velocity(self, v: ArrayLike) -> np.ndarray:
        """Return the velocity, or acceleration, (..., spanning.nv) of all joints from that of y, (..., nv)."""
        return self._expanded(coerce(Argument("v", v, (self.nv,))), "v")

    def _expanded(self, y: np.ndarray, which: str) -> np.ndarray:
        mimic_map = self.mimic_map
        if mimic_map is None:
            return y
        size, kept = (
            (self.spanning.nq, mimic_map.independent_q) if which == "q" else (self.spanning.nv, mimic_map.independent_v)
        )
        whole = np.empty((*y.shape[:-1], size))
        whole[..., kept] = y
        F, first = len(mimic_map.names), 3 if which == "q" else 3 + 4 * len(mimic_map.names)
        own, mimicked = mimic_map.ints[first : first + F], mimic_map.ints[first + F : first + 2 * F]
        whole[..., own] = mimic_map.multiplier * whole[..., mimicked] + (mimic_map.offset if which == "q" else 0.0)
        return whole

    def sparsity(self) -> np.ndarray:
        """Return the (nv, nv) boolean pattern of the mass matrix: where it may differ from zero; followers couple what
        their joints and their leaders' carry. O(nv^2)."""
        pattern = self.topology.sparsity()
        if self.mimic_map is None:
            return pattern
        G = self.mimic_map.G != 0
        return np.asarray(G.T.astype(int) @ pattern.astype(int) @ G.astype(int) > 0)

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
            if body.joint.mimic is None:
                q, v = self.q_index[body.joint.name], self.v_index[body.joint.name]
                places = [f"{where.start}:{where.stop}" for where in (q, v)]
            else:
                places = [f"follows {body.joint.mimic.joint}", ""]
            yield i, body.parent, body.joint.name, body.joint.type, *places, body.name, f"{body.inertia.mass:.4g}"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), self.name, **self._parts()), ()

    def with_name(self, name: str) -> Self:
        """Return the same tree under another name."""
        return type(self)(name, **self._parts())

    def _parts(self) -> dict[str, Any]:
        """Arguments of the constructor besides the name."""
        return {
            "bodies": self.bodies,
            "frames": tuple(self.frames.values())[self.n_bodies :],  # the bodies' own come first
            "visuals": self.visuals, "gravity": self.gravity, "notes": self.notes,
            "shapes": self.shapes, "loops": self.loops,
        }  # fmt: skip

    @property
    def parent(self) -> np.ndarray:
        """(N,) λ(1..N)."""
        return self.topology.parent

    @property
    def dof_parent(self) -> np.ndarray:
        """(n,) λe(1..n): non-zeros of the mass matrix, and of its factors, lie on the paths of this tree. With
        followers it is the elimination tree of its pattern (`sparsity`), on whose paths there may be zeros as well."""
        return self.dof_topology.dof_parent

    @property
    def dof_topology(self) -> Topology:
        """The topology whose λe is `dof_parent`: the tree's own, or, with followers, one of as many bodies as there are
        independent degrees of freedom. O(1)."""
        return self.topology if self._dof_topology is None else self._dof_topology

    def last_dof(self, body: int) -> int:
        """Return the last degree of freedom, from 1, that moves a body; 0 if none does. In `dof_parent` all others that
        move it are on the path to this one: with followers, since the body's inertia couples them. O(nv N)."""
        if self.mimic_map is None:
            return self.topology.last_dof[body]
        joints = np.repeat(np.arange(1, self.n_bodies + 1), self.topology.dofs)
        moving = self.mimic_map.G[np.isin(joints, self.topology.support(body))].any(axis=0)
        return int(np.flatnonzero(moving).max(initial=-1)) + 1

    def frame(self, name: str) -> Frame:
        """Return the frame called `name`; raises UnknownNameError with near misses."""
        try:
            return self.frames[name]
        except TypeError:  # what cannot even be looked for
            raise unknown_name(f"frame of {self.name!r}", name, self.frames) from None

    def joint(self, name: str) -> Joint:
        """Return the joint called `name`; raises UnknownNameError with near misses."""
        if name not in self.joint_names:
            raise unknown_name(f"joint of {self.name!r}", name, self.joint_names)
        return self.bodies[self.joint_names.index(name)].joint

    def dof_name(self, k: int) -> str:
        """Return the joint that owns degree of freedom k (from 0), with its place in the joint if it has several."""
        joint = self.dof_joint(k)
        return _dof_name(joint, self.v_index[joint], k)

    def dof_joint(self, k: int) -> str:
        """Return the joint that owns degree of freedom k (from 0)."""
        for joint, where in self.v_index.items():
            if where.start <= k < where.stop:
                return joint
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
            q[where] = position_of(f"position of joint {joint!r}", position, where.stop - where.start)
        return unit_quaternions(self, "positions", q)

    def random(self, rng: np.random.Generator | int | None = None) -> np.ndarray:
        """Return a random configuration (nq,): uniform within the limits, one beyond 1e6 rad or m replaced by pi rad or
        1 m from zero, or twice that from the other if zero lies beyond it; uniform rotations. rng: generator or seed.
        """
        return random_configuration(self, np.random.default_rng(rng))

    def clamp(self, q: ArrayLike) -> np.ndarray:
        """Return q (..., nq) with every coordinate beyond a position limit moved to that limit.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).

        Returns
        -------
        numpy.ndarray
            Configurations (..., nq) within the limits. Joints of several coordinates have none.

        Raises
        ------
        ArgumentError
            If q has another shape.

        Examples
        --------
        >>> robot = treesim.load("panda")
        >>> q0 = robot.clamp(robot.neutral())
        >>> q0[robot.q_index["panda_joint4"]]
        array([-0.0698])
        """
        return np.clip(coerce(Argument("q", q, (self.nq,))), self.lower, self.upper)

    def integrate(self, q: ArrayLike, displacement: ArrayLike) -> np.ndarray:
        """Return the configuration (..., nq) reached from q (..., nq) by a displacement (..., nv): velocity times time.

        Every joint moves by the exponential of its part (of SE(3) in a floating joint). Raises ArgumentError,
        NonFiniteError.
        """
        from ..states.configurations import INTEGRATE

        return INTEGRATE(self, self.ints, self.reals, q, displacement)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> np.ndarray:
        """Return the displacement (..., nv) from q0 to q1 (..., nq): integrate(q0, difference(q0, q1)) is q1.

        Rotations take the shorter way. Raises ArgumentError, NonFiniteError.
        """
        from ..states.configurations import DIFFERENCE

        return DIFFERENCE(self, self.ints, self.reals, q0, q1)

    def standing(self, q: ArrayLike, ground: Plane | Surface | None = None) -> np.ndarray:
        """Return q (..., nq) with the base moved along the ground's normal until the lowest collision shape touches.

        ground: see `treesim.standing`, which this is, and which tells the errors.
        """
        from ..states.standing import standing

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


def _dof_name(joint: str, where: slice, k: int) -> str:
    return joint if where.stop - where.start == 1 else f"{joint}[{k - where.start}]"
