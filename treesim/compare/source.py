"""The two texts that describe a robot to another engine: the user's own file, and our bodies written out again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import cast

import treesim

from ..model.tree import Tree
from ..types import Base


@dataclass(frozen=True, eq=False)
class RobotSource:
    """A robot, the XML it came from (comments gone, xacro expanded; None for a hand-built one), and the SHA-256 of the
    document itself."""

    robot: Tree
    urdf: str | None = None
    sha256: str | None = None


def read(source: object, base: Base) -> RobotSource:
    """Return the robot that a source which `treesim.load` takes describes, or a Tree; joints that follow others are
    freed, which other engines ignore, or hold softly. An installed robot keeps the name by which it was asked for.

    Raises what `treesim.load` raises.
    """
    if isinstance(source, Tree):
        return RobotSource(source.spanning)
    from lxml import etree

    from ..urdf.findings import Findings
    from ..urdf.read import Source, parse
    from ..urdf.resolve import is_robot_name, open_source

    findings = Findings("<source>", strict=False)
    document = open_source(cast(Source, source), findings)  # once: a stream cannot be read twice
    robot = treesim.load(document.path or document.data, base=base, mimic="free")
    robot = robot.with_name(source) if isinstance(source, str) and is_robot_name(source) else robot
    urdf = etree.tostring(parse(document, findings), encoding="unicode")
    return RobotSource(robot, urdf, hashlib.sha256(document.data).hexdigest())


def canonical(robot: Tree) -> str:
    """Return the robot's bodies as a URDF with principal inertias and unit axes: no engine has to round anything."""
    from ..urdf import to_urdf

    return to_urdf(robot, principal=True, shapes=False)


def without_losses(robot: Tree) -> Tree:
    """Return the robot's bodies alone, without joint damping, Coulomb friction and armature: engines treat these
    differently, and frames and shapes have no part in the dynamics."""
    bodies = [
        replace(body, joint=replace(body.joint, damping=0.0, friction=0.0, armature=0.0)) for body in robot.bodies
    ]
    return treesim.Tree(robot.name, bodies, gravity=robot.gravity.tolist())


def is_floating(robot: Tree) -> bool:
    """Return whether the robot hangs on one floating joint."""
    return robot.n_bodies > 0 and robot.bodies[0].joint.type == "floating"
