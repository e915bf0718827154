"""The adapter: MuJoCo takes the robot's bodies alone, whatever text there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mujoco

from treesim.compare import CANONICAL

from .model import MujocoModel
from .timed import ENGINE

if TYPE_CHECKING:
    from treesim import Tree

KNOWN = ("revolute", "continuous", "prismatic", "spherical")


class MujocoAdapter:
    """MuJoCo, for `treesim compare --against mujoco` and `treesim bench`."""

    name = "mujoco"
    title = ENGINE
    integrator: str | None = "semi_implicit_euler"
    levels: tuple[str, ...] = (CANONICAL,)
    timed = CANONICAL

    def version(self) -> str:
        """Return the version of MuJoCo."""
        return str(mujoco.__version__)

    def refuses(self, robot: Tree) -> str | None:
        """Return why MuJoCo cannot evaluate this robot, or None."""
        for i, body in enumerate(robot.bodies):
            if body.joint.type not in KNOWN and not (body.joint.type == "floating" and i == 0):
                return f"MuJoCo has no {body.joint.type} joint inside a robot"
        return None

    def read(self, robot: Tree, urdf: str, level: str) -> MujocoModel:
        """Return the robot's bodies in MuJoCo, written by `reading.bodies_alone`: the text that it would read of itself
        has contacts, limits and meshes. Raises UnsupportedError if MuJoCo does not take them."""
        return MujocoModel(robot)
