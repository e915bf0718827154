"""Checks of the triangles of a static mesh, its edges, and its table for kernels (`kernels.contact.static_mesh`)."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..kernels.contact.static_features import BETWEEN
from ..kernels.contact.static_mesh import BORDER, CONCAVE, HEADER
from ..meshes.triangles import sides_by_edge
from .mesh_heights import Lists, lists_of_cells

THIN = 1e-9  # m: height of a triangle below which it has no area
FLAT = 1e-5  # rad: an edge that bends by less is flat
LOOSE = 1e-6  # of the mesh's size: a vertex so near an edge lies on it
PER_TRIANGLE = 8  # cells in which a triangle is listed, on average, at most
LARGEST_GRID = 1024  # cells along x, y
ROUNDING = 1e-9  # of the mesh's size: triangles are listed in cells so far around them, too


class MeshTable(NamedTuple):
    """Table of a mesh for kernels, whose grid lies around `center` (2,) [m] in the mesh's axes.

    nodes: numbers of the grid's nodes. spacing (2,): of the nodes [m]. numbers (n,): the table. faces: triangles of the
    cells.
    """

    center: np.ndarray
    nodes: tuple[int, int]
    spacing: np.ndarray
    numbers: np.ndarray
    faces: Lists

    def triangles_at(self, p: np.ndarray) -> np.ndarray:
        """Return the triangles (k,) in the cell over and under a point (3,); none outside of the grid."""
        cells = np.array(self.nodes) - 1
        i, j = np.floor((p[:2] - self.center) / self.spacing + cells / 2).astype(int)
        if not (0 <= i < cells[0] and 0 <= j < cells[1]):
            return np.empty(0, int)
        cell = i * cells[1] + j
        return self.faces.items[self.faces.starts[cell] : self.faces.starts[cell + 1]]


def has_area(points: np.ndarray) -> np.ndarray:
    """Return which triangles (m, 3, 3) have an area: none of their heights is below THIN."""
    sides = np.roll(points, -1, axis=1) - points
    longest = np.sqrt((sides**2).sum(axis=2).max(axis=1))
    return _length(np.cross(sides[:, 0], sides[:, 1])) >= THIN * np.maximum(longest, THIN)


def _length(x: np.ndarray) -> np.ndarray:
    return np.sqrt((x**2).sum(axis=-1))


class MeshEdges:
    """Vertices and edges of a mesh of triangles with area; vertices with equal coordinates are one.

    vertices (n, 3). triangles (m, 3): indices of vertices. numbers (m,): of the triangles, for messages.
    """

    def __init__(self, vertices: np.ndarray, triangles: np.ndarray, numbers: np.ndarray) -> None:
        self._touching: set[int] = set()  # sides of solids that touch another with a face
        self.vertices, index = np.unique(vertices + 0.0, axis=0, return_inverse=True)
        self.triangles = index.reshape(-1)[triangles]
        self.points = self.vertices[self.triangles]
        normals = np.cross(self.points[:, 1] - self.points[:, 0], self.points[:, 2] - self.points[:, 0])
        self.normals = normals / _length(normals)[:, None]
        start, end, order, first = sides_by_edge(self.triangles)
        count = np.diff(np.r_[np.flatnonzero(first), order.size])
        self.sides = order[first]  # of each edge, in the first triangle
        if count.max() > 2:
            order, first, count = self._separated(order, first, count, numbers)
            self.sides = order[first]
        self.others = np.full(len(self.sides), -1)  # in the second one, or -1 at the border
        self.others[count == 2] = order[np.flatnonzero(first)[count == 2] + 1]
        self.ends = np.stack([start[self.sides], end[self.sides]], axis=1)
        pairs = self.others >= 0
        same = pairs & (start[self.sides] == start[self.others])
        if same.any():
            k = int(np.flatnonzero(same)[0])
            a, b = (int(numbers[side[k] // 3]) for side in (self.sides, self.others))
            raise ArgumentError(
                f"triangles {a} and {b} face opposite ways at the edge from {self._place(self.ends[k, 0])} to "
                f"{self._place(self.ends[k, 1])}: corners must be counterclockwise, seen from outside. Reverse the "
                f"order of the corners of one of them"
            )

    def _separated(
        self, order: np.ndarray, first: np.ndarray, count: np.ndarray, numbers: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the sides in order, where edges that solids share are several edges, of two triangles each.

        These triangles are neighbours in the space between the solids. Raises ArgumentError for other edges of more
        than two triangles.
        """
        order, first = order.copy(), first.copy()
        for at, size in zip(np.flatnonzero(first)[count > 2], count[count > 2], strict=True):
            sides = order[at : at + size]
            paired = self._around_edge(sides)
            if paired is None:
                self._refuse_shared(sides, numbers)
            order[at : at + size] = paired
            first[at : at + size : 2] = True
        return order, first, np.diff(np.r_[np.flatnonzero(first), order.size])

    def _around_edge(self, sides: np.ndarray) -> np.ndarray | None:
        """Return the sides at an edge of several solids in pairs, with empty space between; None if they overlap."""
        t, s = np.divmod(sides, 3)
        start, end = self.triangles[t, s], self.triangles[t, (s + 1) % 3]
        e = self.vertices[max(start[0], end[0])] - self.vertices[min(start[0], end[0])]
        forward = start < end  # sides along e: the space before them is at larger angles around e
        into = np.cross(self.normals[t], e) * np.where(forward, 1.0, -1.0)[:, None]
        x, y = into @ into[0], np.cross(into[0], into) @ (e / _length(e))
        angles = np.mod(np.arctan2(y, x) + FLAT / 2, 2 * np.pi)
        by_angle = np.argsort(angles)
        same = np.empty(len(sides), int)
        same[by_angle] = np.cumsum(np.r_[0, np.diff(angles[by_angle]) > FLAT])
        found = np.lexsort((~forward, same))
        found = found if forward[found[0]] else np.roll(found, -1)
        if not forward[found[::2]].all() or forward[found[1::2]].any() or len(sides) % 2:
            return None
        touching = same[found[::2]] == same[found[1::2]]
        self._touching |= set(sides[found[::2]][touching].tolist())
        return sides[found]

    def _refuse_shared(self, sides: np.ndarray, numbers: np.ndarray) -> None:
        shown = ", ".join(str(numbers[side // 3]) for side in sides[:6])
        raise ArgumentError(
            f"triangles {shown} share the edge from {self._place(self.triangles.ravel()[sides[0]])} to "
            f"{self._place(np.roll(self.triangles, -1, axis=1).ravel()[sides[0]])}: an edge has two triangles at "
            "most, or two of each of the solids that touch there. Remove double triangles and inner walls"
        )

    def _place(self, vertex: int) -> str:
        return "(" + ", ".join(f"{x:g}" for x in self.vertices[vertex]) + ")"

    @property
    def closed(self) -> bool:
        """True if every edge has two triangles."""
        return bool((self.others >= 0).all())

    def loose_vertices(self) -> np.ndarray:
        """Return the vertices (k, 3) on the border that lie on a border edge of which they are no end.

        The triangles on both sides of such an edge are no neighbours: it is an edge for shapes that move over it.
        Those of walls that stand on a border are left out.
        """
        from scipy.spatial import cKDTree

        border = np.flatnonzero(self.others < 0)
        if not border.size:
            return np.empty((0, 3))
        ends, normals = self.ends[border], self.normals[self.sides[border] // 3]
        one, d = self.vertices[ends[:, 0]], self.vertices[ends[:, 1]] - self.vertices[ends[:, 0]]
        near = LOOSE * max(1.0, float(np.abs(self.vertices).max()))
        found = cKDTree(one).query_ball_point(one + d / 2, _length(d) / 2 + near)
        edge = np.repeat(np.arange(len(ends)), [len(each) for each in found])
        other = np.concatenate([np.asarray(each, int) for each in found])
        vertex = ends[other, 0]  # every vertex of a border is the first one of an edge of it
        w = self.vertices[vertex] - one[edge]
        away = _length(w - d[edge] * ((w * d[edge]).sum(axis=1) / (d[edge] ** 2).sum(axis=1))[:, None])
        loose = (away < near) & (vertex[:, None] != ends[edge]).all(axis=1)
        loose &= (normals[edge] * normals[other]).sum(axis=1) > 0.5
        return self.vertices[np.unique(vertex[loose])]

    @cached_property
    def has_internal_edges(self) -> bool:
        """True if the mesh has several parts, or triangles side by side that do not share vertices."""
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import connected_components

        m, pairs = len(self.triangles), self.others >= 0
        joined = coo_matrix((np.ones(pairs.sum()), (self.sides[pairs] // 3, self.others[pairs] // 3)), (m, m))
        return (
            bool(self._touching)
            or connected_components(joined, directed=False)[0] > 1
            or len(self.loose_vertices()) > 0
        )

    @cached_property
    def bends(self) -> np.ndarray:
        """1 for convex edges and those at the border, -1 for concave ones, 0 for flat ones (e,)."""
        t, (u, third) = self.sides // 3, self._opposite(self.others)
        along = self.vertices[self.ends[:, 1]] - self.vertices[self.ends[:, 0]]
        d = third - self.vertices[self.ends[:, 0]]
        height = (self.normals[t] * d).sum(axis=1)
        width = _length(np.cross(along, d)) / _length(along)
        bend = -np.sign(height) * (np.abs(height) > FLAT * width)
        bend[(bend == 0) & ((self.normals[t] * self.normals[u]).sum(axis=1) < 0)] = 1
        bend[self.others < 0] = 1
        bend[np.isin(self.sides, list(self._touching))] = -1
        return np.asarray(bend)

    def _opposite(self, sides: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the triangles of sides, and the positions (e, 3) of their corners that are not on the sides."""
        t = sides // 3
        return t, self.points[t, (sides + 2) % 3]

    @cached_property
    def neighbours(self) -> np.ndarray:
        """Neighbour across each side (m, 3), CONCAVE or BORDER."""
        found = np.full(3 * len(self.triangles), BORDER)
        pairs = self.others >= 0
        one, other, concave = self.sides[pairs], self.others[pairs], self.bends[pairs] < 0
        found[one], found[other] = np.where(concave, CONCAVE, other // 3), np.where(concave, CONCAVE, one // 3)
        return found.reshape(-1, 3)

    @cached_property
    def into_solid(self) -> np.ndarray:
        """Directions (e, 2, 3) from each edge's first vertex into its faces; into the solid at the border."""
        one = self.vertices[self.ends[:, 0]]
        left, right = (self._opposite(sides)[1] - one for sides in (self.sides, self.others))
        border = self.others < 0
        right[border] = -self.normals[self.sides[border] // 3]
        return np.stack([left, right], axis=1)

    @cached_property
    def vertex_directions(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Vertices (k,) that convex shapes may touch, starts of their directions (k + 1,), and directions (n, 3).

        The directions point from a vertex along its edges and, at the border, into the solid. A shape can touch a
        vertex if all of them are on one side of a plane.
        """
        bent = np.zeros(len(self.vertices), bool)
        bent[self.ends[self.bends > 0]] = True
        border = np.zeros(len(self.vertices), bool)
        border[self.ends[self.others < 0]] = True
        ends = np.concatenate([self.ends, self.ends[:, ::-1]])
        along = self.vertices[ends[:, 1]] - self.vertices[ends[:, 0]]
        corners = self.triangles.ravel()
        vertex = np.concatenate([ends[:, 0], corners])
        towards = np.concatenate([along, np.repeat(-self.normals, 3, axis=0)])
        used = np.concatenate([bent[ends[:, 0]], border[corners]])
        vertex, towards = vertex[used], towards[used] / _length(towards[used])[:, None]
        order = np.argsort(vertex, kind="stable")
        vertex, towards = vertex[order], towards[order]
        found, start, count = np.unique(vertex, return_index=True, return_counts=True)
        touched = np.zeros(len(found), bool)
        for size in np.unique(count):
            rows = np.flatnonzero(count == size)
            touched[rows] = _on_one_side(towards[start[rows, None] + np.arange(size)])
        directions = towards[np.repeat(touched, count)]
        return found[touched], np.r_[0, np.cumsum(count[touched])], directions


def _on_one_side(directions: np.ndarray) -> np.ndarray:
    """Return for which rows of unit vectors (n, d, 3) there is a plane that has all of them on one side.

    Such a plane contains two of the vectors.
    """
    d = directions.shape[1]
    found = np.zeros(len(directions), bool)
    for i, j in zip(*np.triu_indices(d, 1), strict=True):
        n = np.cross(directions[:, i], directions[:, j])
        dots = (directions * n[:, None]).sum(axis=2)
        most = BETWEEN * _length(n)[:, None]
        found |= (dots <= most).all(axis=1) | (dots >= -most).all(axis=1)
    return found


class Grid:
    """Grid of cells over x and y around points (n, 3)."""

    def __init__(self, points: np.ndarray, triangles: np.ndarray) -> None:
        low, high = points[:, :2].min(axis=0), points[:, :2].max(axis=0)
        self.center, self.margin = (low + high) / 2, ROUNDING * max(1.0, float(np.abs(points).max()))
        extent = high - low + 2 * self.margin
        length = max(float(np.sqrt(extent.prod() / len(triangles))), float(extent.max()) / LARGEST_GRID)
        self.resize(extent, length)
        while self.cells_of(triangles)[2] > PER_TRIANGLE * len(triangles) and max(self.cells) > 1:
            length *= 2
            self.resize(extent, length)

    def resize(self, extent: np.ndarray, length: float) -> None:
        """Set the number of cells, of about a length each, and their sizes."""
        self.cells = np.clip(np.ceil(extent / length), 1, LARGEST_GRID).astype(int)
        self.spacing = extent / self.cells

    def cells_of(self, items: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the first and the last cells (n, 2) of items with points (n, k, 3), and the number of all cells."""
        low = items[..., :2].min(axis=1) - self.center - self.margin
        high = items[..., :2].max(axis=1) - self.center + self.margin
        first, last = (
            np.clip(np.floor(x / self.spacing + self.cells / 2), 0, self.cells - 1).astype(int) for x in (low, high)
        )
        return first, last, int((last - first + 1).prod(axis=1).sum())


def mesh_table(edges: MeshEdges) -> MeshTable:
    """Return the table of a mesh."""
    grid = Grid(edges.vertices, edges.points)
    shift = np.r_[grid.center, 0.0]
    first, last, _ = grid.cells_of(edges.points)
    faces = lists_of_cells(first, last, grid.cells)
    others = edges.normals[:, 2] <= 0
    heights = _heights(edges, faces, np.full(others.shape, True))
    border = lists_of_cells(*grid.cells_of(edges.vertices[edges.ends[edges.others < 0]])[:2], grid.cells)
    covered = np.isfinite(heights[:, 1]) & (np.diff(border.starts) == 0)
    heights = np.column_stack([heights, _heights(edges, faces, others), np.where(covered, heights[:, 1], np.inf)])
    corners = (edges.points - shift).reshape(-1, 9)
    records = np.column_stack([first, corners, edges.normals, edges.neighbours])
    parts = [faces.starts, faces.items, records]

    convex = edges.bends > 0
    ends = edges.vertices[edges.ends[convex]]
    first, last, _ = grid.cells_of(ends)
    parts += [*lists_of_cells(first, last, grid.cells)]
    parts.append(np.column_stack([first, (ends - shift).reshape(-1, 6), edges.into_solid[convex].reshape(-1, 6)]))

    vertex, starts, directions = edges.vertex_directions
    points = edges.vertices[vertex]
    first, _, _ = grid.cells_of(points[:, None])
    parts += [*lists_of_cells(first, first, grid.cells)]
    parts.append(np.column_stack([first, points - shift, starts[:-1], np.diff(starts)]))

    parts += [heights, directions]
    offsets = HEADER + np.cumsum([0] + [part.size for part in parts[:-1]])
    numbers = np.concatenate([offsets, *(part.ravel() for part in parts)]).astype(float)
    numbers.setflags(write=False)
    nodes = int(grid.cells[0]) + 1, int(grid.cells[1]) + 1
    return MeshTable(grid.center, nodes, grid.spacing, numbers, faces)


def _heights(edges: MeshEdges, faces: Lists, which: np.ndarray) -> np.ndarray:
    """Return least and largest z (cells, 2) of some of the triangles in each cell; inf and -inf without any."""
    found = np.tile([np.inf, -np.inf], (len(faces.starts) - 1, 1))
    cell = np.repeat(np.arange(len(found)), np.diff(faces.starts))
    chosen = which[faces.items]
    z = edges.points[faces.items[chosen], :, 2]
    np.minimum.at(found[:, 0], cell[chosen], z.min(axis=1))
    np.maximum.at(found[:, 1], cell[chosen], z.max(axis=1))
    return found
