"""States of an edited robot in which its links have the poses and velocities that they have in the old one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics.operational.frames import frame_pose, frame_velocity
from ..errors import ModelError, quoted
from ..model.inertia import Placement
from ..model.joints import Joint, displacement
from ..model.named_axes import coordinate_argument, velocity_argument
from ..model.pack import axis_rotation
from ..model.tree import Tree
from ..states.arguments import checked_robot
from ..validation.arrays import coerce

RESIDUAL = 1e-9  # largest difference [m, m/s, rad/s] of a link's pose or velocity


class _Motion(NamedTuple):
    """Motion of frames: rotations R (..., 3, 3), origins p (..., 3), angular and linear velocities in world axes."""

    R: np.ndarray
    p: np.ndarray
    omega: np.ndarray
    v: np.ndarray

    def at(self, pose: Placement) -> _Motion:
        """Return the motion of a frame with a constant pose in this frame."""
        arm = self.R @ pose.translation
        return _Motion(self.R @ pose.rotation, self.p + arm, self.omega, self.v + np.cross(self.omega, arm))


def match_state(old: Tree, q: ArrayLike, v: ArrayLike, new: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Return the state of a robot in which its links have the poses and velocities of another robot's links.

    Links and frames of the two robots are matched by their names. The function serves robots that were edited, as by
    `Tree.reduced` and `Tree.attach`. Joints of bodies without a matched link or frame are at their neutral positions,
    at rest.

    Parameters
    ----------
    old : Tree
        Robot whose state is given.
    q : array_like
        (..., nq) configurations of `old`.
    v : array_like
        (..., nv) velocities of `old`.
    new : Tree
        Robot whose state is returned.

    Returns
    -------
    q : numpy.ndarray
        (..., nq) configurations of `new`. Angles and quaternions are as near to those of joints of the same name as
        whole turns and signs allow.
    v : numpy.ndarray
        (..., nv) velocities of `new`.

    Raises
    ------
    ModelError
        If `new` has no state in which the poses and velocities are equal to 1e-9. The error names the link.
    ArgumentError
        If an argument has another type or shape.

    Examples
    --------
    >>> arm = treesim.load("ur5")
    >>> rigid = arm.reduced({"wrist_3_joint": 0.5})
    >>> q, v = treesim.match_state(arm, [0.1, 0.2, 0.3, 0.4, 0.5, 0.5], [1, 2, 3, 4, 5, 0], rigid)
    >>> q.round(12), v.round(12)
    (array([0.1, 0.2, 0.3, 0.4, 0.5]), array([1., 2., 3., 4., 5.]))
    """
    old, new = checked_robot(old), checked_robot(new)
    q, v = coerce(coordinate_argument(old, "q", q)), coerce(velocity_argument(old, "v", v))
    shape = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    q, v = np.broadcast_to(q, (*shape, old.nq)), np.broadcast_to(v, (*shape, old.nv))
    names = [name for name in new.frames if name in old.frames]
    if not names:
        raise ModelError(f"{quoted(old.name)} and {quoted(new.name)} have no link or frame of the same name")
    wanted = {name: _motion(old, q, v, name) for name in names}
    found_q, found_v = np.tile(new.neutral(), (*shape, 1)), np.zeros((*shape, new.nv))
    still = _Motion(np.broadcast_to(np.eye(3), (*shape, 3, 3)), *np.zeros((3, *shape, 3)))
    moved = {0: still}
    for name, motion in wanted.items():
        moved.setdefault(new.frames[name].body, motion.at(new.frames[name].placement.inverse()))
    for number, body in enumerate(new.bodies, start=1):
        joint = body.joint
        base = moved[body.parent].at(joint.placement)
        if number not in moved:  # a part that the old robot does not have
            moved[number] = base.at(displacement(joint, new.spanning.neutral()[new.spanning.q_index[joint.name]]))
        elif joint.mimic is None:
            position, velocity = _coordinates(joint, base, moved[number])
            if joint.name in old.q_index and old.joints[joint.name].kind.code == joint.kind.code:
                position = _nearest(joint.type, position, q[..., old.q_index[joint.name]])
            found_q[..., new.q_index[joint.name]], found_v[..., new.v_index[joint.name]] = position, velocity
    for name, motion in wanted.items():
        gaps = [np.abs(x - y).max(initial=0) for x, y in zip(motion, _motion(new, found_q, found_v, name), strict=True)]
        if not max(gaps) <= RESIDUAL * max(1.0, *(np.abs(part).max(initial=0) for part in motion)):
            raise ModelError(
                f"no state of {quoted(new.name)} moves {quoted(name)} as {quoted(old.name)} does: "
                f"its pose would be off by {max(gaps[:2]):.3g}, its velocity by {max(gaps[2:]):.3g}"
            )
    return found_q, found_v


def _nearest(kind: str, position: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return an equal position (..., nq) that is nearest to another one: by whole turns, or by a quaternion's sign."""
    near = position.copy()
    if kind in ("spherical", "floating"):
        near[..., -4:] *= np.where((near[..., -4:] * other[..., -4:]).sum(-1, keepdims=True) < 0, -1.0, 1.0)
    elif kind != "prismatic":
        near[..., -1] += 2 * np.pi * np.round((other[..., -1] - near[..., -1]) / (2 * np.pi))
    return near


def _motion(robot: Tree, q: np.ndarray, v: np.ndarray, name: str) -> _Motion:
    pose, velocity = frame_pose(robot, q, name), frame_velocity(robot, q, v, name)
    return _Motion(pose[..., :3, :3], pose[..., :3, 3], velocity[..., 3:], velocity[..., :3])


def _coordinates(joint: Joint, base: _Motion, body: _Motion) -> tuple[np.ndarray, np.ndarray]:
    """Return position and velocity of a joint from the motion of its own frame on the parent, and of its body."""
    from scipy.spatial.transform import Rotation

    back, inside = np.swapaxes(base.R, -1, -2), np.swapaxes(body.R, -1, -2)
    R, p = back @ body.R, (back @ (body.p - base.p)[..., None])[..., 0]
    omega = (inside @ (body.omega - base.omega)[..., None])[..., 0]
    sliding = body.v - base.v - np.cross(base.omega, body.p - base.p)
    v, kind = (inside @ sliding[..., None])[..., 0], joint.kind
    B = axis_rotation(np.asarray(joint.axis)) if kind.has_axis else np.eye(3)
    velocity = np.concatenate([omega @ B, v @ B], -1)[..., list(kind.screws)]
    if not kind.has_axis:
        q = Rotation.from_matrix(R.reshape(-1, 3, 3)).as_quat().reshape(*p.shape[:-1], 4)
        return np.concatenate([p, q], -1)[..., -joint.nq :], velocity
    turned = B.T @ R @ B
    angles = np.arctan2(turned[..., 1, 0], turned[..., 0, 0])[..., None] * [0, 0, 1]
    return np.concatenate([angles, p @ B], -1)[..., list(kind.screws)], velocity
