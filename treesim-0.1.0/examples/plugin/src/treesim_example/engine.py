"""An engine to compare with: poses by products of transforms, the mass matrix as a sum over bodies."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
from scipy.spatial.transform import Rotation

from treesim import Tree
from treesim.compare import CANONICAL, EngineModel
from treesim.compare.layouts import Reordered

SIMPLE = ("revolute", "continuous", "prismatic")


class DenseModel(EngineModel):
    """One robot. M = sum of m Jv' Jv + Jw' I Jw over the bodies, without recursion."""

    engine = "dense"

    def __init__(self, robot: Tree) -> None:
        super().__init__(robot)
        order = np.arange(robot.nv)
        self.layout = Reordered(order, order)

    def bodies(self) -> dict[str, np.ndarray]:
        """Return mass (N,), com (N, 3) and inertia (N, 3, 3) of the bodies."""
        parts = [body.inertia for body in self.robot.bodies]
        return {
            "mass": np.array([part.mass for part in parts]),
            "com": np.array([part.com for part in parts]).reshape(-1, 3),
            "inertia": np.array([part.rotational for part in parts]).reshape(-1, 3, 3),
        }

    def body_poses(self, q: np.ndarray) -> np.ndarray:
        """Return the poses (N, 4, 4) of the bodies in the world."""
        poses = [np.eye(4)]
        for body, x in zip(self.robot.bodies, q, strict=True):
            motion, axis = np.eye(4), np.asarray(body.joint.axis)
            if body.joint.type == "prismatic":
                motion[:3, 3] = x * axis
            else:
                motion[:3, :3] = Rotation.from_rotvec(x * axis).as_matrix()
            poses.append(poses[body.parent] @ body.joint.placement.matrix() @ motion)
        return np.array(poses[1:]).reshape(-1, 4, 4)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return M (nv, nv)."""
        poses, M = self.body_poses(q), np.zeros((self.robot.nv, self.robot.nv))
        for i, body in enumerate(self.robot.bodies):
            R, inertia = poses[i, :3, :3], body.inertia
            Jv, Jw = self._jacobians(poses, i, poses[i, :3, 3] + R @ inertia.com)
            M += inertia.mass * Jv.T @ Jv + Jw.T @ (R @ inertia.rotational @ R.T) @ Jw
        return M

    def _jacobians(self, poses: np.ndarray, i: int, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the linear and angular Jacobians (3, nv) of a point of body i, numbered from 0."""
        Jv, Jw = np.zeros((2, 3, self.robot.nv))
        while i >= 0:
            joint = self.robot.bodies[i].joint
            axis = poses[i, :3, :3] @ np.asarray(joint.axis)
            if joint.type == "prismatic":
                Jv[:, i] = axis
            else:
                Jv[:, i], Jw[:, i] = np.cross(axis, point - poses[i, :3, 3]), axis
            i = self.robot.bodies[i].parent - 1
        return Jv, Jw


class DenseAdapter:
    """The engine, for `treesim compare --against dense`."""

    name = "dense"
    title = "dense sums"
    integrator: str | None = None
    levels: tuple[str, ...] = (CANONICAL,)
    timed = CANONICAL

    def version(self) -> str:
        """Return the version of this package."""
        return version("treesim-example")

    def refuses(self, robot: Tree) -> str | None:
        """Return why a robot is not supported, or None."""
        for body in robot.bodies:
            if body.joint.type not in SIMPLE:
                return f"joint {body.joint.name!r} is {body.joint.type}, and only {', '.join(SIMPLE)} are supported"
        return None

    def read(self, robot: Tree, urdf: str, level: str) -> DenseModel:
        """Return the engine's model of a robot."""
        return DenseModel(robot)
