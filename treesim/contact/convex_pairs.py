"""Contacts of pairs that compiled code does not support, such as hulls and cylinders, by the library coal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, quoted
from ..kernels.contact.constraint_rows import MARGIN
from ..kernels.contact.tables import FOUND, PER_PAIR
from ..model.shapes import CollisionShape
from ..model.tree import Tree
from ..states.support import POSES
from .convex_shapes import ConvexShape, convex_shape
from .tables import MOST_EXTERNAL

HOW_TO_GET_IT = "`python -m pip install coal` brings it"
ALONG_FACE = 5e-7  # 1 - cosine: a normal so near that of a face, 1e-3 rad, is that of the face
MOST_PAIRS = 3  # named in a message


NOTHING_FOUND = np.full((1, FOUND), -1.0)


def nothing_found(q: np.ndarray) -> np.ndarray:
    """Return external contacts (..., 1, 9) that are empty, for states (..., nq)."""
    return NOTHING_FOUND if q.ndim == 1 else np.full((*q.shape[:-1], 1, FOUND), -1.0)


class Posed(NamedTuple):
    """A convex shape with its rotation R (3, 3) and position x (3,) in the world, and coal's transform of these."""

    shape: ConvexShape
    R: np.ndarray
    x: np.ndarray
    transform: Any


def posed(shape: ConvexShape, R: np.ndarray, x: np.ndarray) -> Posed:
    """Return a shape with its rotation (3, 3) and position (3,) in the world."""
    return Posed(shape, R, x, require_coal().Transform3s(R, x))


class ConvexPairs:
    """Pairs of shapes of a robot whose contacts are found outside compiled code, by coal.

    `first` is the number of the first pair in the tables (`treesim.contact.tables`). For a near pair, coal computes one
    normal, and the patch in which the shapes face each other (Montaut et al. 2024). At each corner of the patch, the
    gap along the normal is measured on both shapes. Costs in Python: about 0.1 ms a state, 0.1 ms for each pair that
    touches, and 0.02 ms for each near pair. Raises ArgumentError if coal is not installed, or a hull is flat.
    """

    def __init__(self, robot: Tree, pairs: Sequence[tuple[CollisionShape, CollisionShape]], first: int) -> None:
        self.robot, self.pairs, self.first = robot, tuple(pairs), first
        if not pairs:
            return
        require_coal()
        own = {id(shape): shape for pair in pairs for shape in pair}
        number = {key: s for s, key in enumerate(own)}
        self._shapes = [convex_shape(shape) for shape in own.values()]
        self._bodies = np.array([shape.body for shape in own.values()])
        self._index = np.array([[number[id(shape)] for shape in pair] for pair in pairs])
        self._R, self._x, self._centers = (
            np.array([getattr(shape, name) for shape in self._shapes]) for name in ("rotation", "translation", "center")
        )
        self._radii = np.array([shape.radius for shape in self._shapes])
        self._room = min(PER_PAIR * len(pairs), MOST_EXTERNAL)

    def found(self, q: np.ndarray, q_free: np.ndarray, good: np.ndarray | None = None) -> np.ndarray:
        """Return the external contacts (..., F, 9) at q (..., nq), whose gaps may close in a step to q_free.

        A row has the number of the pair (-1 after the last contact), the index within the pair, gap, point and normal.
        good: mask of the states to compute (None: all).
        """
        found = np.full((*q.shape[:-1], self._room, FOUND), -1.0)
        which = np.ones(q.shape[:-1], bool) if good is None else np.asarray(good)
        if which.any():
            W, W_free = (_poses(self.robot, np.atleast_2d(x[which])) for x in (q, q_free))
            flat = found.reshape(-1, self._room, FOUND)
            for state, at, after in zip(np.flatnonzero(which), W, W_free, strict=True):
                rows = self._contacts(at, after)[: self._room]
                flat[state, : len(rows)] = np.array(rows).reshape(-1, FOUND)
        return found

    def depths(self, q: np.ndarray) -> dict[int, float]:
        """Return {index in `pairs`: depth [m]} of the pairs that touch or overlap at q (nq,)."""
        if not self.pairs:
            return {}
        W = _poses(self.robot, q[None])[0]
        deepest: dict[int, float] = {}
        for k, _, gap, *_ in self._contacts(W, W):
            if gap <= TOUCHING:
                deepest[int(k) - self.first] = max(-gap, deepest.get(int(k) - self.first, -np.inf))
        return deepest

    def _near(self, W: np.ndarray, after: np.ndarray) -> Iterator[tuple[int, float]]:
        """Yield the pairs whose bounding balls may touch, with the largest gap to consider.

        The motion is from poses W to `after`. W, after (S, 4, 4): poses of the shapes' bodies.
        """
        now, then = ((P[:, :3, :3] @ self._centers[:, :, None])[:, :, 0] + P[:, :3, 3] for P in (W, after))
        turn = np.linalg.norm(after[:, :3, :3] - W[:, :3, :3], axis=(1, 2))
        moved = np.linalg.norm(then - now, axis=1) + self._radii * turn
        a, b = self._index.T
        margin = MARGIN + moved[a] + moved[b]
        apart = np.linalg.norm(now[a] - now[b], axis=1) - self._radii[a] - self._radii[b]
        for k in np.flatnonzero(apart < margin):
            yield int(k), float(margin[k])

    def _contacts(self, W: np.ndarray, after: np.ndarray) -> list[list[float]]:
        """Return the contacts of all pairs at body poses W (N + 1, 4, 4) that may close on the way to `after`."""
        P = W[self._bodies]
        R, x = P[:, :3, :3] @ self._R, (P[:, :3, :3] @ self._x[:, :, None])[:, :, 0] + P[:, :3, 3]
        near = list(self._near(P, after[self._bodies]))
        pairs = self._index.tolist()
        placed = {s: posed(self._shapes[s], R[s], x[s]) for k, _ in near for s in pairs[k]}
        return [
            [self.first + k, place, *contact]
            for k, margin in near
            for place, contact in enumerate(manifold(placed[pairs[k][0]], placed[pairs[k][1]], margin))
        ]


