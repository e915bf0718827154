"""Between treesim's layout of states and that of Drake's MultibodyPlant, known by its documented conventions."""

from __future__ import annotations

import numpy as np

from ..errors import UnsupportedError
from ..model.given import refuse_followers
from ..model.tree import Tree
from .layouts import Reordered

KNOWN = ("revolute", "continuous", "prismatic", "planar")


class DrakeLayout(Reordered):
    """The layout of one robot in a MultibodyPlant that parsed its URDF, and holds nothing else.

    A floating base comes first: q = (quaternion w x y z, position of the body's origin), v = (angular velocity,
    velocity of the origin), both in the world's axes. Then every joint has the numbers that it has here, in treesim's
    order, depth-first as the URDF has its joints.
    Raises UnsupportedError for spherical joints, which Drake's URDF reader makes of three angles, and for floating ones
    elsewhere.
    """

    def __init__(self, robot: Tree) -> None:
        refuse_followers(robot, "a state of Drake")
        q_order, v_order = np.arange(robot.nq), np.arange(robot.nv)
        self.floating = bool(robot.bodies) and robot.bodies[0].joint.type == "floating"
        for body in robot.bodies[self.floating :]:
            if body.joint.type not in KNOWN:
                raise UnsupportedError(f"joint {body.joint.name!r}: Drake reads no {body.joint.type} joint from a URDF")
        if self.floating:
            q_order[:7], v_order[:6] = [6, 3, 4, 5, 0, 1, 2], [3, 4, 5, 0, 1, 2]
        super().__init__(q_order, v_order)

    def velocity_to_engine(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return v (..., nv) as Drake's velocity."""
        return self._turned("...ij,...j->...i", q, v)[..., self.v_order]

    def velocity_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return Drake's velocity as v (..., nv)."""
        return self._turned("...ji,...j->...i", q, super().velocity_from_engine(q, theirs))

    def acceleration_to_engine(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return a, the derivative of v (..., nv) in axes that turn with the body, as that of Drake's velocity."""
        return self.velocity_to_engine(q, self._with_turning_axes(v, a, 1.0))

    def acceleration_from_engine(self, q: np.ndarray, v: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the derivative of Drake's velocity as that of v (..., nv)."""
        return self._with_turning_axes(v, self.velocity_from_engine(q, theirs), -1.0)

    def _turned(self, product: str, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The base's linear and angular part turned to the world's axes, or back."""
        if not self.floating:
            return x
        R = rotation_of(q[..., 3:7])
        linear, angular = (np.einsum(product, R, x[..., part]) for part in (slice(0, 3), slice(3, 6)))
        return np.concatenate([linear, angular, x[..., 6:]], axis=-1)

    def _with_turning_axes(self, v: np.ndarray, a: np.ndarray, sign: float) -> np.ndarray:
        if not self.floating:
            return a
        return np.concatenate([a[..., :3] + sign * np.cross(v[..., 3:6], v[..., :3]), a[..., 3:]], axis=-1)


def rotation_of(quaternion: np.ndarray) -> np.ndarray:
    """Return the rotations (..., 3, 3) of unit quaternions xyzw (..., 4)."""
    x, y, z, w = np.moveaxis(quaternion, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))
