"""Derivatives of contact points and normals along displacements of one body relative to the other.

Where a vertex or a ball touches a plane or the face of a box, the normal does not move, and the formulas are short. For
all other contacts, collision detection runs in the interpreter, on numbers with derivatives (`directional`).
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ..dynamics.operational.frames import body_poses
from ..errors import UnsupportedError
from ..kernels.algebra.linear import Vector, add, rotate, scale, sub
from ..kernels.contact.box_internal_edges import no_internal_edge
from ..kernels.contact.candidates import add_candidate, contacts_memory, local_point, middle_of
from ..kernels.contact.collision import MESHES, meet, meet_between
from ..kernels.contact.contact_points import LAW, NORMAL, POSITION, SLOT, START
from ..kernels.contact.edges import AXIS, LEVEL, axis_slope, axis_span, where_slope
from ..kernels.contact.layout import PAIR
from ..kernels.contact.row_derivatives import IMPULSES, OF_POSITION
from ..kernels.contact.signed_distance import BOX, CONVEX, PLANE, ROUND, from_solid
from ..kernels.contact.tables import Touch
from ..model.matrices import cross_matrix
from ..model.tree import Tree
from .directional import Directional, derivatives, parts

REACH = 1e-6  # m: added to the gap of a contact that is looked for again
END = 1e-12  # of an axis: rounding of a place at its end
TWIST = 6  # directions: translations along the world's axes, then rotations about them, through the contact point


def put_geometry(
    touch: Touch, points: np.ndarray, pair: np.ndarray, lowest: np.ndarray, robot: Tree, q: np.ndarray,
    contacts: np.ndarray,
) -> None:  # fmt: skip
    """Write the derivatives of points and normals to contacts (B, C, CONTACT) that do not touch a plane or a face.

    points (B, P, POINT): of contact (`kernels.contact.contact_points`). pair (B, C): their pairs, -1 of empty ones.
    lowest (B, C): contacts to whose height their points were moved. q (B, nq): configurations. Raises UnsupportedError
    for external contacts.
    """
    solid = np.where(pair < 0, PLANE, touch.pair[pair, PAIR.solid])
    if (solid == CONVEX).any():
        raise UnsupportedError("contacts of hulls and cylinders that coal computes have no derivatives")
    poses: dict[int, np.ndarray] = {}
    for b, c in np.argwhere((solid != PLANE) | ((pair >= 0) & (touch.pair[pair, PAIR.cylinder] != 0))).tolist():
        point, row = points[b, c], touch.pair[pair[b, c]]
        poses[b] = _kernel_poses(robot, q[b]) if b not in poses else poses[b]
        if not _is_on_face(touch, point, poses[b], float(touch.point[row[PAIR.first_point], 3])):
            height, in_height = _height(point, points[b, lowest[b, c]], 0.5 if row[PAIR.solid_body] > 0 else 1.0)
            moved, normal = _found_again(touch, point, poses[b], height)
            moved -= height * normal + np.outer(point[NORMAL : NORMAL + 3], in_height)
            contacts[b, c, OF_POSITION:IMPULSES] = np.concatenate([moved.ravel(), normal.ravel()])


def _height(point: np.ndarray, lowest: np.ndarray, part: float) -> tuple[float, np.ndarray]:
    """Return the height by which a point was moved to that of the lowest one, and its derivative (6,) along the twist.

    part: of the way; half of it where the point is in the middle of the gap between two bodies.
    """
    (x, n), (other, m) = ((p[POSITION : POSITION + 3], p[NORMAL : NORMAL + 3]) for p in (point, lowest))
    return part * (point[START] - lowest[START]), part * np.concatenate([n - m, -np.cross(other - x, m)])


def _kernel_poses(robot: Tree, q: np.ndarray) -> np.ndarray:
    """Return the poses (N + 1, 12) of the bodies in the axes of kernels."""
    poses = body_poses(robot, q)
    return np.hstack([(poses[:, :3, :3] @ robot.body_rotations).reshape(-1, 9), poses[:, :3, 3]])


def rigid(arm: np.ndarray) -> np.ndarray:
    """Return the displacements (..., 3, 6) of points at `arm` from the contact points, by a twist about these."""
    found = np.zeros((*arm.shape, TWIST))
    found[..., :3] = np.eye(3)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        found[..., j, 3 + k], found[..., k, 3 + j] = arm[..., i], -arm[..., i]
    return found


def _is_on_face(touch: Touch, x: np.ndarray, poses: np.ndarray, radius: float) -> bool:
    """Return whether a contact's point touches the face of a box."""
    k = int(x[LAW])
    row, j = touch.pair[k], int(x[SLOT]) - touch.pair[k, PAIR.first_slot]
    if row[PAIR.solid] != BOX or row[PAIR.cylinder] or not j < row[PAIR.points] <= row[PAIR.slots]:
        return False
    R, p = _solid_in_world(touch, k, poses)
    center = x[POSITION : POSITION + 3] + radius * x[NORMAL : NORMAL + 3]
    return radius <= ROUND or int((np.abs(R.T @ (center - p)) > touch.size[k, :3]).sum()) <= 1


