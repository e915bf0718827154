"""Adapter: Pinocchio reads the robot's file; joints that its reader lacks are built joint by joint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio

from treesim.compare import CANONICAL, NUMBERED, RAW, Scene, SceneRun

from . import scenes
from .conversion import converted
from .reading import from_tree, from_urdf
from .routines import RoutinesModel
from .timed import ENGINE
from .user_model import user_layout

if TYPE_CHECKING:
    from treesim import Joint, Tree
    from treesim.compare.layouts import Layout

    from .model import PinocchioModel

UNREAD = ("spherical", "planar")  # in a URDF: not at all, or about one axis only
LIMITED = ("revolute", "prismatic")  # only with limits


class PinocchioAdapter:
    """Pinocchio, for `treesim compare --against pinocchio` and `treesim bench`."""

    name = "pinocchio"
    title = ENGINE
    integrator: str | None = None
    levels: tuple[str, ...] = (RAW, CANONICAL, NUMBERED)
    timed = RAW

    def version(self) -> str:
        """Return the version of Pinocchio."""
        return str(pinocchio.__version__)

    def refuses(self, robot: Tree) -> str | None:
        """Return None: no robot is refused altogether."""
        return None

    def read(self, robot: Tree, urdf: str, level: str) -> PinocchioModel:
        """Return the robot in Pinocchio, read from its text.

        At the canonical level, robots with joints that Pinocchio's reader lacks are built joint by joint; at the
        numbered level all are, and M and its inverse are computed by `crba` and `computeMinverse`. Raises
        UnsupportedError if Pinocchio cannot read the text, and EngineError if it reads other joints.
        """
        if level == NUMBERED:
            return RoutinesModel.of(from_tree(robot))
        if level == CANONICAL and any(_unread(body.joint) for body in robot.bodies):
            return from_tree(robot)
        return from_urdf(robot, urdf)

    def simulate(self, scene: Scene) -> SceneRun:
        """Return the motion of a scene; raises UnsupportedError for ground."""
        return scenes.simulate(scene)

    def convert(self, robot: Tree) -> PinocchioModel:
        """Return the robot for `treesim.to_pinocchio`."""
        return converted(robot)

    def layout_of_model(self, robot: Tree, model: Any) -> Layout:
        """Return the state layout of a robot in a user's pinocchio.Model; raises ArgumentError if joints differ."""
        return user_layout(robot, model)


def _unread(joint: Joint) -> bool:
    """Return whether Pinocchio's reader does not support the joint, or requires limits that it lacks."""
    limits = np.concatenate([np.ravel(x) for x in (joint.lower, joint.upper, joint.effort_limit, joint.velocity_limit)])
    return joint.type in UNREAD or (joint.type in LIMITED and not np.isfinite(limits).all())
