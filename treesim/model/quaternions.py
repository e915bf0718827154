"""Unit quaternions in configurations that users give."""

from __future__ import annotations

import numpy as np

from ..errors import ArgumentError
from .tree import Tree

ROUNDED = 1e-3  # by as much may the length of a quaternion differ from 1 and still be taken for one


def unit_quaternions(robot: Tree, label: str, q: np.ndarray) -> np.ndarray:
    """Return configurations q (..., nq) with the quaternions of spherical and floating joints scaled to length 1.

    label: what to call q in an error. Raises ArgumentError naming the joint, and the state among several, whose
    quaternion is not of length 1 to a thousandth.
    """
    q = q.copy()
    for body in robot.bodies:
        if body.joint.type in ("spherical", "floating"):
            where = robot.q_index[body.joint.name]
            part = q[..., where.stop - 4 : where.stop]
            length = np.linalg.norm(part, axis=-1, keepdims=True)
            wrong = np.argwhere(~(np.abs(length[..., 0] - 1) <= ROUNDED))
            if len(wrong):
                state = tuple(int(k) for k in wrong[0])
                place = f"[{', '.join(map(str, state))}]" if state else ""
                raise ArgumentError(
                    f"{label}{place}: the quaternion of joint {body.joint.name!r} has length {length[state].item():.6g}"
                )
            part /= length
    return q
