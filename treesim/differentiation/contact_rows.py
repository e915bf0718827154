"""Rows of the contacts of one step, and their derivatives in the configuration at its start.

A row is the velocity of body a relative to body b along an axis at the contact point, all in world axes. Contacts are
numbered c, and bodies i; arrays of C contacts have the contact first.
"""

from __future__ import annotations

from collections.abc import Iterator
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
        nv = self.robot.nv
        found = np.zeros((len(w), len(self.poses), 6, nv))
        for i in self.numbers:
            found[:, i] = _acceleration_derivatives(self.robot, self.q, w, i)[:, :6]
        return found


class Contacts(NamedTuple):
    """Rows of C contacts, and what they are made of.

    J (C, 3, nv): rows along the columns of `axes` (C, 3, 3), tangents before the normal. turn, shift (C, 3, nv):
    derivatives in q of the axes' rotation and of the contact point. ends (2, C): bodies a and b. arms (2, C, 3): from
    their origins to the contact points.
    """

    bodies: Bodies
    J: np.ndarray
    axes: np.ndarray
    turn: np.ndarray
    shift: np.ndarray
    ends: np.ndarray
    arms: np.ndarray

    def sides(self) -> Iterator[tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield sign, numbers, arms and Jacobians of both bodies of all contacts."""
        for sign, i, arm in zip((1.0, -1.0), self.ends, self.arms, strict=True):
            yield sign, i, arm, self.bodies.linear[i], self.bodies.angular[i]


def contacts_at(robot: Tree, q: np.ndarray, touch: Touch, points: np.ndarray) -> Contacts:
    """Return the rows of contacts `points` (C, n) (`kernels.contact.contact_points`) of a step from q."""
    pair = touch.pair[points[:, LAW].astype(int)]
    ends = np.stack([pair[:, PAIR.body], pair[:, PAIR.solid_body]])
    bodies = _bodies(robot, q, sorted({*ends.ravel().tolist()} - {0}))
    kernel_axes = (bodies.poses[:, :3, :3] @ robot.body_rotations).reshape(-1, 9)
    geometry = contact_geometry(touch, points, np.hstack([kernel_axes, bodies.poses[:, :3, 3]]))
    x, n = points[:, POSITION : POSITION + 3], points[:, NORMAL : NORMAL + 3]
    tangent = np.array([across(Vector(*each)) for each in n]).reshape(-1, 3)
    axes, arms = np.stack([tangent, np.cross(n, tangent), n], axis=2), x - bodies.poses[ends, :3, 3]
    (of_a, of_b), (turn_a, turn_b) = bodies.linear[ends] - crossed(arms, bodies.angular[ends]), bodies.angular[ends]
    twist = np.concatenate([of_a - of_b, turn_a - turn_b], axis=1)
    rows, shift = np.swapaxes(axes, 1, 2) @ twist[:, :3], of_b + geometry.point @ twist
    return Contacts(bodies, rows, axes, turn_b + crossed(n, geometry.normal @ twist), shift, ends, arms)


def velocity_derivatives(contacts: Contacts, w: np.ndarray) -> np.ndarray:
    """Return the derivatives (m, 3 C, nv) in q of the velocities along the rows under motions w (m, nv)."""
    rates, found = contacts.bodies.rates(w), []
    for each, rate in zip(w, rates, strict=True):
        change, velocity = np.zeros(contacts.J.shape), np.zeros(contacts.J.shape[:2])
        for sign, i, arm, linear, angular in contacts.sides():
            spin = angular @ each
            change += sign * (rate[i, :3] - crossed(arm, rate[i, 3:]) + crossed(spin, contacts.shift - linear))
            velocity += sign * (linear @ each + np.cross(spin, arm))
        turned = change + crossed(velocity, contacts.turn)
        found.append((np.swapaxes(contacts.axes, 1, 2) @ turned).reshape(-1, turned.shape[-1]))
    return np.array(found)


def wrenches(contacts: Contacts, impulses: np.ndarray) -> np.ndarray:
    """Return the wrenches (N, 6) of impulses (C, 3) along the rows on the bodies, as `f_ext` of the dynamics."""
    poses = contacts.bodies.poses
    force, found = np.einsum("cij,cj->ci", contacts.axes, impulses), np.zeros((len(poses), 2, 3))
    for sign, i, arm, _, _ in contacts.sides():
        np.add.at(found, i, sign * np.stack([force, np.cross(arm, force)], axis=1))
    return (found @ poses[:, :3, :3]).reshape(-1, 6)[1:]


def force_derivatives(contacts: Contacts, impulses: np.ndarray) -> np.ndarray:
    """Return the derivative (nv, nv) of J' lambda in q, less that of `wrenches` constant along the bodies' axes."""
    force = np.einsum("cij,cj->ci", contacts.axes, impulses)
    change, found = -crossed(force, contacts.turn), np.zeros(contacts.J.shape[-1:] * 2)
    for sign, _, arm, linear, angular in contacts.sides():
        in_force = change + crossed(force, angular)
        moved = -crossed(force, contacts.shift - linear) + crossed(arm, change)
        in_moment = moved + crossed(np.cross(arm, force), angular)
        found += sign * (np.einsum("ciu,civ->uv", linear, in_force) + np.einsum("ciu,civ->uv", angular, in_moment))
    return found


def crossed(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the cross products of vectors (..., 3) with the columns of matrices (..., 3, n)."""
    found: np.ndarray = np.cross(a[..., None], b, axis=-2)
    return found


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
