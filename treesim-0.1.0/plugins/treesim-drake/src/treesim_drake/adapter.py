"""Adapter: Drake reads the user's file without shapes and limits, or the bodies written as URDF."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from treesim.compare import CANONICAL, RAW
from treesim.compare.drake import KNOWN
from treesim.errors import PluginError

try:
    from .model import DrakeModel
    from .reading import ENGINE, stripped
except ImportError as error:
    if error.name is None or error.name.partition(".")[0] != "pydrake":
        raise
    raise PluginError("Drake is not installed: `python -m pip install drake` brings it") from error

if TYPE_CHECKING:
    from treesim import Tree


class DrakeAdapter:
    """Drake, for `treesim compare --against drake`."""

    name = "drake"
    title = ENGINE
    integrator: str | None = None
    levels: tuple[str, ...] = (RAW, CANONICAL)
    timed = RAW

    def version(self) -> str:
        """Return the version of Drake."""
        return version("drake")

    def refuses(self, robot: Tree) -> str | None:
        """Return why Drake cannot evaluate this robot, or None."""
        for i, body in enumerate(robot.bodies):
            joint = body.joint
            if joint.type not in KNOWN and not (joint.type == "floating" and i == 0):
                return f"Drake reads no {joint.type} joint from a URDF ({joint.name!r})"
        return None

    def read(self, robot: Tree, urdf: str, level: str) -> DrakeModel:
        """Return the robot in Drake, read from its text.

        Raises UnsupportedError if Drake does not support the bodies, or would replace an inertia, and EngineError
        if it reads other joints.
        """
        return DrakeModel(robot, *stripped(urdf, robot))
