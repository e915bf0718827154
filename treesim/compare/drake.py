"""State layout of Drake's MultibodyPlant, after its documented conventions."""

from __future__ import annotations

import numpy as np

from ..errors import UnsupportedError, quoted
from ..model.tree import Tree
from ..states.arguments import refuse_mimic_joints
from .layouts import WorldAxes, floating_joints

KNOWN = ("revolute", "continuous", "prismatic", "planar")


class DrakeLayout(WorldAxes):
    """Layout of one robot in a MultibodyPlant that parsed its URDF and contains nothing else.

    A floating base comes first: q = (quaternion w x y z, position of the body's origin), v = (angular velocity,
    velocity of the origin), both in world axes. The other joints follow in depth-first order of the URDF, which is
    treesim's order, with the same coordinates. Only the velocity of a planar joint differs: in Drake it is the rate of
    x, y and angle, along axes that do not rotate with the body.
    Raises UnsupportedError for spherical joints, which Drake's URDF parser replaces by three angles, and for floating
    joints other than the base.
    """

    def __init__(self, robot: Tree) -> None:
        refuse_mimic_joints(robot, "a state of Drake")
        q_order, v_order = np.arange(robot.nq), np.arange(robot.nv)
        floating = robot.base == "floating"
        for body in robot.bodies[floating:]:
            if body.joint.type not in KNOWN:
                raise UnsupportedError(
                    f"joint {quoted(body.joint.name)}: Drake reads no {body.joint.type} joint from a URDF"
                )
        if floating:
            q_order[:7], v_order[:6] = [6, 3, 4, 5, 0, 1, 2], [3, 4, 5, 0, 1, 2]
        super().__init__(q_order, v_order, floating_joints(robot), parts=2)
        planar = [body.joint.name for body in robot.bodies if body.joint.type == "planar"]
        self._planar = [(robot.q_index[name].start, robot.v_index[name].start) for name in planar]

    def _turned(self, product: str, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Rotate the base's components to world axes and planar joints' to the parent's axes; or back."""
        turned = np.array(super()._turned(product, q, x))
        for k, j in self._planar:
            R = rotation_in_plane(q[..., k + 2])
            turned[..., j : j + 2] = np.einsum(product, R, turned[..., j : j + 2])
        return turned

    def _with_turning_axes(self, v: np.ndarray, a: np.ndarray, sign: float) -> np.ndarray:
        """Add (or subtract) the effect of rotating axes on linear accelerations of the base and planar joints."""
        turned = np.array(super()._with_turning_axes(v, a, sign))
        for _, j in self._planar:
            vx, vy, omega = np.moveaxis(v[..., j : j + 3], -1, 0)
            turned[..., j : j + 2] += sign * np.stack([-omega * vy, omega * vx], axis=-1)
        return turned


def rotation_in_plane(angle: np.ndarray) -> np.ndarray:
    """Return the rotation matrices (..., 2, 2) of angles (...) [rad]."""
    c, s = np.cos(angle), np.sin(angle)
    return np.moveaxis(np.array([[c, -s], [s, c]]), (0, 1), (-2, -1))
