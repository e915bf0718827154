"""Adapter: MuJoCo reads the user's file without shapes and limits, or the bodies written as URDF."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mujoco

from treesim.compare import CANONICAL, RAW, Scene, SceneRun
from treesim.errors import UnsupportedError

from . import scenes
from .conversion import ConvertedModel
from .mjcf import MujocoFile
from .model import MujocoModel
from .reading import bodies_alone, stripped
from .timed import ENGINE

if TYPE_CHECKING:
    from treesim import Tree

KNOWN = ("revolute", "continuous", "prismatic", "spherical")


class MujocoAdapter:
    """MuJoCo, for `treesim compare --against mujoco` and `treesim bench`."""

    name = "mujoco"
    title = ENGINE
    integrator: str | None = "semi_implicit_euler"
    levels: tuple[str, ...] = (RAW, CANONICAL)
    timed = CANONICAL

    def version(self) -> str:
        """Return the version of MuJoCo."""
        return str(mujoco.__version__)

    def refuses(self, robot: Tree) -> str | None:
        """Return why MuJoCo cannot evaluate this robot, or None."""
        for body in robot.bodies:
            if body.joint.type not in KNOWN and not (body.joint.type == "floating" and body.parent == 0):
                return f"MuJoCo has no {body.joint.type} joint inside a robot"
        return None

    def read(self, robot: Tree, urdf: str, level: str) -> MujocoModel:
        """Return the robot in MuJoCo; at the canonical level from `reading.bodies_alone`, which has no limits.

        Raises UnsupportedError if MuJoCo does not support the bodies, and EngineError if it reads other joints.
        """
        if level == RAW:
            return MujocoModel(robot, *stripped(urdf, robot.base == "floating"))
        return MujocoModel(robot, bodies_alone(robot), ("joint limits removed",))

    def simulate(self, scene: Scene) -> SceneRun:
        """Return the motion of a scene; raises UnsupportedError if MuJoCo does not support the robot."""
        if reason := self.refuses(scene.robot.spanning):
            raise UnsupportedError(reason)
        return scenes.simulate(scene)

    def open_file(self, path: str) -> MujocoFile:
        """Return a file of MuJoCo's own format, for comparison with another description of the same robot.

        Raises UnsupportedError if MuJoCo cannot read it.
        """
        return MujocoFile(path)

    def convert(self, robot: Tree) -> ConvertedModel:
        """Return the robot for `treesim.to_mujoco`; raises UnsupportedError if MuJoCo does not support the bodies."""
        if reason := self.refuses(robot):
            raise UnsupportedError(reason)
        return ConvertedModel(robot)
