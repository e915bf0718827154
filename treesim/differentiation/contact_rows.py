"""Rows of the contacts of one step, and their derivatives in the configuration at its start.

A row is the velocity of body a relative to body b along an axis at the contact point, all in world axes. Contacts are
numbered c, and bodies i; arrays of C contacts have the contact first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..dynamics.operational.frame_acceleration_derivatives import DERIVATIVES
from ..dynamics.operational.frames import body_poses, known_frame_codes
from ..kernels.algebra.linear import Vector
from ..kernels.contact.contact_points import LAW, NORMAL, POSITION
from ..kernels.contact.layout import PAIR
from ..kernels.contact.signed_distance import across
from ..kernels.contact.tables import Touch
from ..model.tree import Tree
from .contact_geometry import contact_geometry


class Bodies(NamedTuple):
    """Bodies that touch, at a configuration q (nq,).

    numbers: of those that move. poses (N + 1, 4, 4): public frames. linear, angular (N + 1, 3, nv): Jacobians along the
    world's axes, zero for other bodies.
    """

    robot: Tree
    q: np.ndarray
    numbers: list[int]
    poses: np.ndarray
    linear: np.ndarray
    angular: np.ndarray

    def rates(self, w: np.ndarray) -> np.ndarray:
        """Return the derivatives (m, N + 1, 6, nv) in q of the bodies' velocities under m motions w, linear first."""
        found = np.zeros((len(w), len(self.poses), 6, self.robot.nv))
        for i in self.numbers:
            found[:, i] = _acceleration_derivatives(self.robot, self.q, w, i)[:, :6]
        return found


class Contacts(NamedTuple):
    """Rows of C contacts, and what they are made of.

    J (C, 3, nv): rows along the columns of `axes` (C, 3, 3), tangents before the normal. turn, shift (C, 3, nv):
    derivatives in q of the axes' rotation and of the contact point. sides: bodies that may move. ends
    (2, C): numbers of both bodies.
    """

    bodies: Bodies
    J: np.ndarray
    axes: np.ndarray
    turn: np.ndarray
    shift: np.ndarray
    sides: list[Side]
    ends: np.ndarray

    def turns(self) -> np.ndarray:
        """Return the relative angular velocities (C, 3, nv) along the axes, per unit of each velocity."""
        whole = np.sum([side.sign * side.angular for side in self.sides], axis=0)
        found: np.ndarray = np.swapaxes(self.axes, 1, 2) @ whole
        return found


class Side(NamedTuple):
    """First (sign 1) or second bodies (-1) of all contacts.

    body (C,): numbers. arm (C, 3): from the bodies' origins to the contact points. linear, angular, at_point (C, 3,
    nv): Jacobians of the origins, of the rotations and of the contact points.
    """

    sign: float
    body: np.ndarray
    arm: np.ndarray
    linear: np.ndarray
    angular: np.ndarray
    at_point: np.ndarray


def contacts_at(robot: Tree, q: np.ndarray, touch: Touch, points: np.ndarray) -> Contacts:
    """Return the rows of contacts `points` (C, n) (`kernels.contact.contact_points`) of a step from q."""
    pair = touch.pair[points[:, LAW].astype(int)]
    ends = pair[:, PAIR.body], pair[:, PAIR.solid_body]
    bodies = _bodies(robot, q, sorted({*ends[0].tolist(), *ends[1].tolist()} - {0}))
    kernel_axes = (bodies.poses[:, :3, :3] @ robot.body_rotations).reshape(-1, 9)
    geometry = contact_geometry(touch, points, np.hstack([kernel_axes, bodies.poses[:, :3, 3]]))
    x, n = points[:, POSITION : POSITION + 3], points[:, NORMAL : NORMAL + 3]
    tangent = np.array([across(Vector(*each)) for each in n.tolist()]).reshape(-1, 3)
    axes = np.stack([tangent, (crosses(n) @ tangent[..., None])[..., 0], n], axis=2)
    first, second = (_side(bodies, sign, body, x) for sign, body in zip((1.0, -1.0), ends, strict=True))
    twist = np.concatenate([first.at_point - second.at_point, first.angular - second.angular], axis=1)
    turn, shift = second.angular + crosses(n) @ (geometry.normal @ twist), second.at_point + geometry.point @ twist
    sides = [side for side in (first, second) if side.body.any()]
    return Contacts(bodies, np.swapaxes(axes, 1, 2) @ twist[:, :3], axes, turn, shift, sides, np.stack(ends))


