"""Wrenches across joints and fixed joints in steps, from the mean accelerations and the wrenches that act in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ..dynamics.joint_wrenches import rows_of, wrenches_of_motion
from ..dynamics.physics import physics_of
from .external_forces import wrenches_in_world

if TYPE_CHECKING:
    from ..contact.history import ContactHistory
    from ..model.tree import Tree
    from .sensors import Steps

ENGINE: Final = "generic"  # as that of readings


def to_axes(R: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return vectors (..., 3) of the world along axes with the rotations R (..., 3, 3).

    Their bits do not depend on the number of vectors, as those of einsum may.
    """
    return R[..., 0, :] * a[..., 0, None] + R[..., 1, :] * a[..., 1, None] + R[..., 2, :] * a[..., 2, None]


def wrench_across(steps: Steps, joint: str, points: ContactHistory | None = None) -> np.ndarray:
    """Return the wrenches (K, 6), force first, of the parent on the link that a joint carries, in the link's axes.

    points: contact history with points, from which contact forces on welded links are taken. NaN without points where
    contact forces cannot be divided between the links of a body.
    """
    row = int(rows_of(steps.robot, joint))
    found = steps.joint_wrenches[:, row]
    weld = row - steps.robot.n_bodies
    return found if weld < 0 else found - _on_carried_links(steps, weld, points)


def joint_wrenches_of(steps: Steps) -> np.ndarray:
    """Return the wrenches (K, N + W, 6) across joints, then welds; external wrenches on welded links left out."""
    robot, gravity = steps.robot, steps.gravity
    own = {} if steps.inertias is None else dict(
        zip(("mass", "center_of_mass", "inertia"), steps.inertias, strict=True)
    )  # fmt: skip
    if gravity.ndim > 1:
        own["gravity"] = gravity
    rates, mean = (steps.v_next - steps.v) / steps.dt[:, None], (steps.v + steps.v_next) / 2
    R, wrenches = steps.poses(steps.middle, robot.body_names).rotation, acting(steps)
    f_ext = np.concatenate([to_axes(R, wrenches[..., :3]), to_axes(R, wrenches[..., 3:])], axis=-1)
    return wrenches_of_motion(
        robot, steps.middle, mean, rates, f_ext, gravity=None if gravity.ndim > 1 else gravity,
        physics=physics_of(robot, own, "readings") if own else None, engine=ENGINE,
    )  # fmt: skip


def acting(steps: Steps) -> np.ndarray:
    """Return the wrenches (K, N, 6) of contact and external forces on bodies, in world axes about their origins.

    The origins are those in the middle of the steps.
    """
    robot = steps.robot
    middle, start = (steps.poses(q, robot.body_names) for q in (steps.middle, steps.q))
    found = steps.contact[:, 1:].copy()
    found[..., 3:] += np.cross(start.position - middle.position, found[..., :3])
    if steps.external is not None:
        found += wrenches_in_world(robot, middle.rotation, steps.external)
    return found


def _on_carried_links(steps: Steps, weld: int, points: ContactHistory | None) -> np.ndarray:
    """Return the wrenches (K, 6) of contact and external forces on a welded link, and on links welded to it.

    In its axes about its origin.
    """
    robot = steps.robot
    frame = robot.frames[robot.welds[weld].link]
    carried = carried_welds(robot, weld)
    wrench = np.zeros((len(steps.dt), 6))
    if frame.body:
        pose = steps.poses(steps.middle, [robot.body_names[frame.body - 1]])
        turn, at = pose.rotation[:, 0], pose.position[:, 0]
    else:
        turn, at = np.broadcast_to(np.eye(3), (len(wrench), 3, 3)), np.zeros((len(wrench), 3))
    if steps.on_welds is not None:
        bodies = [robot.frames[each.link].body for each in robot.welds]
        turns = np.broadcast_to(turn[:, None], (len(wrench), len(bodies), 3, 3))  # right for the links of this body
        wrench += wrenches_in_world(robot, turns, steps.on_welds, bodies)[:, carried].sum(axis=1)
    if points is None:
        wrench += _contact_on(steps, weld, carried, at)
    else:
        wrench += _of_points(points, {robot.welds[k].link for k in carried}, at)
    arm = turn @ frame.placement.translation
    wrench[:, 3:] -= np.cross(arm, wrench[:, :3])
    R = turn @ frame.placement.rotation
    return np.concatenate([to_axes(R, wrench[:, :3]), to_axes(R, wrench[:, 3:])], axis=1)


def _contact_on(steps: Steps, weld: int, carried: list[int], at: np.ndarray) -> np.ndarray:
    """Return the contact wrenches (K, 6) on welded links, in world axes about the points `at` (K, 3) of their body.

    NaN where they are part of those on the body's other links; of the base, whose wrenches no step records, where
    anything has contact.
    """
    robot = steps.robot
    body = robot.frames[robot.welds[weld].link].body
    wrench = steps.contact[:, body].copy()
    sides = contact_sides(robot, weld, carried)
    if True not in sides:
        return np.zeros_like(wrench)
    if not body or False in sides:
        touches = steps.contact[:, body] if body else steps.contact.reshape(len(wrench), 6 * (robot.n_bodies + 1))
        return np.where(touches.any(axis=1), np.nan, 0.0)[:, None] * np.ones(6)
    start = steps.poses(steps.q, [robot.body_names[body - 1]])
    wrench[:, 3:] += np.cross(start.position[:, 0] - at, wrench[:, :3])
    return wrench


def _of_points(contact: ContactHistory, links: set[str], at: np.ndarray) -> np.ndarray:
    """Return the contact wrenches (K, 6) on links, in world axes about the points `at` (K, 3), from contact points."""
    found = np.zeros((len(at), 6))
    for k in range(len(at)):
        points = contact.at_step(k)
        for label, sign in (("link", 1.0), ("other_link", -1.0)):
            on = points[np.isin(points[label], list(links))]
            force, torque = sign * on["force"], sign * on["torque"]
            found[k, :3] += force.sum(axis=0)
            found[k, 3:] += (np.cross(on["position"] - at[k], force) + torque).sum(axis=0)
    return found


def contact_sides(robot: Tree, weld: int, carried: list[int]) -> set[bool]:
    """Return whether collision shapes of a weld's body are on the carried links, for all of them: no, yes or both."""
    links, body = {robot.welds[k].link for k in carried}, robot.frames[robot.welds[weld].link].body
    return {shape.link in links for shape in robot.shapes if shape.body == body}


def carried_welds(robot: Tree, weld: int) -> list[int]:
    """Return the welds that a weld carries on its body, itself included."""
    links, found = {robot.welds[weld].link}, [weld]
    for k, each in enumerate(robot.welds):
        if each.parent in links and k != weld:
            links.add(each.link)
            found.append(k)
    return found