TOUCHING = 1e-9  # m: shapes so near each other touch


def require_coal() -> Any:
    """Return the module coal; raises ArgumentError, with installation instructions, if it is missing."""
    try:
        import coal
    except ImportError:
        raise ArgumentError(f'collision="coal" needs the package coal: {HOW_TO_GET_IT}') from None
    return coal


def unmet(pairs: Sequence[tuple[CollisionShape, CollisionShape]]) -> str:
    """Return a message about pairs of shapes whose contact is not supported, with the remedy."""
    named = [f"{a.kind} of {quoted(a.link)} and {b.kind} of {quoted(b.link)}" for a, b in pairs[:MOST_PAIRS]]
    more = f", and {len(pairs) - MOST_PAIRS} more pairs" if len(pairs) > MOST_PAIRS else ""
    return (
        f"shapes pass through each other: {'; '.join(named)}{more}. Hulls and cylinders collide in a World with "
        f'collision="coal", which needs the package coal: {HOW_TO_GET_IT}'
    )


def manifold(a: Posed, b: Posed, margin: float) -> list[list[float]]:
    """Return at most four contacts of two shapes whose gap is below `margin`.

    A contact is the gap, the point midway (3) and the normal from b to a (3). Contacts are ordered by angle about their
    centre; this order does not change while shapes slide.
    """
    contact, points = patch(a, b, margin)
    if contact is None:
        return []
    if len(points) < 2:
        points = patch(b, a, margin)[1]  # coal finds one point for some cylinders that come first
    if len(points) < 2:
        return [[contact.penetration_depth, *contact.pos, *-contact.normal]]
    n = along_face(-contact.normal, a, b)
    below, above = (s.shape.exits((points - s.x) @ s.R, side * s.R.T @ n) for s, side in ((a, -1), (b, 1)))
    gaps, points = -below - above, points + np.outer((above - below) / 2, n)
    kept = spanning(points, gaps, n)
    rows = np.empty((len(kept), 7))
    rows[:, 0], rows[:, 1:4], rows[:, 4:] = gaps[kept], points[kept], n
    return rows[rows[:, 0] < margin].tolist()


def patch(a: Posed, b: Posed, margin: float) -> tuple[Any, np.ndarray]:
    """Return coal's contact of two shapes whose gap is below `margin`, or None, and the corners (k, 3) of the patch."""
    coal = require_coal()
    request, found = coal.CollisionRequest(), coal.CollisionResult()
    request.security_margin = margin
    one, other = ((s.shape.geometry, s.transform) for s in (a, b))
    if not coal.collide(*one, *other, request, found):
        return None, np.zeros((0, 3))
    patches = coal.ContactPatchResult()
    coal.computeContactPatch(*one, *other, found, coal.ContactPatchRequest(), patches)
    contact = found.getContact(0)
    if not patches.numContactPatches():
        return contact, np.zeros((0, 3))
    face = patches.getContactPatch(0)
    return contact, np.array([face.getPoint(j) for j in range(face.size())]).reshape(-1, 3)


def along_face(n: np.ndarray, a: Posed, b: Posed) -> np.ndarray:
    """Return the face normal (3,) that is within 1e-3 rad of n, the normal from b to a, or n if there is none."""
    faces = np.vstack([-a.shape.normals @ a.R.T, b.shape.normals @ b.R.T])
    cosine = faces @ n
    best = int(cosine.argmax()) if len(faces) else -1
    return faces[best] if len(faces) and cosine[best] > 1 - ALONG_FACE else n


def spanning(points: np.ndarray, gaps: np.ndarray, n: np.ndarray) -> list[int]:
    """Return the indices of at most four of the points (k, 3), ordered by angle about their centre.

    They are the deepest point, the farthest point from it, and the farthest point on either side of their line.
    """
    x, y, z = n
    if abs(x) < 0.9:  # n x e_x and n x (n x e_x), or the same of e_y
        flat = points @ np.array([[0, -y * y - z * z], [z, x * y], [-y, x * z]])
    else:
        flat = points @ np.array([[-z, x * y], [0, -x * x - z * z], [x, y * z]])
    if len(points) > PER_PAIR:
        first = int(gaps.argmin())
        second = int(np.linalg.norm(flat - flat[first], axis=1).argmax())
        along = flat[second] - flat[first]
        side = (flat - flat[first]) @ np.array([-along[1], along[0]])
        kept = np.array(sorted({first, second, int(side.argmax()), int(side.argmin())}))
    else:
        kept = np.arange(len(points))
    d = flat[kept] - flat.mean(axis=0)
    return [int(k) for k in kept[np.argsort(np.arctan2(d[:, 1], d[:, 0]), kind="stable")]]


def _poses(robot: Tree, q: np.ndarray) -> np.ndarray:
    """Poses of all bodies (..., N + 1, 4, 4)."""
    return POSES(robot, robot.ints, robot.reals, robot.body_rotations.reshape(-1), q)
