"""The kinematic tree: bodies, joints, frames and limits, immutable, with the flat tables that kernels read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, ModelError, quoted, similar, unknown_name
from ..system.display import html_table
from ..types import Base
from ..validation.arrays import check_copy, coerce, precision, real_numbers
from ..validation.values import checked_parts, checked_text, index_or_none, short_repr, whole_number
from . import editing
from .attaching import attach
from .base_pose import moved_base
from .conventions import Usual, warn_of_conventions
from .coordinates import position_of
from .frozen import Immutable, frozen
from .inertia import Placement
from .joints import MOTION_LIMITS, VECTORS, Joint
from .loops import Loop, checked_loops
from .mimic import MimicMap, Withheld, mimic_map_of, no_mimic_joints
from .named_axes import coordinate_argument, velocity_argument
from .names import looked_up, named, slices, unique
from .pack import pack
from .part_maps import mirrored, renamed
from .parts import Body, Frame, Visual, changed_joints, operational_frames
from .quaternions import unit_quaternions
from .random_configuration import random_configuration
from .rerooting import rerooted
from .shapes import CollisionShape
from .topology import Topology, elimination_tree
from .welds import Weld, checked_welds

if TYPE_CHECKING:
    from ..states.standing import Plane, Surface

__all__ = ["Body", "Frame", "Tree", "Visual"]

STANDARD_GRAVITY = (0.0, 0.0, -9.81)
INTERNALS = {"body_rotations", "ints", "kept", "last_dof", "reals", "spanning_tables", "with_shared_rotors"}
T = TypeVar("T")


class Tree(Immutable):
    """A kinematic tree of rigid bodies, immutable and safe to share between threads.

    Parameters
    ----------
    name : str
        Name of the robot.
    bodies : sequence of Body
        Bodies in a regular numbering: body i is bodies[i - 1], and parents come before children. A body on a fixed
        joint becomes a frame and a weld; the numbers of the bodies after it decrease by one, also in all other parts.
    frames : sequence of Frame, or mapping
        Operational frames. Each body's own frame, with the body's name, is always defined. The `frames` of a tree may
        be passed; in a mapping, the bodies' own frames are skipped.
    visuals : sequence of Visual
        Shapes for viewers.
    gravity : array_like
        (3,) gravity in base axes [m/s^2].
    notes : sequence
        Findings of `treesim.load` in the robot description.
    shapes : sequence of CollisionShape
        Collision shapes.
    loops : sequence of Loop
        Loop joints, which a `treesim.World` closes.
    welds : sequence of Weld
        Links that are fixed to another link or to the world, parents first.

    Attributes
    ----------
    n_bodies, n_links, n_joints, nq, nv, nnz : int
        Numbers of bodies, moving links, joints, coordinates, degrees of freedom, and entries of the packed mass matrix.
        Each body is one moving link with one joint, so the first three numbers are equal.
    joints : mapping
        {name: Joint} of all joints, mimic joints included, in the order of their bodies.
    links : mapping
        {name: Body} of the moving links. A link that is fixed to another one is part of its body, and stands in
        `frames`.
    frames : mapping
        {name: Frame} of the bodies' own frames, then the operational frames.
    mass : float
        Mass of the moving bodies [kg]; the root link of a fixed robot is not included.
    topology : Topology
        Connectivity of the bodies.
    q_index, v_index : mapping
        {joint: slice} of the joint's coordinates in q and of its degrees of freedom in v. Unknown names raise
        UnknownNameError.
    lower, upper : numpy.ndarray
        (nq,) position limits [rad, m].
    velocity_limit, effort_limit, damping, joint_friction, armature, stiffness, rest : numpy.ndarray
        (nv,) limits and parameters as in `treesim.Joint`. All arrays are read-only.
    acceleration_limit, deceleration_limit, jerk_limit : numpy.ndarray
        (nv,) limits as in `treesim.Joint`, which simulations do not enforce.
    mimic_map : MimicMap or None
        Mimic joints and their relation to independent joints.

    Raises
    ------
    ModelError
        If a body, joint, frame, shape or loop does not fit the others. The error names the body, joint, frame, shape or
        loop.
    ArgumentError
        If an element of an argument has another type.

    Notes
    -----
    A mimic joint b has the position q_b = k q_a + o exactly, with the position q_a of its mimicked joint, and no
    coordinate of its own. The attributes `nq`, `nv`, `q_index`, `v_index` and the arrays of joint limits and parameters
    describe the independent joints only. In these arrays, the limits, damping, friction, armature and spring of an
    independent joint also account for its mimic joints. The attributes `topology` and `parent` describe the spanning
    tree `Tree.spanning`, in which mimic joints move independently. The methods `expand` and `expand_velocity` convert q
    and v to those of the spanning tree. The attribute `dof_parent` has one entry for each independent degree of
    freedom.

    The function `copy.copy` returns the tree itself. A tree that was pickled and unpickled is equal to the original,
    bit for bit.

    Examples
    --------
    >>> hinge = treesim.Joint("hinge", "revolute", axis=(0, 1, 0))
    >>> pole = treesim.Body("pole", 0, hinge, treesim.Inertia(1.5, com=(0, 0, -0.5)))
    >>> tip = treesim.Frame("tip", 1, treesim.Placement(translation=(0, 0, -1)))
    >>> treesim.Tree("pendulum", [pole], frames=[tip])
    <Tree 'pendulum': 1 bodies, nq 1, nv 1, 1.5 kg>
    """

    __slots__ = (
        "_dof_topology", "_spanning", "_usual", "acceleration_limit", "armature", "bodies", "body_names",
        "body_rotations", "damping", "deceleration_limit", "effort_limit", "frame_names", "frames", "gravity", "ints",
        "jerk_limit", "joint_friction", "joint_names", "joints", "links", "loops", "lower", "mass", "mimic_map",
        "n_bodies", "name", "nnz", "notes", "nq", "nv", "q_index", "reals", "rest", "shapes", "stiffness", "topology",
        "upper", "v_index", "velocity_limit", "visuals", "welds",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        bodies: Body | Sequence[Body],
        *,
        frames: Frame | Sequence[Frame] | Mapping[str, Frame] = (),
        visuals: Sequence[Visual] = (),
        gravity: ArrayLike = STANDARD_GRAVITY,
        notes: Sequence[object] = (),
        shapes: Sequence[CollisionShape] = (),
        loops: Sequence[Loop] = (),
        welds: Sequence[Weld] = (),
    ) -> None:
        self._frozen = False
        self.name = checked_text("name of a tree", name)
        self.bodies = checked_parts("bodies", bodies, Body)
        self.visuals = checked_parts("visuals", visuals, Visual)
        self.notes = checked_parts("notes", notes, object)
        self.shapes = checked_parts("shapes", shapes, CollisionShape)
        frames, loops = operational_frames(frames, self.bodies), checked_parts("loops", loops, Loop)
        if "fixed" in [body.joint.type for body in self.bodies]:
            given = editing.without_fixed_joints(
                Tree, name, self.bodies, frames=frames, visuals=self.visuals, gravity=gravity, notes=self.notes,
                shapes=self.shapes, loops=loops, welds=welds,
            )  # fmt: skip
            Tree.__init__(self, name, **given)
            return
        joints = [body.joint for body in self.bodies]
        self.topology = Topology([body.parent for body in self.bodies], [joint.kind.nv for joint in joints])
        self.body_names = unique("body", [body.name for body in self.bodies])
        self.joint_names = unique("joint", [joint.name for joint in joints])
        self.n_bodies = len(self.bodies)
        self.mimic_map: MimicMap | None = mimic_map_of(self.bodies)
        moving = [joint for joint in joints if joint.mimic is None]
        kinds = [joint.kind for joint in moving]
        nq, nv = [kind.nq for kind in kinds], [kind.nv for kind in kinds]
        self.nq, self.nv = sum(nq), sum(nv)
        self.q_index, self.v_index = (slices(name, moving, sizes, self.mimic_map) for sizes in (nq, nv))
        for shape in self.shapes:
            if not 0 <= shape.body <= self.n_bodies:
                raise ModelError(f"a {shape.kind} sits on body {shape.body}, but there are {self.n_bodies}")
        self.joints: Mapping[str, Joint] = named("joint", {joint.name: joint for joint in joints}, repr(name))
        self.links: Mapping[str, Body] = named("link", {body.name: body for body in self.bodies}, repr(name))
        self.frames: Mapping[str, Frame] = named("frame", self._all_frames(frames), repr(name))
        self.frame_names = tuple(self.frames)
        self.loops = checked_loops(name, loops, self.frames)
        self.welds = checked_welds(name, checked_parts("welds", welds, Weld), self.frames, self.bodies)
        self.mass = float(sum(body.inertia.mass for body in self.bodies))
        self.gravity = frozen(real_numbers("gravity", gravity))
        if self.gravity.shape != (3,) or not np.isfinite(self.gravity).all():
            raise ModelError(f"gravity must be three finite numbers [m/s^2], got {short_repr(gravity)}")
        for label in VECTORS:
            parts = [getattr(joint, label) for joint in joints]
            setattr(self, label, frozen(np.concatenate(parts) if parts else np.zeros(0)))
        self._spanning: Tree | None = None
        self._dof_topology: Topology | None = None
        self._usual: Usual | None = None  # until a configuration is passed to a function of states
        if self.mimic_map is None:
            self.nnz = int(self.topology.dof_depth.sum())
            self.ints, self.reals, self.body_rotations = pack(self)
        else:
            self._reduce(self.mimic_map)
        self._frozen = True

    def _reduce(self, mimic_map: MimicMap) -> None:
        """Set limits, tables and topology of a tree with mimic joints, from those of its spanning tree."""
        alone = [replace(body, joint=replace(body.joint, mimic=None)) for body in self.bodies]
        self._spanning = whole = self._with(bodies=alone, notes=())
        lower, upper = mimic_map.limited(whole.lower, whole.upper)
        for joint, where in self.q_index.items():
            if (lower[where] > upper[where]).any():
                raise ModelError(f"joint {quoted(joint)}: the limits of joints that mimic it leave no position")
        self.lower, self.upper = frozen(lower), frozen(upper)
        for label in ("velocity_limit", *MOTION_LIMITS):
            setattr(self, label, frozen(mimic_map.least(getattr(whole, label))))
        for label, powers in (("effort_limit", 1), ("joint_friction", 1), ("damping", 2), ("armature", 2)):
            setattr(self, label, frozen(mimic_map.gathered(getattr(whole, label), powers)))
        self.stiffness, self.rest = map(frozen, mimic_map.sprung(whole.stiffness, whole.rest))
        pattern = self.sparsity()
        self.nnz = int(np.tril(pattern).sum())
        self._dof_topology = Topology(elimination_tree(pattern))
        self.body_rotations = whole.body_rotations
        reason = no_mimic_joints(self.name, mimic_map.names, "this")
        self.ints, self.reals = (Withheld.instead_of(table, reason) for table in (whole.ints, whole.reals))

    @property
    def mimic_joints(self) -> tuple[str, ...]:
        """Names of the tree's mimic joints, in the order of their bodies."""
        return () if self.mimic_map is None else self.mimic_map.names

    @property
    def spanning(self) -> Tree:
        """Spanning tree of the robot, in which mimic joints move independently.

        For a robot without mimic joints, the spanning tree is the tree itself.
        """
        return self if self._spanning is None else self._spanning

    def with_shared_rotors(self) -> Tree:
        """Return the spanning tree with rotor inertias that are equivalent to the robot's armature.

        The armature of an independent joint is divided evenly between the joint and its mimic joints
        (`MimicMap.shared`). The terms `MimicMap.regularization`, which keep the mass matrix of the spanning tree
        regular, are added; rotor inertias of the returned tree may therefore be negative.

        Returns
        -------
        Tree
            Spanning tree without visuals, notes, shapes and loops. If no joint has a rotor inertia, it is `spanning`
            itself.
        """
        if self.mimic_map is None:
            return self.spanning
        whole, rotors = self.spanning, self.mimic_map.shared(self.armature)
        if not rotors.any():
            return whole
        least = np.maximum(rotors, 0.0)
        bodies = changed_joints(whole.bodies, lambda joint: {"armature": least[whole.v_index[joint.name]]})
        effective = whole._with(bodies=bodies, visuals=(), notes=(), shapes=(), loops=(), welds=())
        if (rotors < 0).any():
            reals = effective.reals.copy()
            reals[reals.size - 3 - whole.nv : reals.size - 3] = rotors
            object.__setattr__(effective, "reals", frozen(reals))
        return effective

    def kept(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the indices that the tree's coordinates and degrees of freedom have in the spanning tree.

        Returns
        -------
        q_indices : numpy.ndarray
            (nq,) indices of coordinates.
        v_indices : numpy.ndarray
            (nv,) indices of degrees of freedom.
        """
        if self.mimic_map is None:
            return np.arange(self.nq), np.arange(self.nv)
        return self.mimic_map.independent_q, self.mimic_map.independent_v

    def spanning_tables(self) -> tuple[np.ndarray, ...]:
        """Return the flat arrays of the robot's constants that compiled functions take as their first arguments.

        The first two arrays describe the spanning tree. If the robot has mimic joints, two arrays of these joints
        follow.

        Returns
        -------
        tuple of numpy.ndarray
            Two or four flat arrays.
        """
        whole, mimic_map = self._spanning, self.mimic_map
        if whole is None or mimic_map is None:
            return self.ints, self.reals
        return whole.ints, whole.reals, mimic_map.ints, mimic_map.reals

    def expand(self, q: ArrayLike) -> np.ndarray:
        """Convert q to the configuration of the spanning tree, in which mimic joints have coordinates.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).

        Returns
        -------
        numpy.ndarray
            Configurations (..., spanning.nq), which include the coordinates of mimic joints. A joint's coordinates are
            `robot.expand(q)[..., robot.spanning.q_index["finger"]]`.

        Raises
        ------
        ArgumentError
            If q has another shape.

        Examples
        --------
        >>> hinge = treesim.Joint("a", "revolute")
        >>> mimic = treesim.Joint("b", "revolute", mimic=treesim.Mimic("a", -2.0, 0.5))
        >>> robot = treesim.Tree("gear", [treesim.Body("first", 0, hinge), treesim.Body("second", 0, mimic)])
        >>> robot.nq, robot.expand([1.0])
        (1, array([ 1. , -1.5]))
        """
        return self._expanded(coerce(coordinate_argument(self, "q", q), precision(q)), "q")

    def expand_velocity(self, v: ArrayLike) -> np.ndarray:
        """Convert v to the velocity (or acceleration) of the spanning tree, in which mimic joints have entries.

        Parameters
        ----------
        v : array_like
            Velocities or accelerations (..., nv) of the independent joints.

        Returns
        -------
        numpy.ndarray
            Velocities or accelerations (..., spanning.nv).

        Raises
        ------
        ArgumentError
            If v has another shape.
        """
        return self._expanded(coerce(velocity_argument(self, "v", v), precision(v)), "v")

    def _expanded(self, y: np.ndarray, which: str) -> np.ndarray:
        mimic_map = self.mimic_map
        if mimic_map is None:
            return y
        check_copy(which, y.shape)
        size = self.spanning.nq if which == "q" else self.spanning.nv
        kept = mimic_map.independent_q if which == "q" else mimic_map.independent_v
        whole = np.empty((*y.shape[:-1], size), y.dtype)
        whole[..., kept] = y
        F, first = len(mimic_map.names), 3 if which == "q" else 3 + 4 * len(mimic_map.names)
        own, mimicked = mimic_map.ints[first : first + F], mimic_map.ints[first + F : first + 2 * F]
        whole[..., own] = mimic_map.multiplier * whole[..., mimicked] + (mimic_map.offset if which == "q" else 0.0)
        return whole

    def sparsity(self) -> np.ndarray:
        """Return the sparsity pattern (nv, nv) of the mass matrix: an entry that may differ from zero is True.

        A mimic joint adds entries, because the bodies that it moves also move with the mimicked joint. Cost: O(nv^2).

        Returns
        -------
        numpy.ndarray
            (nv, nv) boolean pattern.
        """
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
    joint_friction: np.ndarray
    armature: np.ndarray
    stiffness: np.ndarray
    rest: np.ndarray
    acceleration_limit: np.ndarray
    deceleration_limit: np.ndarray
    jerk_limit: np.ndarray

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

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in INTERNALS]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            near = [] if name.startswith("_") else similar(name, dir(self))
            hint = f": did you mean {' or '.join(near)}?" if near else ""
            raise AttributeError(f"'Tree' object has no attribute {name!r}{hint}")

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), self.name, **self._parts()), ()

    def with_name(self, name: str) -> Self:
        """Return a copy of the tree with another name.

        Parameters
        ----------
        name : str
            New name.

        Returns
        -------
        Tree
            Renamed tree.
        """
        return type(self)(name, **self._parts())

    def with_base_pose(self, pose: Placement | ArrayLike) -> Self:
        """Return a copy of the tree whose fixed base has another pose in the world.

        Parameters
        ----------
        pose : Placement or array_like, shape (4, 4)
            Pose of the new base in the frame of the old base. All frames, shapes and visuals on the base move with the
            base.

        Returns
        -------
        Tree
            The tree.

        Raises
        ------
        ModelError
            If a joint at the base is floating, because its pose is part of q. If `pose` is not a pose.

        Examples
        --------
        >>> arm = treesim.load("ur5").with_base_pose(treesim.Placement(translation=(0, 0, 0.7)))
        >>> treesim.frame_pose(arm, arm.neutral(), "base_link")[:3, 3]
        array([0. , 0. , 0.7])
        """
        return type(self)(self.name, **moved_base(self, pose, self._parts()))

    # methods that return a copy with one change, and with all other parts of the tree
    with_frame = editing.with_frame
    with_shape = editing.with_shape
    with_inertia = editing.with_inertia
    with_joint = editing.with_joint
    reduced = editing.reduced
    without = editing.without
    subtree = editing.subtree
    attach = attach
    rerooted = rerooted
    renamed = renamed
    mirrored = mirrored

    def _with(self, **parts: Any) -> Self:
        """Return the tree with other arguments of the constructor."""
        return type(self)(self.name, **self._parts() | parts)

    def _parts(self) -> dict[str, Any]:
        """Arguments of the constructor besides the name."""
        return {
            "bodies": self.bodies,
            "frames": tuple(self.frames.values())[self.n_bodies :],  # the bodies' own come first
            "visuals": self.visuals, "gravity": self.gravity, "notes": self.notes,
            "shapes": self.shapes, "loops": self.loops, "welds": self.welds,
        }  # fmt: skip

    @property
    def base(self) -> Base:
        """Base of the robot: "floating" if the joint of the first body is a floating joint, else "fixed"."""
        floating = self.n_bodies > 0 and self.bodies[0].joint.type == "floating"
        return "floating" if floating else "fixed"

    @property
    def n_joints(self) -> int:
        """Number of the tree's joints, mimic joints included. Each body has one joint."""
        return self.n_bodies

    @property
    def n_links(self) -> int:
        """Number of moving links, which is also the number of bodies."""
        return self.n_bodies

    @property
    def parent(self) -> np.ndarray:
        """Parents λ(1) ... λ(N) of the tree's bodies, an array (N,)."""
        return self.topology.parent

    @property
    def dof_parent(self) -> np.ndarray:
        """Parents λe(1) ... λe(n) of the tree's degrees of freedom, an array (n,).

        These parents define a tree of degrees of freedom. An entry (i, j) of the mass matrix or of its factors is zero,
        unless one of i and j is an ancestor of the other. For a robot with mimic joints, the tree is the elimination
        tree of the pattern `sparsity()`. Then an entry (i, j) may also be zero if i is an ancestor of j.
        """
        return self.dof_topology.dof_parent

    @property
    def dof_topology(self) -> Topology:
        """Topology of the degrees of freedom, whose parents are `dof_parent`. Cost: O(1).

        For a robot without mimic joints, this topology is `Tree.topology`. For a robot with mimic joints, this topology
        has one body for each independent degree of freedom.
        """
        return self.topology if self._dof_topology is None else self._dof_topology

    def last_dof(self, body: int) -> int:
        """Return the number (from 1) of the tree's last degree of freedom that moves a body.

        All other degrees of freedom that move the body are ancestors of this one in `dof_parent`. This also holds for
        robots with mimic joints, because the body's inertia couples all these degrees of freedom. Cost: O(nv N).

        Parameters
        ----------
        body : int
            Number of the body, from 1.

        Returns
        -------
        int
            Number of the degree of freedom, from 1; 0 if none moves the body.
        """
        body = whole_number("body", body, 0, self.n_bodies)
        if self.mimic_map is None:
            return self.topology.last_dof[body]
        joints = np.repeat(np.arange(1, self.n_bodies + 1), self.topology.dofs)
        moving = self.mimic_map.G[np.isin(joints, self.topology.support(body))].any(axis=0)
        return int(np.flatnonzero(moving).max(initial=-1)) + 1

    def frame(self, name: str) -> Frame:
        """Return the tree's frame with a given name.

        Parameters
        ----------
        name : str
            Name of an operational frame or of a body.

        Returns
        -------
        Frame
            The frame.

        Raises
        ------
        UnknownNameError
            If there is no such frame; the error suggests similar names.
        """
        return looked_up("frame", name, self.frames, self.name)

    def joint(self, name: str) -> Joint:
        """Return the tree's joint with a given name.

        Parameters
        ----------
        name : str
            Name of a joint.

        Returns
        -------
        Joint
            The joint.

        Raises
        ------
        UnknownNameError
            If there is no such joint; the error suggests similar names.
        """
        return looked_up("joint", name, self.joints, self.name)

    def dof_name(self, k: int) -> str:
        """Return the name of a degree of freedom.

        Parameters
        ----------
        k : int
            Index of the degree of freedom, from 0.

        Returns
        -------
        str
            Name of its joint. If the joint has several degrees of freedom, their index within the joint follows:
            "root_joint[3]".
        """
        joint = self.dof_joint(k)
        return _dof_name(joint, self.v_index[joint], k)

    def dof_joint(self, k: int) -> str:
        """Return the name of the joint to which a degree of freedom belongs.

        Parameters
        ----------
        k : int
            Index of the degree of freedom, from 0.

        Returns
        -------
        str
            Name of the joint.
        """
        number = index_or_none(k)
        for joint, where in self.v_index.items():
            if number is not None and where.start <= number < where.stop:
                return joint
        raise unknown_name("degree of freedom", k, [f"0 ... {self.nv - 1}"])

    @property
    def dof_names(self) -> tuple[str, ...]:
        """Names of the tree's degrees of freedom, as `dof_name` returns them. Cost: O(nv)."""
        return tuple(
            _dof_name(joint, where, k) for joint, where in self.v_index.items() for k in range(where.start, where.stop)
        )

    def neutral(self) -> np.ndarray:
        """Return the neutral configuration: every joint at zero, quaternions at the identity.

        The neutral configuration may violate position limits; see `clamp`.

        Returns
        -------
        numpy.ndarray
            Configuration (nq,).
        """
        q = np.zeros(self.nq)
        for body in self.bodies:
            if body.joint.type in ("spherical", "floating"):
                q[self.q_index[body.joint.name].stop - 1] = 1.0
        return q

    def configuration(self, positions: Mapping[str, ArrayLike]) -> np.ndarray:
        """Return the neutral configuration, except for some joints at given positions.

        Parameters
        ----------
        positions : mapping
            {joint: position}. A position is one number [rad, m] for a joint of one coordinate; x, y, θ for a planar
            joint; a quaternion x, y, z, w for a spherical joint; or x, y, z and a quaternion for a floating joint.
            Quaternions are scaled to length 1. Positions beyond the limits are allowed.

        Returns
        -------
        numpy.ndarray
            Configuration (nq,).

        Raises
        ------
        UnknownNameError
            If a joint does not exist, or is a mimic joint.
        ArgumentError
            If a position does not fit its joint.
        """
        if not isinstance(positions, Mapping):
            raise ArgumentError(f"positions must be a dictionary {{joint: position}}, got {quoted(positions)}")
        q = self.neutral()
        for joint, position in positions.items():
            where = self.q_index[joint]
            q[where] = position_of(f"position of joint {joint!r}", position, where.stop - where.start)
        warn_of_conventions(self, "positions", q)
        return unit_quaternions(self, "positions", q)

    def random(self, rng: np.random.Generator | int | None = None) -> np.ndarray:
        """Return a random configuration: positions uniform within their limits, and uniform rotations.

        A limit beyond 1e6 rad or m counts as infinite. Let r be pi rad for an angle, or 1 m for a length. An infinite
        upper limit is replaced by r, or by lower + 2 r if this is larger. An infinite lower limit is replaced by -r, or
        by upper - 2 r if this is smaller.

        Parameters
        ----------
        rng : numpy.random.Generator or int, optional
            Generator or seed.

        Returns
        -------
        numpy.ndarray
            Configuration (nq,).
        """
        if not (rng is None or isinstance(rng, np.random.Generator)):
            rng = whole_number("rng, if it is not a numpy.random.Generator,", rng)
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
            Configurations (..., nq) within the limits. Joints of several coordinates have no limits and do not change.

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
        given = coerce(coordinate_argument(self, "q", q))
        check_copy("q", given.shape)
        return np.clip(given, self.lower, self.upper)

    def integrate(self, q: ArrayLike, displacement: ArrayLike) -> np.ndarray:
        """Return the configuration reached from q by a displacement, which is velocity times time.

        Every joint moves by the exponential map of its part of the displacement. A floating joint uses the exponential
        map of SE(3).

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        displacement : array_like
            Displacements (..., nv) [rad, m].

        Returns
        -------
        numpy.ndarray
            Configurations (..., nq).

        Raises
        ------
        ArgumentError
            If an array has another shape, or the length of a quaternion is not 1.
        NonFiniteError
            If an argument is not finite.
        """
        from ..states.configurations import INTEGRATE

        return INTEGRATE(self, self.ints, self.reals, q, displacement)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> np.ndarray:
        """Return the displacement from q0 to q1: integrate(q0, difference(q0, q1)) is q1.

        Parameters
        ----------
        q0, q1 : array_like
            Configurations (..., nq).

        Returns
        -------
        numpy.ndarray
            Displacements (..., nv) [rad, m]. A rotation is the one with the smaller angle, at most pi.

        Raises
        ------
        ArgumentError
            If an array has another shape, or the length of a quaternion is not 1.
        NonFiniteError
            If an argument is not finite.
        """
        from ..states.configurations import DIFFERENCE

        return DIFFERENCE(self, self.ints, self.reals, q0, q1)

    def standing(self, q: ArrayLike, ground: Plane | Surface | None = None) -> np.ndarray:
        """Return q with the floating base moved until the lowest collision shape touches the ground.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        ground : Ground, StaticBox, HeightField or StaticMesh, optional
            Ground, as in `treesim.standing`. The page of that function also lists the errors.

        Returns
        -------
        numpy.ndarray
            Configurations (..., nq).
        """
        from ..states.standing import standing

        return standing(self, q, ground)

    def _all_frames(self, frames: Sequence[Frame]) -> dict[str, Frame]:
        table = {name: Frame(name, i) for i, name in enumerate(self.body_names, start=1)}
        for frame in frames:
            if not 0 <= frame.body <= self.n_bodies:
                raise ModelError(f"frame {quoted(frame.name)} sits on body {frame.body}, but there are {self.n_bodies}")
            if frame.name in table:
                raise ModelError(
                    f"frame {quoted(frame.name)} is defined twice (each body's own frame has the body's name)"
                )
            table[frame.name] = frame
        return table


def _dof_name(joint: str, where: slice, k: int) -> str:
    return joint if where.stop - where.start == 1 else f"{joint}[{k - where.start}]"