def _solid_in_world(touch: Touch, k: int, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the world rotation and position of pair k's solid."""
    R, p = touch.solid[k, :9].reshape(3, 3), touch.solid[k, 9:]
    body = touch.pair[k, PAIR.solid_body]
    if body == 0:
        return R, p
    own = poses[body, :9].reshape(3, 3)
    return own @ R, poses[body, 9:] + own @ p


# ---- collision detection on numbers with derivatives


def _found_again(touch: Touch, x: np.ndarray, poses: np.ndarray, height: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivatives (3, 6) of a contact's point, before it was moved by `height`, and of its normal."""
    k = int(x[LAW])
    row, n = touch.pair[k], x[NORMAL : NORMAL + 3]
    W = [*poses]
    W[row[PAIR.body]] = _moved(poses[row[PAIR.body]], x[POSITION : POSITION + 3])
    motions = SimpleNamespace(W=_Rows(W), V=np.zeros((len(poses), 6)))
    memory = contacts_memory(touch, np.empty(0, object))
    margin = max(float(x[START]), 0.0) + REACH
    count = meet(touch, k, motions, 0.0, margin, memory, SEARCHED)
    there = x[POSITION : POSITION + 3] + height * n
    same = [j for j in range(count) if memory.place[j] == int(x[SLOT])]
    if not same:
        raise UnsupportedError("a contact was not found again where its step has found it: it has no derivatives")
    j = min(same, key=lambda j: sum((float(parts(y)[0]) - z) ** 2 for y, z in zip(memory.where[j], there, strict=True)))
    return derivatives(memory.where[j], TWIST), derivatives(memory.outward[j], TWIST)


class _Rows(list):  # type: ignore[type-arg]
    """Rows of numbers of several types, with the indices of an array of two axes."""

    def __getitem__(self, place: Any) -> Any:
        return super().__getitem__(place[0])[place[1]] if isinstance(place, tuple) else super().__getitem__(place)


def _moved(pose: np.ndarray, center: np.ndarray) -> list[Directional]:
    """Return a pose (12,) that moves along the twist (6,) about a point."""
    R, p = pose[:9].reshape(3, 3), pose[9:]
    turned = np.zeros((9, TWIST))
    for axis in range(3):
        turned[:, 3 + axis] = (cross_matrix(np.eye(3)[axis]) @ R).ravel()
    return [Directional(x, dx) for x, dx in zip(pose, np.vstack([turned, rigid(p - center)]), strict=True)]


def _meet_between(
    touch: Any, k: int, r: Any, dt: float, margin: float, m: Any, count: int, S: Any, W: Any, reach: Any, solids: Any
) -> int:
    """Add contacts of pair k between its points, with those on the axis of a capsule where they move to."""
    if touch.pair[k, PAIR.between] != AXIS:
        return int(meet_between(touch, k, r, dt, margin, m, count, S, W, reach, solids))
    one, other = local_point(touch, k, 0, S, W), local_point(touch, k, 1, S, W)
    rho = touch.point[touch.pair[k, PAIR.first_point], 3]
    for j, along in enumerate(_axis_span(touch, k, one, other)):
        if along is not None:
            p = add(one, scale(sub(other, one), along))
            gap, n = from_solid(touch, k, p, rho, 0)
            p, n = add(S.p, rotate(S.R, p)), rotate(S.R, n)
            x = middle_of(touch, k, p, rho, gap, n)
            count = add_candidate(touch, k, r, dt, margin, m, count, 2 + j, x, gap, n, solids)
    return count


def _axis_span(touch: Any, k: int, one: Any, other: Any) -> tuple[Directional | None, Directional | None]:
    """Return the ends of `edges.axis_span` between the ends of the axis, with derivatives; None for others."""
    plain = [Vector(*(float(x) for x in end)) for end in (one, other)]
    span = [float(x) for x in axis_span(touch, k, plain[0], plain[1])]
    low, high = (where_slope(touch, k, plain[0], plain[1], slope) for slope in (-LEVEL, LEVEL))
    if span[0] > 0 and span[1] == 0 and low != span[0]:
        ends = (_with_slope(touch, k, one, other, place) for place in (low, high))
        return sum(ends, Directional(0.0, np.zeros(TWIST))) / 2, None  # both are one point
    first, last = (_with_slope(touch, k, one, other, x) if x > 0 else None for x in span)
    return first, last


def _with_slope(touch: Any, k: int, one: Any, other: Any, along: float) -> Directional:
    """Return the place on an axis where the slope of the distance is that at `along`, with derivatives.

    They are those of an implicit function, since the place is found by bisection. The ends of the axis do not move.
    """
    if min(along, 1 - along) < END:
        return Directional(along, np.zeros(TWIST))
    place = Directional(along, np.eye(TWIST + 1)[TWIST])
    ends = [Vector(*(_widened(x) for x in end)) for end in (one, other)]
    _, slope = parts(axis_slope(touch, k, ends[0], ends[1], place))
    return Directional(along, -slope[:TWIST] / slope[TWIST] if slope[TWIST] else np.zeros(TWIST))


def _widened(x: Any) -> Directional:
    """Return a number with a further direction, along which it does not change."""
    value, along = parts(x)
    return Directional(value, np.append(np.broadcast_to(along, TWIST), 0.0))


SEARCHED = MESHES._replace(between=_meet_between, internal_edge=no_internal_edge)  # collision detection of all solids
