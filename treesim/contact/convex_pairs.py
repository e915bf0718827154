"""Contacts of convex shapes that compiled code does not find, hulls and cylinders, by the library coal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, quoted
from ..kernels.contact_laws import MARGIN
from ..kernels.contact_points import FOUND, PER_PAIR
from ..model.shapes import CollisionShape
from ..model.support import POSES
from ..model.tree import Tree
from .convex_shapes import ConvexShape, convex_shape

HOW_TO_GET_IT = '`python -m pip install "treesim[collision]"` brings it'
ALONG_FACE = 5e-7  # 1 - cosine: a normal so near that of a face, 1e-3 rad, is that of the face
MOST_PAIRS = 3  # named in a message


NOTHING_FOUND = np.full((1, FOUND), -1.0)


def nothing_found(q: np.ndarray) -> np.ndarray:
    """Return the contacts (..., 1, 9) of states (..., nq) where nothing is looked at from outside."""
    return NOTHING_FOUND if q.ndim == 1 else np.full((*q.shape[:-1], 1, FOUND), -1.0)


class Posed(NamedTuple):
    """A convex shape where it is: rotation (3, 3) and place (3,) in the world."""

    shape: ConvexShape
    R: np.ndarray
    x: np.ndarray


class ConvexPairs:
    """Pairs of shapes of a robot whose contacts are told to steps from outside, the first of number `first` in the
    tables (`treesim.contact.tables`).

    For a near pair, coal tells one normal, and the patch in which the shapes face each other (Montaut et al. 2024); of
    each of its corners the gap along that normal is then found on both shapes themselves. Costs about 30 us a state,
    and 40 us more for each near pair, in Python. Raises ArgumentError where coal is not installed, or a hull is flat.
    """

    def __init__(self, robot: Tree, pairs: Sequence[tuple[CollisionShape, CollisionShape]], first: int) -> None:
        self.robot, self.pairs, self.first = robot, tuple(pairs), first
        if not pairs:
            return
        require_coal()
        made = {id(shape): convex_shape(shape) for pair in pairs for shape in pair}
        self._shapes = [(made[id(a)], made[id(b)]) for a, b in pairs]
        self._bodies = np.array([[a.body, b.body] for a, b in pairs])
        self._centers = np.array([[made[id(shape)].center for shape in pair] for pair in pairs])
        self._radii = np.array([[made[id(shape)].radius for shape in pair] for pair in pairs])
        self._room = min(PER_PAIR * len(pairs), 128)

    def found(self, q: np.ndarray, q_free: np.ndarray, good: np.ndarray | None = None) -> np.ndarray:
        """Return the contacts (..., F, 9) at q (..., nq), of gaps that a free step to q_free may close, of those states
        that are `good` (None: all): the pair's number, or -1 behind the last one, the place within the pair, gap,
        point and normal."""
        found = np.full((*q.shape[:-1], self._room, FOUND), -1.0)
        which = np.ones(q.shape[:-1], bool) if good is None else np.asarray(good)
        if which.any():
            W, W_free = (_poses(self.robot, np.atleast_2d(x[which])) for x in (q, q_free))
            flat = found.reshape(-1, self._room, FOUND)
            for state, at, after in zip(np.flatnonzero(which), W, W_free, strict=True):
                rows = [row for k, margin in self._near(at, after) for row in self._contacts(k, at, margin)]
                rows = rows[: self._room]
                flat[state, : len(rows)] = np.array(rows).reshape(-1, FOUND)
        return found

    def depths(self, q: np.ndarray) -> dict[int, float]:
        """Return how deep [m] the pairs that touch at q (nq,) overlap, by their place in `pairs`."""
        if not self.pairs:
            return {}
        W = _poses(self.robot, q[None])[0]
        rows = [row for k, margin in self._near(W, W) for row in self._contacts(k, W, margin)]
        deepest: dict[int, float] = {}
        for k, _, gap, *_ in rows:
            if gap <= TOUCHING:
                deepest[int(k) - self.first] = max(-gap, deepest.get(int(k) - self.first, -np.inf))
        return deepest

    def _near(self, W: np.ndarray, after: np.ndarray) -> Iterator[tuple[int, float]]:
        """Pairs whose balls may touch on the way from poses W (N + 1, 4, 4) to those `after`, and up to which gap."""
        now, then = (
            (P[self._bodies, :3, :3] @ self._centers[..., None])[..., 0] + P[self._bodies, :3, 3] for P in (W, after)
        )
        turn = np.linalg.norm(after[self._bodies, :3, :3] - W[self._bodies, :3, :3], axis=(-2, -1))
        moved = np.linalg.norm(then - now, axis=-1) + self._radii * turn
        margin = MARGIN + moved.sum(axis=1)
        apart = np.linalg.norm(now[:, 0] - now[:, 1], axis=-1) - self._radii.sum(axis=1)
        for k in np.flatnonzero(apart < margin):
            yield int(k), float(margin[k])

    def _contacts(self, k: int, W: np.ndarray, margin: float) -> list[list[float]]:
        """The contacts of pair k."""
        a, b = (
            Posed(shape, W[body, :3, :3] @ shape.rotation, W[body, :3, :3] @ shape.translation + W[body, :3, 3])
            for shape, body in zip(self._shapes[k], self._bodies[k], strict=True)
        )
        return [[self.first + k, place, *contact] for place, contact in enumerate(manifold(a, b, margin))]


TOUCHING = 1e-9  # m: shapes so near each other touch


def require_coal() -> Any:
    """Return the library; raises ArgumentError, saying how to install it, where it is missing."""
    try:
        import coal
    except ImportError:
        raise ArgumentError(f'collision="coal" needs the package coal: {HOW_TO_GET_IT}') from None
    return coal


def unmet(pairs: Sequence[tuple[CollisionShape, CollisionShape]]) -> str:
    """Return a text of pairs of shapes that pass through each other, and what to do about it."""
    named = [f"{a.kind} of {quoted(a.link)} and {b.kind} of {quoted(b.link)}" for a, b in pairs[:MOST_PAIRS]]
    more = f", and {len(pairs) - MOST_PAIRS} more pairs" if len(pairs) > MOST_PAIRS else ""
    return (
        f"shapes pass through each other: {'; '.join(named)}{more}. Hulls and cylinders meet in a World with "
        f'collision="coal", which needs the package coal: {HOW_TO_GET_IT}'
    )


def manifold(a: Posed, b: Posed, margin: float) -> list[list[float]]:
    """Return at most four contacts of two shapes that are nearer to each other than `margin`: gap, point midway (3),
    and normal from b to a (3), in the order of their angle about their middle, which stays while shapes slide."""
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
    return [[gaps[j], *points[j], *n] for j in kept if gaps[j] < margin]


def patch(a: Posed, b: Posed, margin: float) -> tuple[Any, np.ndarray]:
    """Return coal's contact of two shapes that are nearer to each other than `margin`, else None, and the corners
    (k, 3) of the patch in which they face each other."""
    coal = require_coal()
    request, found = coal.CollisionRequest(), coal.CollisionResult()
    request.security_margin = margin
    one, other = ((s.shape.geometry, coal.Transform3s(s.R, s.x)) for s in (a, b))
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
    """Return the normal (3,) of the face that faces along n, from b to a, to 1e-3 rad; n itself where there is none."""
    faces = np.vstack([-a.shape.normals @ a.R.T, b.shape.normals @ b.R.T])
    cosine = faces @ n
    best = int(cosine.argmax()) if len(faces) else -1
    return faces[best] if len(faces) and cosine[best] > 1 - ALONG_FACE else n


def spanning(points: np.ndarray, gaps: np.ndarray, n: np.ndarray) -> list[int]:
    """Return at most four of the points (k, 3), by the angle about their middle: the deepest, the farthest from it, and
    on either side of the line through these the farthest from it."""
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
    poses: np.ndarray = POSES(robot, robot.ints, robot.reals, robot.body_rotations.reshape(-1), q)
    return poses
