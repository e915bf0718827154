"""Contact forces as arrows: origin, direction and length in each frame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from meshcat.geometry import MeshPhongMaterial

from treesim import Ground, Tree
from treesim.contact.ground import planes_of
from treesim.contact.history import ContactHistory
from treesim.errors import ArgumentError, quoted
from treesim.model.matrices import unit_vector
from treesim.model.pack import axis_rotation
from treesim.simulation.trajectory import Trajectory
from treesim.states.support import candidates
from treesim.viewing.meshes import TriangleMesh

from .encoding import pose_rows
from .shapes import revolved

ROOT = "forces"
G = 9.80665  # m/s^2: standard gravity
LONGEST = 4.0  # weights: longer arrows, of impacts, are clipped
_COLOR = 0xD8432B
_SHAFT, _HEAD, _NECK = 0.025, 0.07, 0.78  # radii, and where the head begins, of an arrow of length 1
_INSIDE = 1e-6  # of a force: tolerance of the friction cone for rounding
_NEAR = 1.05  # times the reach of a body's shapes


class Arrows(NamedTuple):
    """Arrows in K frames.

    names: the n bodies that ever touch, or "BODY from OTHER" for contact between bodies. rows (K, n, 8)
    float32: origin [m], the quaternion x y z w that rotates z to the arrow's direction, and length [m], 0
    without contact.
    """

    names: tuple[str, ...]
    rows: np.ndarray


def contact_arrows(
    robot: Tree, trajectory: Trajectory, index: np.ndarray, poses: np.ndarray, weight_length: float
) -> Arrows:
    """Return the arrows in frames of the states index (K,), with body poses (K, n_bodies + 1, 4, 4).

    A frame shows the mean force from its state to the next frame's, so that no impact is missed; the last frame
    shows that of the frame before. weight_length: length of the robot's weight [m]; the longest arrow is four
    times as long. Raises ArgumentError for bodies of another robot.
    """
    contact = trajectory.contact
    if contact is None or len(index) < 2:
        return Arrows((), np.empty((len(index), 0, 8), np.float32))
    unknown = sorted(set(contact.bodies) - set(robot.body_names))
    if unknown:
        raise ArgumentError(
            f"trajectory: its contact is that of body {quoted(unknown[0])}, which {quoted(robot.name)} has not"
        )
    planes = planes_of(trajectory.ground)
    scale = weight_length / (robot.mass * G)
    names, arrows = [], []
    for name, of, wrench, others in _acting(contact):
        mean = frame_means(np.nan_to_num(wrench, posinf=0.0, neginf=0.0), index)
        if mean[:, :3].any():
            body = robot.body_names.index(of) + 1
            met = None if others else planes
            names.append(name)
            arrows.append(_rows(mean, poses[:, body, :3, 3], met, _reach(robot, body), scale))
    rows = np.array(arrows, np.float32).reshape(len(names), len(index), 8).swapaxes(0, 1).copy()
    rows[..., 7] = np.minimum(rows[..., 7], LONGEST * weight_length)
    return Arrows(tuple(names), rows)


def _acting(contact: ContactHistory) -> Iterator[tuple[str, str, np.ndarray, bool]]:
    """Yield the arrows: name, body, wrench (T, 6) at its origin, and whether another body exerts it.

    There is one for each body or, if bodies touch each other, for each pair.
    """
    if all(other in contact.surfaces for _, other in contact.pairs):
        for b, body in enumerate(contact.bodies):
            yield body, body, contact.wrench_array[:, b], False
        return
    for p, (one, other) in enumerate(contact.pairs):
        on_ground = other in contact.surfaces
        yield f"{one} from {other}", one, contact.pair_wrench_array[:, p, :6], not on_ground
        if not on_ground:
            yield f"{other} from {one}", other, contact.pair_wrench_array[:, p, 6:], True


def frame_means(wrench: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return the means (K, ...) of wrench (T, ...) over the states from each of index (K,) to the next; K >= 2.

    The last mean equals the one before.
    """
    sums = np.add.reduceat(wrench, index, axis=0)[:-1]
    means = sums / np.diff(index).reshape(-1, *[1] * (wrench.ndim - 1))
    return np.concatenate([means, means[-1:]])


def _rows(
    wrench: np.ndarray, origin: np.ndarray, planes: list[Ground] | None, reach: float, scale: float
) -> np.ndarray:
    """Return the rows (K, 8) of a body's wrench (K, 6) at its origin (K, 3); arrows of length 0 do not move."""
    rows = np.zeros((len(wrench), 8))
    force, moment = wrench[:, :3], wrench[:, 3:]
    size = np.linalg.norm(force, axis=1)
    acting = np.flatnonzero(size)
    pose = np.tile(np.eye(4), (len(acting), 1, 1))
    for row, k in zip(pose, acting, strict=True):
        row[:3, :3] = axis_rotation(unit_vector(force[k]))
        row[:3, 3] = origin[k] + application(force[k], moment[k], origin[k], planes, reach)
    rows[acting, :7], rows[:, 7] = pose_rows(pose), scale * size
    last = np.maximum.accumulate(np.where(size > 0, np.arange(len(rows)), acting[0]))
    rows[:, :7] = rows[last, :7]
    return rows


def application(
    force: np.ndarray, moment: np.ndarray, origin: np.ndarray, planes: list[Ground] | None, reach: float
) -> np.ndarray:
    """Return the point (3,) where a contact force (3,) acts, relative to the body's origin (3,) [m].

    moment (3,): about the body's origin. The point is the centre of pressure on the first of the `planes` whose
    friction cone contains the force. If planes is None, it is the point of the wrench's axis nearest to the
    origin. It is 0 if there is none, or if it is farther than `reach` from the origin.
    """
    if planes is None:
        found = np.cross(force, moment) / (force @ force)
        return found if np.linalg.norm(found) <= reach else np.zeros(3)
    for plane in planes:
        n = np.asarray(plane.normal)
        if force @ n * np.hypot(1.0, plane.friction) < (1 - _INSIDE) * np.linalg.norm(force):
            continue
        found = centre_of_pressure(force, moment, n, plane.height - float(n @ origin))
        if np.linalg.norm(found) <= reach:
            return found
    return np.zeros(3)


def centre_of_pressure(force: np.ndarray, moment: np.ndarray, n: np.ndarray, height: float) -> np.ndarray:
    """Return the point r (3,) of the plane n . r = height where force and moment reduce to a moment along n.

    force and moment (3,) about the origin; n (3,) is the plane's unit normal, and n . force is not 0. From m =
    r x f + c n: n x m = r (n . f) - f (n . r).
    """
    return (np.cross(n, moment) + height * force) / (n @ force)


def _reach(robot: Tree, body: int) -> float:
    """Return an upper bound on the distance of a body's collision shapes from its origin [m]."""
    points = candidates(robot)
    own = points.bodies == body
    ends = np.linalg.norm(points.points[own], axis=1) + points.balls[own] + points.rims[own]
    return float(_NEAR * ends.max(initial=0.0))


def arrow_mesh() -> TriangleMesh:
    """Return an arrow of length 1 along z."""
    return revolved(np.array([0, _SHAFT, _SHAFT, _HEAD, 0]), np.array([0, 0, _NECK, _NECK, 1.0]))


def arrow_material() -> MeshPhongMaterial:
    """Return the material of arrows, visible through the robot, since many begin inside it."""
    return MeshPhongMaterial(color=_COLOR, transparent=True, opacity=0.9, side=0, depthTest=False, depthWrite=False)
