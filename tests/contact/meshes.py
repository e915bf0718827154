"""Triangle meshes for tests: of height fields, of profiles, of boxes and tori; and their files."""

from __future__ import annotations

import struct

import numpy as np

ANGLE = np.array([[0.0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]])  # an L


def of_field(field):
    """Vertices and triangles of a height field."""
    heights = np.asarray(field.heights)
    nx, ny = heights.shape
    x, y = (
        middle + d * (np.arange(n) - (n - 1) / 2)
        for middle, d, n in zip(field.center, field.spacing, (nx, ny), strict=True)
    )
    vertices = np.dstack([*np.meshgrid(x, y, indexing="ij"), heights]).reshape(-1, 3)
    a = (ny * np.arange(nx - 1)[:, None] + np.arange(ny - 1)).ravel()
    b, c, d = a + ny, a + ny + 1, a + 1
    return vertices, np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


def of_profile(profile, y):
    """Vertices and triangles of a profile (k, 2) of x and z, from left to right seen along y, between values of y."""
    n = len(profile)
    vertices = np.array([[x, along, z] for along in y for x, z in profile])
    a = (n * np.arange(len(y) - 1)[:, None] + np.arange(n - 1)).ravel()
    b, c, d = a + 1, a + n + 1, a + n
    return vertices, np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


def of_box(size, place=(0, 0, 0)):
    """Vertices and triangles of a closed box with full lengths `size` about a place."""
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * size + place
    sides = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    return corners, np.array([[s[0], s[k], s[k + 1]] for s in sides for k in (1, 2)])


def of_torus(radius, thickness, around, across):
    """Vertices and triangles of a torus about z, of `around` and `across` corners, with radii of circle and tube."""
    s, t = (2 * np.pi * np.arange(n) / n for n in (around, across))
    out = radius + thickness * np.cos(t)
    vertices = np.dstack(
        [np.outer(np.cos(s), out), np.outer(np.sin(s), out), np.tile(thickness * np.sin(t), (around, 1))]
    )
    i, j = (k.ravel() for k in np.meshgrid(np.arange(around), np.arange(across), indexing="ij"))
    next_i, next_j = (i + 1) % around, (j + 1) % across
    a, b, c, d = (row * across + k for row, k in ((i, j), (next_i, j), (next_i, next_j), (i, next_j)))
    return vertices.reshape(-1, 3), np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


def together(*meshes):
    """One mesh of several, which share no vertices."""
    starts = np.cumsum([0] + [len(vertices) for vertices, _ in meshes])
    triangles = [triangles + start for (_, triangles), start in zip(meshes, starts, strict=False)]
    return np.vstack([vertices for vertices, _ in meshes]), np.vstack(triangles)


def of_angle(height=1.0):
    """Vertices and triangles of an L along z, of volume 3 times its height."""
    vertices = np.array([[x, y, z] for z in (0.0, height) for x, y in ANGLE])
    ends = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 5], [3, 4, 5]])
    sides = [[i, j, j + 6, i, j + 6, i + 6] for i, j in zip(range(6), [1, 2, 3, 4, 5, 0], strict=True)]
    return vertices, np.concatenate([ends[:, ::-1], ends + 6, np.reshape(sides, (-1, 3))])


def as_stl(file, mesh):
    """Write a mesh to a path as a binary STL, in which triangles share no vertices, and return the file's name."""
    corners = np.asarray(mesh[0], np.float32)[mesh[1]]
    triangles = b"".join(bytes(12) + each.tobytes() + bytes(2) for each in corners)
    file.write_bytes(bytes(80) + struct.pack("<I", len(corners)) + triangles)
    return str(file)
