"""State layout of one robot in Bullet: `conversions` applied to its base and all of its joints.

Bullet's coordinates are defined as follows. Configuration: of a floating base the position of its centre of
mass and the quaternion of its inertial axes, then the joints. Velocity and acceleration: linear and angular
velocity of the base in world axes and their rates, then the joints. Forces: force and moment about the
base's centre of mass in world axes, then the joints. Mass matrix: base angular, then linear, in its
inertial axes, then the joints. Joints are in the order of Bullet's degrees of freedom; a spherical one is
in its link's inertial axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps

import numpy as np

from .conversions import (
    BulletBase,
    InertialFrame,
    base_acceleration_from_bullet,
    base_acceleration_to_bullet,
    base_from_bullet,
    base_motion_map,
    base_to_bullet,
    base_wrench_from_bullet,
    base_wrench_to_bullet,
    spherical_from_bullet,
    spherical_to_bullet,
)

STILL = np.zeros(6)


@dataclass(frozen=True, eq=False)
class BulletJoint:
    """A moving joint in Bullet.

    index: in Bullet. type: of the joint. q, v, dofs: slices of treesim's q and v and of Bullet's degrees of
    freedom. inertial: inertial frame of its link.
    """

    index: int
    type: str
    q: slice
    v: slice
    dofs: slice
    inertial: InertialFrame

    @property
    def spherical(self) -> bool:
        """True for a spherical joint."""
        return self.type == "spherical"


def over_states(convert: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Extend a method on the arrays of one state to leading axes of states; the last array may be a matrix."""
    own_axes = 2 if "matrix" in convert.__name__ else 1

    @wraps(convert)
    def converted(self: BulletLayout, *arrays: np.ndarray) -> np.ndarray:
        lead = np.shape(arrays[-1])[:-own_axes]
        if not lead:
            return convert(self, *arrays)
        flat = [x.reshape(-1, *x.shape[len(lead) :]) for x in arrays]
        found = np.array([convert(self, *state) for state in zip(*flat, strict=True)])
        return found.reshape(*lead, *found.shape[1:])

    return converted


