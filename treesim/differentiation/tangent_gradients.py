"""Gradients in the numbers of configurations, and gradients along their velocity coordinates.

A function of configurations normalizes quaternions, so its gradient in their numbers is tangent to the unit sphere.
With the displacement d of `Tree.integrate` at d = 0, quaternions move by p (d/2, 0), and positions by R d.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..model.matrices import rotation_of
from ..model.tree import Tree


class _Coordinates(NamedTuple):
    """Places in q and v: of coordinates that equal their velocity's integral, of planar joints, and of quaternions.

    quaternions: first index of the quaternion, and of the angular velocity. turned: first indices of positions along
    the body's axes, with the index of the quaternion or of the angle that turns them.
    """

    plain: tuple[np.ndarray, np.ndarray]
    planar: list[tuple[int, int, int]]
    floating: list[tuple[int, int, int]]
    quaternions: list[tuple[int, int]]


def in_numbers(robot: Tree, q: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Return the gradient (..., nq) in the numbers of q, of one along the velocity coordinates (..., nv)."""
    places = _coordinates(robot)
    found = np.zeros((*np.broadcast_shapes(q.shape[:-1], gradient.shape[:-1]), robot.nq), gradient.dtype)
    found[..., places.plain[0]] = gradient[..., places.plain[1]]
    for in_q, in_v, angle in places.planar:
        found[..., in_q : in_q + 2] = _turned(gradient[..., in_v : in_v + 2], q[..., angle])
    for in_q, in_v, at in places.floating:
        R = rotation_of(_unit(q[..., at : at + 4])[0])
        found[..., in_q : in_q + 3] = (R @ gradient[..., in_v : in_v + 3, None])[..., 0]
    for in_q, in_v in places.quaternions:
        p, length = _unit(q[..., in_q : in_q + 4])
        g, vector, w = gradient[..., in_v : in_v + 3], p[..., :3], p[..., 3:]
        found[..., in_q : in_q + 3] = 2 * (w * g + np.cross(vector, g)) / length
        found[..., in_q + 3] = -2 * (vector * g).sum(axis=-1) / length[..., 0]
    return found


def along_velocities(robot: Tree, q: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Return the gradient (..., nv) along the velocity coordinates, of one in the numbers of q (..., nq)."""
    places = _coordinates(robot)
    found = np.zeros((*np.broadcast_shapes(q.shape[:-1], gradient.shape[:-1]), robot.nv), gradient.dtype)
    found[..., places.plain[1]] = gradient[..., places.plain[0]]
    for in_q, in_v, angle in places.planar:
        found[..., in_v : in_v + 2] = _turned(gradient[..., in_q : in_q + 2], -q[..., angle])
    for in_q, in_v, at in places.floating:
        R = rotation_of(_unit(q[..., at : at + 4])[0])
        found[..., in_v : in_v + 3] = (np.swapaxes(R, -1, -2) @ gradient[..., in_q : in_q + 3, None])[..., 0]
    for in_q, in_v in places.quaternions:
        p, _ = _unit(q[..., in_q : in_q + 4])
        g, vector, w = gradient[..., in_q : in_q + 4], p[..., :3], p[..., 3:]
        found[..., in_v : in_v + 3] = (w * g[..., :3] - g[..., 3:] * vector - np.cross(vector, g[..., :3])) / 2
    return found


@lru_cache(maxsize=64)
def _coordinates(robot: Tree) -> _Coordinates:
    places = _Coordinates((np.arange(0), np.arange(0)), [], [], [])
    in_q, in_v = [], []
    for name, at in robot.q_index.items():
        q, v = at.start, robot.v_index[name].start
        match robot.joints[name].type:
            case "floating":
                places.floating.append((q, v, q + 3))
                places.quaternions.append((q + 3, v + 3))
            case "spherical":
                places.quaternions.append((q, v))
            case "planar":
                places.planar.append((q, v, q + 2))
                in_q.append(q + 2)
                in_v.append(v + 2)
            case _:
                in_q.append(q)
                in_v.append(v)
    return places._replace(plain=(np.array(in_q, int), np.array(in_v, int)))


def _unit(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return quaternions (..., 4) of length 1, and their lengths (..., 1)."""
    length = np.linalg.norm(p, axis=-1, keepdims=True)
    return p / length, length


def _turned(xy: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Return vectors (..., 2), turned by an angle."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([c * xy[..., 0] - s * xy[..., 1], s * xy[..., 0] + c * xy[..., 1]], axis=-1)
