"""Generators of trees: chains, binary trees, side branches, grids, the papers' robots, and random trees.

The papers give connectivity only. Bodies here are solid cylinders ("rods") that reach from their own joint to the
next one. Their radius is 4 cm, and their density that of water unless a mass is given: a 25 cm rod weighs 1.26 kg.
Every body has mass, a positive definite inertia, and a visual shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice
from typing import NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..validation.values import checked_parts, known_name, whole_number
from .inertia import Inertia, Placement
from .joints import JOINT_TYPES, Joint
from .links import is_depth_first
from .matrices import product, rotation_from_rpy, vector_length
from .pack import axis_rotation
from .tree import Body, Frame, Tree, Visual

LENGTH = 0.25  # [m]
RADIUS = 0.04  # [m]
DENSITY = 1000.0  # [kg/m^3]

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


# ---- families of trees


def chain(n: int, joint_types: Sequence[str] = ("revolute",), axes: Sequence[Sequence[float]] = (Z, Y)) -> Tree:
    """Return an unbranched chain of `n` rods along x, with joint types and joint axes taken in turn.

    All generators raise ArgumentError for sizes that are too small or for no joint type, and UnknownNameError for an
    unknown joint type.

    Examples
    --------
    >>> from treesim.model import generators
    >>> generators.chain(30)
    <Tree 'chain_30': 30 bodies, nq 30, nv 30, 37.6991 kg>
    """
    return _rods(f"chain_{whole_number('n', n, 1)}", range(n), joint_types, axes)


def balanced_binary_tree(levels: int, joint_types: Sequence[str] = ("revolute",)) -> Tree:
    """Return the balanced binary tree with `levels` levels: 2^levels - 1 bodies, numbered level by level.

    Source: Featherstone 2005, Table 2. Raises ArgumentError for levels < 1.
    """
    n = 2 ** whole_number("levels", levels, 1) - 1
    return _rods(f"binary_{levels}", [i // 2 for i in range(1, n + 1)], joint_types)


def chain_with_side_branches(k: int, joint_types: Sequence[str] = ("revolute",)) -> Tree:
    """Return a main chain of `k` bodies with one side body on each: 2k bodies.

    The main chain has the odd numbers, and body 2j is a child of body 2j - 1.
    Source: Featherstone 2005, Table 2. Raises ArgumentError for k < 1.
    """
    parent = [p for j in range(whole_number("k", k, 1)) for p in (max(0, 2 * j - 1), 2 * j + 1)]
    return _rods(f"side_branches_{k}", parent, joint_types)


def square_grid(k: int, joint_types: Sequence[str] = ("revolute",)) -> Tree:
    """Return a spanning tree of the k x k square grid, rooted in a corner, along shortest paths: k^2 bodies.

    The first row is the main chain, and each of its bodies starts a column. Rows are numbered one after the other.
    Source: Featherstone 2005, Table 2. Raises ArgumentError for k < 1.
    """
    first_row = list(range(whole_number("k", k, 1)))
    return _rods(f"grid_{k}", first_row + list(range(1, k * (k - 1) + 1)), joint_types)


def tree_1(joint_types: Sequence[str] = ("revolute",)) -> Tree:
    """Return Tree 1 of Featherstone 2005 and 2010 (Figure 1 of both): λ = (0, 1, 1, 2, 2, 3, 3)."""
    return _rods("tree_1", (0, 1, 1, 2, 2, 3, 3), joint_types)


# ---- the papers' robots


class _Link(NamedTuple):
    """A link of a limb: joint name, joint axis, where its rod ends [m], and mass [kg]."""

    name: str
    axis: Sequence[float]
    reach: Sequence[float]
    mass: float


_LEG = (
    _Link("hip_yaw", Z, (0, 0, -0.06), 1.2),
    _Link("hip_roll", X, (0, 0, -0.06), 1.2),
    _Link("hip_pitch", Y, (0, 0, -0.36), 6.0),
    _Link("knee_pitch", Y, (0, 0, -0.36), 3.5),
    _Link("ankle_pitch", Y, (0, 0, -0.05), 0.6),
    _Link("ankle_roll", X, (0.12, 0, -0.05), 1.1),
)
_ARM = (
    _Link("shoulder_pitch", Y, (0, 0, -0.06), 1.0),
    _Link("shoulder_roll", X, (0, 0, -0.06), 1.0),
    _Link("shoulder_yaw", Z, (0, 0, -0.22), 1.8),
    _Link("elbow_pitch", Y, (0, 0, -0.20), 1.2),
    _Link("wrist_yaw", Z, (0, 0, -0.05), 0.4),
    _Link("wrist_pitch", Y, (0, 0, -0.10), 0.5),
)
_PALM = (*_ARM, _Link("wrist_roll", X, (0, 0, -0.08), 0.4))
_HEAD = (
    _Link("neck_yaw", Z, (0, 0, 0.05), 0.4),
    _Link("neck_pitch", Y, (0, 0, 0.05), 0.4),
    _Link("neck_roll", X, (0, 0, 0.18), 3.5),
)
_FINGER = (_Link("finger", Y, (0, 0, -0.08), 0.1),)
_SIDES = (("left", 1.0), ("right", -1.0))


def featherstone_2005_humanoid() -> Tree:
    """Return the 30-DoF humanoid of Featherstone 2005, section 6: a floating torso and four limbs of six joints.

    Connectivity from the paper (N = 25, D1 = 219, D2 = 1039); sizes and masses (55.7 kg) are ours.
    """
    robot = _Assembly("featherstone_2005_humanoid", torso_mass=16.7)
    for side, sign in _SIDES:
        robot.limb(f"{side}_leg", 1, _LEG, at=(0, 0.1 * sign, -0.05))
    for side, sign in _SIDES:
        robot.limb(f"{side}_arm", 1, _ARM, at=(0, 0.2 * sign, 0.4))
    return robot.tree()


def asimo() -> Tree:
    """Return the ASIMO-like humanoid of Featherstone 2010, section 9: 35 bodies, 40 degrees of freedom.

    The floating torso has a head of three joints, two arms of seven joints, and a waist joint with two legs of six
    joints. Each palm has two fingers of one joint. The connectivity is inferred from Tables 2 and 3, not read from
    Figure 11; it reproduces every number there (D1 = 334, D2 = 1779, 708 entries in H). Sizes and masses (62.5 kg) are
    ours.

    Examples
    --------
    >>> from treesim.model import generators
    >>> generators.asimo()
    <Tree 'asimo': 35 bodies, nq 41, nv 40, 62.5 kg>
    """
    robot = _Assembly("asimo", torso_mass=15.0)
    robot.limb("head", 1, _HEAD, at=(0, 0, 0.45))
    for side, sign in _SIDES:
        palm = robot.limb(f"{side}_arm", 1, _PALM, at=(0, 0.2 * sign, 0.4))
        for finger, x in (("front", 0.02), ("back", -0.02)):
            robot.limb(f"{side}_{finger}", palm, _FINGER, at=(x, 0, -0.08))
    waist = robot.limb("waist", 1, (_Link("yaw", Z, (0, 0, -0.12), 3.0),), at=(0, 0, -0.02))
    for side, sign in _SIDES:
        robot.limb(f"{side}_leg", waist, _LEG, at=(0, 0.1 * sign, -0.12))
    return robot.tree()


class _Assembly:
    """A floating torso 45 cm high, to which limbs are added; bodies are numbered depth-first."""

    def __init__(self, name: str, torso_mass: float) -> None:
        self.name = name
        self.bodies = [Body("torso", 0, Joint("root_joint", "floating"), _rod(np.array([0, 0, 0.45]), 0.1, torso_mass))]
        self.visuals = [_rod_visual(1, np.array([0, 0, 0.45]), 0.1)]

    def limb(self, name: str, parent: int, links: Sequence[_Link], at: Sequence[float]) -> int:
        """Add a serial limb of `links` at the point `at` [m] of body `parent`; return the number of its last body."""
        for link in links:
            reach = np.array(link.reach, dtype=float)
            joint = Joint(
                f"{name}_{link.name}_joint", "continuous", placement=Placement(np.eye(3), np.array(at)), axis=link.axis
            )
            self.bodies.append(Body(f"{name}_{link.name}", parent, joint, _rod(reach, RADIUS, link.mass)))
            parent, at = len(self.bodies), link.reach
            self.visuals.append(_rod_visual(parent, reach, RADIUS))
        return parent

    def tree(self) -> Tree:
        return Tree(self.name, self.bodies, visuals=self.visuals)


# ---- random trees


def random_tree(
    rng: np.random.Generator,
    n_bodies: int,
    joint_types: Sequence[str] = tuple(JOINT_TYPES),
    armature: float = 0.0,
    damping: float = 0.0,
) -> Tree:
    """Return a random tree of `n_bodies` >= 3 bodies whose numbering is regular but not depth-first.

    At least two bodies are children of the base. Joint types are drawn from `joint_types`; placements and axes are
    random. A body weighs 0.5 to 2.5 kg. Its centre of mass is within 0.1 m (per axis) of its frame, and its radii of
    gyration are about 0.1 m. Each body has an operational frame `tool_<i>`. `armature` [kg m^2, kg] and `damping`
    [N m s/rad, N s/m] are upper bounds of uniform draws.
    Raises ArgumentError for n_bodies < 3 and UnknownNameError for an unknown joint type.

    Examples
    --------
    >>> from treesim.model import generators
    >>> generators.random_tree(np.random.default_rng(0), 8, ("revolute", "prismatic")).nv
    8
    """
    if n_bodies < 3:
        raise ArgumentError(f"n_bodies must be at least 3, or every numbering is depth-first; got {n_bodies}")
    _check_joint_types(joint_types)
    bodies = []
    for i, parent in enumerate(_scattered_parents(rng, n_bodies), start=1):
        kind = JOINT_TYPES[str(rng.choice(list(joint_types)))]
        joint = Joint(
            f"joint_{i}",
            kind.name,
            placement=_random_placement(rng),
            axis=rng.normal(size=3).tolist(),
            armature=rng.uniform(0, armature, kind.nv).tolist(),
            damping=rng.uniform(0, damping, kind.nv).tolist(),
        )
        bodies.append(Body(f"body_{i}", parent, joint, _random_inertia(rng)))
    frames = [Frame(f"tool_{i}", i, _random_placement(rng)) for i in range(1, n_bodies + 1)]
    return Tree(f"random_{n_bodies}", bodies, frames=frames)


def _scattered_parents(rng: np.random.Generator, n: int) -> list[int]:
    while True:
        parent = [int(rng.integers(0, i)) for i in range(1, n + 1)]
        if parent.count(0) >= 2 and not is_depth_first(parent):
            return parent


def _random_placement(rng: np.random.Generator) -> Placement:
    return Placement(_random_rotation(rng), rng.uniform(-0.3, 0.3, 3))


def _random_rotation(rng: np.random.Generator) -> np.ndarray:
    return rotation_from_rpy(rng.uniform(-np.pi, np.pi, 3).tolist())


def _random_inertia(rng: np.random.Generator) -> Inertia:
    mass = rng.uniform(0.5, 2.5)
    second_moments = mass * rng.uniform(0.05, 0.15, 3) ** 2
    R = _random_rotation(rng)
    rotational = product(R * (second_moments.sum() - second_moments), R.T)
    return Inertia(mass, rng.uniform(-0.1, 0.1, 3), 0.5 * (rotational + rotational.T))


# ---- rods


def _rods(
    name: str, parent: Sequence[int], joint_types: Sequence[str], axes: Sequence[Sequence[float]] = (Z, Y)
) -> Tree:
    """Return a tree of equal rods along x.

    Each rod starts where its parent ends; siblings are spread by 90 degrees about z.
    """
    _check_joint_types(joint_types)
    reach = np.array([LENGTH, 0, 0])
    parent = list(parent)
    bodies = []
    for i, (p, kind, axis) in enumerate(islice(zip(parent, cycle(joint_types), cycle(axes)), len(parent)), start=1):
        elder, siblings = parent[: i - 1].count(p), parent.count(p)
        turn = np.pi / 2 * (elder - (siblings - 1) / 2)
        placement = Placement(rotation_from_rpy((0, 0, turn)), reach if p else np.zeros(3))
        bodies.append(
            Body(f"body_{i}", p, Joint(f"joint_{i}", kind, placement=placement, axis=axis), _rod(reach, RADIUS))
        )
    return Tree(name, bodies, visuals=[_rod_visual(i, reach, RADIUS) for i in range(1, len(bodies) + 1)])


def _rod(reach: np.ndarray, radius: float, mass: float | None = None) -> Inertia:
    """Inertia of a solid cylinder from the origin to `reach`, with the density of water unless `mass` is given."""
    length = vector_length(reach)
    mass = DENSITY * np.pi * radius**2 * length if mass is None else mass
    along = np.outer(reach, reach) / length**2
    rotational = mass * radius**2 / 2 * along + mass * (length**2 / 12 + radius**2 / 4) * (np.eye(3) - along)
    return Inertia(mass, reach / 2, rotational)


def _rod_visual(body: int, reach: np.ndarray, radius: float) -> Visual:
    length = vector_length(reach)
    return Visual(body, Placement(axis_rotation(reach / length), reach / 2), "cylinder", (radius, length))


def _check_joint_types(joint_types: Sequence[str]) -> None:
    if not checked_parts("joint_types", joint_types, str):
        raise ArgumentError("joint_types is empty: name at least one")
    for name in joint_types:
        known_name("joint type", name, JOINT_TYPES)