class BulletLayout:
    """Layout (`treesim.compare.Layout`) of one robot in Bullet.

    base: the inertial frame of a floating base; None for a fixed one.
    """

    def __init__(self, joints: Sequence[BulletJoint], base: InertialFrame | None) -> None:
        self.joints, self.base = tuple(joints), base
        self.places: dict[int, slice] = {}  # of each joint in Bullet's configuration, by its number
        end = 0 if base is None else 7
        for joint in sorted(self.joints, key=lambda joint: joint.dofs.start):
            begin, end = end, end + (4 if joint.spherical else 1)
            self.places[joint.index] = slice(begin, end)
        self.nq = end
        self.nv = (0 if base is None else 6) + sum(joint.dofs.stop - joint.dofs.start for joint in self.joints)

    @over_states
    def configuration_to_engine(self, q: np.ndarray) -> np.ndarray:
        """Return q (..., nq) in Bullet's layout."""
        theirs = np.empty(self.nq)
        if self.base is not None:
            base = base_to_bullet(q[:7], STILL, self.base)
            theirs[:3], theirs[3:7] = base.position, base.quaternion
        for joint in self.joints:
            own = q[joint.q]
            theirs[self.places[joint.index]] = spherical_to_bullet(own, joint.inertial) if joint.spherical else own
        return theirs

    @over_states
    def configuration_from_engine(self, theirs: np.ndarray) -> np.ndarray:
        """Return Bullet's configuration as q (..., nq)."""
        q = np.empty(self.nq)
        if self.base is not None:
            q[:7], _ = base_from_bullet(BulletBase(theirs[:3], theirs[3:7], STILL[:3], STILL[:3]), self.base)
        for joint in self.joints:
            own = theirs[self.places[joint.index]]
            q[joint.q] = spherical_from_bullet(own, joint.inertial) if joint.spherical else own
        return q

    @over_states
    def velocity_to_engine(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return v (..., nv) as Bullet's velocity."""
        theirs = self._joints_to_engine(v)
        if self.base is not None:
            base = base_to_bullet(q[:7], v[:6], self.base)
            theirs[:3], theirs[3:6] = base.linear, base.angular
        return theirs

    @over_states
    def velocity_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return Bullet's velocity as v (..., nv)."""
        v = self._joints_from_engine(theirs)
        if self.base is not None:
            there = base_to_bullet(q[:7], STILL, self.base)
            base = BulletBase(there.position, there.quaternion, theirs[:3], theirs[3:6])
            _, v[:6] = base_from_bullet(base, self.base)
        return v

    @over_states
    def acceleration_to_engine(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return a, the derivative of v (..., nv), as that of Bullet's velocity."""
        theirs = self._joints_to_engine(a)
        if self.base is not None:
            theirs[:6] = np.concatenate(base_acceleration_to_bullet(a[:6], q[:7], v[:6], self.base))
        return theirs

    @over_states
    def acceleration_from_engine(self, q: np.ndarray, v: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return the derivative of Bullet's velocity as that of v (..., nv)."""
        a = self._joints_from_engine(theirs)
        if self.base is not None:
            a[:6] = base_acceleration_from_bullet(theirs[:3], theirs[3:6], q[:7], v[:6], self.base)
        return a

    @over_states
    def force_to_engine(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return tau (..., nv) as Bullet's forces."""
        theirs = self._joints_to_engine(tau)
        if self.base is not None:
            theirs[:6] = np.concatenate(base_wrench_to_bullet(tau[:6], q[:7], self.base))
        return theirs

    @over_states
    def force_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return Bullet's forces as tau (..., nv)."""
        tau = self._joints_from_engine(theirs)
        if self.base is not None:
            tau[:6] = base_wrench_from_bullet(theirs[:3], theirs[3:6], q[:7], self.base)
        return tau

    def matrix_to_engine(self, q: np.ndarray, M: np.ndarray) -> np.ndarray:
        """Return M (..., nv, nv) as Bullet's mass matrix; only without spherical joints, as in Bullet."""
        T, order = self._motion_map(inverse=False), self._order()
        theirs = np.empty(M.shape)
        theirs[..., order[:, None], order] = T.T @ M @ T
        return theirs

    def matrix_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return Bullet's mass matrix as M (..., nv, nv)."""
        T, order = self._motion_map(inverse=True), self._order()
        return T.T @ theirs[..., order[:, None], order] @ T

    def _motion_map(self, inverse: bool) -> np.ndarray:
        """Return T with v = T u, or its inverse, with u the velocity of Bullet's mass matrix."""
        T = np.eye(self.nv)
        if self.base is not None:
            block = base_motion_map(self.base)
            T[:6, :6] = np.linalg.inv(block) if inverse else block
        return T

    def _order(self) -> np.ndarray:
        """Return Bullet's index of each of treesim's degrees of freedom."""
        order = np.arange(self.nv)
        for joint in self.joints:
            order[joint.v] = np.arange(joint.dofs.start, joint.dofs.stop)
        return order

    def _joints_to_engine(self, x: np.ndarray) -> np.ndarray:
        """Convert the joints' velocities, accelerations or forces; the base's numbers are zero."""
        theirs = np.zeros(self.nv)
        for joint in self.joints:
            theirs[joint.dofs] = joint.inertial.rotation.T @ x[joint.v] if joint.spherical else x[joint.v]
        return theirs

    def _joints_from_engine(self, theirs: np.ndarray) -> np.ndarray:
        x = np.zeros(self.nv)
        for joint in self.joints:
            own = theirs[joint.dofs]
            x[joint.v] = joint.inertial.rotation @ own if joint.spherical else own
        return x
