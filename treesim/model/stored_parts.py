"""Convex parts of meshes, and their files in the user's cache: a folder for each mesh, an OBJ file for each part.

Each file is written atomically. Processes that store the parts of a mesh at the same time write the same content.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path

import numpy as np

from ..errors import ArgumentError
from ..system.display import ReprMixin
from ..system.files import DAMAGED, write_whole
from ..system.input_files import read_input
from ..system.user_cache import cache_folder, make_cache_folder
from .frozen import frozen
from .hulls import convex_hull

FOLDER, DETAILS = "convex_parts", "parts.json"
MOST_MESHES = 4096  # whose parts are stored; those that were used last
LARGEST = 1 << 28  # bytes of a file


@dataclass(frozen=True, eq=False, repr=False)
class ConvexParts(ReprMixin):
    """Convex parts of a mesh, from `treesim.convex_parts`.

    Parameters
    ----------
    vertices : tuple of ndarray
        Vertices (n, 3) of each part, in the axes of the mesh [m].
    volume_error : float or None
        Volume of all parts divided by the volume of the mesh, minus 1; None for a mesh that is not closed. A volume in
        which two parts overlap counts twice.
    distance_error : float
        Largest distance [m] of a point of the mesh from the surface of the nearest part. The points are the vertices,
        and the centres of edges and triangles.
    files : tuple of str
        OBJ file of each part in treesim's cache, for `treesim.CollisionShape`. Empty if there is no cache.

    Examples
    --------
    >>> import trimesh
    >>> box = trimesh.creation.box((1, 2, 3))
    >>> treesim.convex_parts((box.vertices, box.faces))
    <ConvexParts: 1 part, volume error 0 %, distance error 0 m>
    """

    vertices: tuple[np.ndarray, ...]
    volume_error: float | None
    distance_error: float
    files: tuple[str, ...]

    _row_labels = ("volume_error", "distance_error", "files")

    def __repr__(self) -> str:
        count = len(self.vertices)
        return f"<ConvexParts: {count} part{'s' * (count != 1)}, {self.errors}>"

    @property
    def errors(self) -> str:
        """Errors of volume and distance, as text."""
        volume = "unknown" if self.volume_error is None else f"{round(100 * self.volume_error, 3) + 0.0:.3g} %"
        return f"volume error {volume}, distance error {round(self.distance_error, 9) + 0.0:.3g} m"


def read_stored(name: str) -> ConvexParts | None:
    """Return the parts that are stored under a name; None if there are none, or if they are damaged."""
    folder = _folder(name)
    try:
        vertices, volume_error, distance_error = json.loads(read_input(folder / DETAILS, LARGEST))
        files = tuple(str(folder / f"{k}.obj") for k in range(len(vertices)))
        os.utime(folder)  # the parts that were not used for longest are removed first
        found = ConvexParts(tuple(map(frozen, vertices)), volume_error, distance_error, files)
        sound = all(
            read_input(file, LARGEST) == _object(part) for file, part in zip(files, found.vertices, strict=True)
        )
    except (OSError, *DAMAGED):
        return None
    return found if sound else None


def store(name: str, vertices: Sequence[np.ndarray], volume_error: float | None, distance_error: float) -> ConvexParts:
    """Store parts under a name, and return them; without files, and with a logged reason, if that fails."""
    folder = _folder(name)
    contents = {f"{k}.obj": _object(part) for k, part in enumerate(vertices)}
    contents[DETAILS] = json.dumps([[part.tolist() for part in vertices], volume_error, distance_error]).encode()
    try:
        make_cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in contents.items():
            write_whole(folder / file, methodcaller("write", content))
    except (OSError, ArgumentError) as error:
        logging.getLogger("treesim").warning("treesim cannot store convex parts: %s", error)
    with suppress(OSError):  # another process removes them, too
        for old in sorted(folder.parent.iterdir(), key=lambda path: path.stat().st_mtime)[:-MOST_MESHES]:
            shutil.rmtree(old, ignore_errors=True)
    return read_stored(name) or ConvexParts(tuple(map(frozen, vertices)), volume_error, distance_error, ())


def _folder(name: str) -> Path:
    """Return the folder of a mesh; without a cache, one that cannot be."""
    return Path(cache_folder() or os.devnull, FOLDER, name)


def _object(vertices: np.ndarray) -> bytes:
    """Return the content of an OBJ file with the hull of vertices (n, 3)."""
    hull = convex_hull((vertices - vertices.min(axis=0)) / np.ptp(vertices, axis=0))  # no axis is too short
    a, b, c = np.moveaxis(hull.points[hull.simplices], 1, 0)
    inwards = (np.cross(b - a, c - a) * hull.equations[:, :3]).sum(axis=1) < 0
    triangles = np.where(inwards[:, None], hull.simplices[:, ::-1], hull.simplices) + 1
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    return "\n".join([*lines, *(f"f {a} {b} {c}" for a, b, c in triangles.tolist()), ""]).encode()