def velocity_derivatives(contacts: Contacts, w: np.ndarray) -> np.ndarray:
    """Return the derivatives (m, 3 C, nv) in q of the velocities along the rows under motions w (m, nv)."""
    rates, shape = contacts.bodies.rates(w), (len(w), *contacts.J.shape)
    change, velocity = np.zeros(shape), np.zeros(shape[:-1])
    for side in contacts.sides:
        own = rates[:, side.body]
        spin = (side.angular @ w[:, None, :, None])[..., 0]
        moved = own[:, :, :3] - crosses(side.arm) @ own[:, :, 3:] + crosses(spin) @ (contacts.shift - side.linear)
        change += side.sign * moved
        velocity += side.sign * (side.at_point @ w[:, None, :, None])[..., 0]
    turned = change + crosses(velocity) @ contacts.turn
    found: np.ndarray = (np.swapaxes(contacts.axes, 1, 2) @ turned).reshape(len(w), -1, shape[-1])
    return found


def turn_derivatives(contacts: Contacts, w: np.ndarray) -> np.ndarray:
    """Return the derivatives (m, C, 3, nv) in q of the relative angular velocities along the axes, of m motions w."""
    rates, shape = contacts.bodies.rates(w), (len(w), *contacts.J.shape)
    change, velocity = np.zeros(shape), np.zeros(shape[:-1])
    for side in contacts.sides:
        change += side.sign * rates[:, side.body, 3:]
        velocity += side.sign * (side.angular @ w[:, None, :, None])[..., 0]
    found: np.ndarray = np.swapaxes(contacts.axes, 1, 2) @ (change + crosses(velocity) @ contacts.turn)
    return found


def wrenches(contacts: Contacts, impulses: np.ndarray, angular: np.ndarray) -> np.ndarray:
    """Return the wrenches (N, 6) of impulses on the bodies, as `f_ext` of the dynamics.

    impulses, angular (C, 3): linear and angular impulses along the axes.
    """
    poses = contacts.bodies.poses
    force, torque = (contacts.axes @ x[..., None] for x in (impulses, angular))
    found = np.zeros((len(poses), 2, 3))
    for side in contacts.sides:
        both = np.concatenate([force, crosses(side.arm) @ force + torque], axis=2)
        np.add.at(found, side.body, side.sign * np.swapaxes(both, 1, 2))
    return (found @ poses[:, :3, :3]).reshape(-1, 6)[1:]


def force_derivatives(contacts: Contacts, impulses: np.ndarray, angular: np.ndarray) -> np.ndarray:
    """Return the derivative (nv, nv) of J' lambda in q, less that of `wrenches` constant along the bodies' axes."""
    force, torque = contacts.axes @ impulses[..., None], crosses((contacts.axes @ angular[..., None])[..., 0])
    across_force, nv = crosses(force[..., 0]), contacts.J.shape[-1]
    change, found = -across_force @ contacts.turn, np.zeros((nv, nv))
    for side in contacts.sides:
        arm = crosses(side.arm)
        in_force = change + across_force @ side.angular
        in_moment = arm @ change - across_force @ (contacts.shift - side.linear)
        in_moment += crosses((arm @ force)[..., 0]) @ side.angular + torque @ (side.angular - contacts.turn)
        found += side.sign * (side.linear.reshape(-1, nv).T @ in_force.reshape(-1, nv))
        found += side.sign * (side.angular.reshape(-1, nv).T @ in_moment.reshape(-1, nv))
    return found


def crosses(a: np.ndarray) -> np.ndarray:
    """Return the matrices (..., 3, 3) of cross products with vectors (..., 3): crosses(a) @ b = a x b."""
    found = np.zeros((*a.shape, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        found[..., j, k], found[..., k, j] = -a[..., i], a[..., i]
    return found


def _side(bodies: Bodies, sign: float, body: np.ndarray, x: np.ndarray) -> Side:
    arm, linear, angular = x - bodies.poses[body, :3, 3], bodies.linear[body], bodies.angular[body]
    return Side(sign, body, arm, linear, angular, linear - crosses(arm) @ angular)


def _bodies(robot: Tree, q: np.ndarray, numbers: list[int]) -> Bodies:
    poses, still = body_poses(robot, q), np.zeros(robot.nv)
    linear, angular = np.zeros((2, len(poses), 3, robot.nv))
    for i in numbers:
        linear[i], angular[i] = _acceleration_derivatives(robot, q, still, i)[12:].reshape(2, 3, -1)
    return Bodies(robot, q, numbers, poses, linear, angular)


def _acceleration_derivatives(robot: Tree, q: np.ndarray, a: np.ndarray, body: int) -> np.ndarray:
    """Return the derivatives (..., 18, nv) of `frame_acceleration_derivatives` of a body that starts from rest."""
    codes = known_frame_codes(robot, (robot.body_names[body - 1],), "local_world_aligned")
    found: np.ndarray = DERIVATIVES(robot, robot.ints, robot.reals, *codes, q, np.zeros(robot.nv), a, "auto")
    return found
