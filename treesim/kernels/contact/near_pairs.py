"""Broad phase: the pairs of shapes and solids that may touch in a step, by sweep and prune.

Each shape and each static solid has a box. That of a shape on a body is the centre of its bounding ball, that of a
static solid contains the solid. Boxes have a reach, which includes a shape's radius and its motion in the step. Pairs
whose boxes are not within the sum of their reaches cannot pass the test of `collision.broad_phase`, as follows.

With the centres a and b of the balls of a shape and of a solid on a body, their radii R, the largest motion m of their
points in the step, and the angle s by which the solid's body turns, that test requires
    |a - b| - R_a - R_b < margin + m_a + m_b + s (3^(1/2) |a - b| + R_a).
So |a - b| < reach_a + reach_b with reach = ((1 + t) R + m) / (1 - t) + margin and t >= 3^(1/2) s. Static shapes with
the box of their points meet solids on bodies with 3 s <= t. Reaches include the margin twice, for rounding errors.
"""

from typing import Any, NamedTuple

import numpy as np

from ..algebra.linear import Vector, add, rotate, sub
from ..algebra.numbers import absolute, maximum
from ..algebra.tables import motion_at, transform_at
from .layout import BOX_REALS, HIGH, IS_BALL, LOW, REACH
from .signed_distance import FAR, ROUND, is_external

TURN = 3.0  # t over the angle of turn in the step
FASTEST = 0.5  # t from which on all boxes are within reach
FEW = 8  # pairs for each box up to which all are tested
MOST_NEAR = 64  # pairs for each shape of `gathered_pairs` that are listed: of more, all pairs are considered


class NearPairs(NamedTuple):
    """Scratch memory of the broad phase."""

    box: Any  # (B, BOX_REALS)
    interval: Any  # (2, B) start and end of boxes with their reach along the axis of the sweep
    order: Any  # (B,) boxes in the order of their starts
    pair: Any  # (L,) numbers of the pairs that may touch, in ascending order
    spare: Any  # of `sort`


def near_pairs_memory(touch, q):
    """Scratch memory, with the dtype of q."""
    boxes, pairs = touch.box.shape[0], touch.pair.shape[0] + MOST_NEAR * touch.shapes
    lists = np.empty((2, pairs), np.int64)
    return NearPairs(
        np.empty((boxes, BOX_REALS), q.dtype), np.empty((2, boxes), q.dtype), np.empty(boxes, np.int64), lists[0],
        lists[1],
    )  # fmt: skip


def speed_within(V, W, center, radius):
    """Return an upper bound of the speed of a body's points within a sphere around a world point `center`.

    V, W: velocity and pose of the body. Sums of absolute components are bounds that need no square roots.
    """
    return components(V.lin) + (components(sub(center, W.p)) + radius) * components(V.ang)


def components(a):
    """Return |x| + |y| + |z|, which is not smaller than the length of a vector."""
    return absolute(a.x) + absolute(a.y) + absolute(a.z)


def list_all(touch, r, dt, margin, near):
    """List all pairs without external contacts; return their number."""
    n = 0
    for k in range(touch.pair.shape[0]):
        if not is_external(touch, k):
            near.pair[n] = k
            n += 1
    return n


def list_near(touch, r, dt, margin, near):
    """List the pairs that may touch in a step, in ascending order; return their number (`listed`).

    All pairs in worlds without boxes, which have few pairs. r.W, r.V: poses and velocities of the bodies.
    """
    boxes, n = touch.box.shape[0], touch.unboxed.size
    if boxes == 0:
        n = list_all(touch, r, dt, margin, near)
    else:
        for k in range(n):
            near.pair[k] = touch.unboxed[k]
        put_boxes(touch, r, dt, margin, near)
        end = sweep(touch, near, n) if is_swept(touch) else test_all(touch, near, n)
        if end <= near.pair.shape[0]:
            sort(near.pair, near.spare, n, end, is_less, 0)
            merge(near.pair, near.spare, 0, n, end, is_less, 0)
            n = end
        else:
            n = touch.ready + 2 * touch.shapes * touch.shapes
    return n


def listed(near, j, count):
    """Return number j of `count` pairs; if the list has no room for them, these are all numbers of pairs."""
    return near.pair[j] if count <= near.pair.shape[0] else j


def is_swept(touch):
    """Return whether boxes are sorted: there are so many pairs that not each is tested."""
    return touch.shapes > 0 or touch.partner.size > FEW * touch.box.shape[0]


def put_boxes(touch, r, dt, margin, near):
    """Write the boxes of a state."""
    turn = dt * 0
    for b in range(touch.box.shape[0]):
        turn = maximum(turn, components(motion_at(r.V, touch.box_body[b]).ang))
    turn = TURN * dt * turn
    for b in range(touch.box.shape[0]):
        radius, motion = touch.box[b, REACH], dt * 0
        for axis in range(2 * 3):
            near.box[b, axis] = touch.box[b, axis]
        if touch.box_body[b] > 0:
            W = transform_at(r.W, touch.box_body[b])
            c = add(W.p, rotate(W.R, Vector(touch.box[b, LOW], touch.box[b, LOW + 1], touch.box[b, LOW + 2])))
            near.box[b, LOW], near.box[b, LOW + 1], near.box[b, LOW + 2] = c.x, c.y, c.z
            near.box[b, HIGH], near.box[b, HIGH + 1], near.box[b, HIGH + 2] = c.x, c.y, c.z
            motion = dt * speed_within(motion_at(r.V, touch.box_body[b]), W, c, radius)
        reach = ((1 + turn) * maximum(radius, ROUND) + motion) / (1 - turn) + 2 * margin
        near.box[b, REACH] = reach if turn < FASTEST else reach * 0 + FAR
        near.box[b, IS_BALL] = touch.box[b, IS_BALL]


