"""The two texts that describe a robot to another engine: the user's file, and treesim's bodies written as URDF."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from lxml import etree

import treesim

from ..errors import TreesimError, UrdfWarning
from ..model.inertia import Inertia
from ..model.parts import changed_joints
from ..model.tree import Tree
from ..types import BaseChoice
from ..urdf.findings import Findings
from ..urdf.read import Source, parse
from ..urdf.resolve import is_robot_name, open_source

NO_LOSSES: dict[str, Any] = {"damping": 0.0, "joint_friction": 0.0, "armature": 0.0, "stiffness": 0.0}


@dataclass(frozen=True, eq=False)
class RobotSource:
    """A robot and the URDF text from which it was read.

    Parameters
    ----------
    robot : Tree
        Robot.
    urdf : str, optional
        XML with comments removed and xacro expanded; None for a robot without a file.
    sha256 : str, optional
        SHA-256 of the original document.
    mimic_robot : Tree, optional
        Robot with its mimic joints; None for a robot without mimic joints.
    """

    robot: Tree
    urdf: str | None = None
    sha256: str | None = None
    mimic_robot: Tree | None = None


def read(source: object, base: BaseChoice) -> RobotSource:
    """Return the robot of any source that `treesim.load` reads, or of a Tree, with mimic joints free.

    Mimic joints are freed because other engines ignore them, or enforce them softly. An installed robot keeps the name
    under which it was requested. Raises as `treesim.load`.
    """
    if isinstance(source, Tree):
        return RobotSource(source.spanning, mimic_robot=source if source.mimic_joints else None)
    findings = Findings("<source>", strict=False)
    given = open_source(cast(Source, source), findings)  # once: a stream cannot be read twice
    robot = treesim.load(given.path or given.data, base=base, mimic="free")
    robot = robot.with_name(source) if isinstance(source, str) and is_robot_name(source) else robot
    urdf = etree.tostring(parse(given, findings).root, encoding="unicode")
    mimic = _with_mimic_joints(given.path or given.data, base) if "<mimic" in urdf else None
    return RobotSource(robot, urdf, hashlib.sha256(given.data).hexdigest(), mimic)


def _with_mimic_joints(source: Source, base: BaseChoice) -> Tree | None:
    """Return the robot with mimic joints; None if it has none, or treesim does not support them."""
    try:
        # the first reading of the file has reported its findings
        with warnings.catch_warnings(action="ignore", category=UrdfWarning):
            robot = treesim.load(source, base=base)
    except TreesimError:
        return None
    return robot if robot.mimic_joints else None


def canonical(robot: Tree) -> str:
    """Return the robot's bodies as URDF with principal inertias and unit axes, so that no engine has to round."""
    from ..urdf.export import to_urdf, without_springs

    return to_urdf(without_springs(robot), principal=True, shapes=False, welds=False)


def without_losses(robot: Tree) -> Tree:
    """Return the robot's bodies without joint damping, Coulomb friction, armature and springs, frames and shapes.

    Engines treat damping, friction and armature differently; their dynamics are compared without springs. Frames and
    shapes do not affect the dynamics.
    """
    bodies = changed_joints(robot.bodies, lambda joint: NO_LOSSES)
    return treesim.Tree(robot.name, bodies, gravity=robot.gravity.tolist())


def with_inertias(inertias: Mapping[int, Inertia], robot: Tree) -> Tree:
    """Return the robot's bodies with other inertias, {body number: inertia}, without frames and shapes."""
    bodies = [
        replace(body, inertia=inertias.get(number, body.inertia)) for number, body in enumerate(robot.bodies, start=1)
    ]
    return treesim.Tree(robot.name, bodies, gravity=robot.gravity.tolist())
