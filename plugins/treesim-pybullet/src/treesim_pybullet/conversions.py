"""Conversions between treesim's and Bullet's states and forces, in both directions, by numpy.

Bullet puts each link's frame at the link's centre of mass, along the principal axes of its inertia (the
link's *inertial frame*), and expresses the velocity of a floating base in world axes. treesim uses the link
frame of the URDF and body-frame velocities. Notation: R is the base's attitude, (c, R_i) the inertial frame
in the link frame. Quaternions are xyzw on both sides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treesim.model import matrices


@dataclass(frozen=True, eq=False)
class InertialFrame:
    """A link's inertial frame in its link frame: centre of mass `com` (3,) [m], axes `rotation` (3, 3)."""

    com: np.ndarray
    rotation: np.ndarray


@dataclass(frozen=True, eq=False)
class BulletBase:
    """State of a floating base in Bullet, in world axes.

    position: of the centre of mass (3,) [m]. quaternion: of the inertial axes (4,). linear: velocity of the
    centre of mass (3,) [m/s]. angular: (3,) [rad/s].
    """

    position: np.ndarray
    quaternion: np.ndarray
    linear: np.ndarray
    angular: np.ndarray


def rotation_of(quaternion: np.ndarray) -> np.ndarray:
    """Return the (3, 3) rotation of a quaternion xyzw of any non-zero length."""
    return matrices.rotation_of(np.asarray(quaternion, dtype=float) / np.linalg.norm(quaternion))


def quaternion_of(rotation: np.ndarray) -> np.ndarray:
    """Return the unit quaternion xyzw, w >= 0, of a (3, 3) rotation."""
    # The four candidates are the columns of the rank-one matrix 4 q q^T; the longest one is the best conditioned.
    R = rotation
    outer = np.array(
        [
            [1 + R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[2, 1] - R[1, 2]],
            [R[0, 1] + R[1, 0], 1 - R[0, 0] + R[1, 1] - R[2, 2], R[1, 2] + R[2, 1], R[0, 2] - R[2, 0]],
            [R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], 1 - R[0, 0] - R[1, 1] + R[2, 2], R[1, 0] - R[0, 1]],
            [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], 1 + R[0, 0] + R[1, 1] + R[2, 2]],
        ]
    )
    longest = outer[np.argmax(np.diag(outer))]
    return longest * np.copysign(1 / np.linalg.norm(longest), longest[3])


def base_to_bullet(q: np.ndarray, v: np.ndarray, inertial: InertialFrame) -> BulletBase:
    """Convert a floating base's configuration `q` (7,) and body-frame velocity `v` (6,) to Bullet's."""
    R = rotation_of(q[3:7])
    return BulletBase(
        position=q[:3] + R @ inertial.com,
        quaternion=quaternion_of(R @ inertial.rotation),
        linear=R @ (v[:3] + np.cross(v[3:6], inertial.com)),
        angular=R @ v[3:6],
    )


def base_from_bullet(base: BulletBase, inertial: InertialFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return q (7,) and v (6,) of a floating base in Bullet."""
    R = rotation_of(base.quaternion) @ inertial.rotation.T
    angular = R.T @ base.angular
    linear = R.T @ base.linear - np.cross(angular, inertial.com)
    position = base.position - R @ inertial.com
    return np.concatenate([position, quaternion_of(R)]), np.concatenate([linear, angular])


def base_acceleration_to_bullet(
    a: np.ndarray, q: np.ndarray, v: np.ndarray, inertial: InertialFrame
) -> tuple[np.ndarray, np.ndarray]:
    """Return the world rates (3,), (3,) of Bullet's linear and angular base velocity when dv/dt = `a` (6,)."""
    R, w = rotation_of(q[3:7]), v[3:6]
    velocity = v[:3] + np.cross(w, inertial.com)
    return R @ (a[:3] + np.cross(a[3:6], inertial.com) + np.cross(w, velocity)), R @ a[3:6]


def base_acceleration_from_bullet(
    linear: np.ndarray, angular: np.ndarray, q: np.ndarray, v: np.ndarray, inertial: InertialFrame
) -> np.ndarray:
    """Return dv/dt (6,) of the body-frame base velocity from the world rates of Bullet's base velocities."""
    R, w = rotation_of(q[3:7]), v[3:6]
    spin = R.T @ angular
    velocity = v[:3] + np.cross(w, inertial.com)
    return np.concatenate([R.T @ linear - np.cross(w, velocity) - np.cross(spin, inertial.com), spin])


def base_motion_map(inertial: InertialFrame) -> np.ndarray:
    """Return T (6, 6) with v = T u, where u = [angular, linear] is the velocity of the centre of mass in inertial axes.

    These are the base coordinates of Bullet's mass matrix: M_bullet = T^T M T, and forces go the other way with T^T.
    """
    R_i, (x, y, z) = inertial.rotation, inertial.com
    com_cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    T = np.zeros((6, 6))
    T[:3, :3] = com_cross @ R_i
    T[:3, 3:] = R_i
    T[3:, :3] = R_i
    return T


def base_wrench_to_bullet(wrench: np.ndarray, q: np.ndarray, inertial: InertialFrame) -> tuple[np.ndarray, np.ndarray]:
    """Convert a body-frame `wrench` (6,) on the base to world force and moment about the centre of mass.

    wrench: force first, moment about the link frame's origin.
    """
    R = rotation_of(q[3:7])
    return R @ wrench[:3], R @ (wrench[3:6] - np.cross(inertial.com, wrench[:3]))


def base_wrench_from_bullet(
    force: np.ndarray, moment: np.ndarray, q: np.ndarray, inertial: InertialFrame
) -> np.ndarray:
    """Return the body-frame wrench (6,) on the base from Bullet's world force and moment about the centre of mass."""
    R = rotation_of(q[3:7])
    local = R.T @ force
    return np.concatenate([local, R.T @ moment + np.cross(inertial.com, local)])


def spherical_to_bullet(quaternion: np.ndarray, inertial: InertialFrame) -> np.ndarray:
    """Return Bullet's quaternion R_i^T Q R_i of a spherical joint at `quaternion` (4,): same rotation, other axes."""
    return np.concatenate([inertial.rotation.T @ quaternion[:3], quaternion[3:]])


def spherical_from_bullet(quaternion: np.ndarray, inertial: InertialFrame) -> np.ndarray:
    """Return the joint's quaternion (4,) from Bullet's."""
    return np.concatenate([inertial.rotation @ quaternion[:3], quaternion[3:]])
