"""Between treesim's layout and MuJoCo's, where quaternions are w first and a free base's velocity and force linear in
world axes and angular in body axes; in treesim both are in body axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treesim.compare.layouts import Reordered

from .reading import body_name

if TYPE_CHECKING:
    from treesim import Tree


class MujocoLayout(Reordered):
    """The layout of one robot in a MuJoCo model.

    joints: MuJoCo's numbers of ours (N), by default those of the bodies of the same name.
    """

    def __init__(self, robot: Tree, model: Any, joints: Sequence[int] | None = None) -> None:
        q_order, v_order = np.empty(robot.nq, dtype=int), np.empty(robot.nv, dtype=int)
        numbers_there = joints or [int(model.body(body_name(body.name)).jntadr[0]) for body in robot.bodies]
        for body, joint in zip(robot.bodies, numbers_there, strict=True):
            ours_q, ours_v = (index[body.joint.name] for index in (robot.q_index, robot.v_index))
            at_q, at_v = model.jnt_qposadr[joint], model.jnt_dofadr[joint]
            numbers = list(range(ours_q.start, ours_q.stop))
            if body.joint.type in ("floating", "spherical"):
                numbers[-4:] = [numbers[-1], *numbers[-4:-1]]  # w x y z
            q_order[at_q : at_q + len(numbers)] = numbers
            v_order[at_v : at_v + body.joint.nv] = range(ours_v.start, ours_v.stop)
        super().__init__(q_order, v_order)
        self.floating = bool(robot.bodies) and robot.bodies[0].joint.type == "floating"

    def velocity_to_engine(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return v (..., nv) as MuJoCo's velocity."""
        return self._turned("...ij,...j->...i", q, v)[..., self.v_order]

    def velocity_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return MuJoCo's velocity as v (..., nv)."""
        return self._turned("...ji,...j->...i", q, super().velocity_from_engine(q, theirs))

    def acceleration_to_engine(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return a, the derivative of v (..., nv) in axes that turn with the body, as MuJoCo's acceleration."""
        return self.velocity_to_engine(q, self._with_turning_axes(v, a, 1.0))

    def acceleration_from_engine(self, q: np.ndarray, v: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return MuJoCo's acceleration as the derivative of v (..., nv) in axes that turn with the body."""
        return self._with_turning_axes(v, self.velocity_from_engine(q, theirs), -1.0)

    def _turned(self, product: str, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        if not self.floating:
            return x
        linear = np.einsum(product, base_rotation(q), x[..., :3])
        return np.concatenate([linear, x[..., 3:]], axis=-1)

    def _with_turning_axes(self, v: np.ndarray, a: np.ndarray, sign: float) -> np.ndarray:
        """The base's linear acceleration with or without the turning of its axes."""
        if not self.floating:
            return a
        return np.concatenate([a[..., :3] + sign * np.cross(v[..., 3:6], v[..., :3]), a[..., 3:]], axis=-1)


def base_rotation(q: np.ndarray) -> np.ndarray:
    """Return R (..., 3, 3) of the floating base of q (..., nq), body to world."""
    x, y, z, w = np.moveaxis(q[..., 3:7], -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))