def gap_along(box, i, j, axis):
    """Return the gap between two boxes along an axis; negative if they overlap."""
    return maximum(box[j, LOW + axis] - box[i, HIGH + axis], box[i, LOW + axis] - box[j, HIGH + axis])


def are_near(box, i, j):
    """Return whether two boxes are within their reach: along each axis, and two balls also in distance."""
    x, y, z = gap_along(box, i, j, 0), gap_along(box, i, j, 1), gap_along(box, i, j, 2)
    reach = box[i, REACH] + box[j, REACH]
    balls = box[i, IS_BALL] * box[j, IS_BALL]
    return x < reach and y < reach and z < reach and balls * (x * x + y * y + z * z) < reach * reach


def test_all(touch, near, n):
    """Add the pairs of near boxes to the n pairs of the list; return their number."""
    for i in range(touch.moving):
        for p in range(touch.first_partner[i], touch.first_partner[i + 1]):
            if are_near(near.box, i, touch.partner[p]):
                near.pair[n] = touch.partner_pair[p]
                n += 1
    return n


def sweep(touch, near, n):
    """Add the pairs of near boxes to the n pairs of the list; return their number.

    Boxes on bodies and static boxes are sorted by their starts along one axis. Only those whose intervals overlap are
    tested, and no two static ones.
    """
    boxes, moving, interval, order = touch.box.shape[0], touch.moving, near.interval, near.order
    axis = widest_axis(touch, near.box)
    for b in range(boxes):
        order[b] = b
        interval[0, b] = near.box[b, LOW + axis] - near.box[b, REACH]
        interval[1, b] = near.box[b, HIGH + axis] + near.box[b, REACH]
    sort(order, near.spare, 0, moving, starts_before, interval[0])
    sort(order, near.spare, moving, boxes, starts_before, interval[0])
    for a in range(moving):
        n = add_near(touch, near, n, order[a], a + 1, moving)
    a, b = 0, moving
    while a < moving and b < boxes:
        if interval[0, order[a]] < interval[0, order[b]]:
            n = add_near(touch, near, n, order[a], b, boxes)
            a += 1
        else:
            n = add_near(touch, near, n, order[b], a, moving)
            b += 1
    return n


def add_near(touch, near, n, i, first, end):
    """Add the pairs of box i and of near boxes from place `first` of the order to the n pairs; return their number.

    Boxes of places from `end` on, or which start behind the end of box i, are not tested.
    """
    b = first
    while b < end and near.interval[0, near.order[b]] < near.interval[1, i]:
        j = near.order[b]
        if are_near(near.box, i, j):
            n = add_pairs(touch, near, n, min(i, j), max(i, j))
        b += 1
    return n


def add_pairs(touch, near, n, i, j):
    """Add the pairs of boxes i < j to the n pairs of the list; return their number, which may exceed the room."""
    if j < touch.shapes:
        k = touch.ready + 2 * (touch.shapes * i + j)
        return append(near, append(near, n, k), k + 1)
    p, end = touch.first_partner[i], touch.first_partner[i + 1]
    last = end
    while p < end:
        middle = (p + end) // 2
        if touch.partner[middle] < j:
            p = middle + 1
        else:
            end = middle
    while p < last and touch.partner[p] == j:
        n, p = append(near, n, touch.partner_pair[p]), p + 1
    return n


def append(near, n, k):
    """Write pair k behind the n pairs of the list, if there is room; return the number of pairs."""
    if n < near.pair.shape[0]:
        near.pair[n] = k
    return n + 1


def widest_axis(touch, box):
    """Return the axis along which the centres of boxes on bodies have the largest variance."""
    found, most = 0, box[0, REACH] * 0 - 1
    for axis in range(3):
        total, square = most * 0, most * 0
        for b in range(touch.moving):
            x = box[b, LOW + axis]
            total += x
            square += x * x
        variance = square - total * total / touch.moving
        if variance > most:
            found, most = axis, variance
    return found


def sort(x, spare, first, end, is_before, keys):
    """Sort the integers x[first:end] by merging. is_before(keys, a, b): whether a comes before b."""
    width = 1
    while width < end - first:
        at = first
        while at + width < end:
            merge(x, spare, at, at + width, min(at + 2 * width, end), is_before, keys)
            at += 2 * width
        width *= 2


def merge(x, spare, first, middle, end, is_before, keys):
    """Merge the sorted integers x[first:middle] and x[middle:end]."""
    if first < middle < end and is_before(keys, x[middle], x[middle - 1]):
        for k in range(first, middle):
            spare[k] = x[k]
        a, b, at = first, middle, first
        while a < middle:
            if b < end and is_before(keys, x[b], spare[a]):
                x[at] = x[b]
                b += 1
            else:
                x[at] = spare[a]
                a += 1
            at += 1


def is_less(keys, a, b):
    """Return whether a < b."""
    return a < b


def starts_before(start, a, b):
    """Return whether box a starts before box b."""
    return start[a] < start[b]
