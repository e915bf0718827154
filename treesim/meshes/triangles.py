"""Triangle meshes: checks of arrays, connected parts, and orientation; parts that face inwards are turned."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, ShapeWarning, shortened, text_of
from ..system.user_warnings import warn
from ..validation.arrays import check_copy, real_numbers

FLAT_SOLID = 1e-9  # of the 3/2th power of its area: a volume below which a part has no inside
SAME = 1e-6  # of a mesh's size: vertices so near each other are one, as in files with numbers of single precision
INTO = 1e-6  # of a part's size: so far inside its surface is the point that shows which parts enclose it
DOWN = 0.1  # of its area: an open part that looks up nowhere and so much down seems to be turned over


class Parts(NamedTuple):
    """Parts of a mesh, connected by edges of two triangles.

    label (m,): of the triangles. closed, open (k,): which parts have no border, and which have one. uneven (k,): in
    which two neighbours face opposite ways. volume (k,) [m^3].
    """

    label: np.ndarray
    closed: np.ndarray
    open: np.ndarray
    uneven: np.ndarray
    volume: np.ndarray

    @property
    def solid(self) -> np.ndarray:
        """Mask (k,) of closed parts that enclose a volume, without neighbours that face opposite ways."""
        return self.closed & ~self.uneven & (self.volume != 0)

    @property
    def flat(self) -> np.ndarray:
        """Mask (k,) of closed parts that enclose nothing."""
        return self.closed & (self.volume == 0)


def checked_vertices(values: Any, most: float) -> np.ndarray:
    """Return a copy of vertices (n, 3), of coordinates up to `most` [m].

    Raises ArgumentError, naming the first vertex that is out of bounds.
    """
    found = real_numbers("vertices", values)
    if found.ndim != 2 or found.shape[1] != 3:
        raise ArgumentError(f"vertices must have shape (n, 3), got {found.shape}")
    check_copy("vertices", found.shape)
    bad = ~(np.abs(found) <= most).all(axis=1)
    if bad.any():
        k = int(np.flatnonzero(bad)[0])
        raise ArgumentError(f"vertices must be finite, none beyond {most:g} m, but vertex {k} is {found[k]}")
    return found.copy()


def checked_triangles(values: Any, count: int) -> np.ndarray:
    """Return a copy of triangles (m, 3); raises ArgumentError, naming the first with an index that does not exist."""
    try:
        found = np.asarray(values)
    except Exception as error:  # whatever a user's class raises
        problem = shortened(text_of(error, str))
        raise ArgumentError(f"triangles must be indices of vertices (m, 3): {problem}") from None
    if found.ndim != 2 or found.shape[1] != 3 or not len(found) or found.dtype.kind not in "iu":
        raise ArgumentError(
            f"triangles must be whole numbers of shape (m, 3), one or more, got {found.dtype} of shape {found.shape}"
        )
    check_copy("triangles", found.shape)
    bad = ((found < 0) | (found >= count)).any(axis=1)
    if bad.any():
        k = int(np.flatnonzero(bad)[0])
        raise ArgumentError(f"triangle {k} has vertices {found[k].tolist()}, but they are 0 to {count - 1}")
    return found.astype(np.int64)


def merged(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return vertices, triangles and numbers of these after vertices that are almost equal have become one.

    Triangles with two equal corners, and vertices without triangles, are left out.
    """
    from scipy.spatial import cKDTree

    points, index = np.unique(vertices[triangles].reshape(-1, 3) + 0.0, axis=0, return_inverse=True)
    pairs = cKDTree(points).query_pairs(SAME * np.linalg.norm(np.ptp(points, axis=0)), output_type="ndarray")
    label = _connected(pairs[:, 0], pairs[:, 1], len(points))
    corners = label[index.reshape(-1, 3)]
    numbers = np.flatnonzero((corners != np.roll(corners, 1, axis=1)).all(axis=1))
    return points[np.unique(label, return_index=True)[1]], corners[numbers], numbers


