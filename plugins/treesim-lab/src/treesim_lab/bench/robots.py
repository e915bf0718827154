"""Robots for benchmarks: loaded by name or file, or generated chains, without damping, friction and armature."""

from __future__ import annotations

import re
from typing import NamedTuple, cast

import numpy as np

import treesim
from treesim.compare.cases import States
from treesim.compare.results import RAW
from treesim.compare.source import canonical, without_losses
from treesim.errors import ArgumentError
from treesim.model import generators
from treesim.model.tree import Tree
from treesim.types import Base, Mimic
from treesim.urdf import to_urdf
from treesim.urdf.findings import Findings
from treesim.urdf.resolve import is_robot_name, open_source

CHAIN = re.compile(r"chain([1-9]\d{0,3})")
STANDARD = ("g1_29dof_rev_1_0", "simple_humanoid", "talos_full_v2", "chain30", "chain100")
LOSSES = "joint damping, friction and armature are set to zero: engines treat them differently"
OPEN = "loops are left open: engines are timed on the tree that is cut open at them"


class BenchRobot(NamedTuple):
    """Robot of a benchmark.

    source: for `treesim.load`. base, mimic: as for `treesim.load`. xml: URDF text for other engines. tree:
    without damping, friction, armature and shapes. robot: as it was loaded.
    """

    source: str
    base: str
    mimic: str | None
    xml: str
    tree: Tree
    robot: Tree

    def text(self, level: str) -> str:
        """Return the text for an engine at a level: the URDF text, or the bodies as canonical URDF."""
        return self.xml if level == RAW else canonical(self.tree)


def bench_robot(name: str, base: str, mimic: str | None, notes: list[str]) -> BenchRobot:
    """Return the robot of a name or file; "chain30" is an unbranched chain of 30 revolute joints, on a fixed base.

    Raises as `treesim.load`, and ArgumentError for a robot that cannot move, or a chain on another base.
    """
    chain = CHAIN.fullmatch(name)
    if chain is None:
        source, xml = name, open_source(name, Findings(name)).data.decode()
    elif base == "floating":
        raise ArgumentError(f"{name} is a chain that begins at the world: leave --base floating out")
    else:
        source = xml = to_urdf(generators.chain(int(chain[1])))
    tree = treesim.load(source, base=cast(Base, base), mimic=cast(Mimic | None, mimic))
    tree = tree.with_name(name) if chain is not None or is_robot_name(source) else tree
    if tree.nv == 0:
        raise ArgumentError(f"{tree.name!r} has no degrees of freedom: there is nothing to time")
    if tree.damping.any() or tree.joint_friction.any() or tree.armature.any():
        notes.append(LOSSES)
    if tree.loops:
        notes.append(OPEN)
    return BenchRobot(source, base, mimic, xml, without_losses(tree), tree)


def random_states(tree: Tree, seed: int, count: int | None = None) -> States:
    """Return one random state, or `count` of them; tau belongs to a random acceleration of order one."""
    rng = np.random.default_rng(seed)
    if count is None:
        q, (v, a) = tree.random(rng), rng.standard_normal((2, tree.nv))
    else:
        q = np.array([tree.random(rng) for _ in range(count)])
        v, a = rng.standard_normal((2, count, tree.nv))
    return States(q, v, a, treesim.inverse_dynamics(tree, q, v, a))