def _connected(one: np.ndarray, other: np.ndarray, count: int) -> np.ndarray:
    """Return labels (count,) of the groups that pairs of numbers, `one` and `other`, connect."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    pairs = coo_matrix((np.ones(len(one)), (one, other)), (count, count))
    return np.asarray(connected_components(pairs, directed=False)[1])


def outwards(
    vertices: np.ndarray, triangles: np.ndarray, numbers: np.ndarray, R: np.ndarray | None, what: str
) -> np.ndarray:
    """Return the triangles (m, 3), with those of closed parts that face inwards turned, except walls of cavities.

    numbers (m,): of the triangles, for warnings. R: from the mesh's axes to the world's. what: the mesh, for warnings.
    Warns of turned parts and, with R, of open parts that look down everywhere.
    """
    points = vertices[triangles]
    parts = parts_of(vertices, triangles)
    if R is not None:
        _warn_of_overturned(parts, points @ R.T, numbers, what)
    turned = _turned(parts, points)
    if not turned.any():
        return triangles
    where, count, k = turned[parts.label], np.count_nonzero(turned), int(np.flatnonzero(turned)[0])
    closed = "a closed part" if count == 1 else f"{count} closed parts"
    warn(
        f"{what}: the triangles of {closed} face inwards: the volume is {parts.volume[k]:.4g} m^3, the "
        f"first is triangle {numbers[np.flatnonzero(where)[0]]}. {np.count_nonzero(where)} triangles are turned; "
        "corners must be counterclockwise, seen from outside",
        ShapeWarning,
    )
    return np.where(where[:, None], triangles[:, ::-1], triangles)


def parts_of(vertices: np.ndarray, triangles: np.ndarray) -> Parts:
    """Return the parts of a mesh, of which vertices with equal coordinates are one."""
    index = np.unique(vertices + 0.0, axis=0, return_inverse=True)[1].reshape(-1)[triangles]
    start, end, order, first = sides_by_edge(index)
    at, edge = np.flatnonzero(first), np.empty(order.size, int)
    edge[order] = np.cumsum(first) - 1
    sides = np.diff(np.r_[at, order.size])  # of each edge
    one, other = order[at[sides == 2]], order[at[sides == 2] + 1]
    label = _connected(one // 3, other // 3, len(index))
    # each edge of a closed part has as many triangles on either side
    key, inverse = np.unique(label.repeat(3) * len(at) + edge, return_inverse=True)
    balance, parts = np.bincount(inverse.reshape(-1), np.where(start < end, 1.0, -1.0)), np.unique(label)
    closed = ~np.isin(parts, key[balance != 0] // len(at))
    border = np.isin(parts, label[order[at[sides == 1]] // 3])
    uneven = np.isin(parts, label[one[start[one] == start[other]] // 3])
    return Parts(label, closed, border, uneven, _volumes(vertices[triangles], label, len(parts)))


def sides_by_edge(triangles: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return start and end (3 m,) of the sides of triangles (m, 3), their order by edges, and where new edges begin.

    Side s of triangle t is number 3 t + s.
    """
    start, end = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
    low, high = np.minimum(start, end), np.maximum(start, end)
    order = np.lexsort((high, low))
    first = np.r_[True, (np.diff(low[order]) != 0) | (np.diff(high[order]) != 0)]
    return start, end, order, first


def _volumes(points: np.ndarray, label: np.ndarray, count: int) -> np.ndarray:
    """Return the volumes (k,) of closed parts; 0 for those that enclose nothing."""
    size = np.bincount(label, minlength=count)
    center = np.stack([np.bincount(label, x, count) for x in points.mean(axis=1).T], axis=1) / size[:, None]
    p = points - center[label, None]
    volume = np.bincount(label, np.einsum("ij,ij->i", p[:, 0], np.cross(p[:, 1], p[:, 2])), count) / 6
    cross = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    area = np.bincount(label, np.sqrt((cross**2).sum(axis=1)) / 2, count)
    return np.where(np.abs(volume) > FLAT_SOLID * area**1.5, volume, 0.0)


def _turned(parts: Parts, points: np.ndarray) -> np.ndarray:
    """Return which parts (k,) are to be turned.

    A part inside an odd number of others is the wall of a cavity, which faces inwards, as seen from the solid.
    """
    turned = np.zeros(len(parts.solid), bool)
    for k in np.flatnonzero(parts.solid & (parts.volume < 0)).tolist():
        turned[k] = len(enclosing(k, parts, points)) % 2 == 0
    if turned.any():  # cavities of parts that are turned
        for k in np.flatnonzero(parts.solid & (parts.volume > 0)).tolist():
            others = enclosing(k, parts, points)
            turned[k] = len(others) % 2 == 1 and turned[others].all()
    return turned


def enclosing(k: int, parts: Parts, points: np.ndarray) -> list[int]:
    """Return the closed parts that enclose part k."""
    own = points[parts.label == k]
    a, b, c = own[0]
    normal = np.cross(b - a, c - a) * -np.sign(parts.volume[k])
    p = own[0].mean(axis=0) + INTO * np.ptp(own, axis=(0, 1)).max() * normal / np.sqrt(normal @ normal)
    others = [other for other in np.flatnonzero(parts.solid).tolist() if other != k]
    return [other for other in others if _winds(p, points[parts.label == other])]


def _winds(p: np.ndarray, points: np.ndarray) -> bool:
    """Return whether a closed surface winds around a point. Source: van Oosterom and Strackee 1983, eq. 8."""
    if (p < points.min(axis=(0, 1))).any() or (p > points.max(axis=(0, 1))).any():
        return False
    r = points - p
    a, b, c = np.moveaxis(r, 1, 0)
    la, lb, lc = np.moveaxis(np.sqrt((r**2).sum(axis=2)), 1, 0)
    dots = [np.einsum("ij,ij->i", one, other) for one, other in ((a, b), (b, c), (c, a))]
    angles = np.arctan2(
        np.einsum("ij,ij->i", a, np.cross(b, c)), la * lb * lc + dots[0] * lc + dots[1] * la + dots[2] * lb
    )
    return bool(abs(angles.sum()) > np.pi)  # 2 pi inside


def _warn_of_overturned(parts: Parts, points: np.ndarray, numbers: np.ndarray, what: str) -> None:
    """Warn of the first open part all of whose triangles look down in the world: nothing would rest on it."""
    normals = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0]) / 2
    count, area = len(parts.closed), np.sqrt((normals**2).sum(axis=1))
    up = np.bincount(parts.label, np.maximum(normals[:, 2], 0.0), count)
    down = np.bincount(parts.label, np.maximum(-normals[:, 2], 0.0), count)
    total = np.bincount(parts.label, area, count)
    wrong = parts.open & ~parts.uneven & (up <= INTO * total) & (down > DOWN * total)
    if wrong.any():
        first = int(np.flatnonzero(wrong[parts.label])[0])
        warn(
            f"{what}: an open part, to which triangle {numbers[first]} belongs, looks down everywhere, so nothing "
            "rests on it. If it is no ceiling, reverse the corners of its triangles: they must be counterclockwise, "
            "seen from outside",
            ShapeWarning,
        )
