"""Decomposition of meshes into convex parts: connected solids first, then coacd.

Parts have the axes and the unit of the mesh file. They are computed with the magnitudes of the scale factors, relative
to the largest, so that mirrored links and files in millimetres share the parts of the others.

Parts are stored in the user's cache: a folder for each mesh, an OBJ file for each part. Each file is written
atomically. Processes that store the parts of a mesh at the same time write the same content.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from operator import methodcaller
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, ModelError, quoted, reason_of
from ..meshes import decomposition, read_triangles
from ..meshes.contents import LARGEST as LARGEST_FILE
from ..meshes.triangles import checked_triangles, checked_vertices, enclosing, merged, outwards, parts_of, sides_by_edge
from ..system.display import ReprMixin
from ..system.files import DAMAGED, digest_of, write_whole
from ..system.input_files import read_input
from ..system.installation import installed_by
from ..system.subprocesses import ProcessFailure, PythonProcess, can_start_python, module_command
from ..system.user_cache import cache_folder, make_cache_folder
from ..validation.values import positive_number, short_repr, whole_number
from .frozen import frozen
from .hulls import LARGEST, convex_hull, hull_vertices, reduced

CONVEX = 1e-6  # of its volume: a solid whose hull is larger by less is convex
MOST_PARTS, MOST_SEED = 1000, 2**32 - 1
SECONDS = 600.0  # time limit of coacd for each solid
BLOCK = 1 << 10  # points whose distances are computed at once
VERSION = 1  # of the decomposition; another one does not use the parts that this one stored
FOLDER, DETAILS = "convex_parts", "parts.json"  # of the cache
MOST_MESHES = 4096  # whose parts are stored; those that were used last
LARGEST_STORED = 1 << 28  # bytes of a file in the cache
DEFAULTS = {"threshold": 0.05, "max_convex_hull": 32, "seed": 0}  # names of coacd


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


def convex_parts(
    mesh: str | os.PathLike[str] | tuple[ArrayLike, ArrayLike],
    *,
    threshold: float = 0.05,
    max_parts: int = 32,
    seed: int = 0,
) -> ConvexParts:
    """Decompose a mesh into convex parts, whose collisions approximate those of the mesh.

    Connected closed parts of the mesh are separated first. A convex one becomes its convex hull. The others are
    decomposed by the package coacd (extra `collision`). What is not closed is first replaced by a closed surface near
    it, which rounds corners. Closed parts that enclose no volume are left out. Vertices closer than a millionth of the
    mesh's size are merged. Vertices of a part are left out if that changes the part by less than 0.1 % of its size.

    Parameters
    ----------
    mesh : str, path or tuple
        Mesh file, or vertices (n, 3) [m] and triangles (m, 3), which contain indices of vertices.
    threshold : float
        Concavity, up to 1, above which coacd cuts a part. A smaller threshold gives more parts, and takes longer.
    max_parts : int
        Largest number of parts. The connected closed parts of the mesh must not be more.
    seed : int
        Seed of the search for cuts. The same seed gives the same parts.

    Returns
    -------
    ConvexParts
        Vertices and files of the parts, and their errors.

    Raises
    ------
    ModelError
        If the mesh cannot be read, is flat, or has too many parts. If coacd fails, or takes more than 10 minutes.
    ArgumentError
        If coacd is not installed, or an argument has another type.

    Warns
    -----
    ShapeWarning
        If triangles of a closed part face inwards; they are turned.

    Notes
    -----
    The parts are stored in treesim's cache, and read from there at the next call with the same mesh and options. The
    command `treesim cache --clear` deletes them. The cache contains the parts of the 4096 meshes that were used last.

    Source: Wei et al., "Approximate convex decomposition for 3D meshes with collision-aware concavity and tree search",
    ACM Transactions on Graphics 41(4), 2022.

    Examples
    --------
    >>> import trimesh
    >>> two = trimesh.creation.box((1, 1, 1)) + trimesh.creation.box((1, 1, 1)).apply_translation((3, 0, 0))
    >>> parts = treesim.convex_parts((two.vertices, two.faces))
    >>> [vertices.shape for vertices in parts.vertices]
    [(8, 3), (8, 3)]
    """
    concavity = positive_number("threshold", threshold, "number", most=1.0)
    most, seed = whole_number("max_parts", max_parts, 1, MOST_PARTS), whole_number("seed", seed, 0, MOST_SEED)
    options = {"threshold": concavity, "max_convex_hull": most, "seed": seed}
    if isinstance(mesh, str | os.PathLike):
        return parts_of_file(os.fsdecode(mesh), (1.0, 1.0, 1.0), options)
    if not isinstance(mesh, tuple | list) or len(mesh) != 2:
        raise ArgumentError(f"mesh must be a file or (vertices, triangles), got {short_repr(mesh)}")
    vertices = checked_vertices(mesh[0], LARGEST)
    triangles = checked_triangles(mesh[1], len(vertices))
    name = _name([sha256(array.tobytes()).hexdigest() for array in (vertices, triangles)], options)
    return read_stored(name) or store(name, *_decomposed("the mesh", vertices, triangles, np.ones(3), options))


def parts_of_file(file: str, scale: Sequence[float], options: Mapping[str, Any] = DEFAULTS) -> ConvexParts:
    """Return the convex parts of a mesh file with scale factors, in the file's axes and unit; raises as `convex_parts`.

    The distance error is that of the scaled mesh.
    """
    label, size = f"mesh {quoted(file)}", float(np.abs(scale).max())
    if not np.all(scale):
        raise ModelError(f"{label} is flat with the scale {tuple(scale)}: it has no convex parts")
    try:
        content = sha256(read_input(file, LARGEST_FILE)).hexdigest()
    except (OSError, ValueError) as error:
        raise ModelError(f"{label} cannot be read: {reason_of(error)}") from None
    kind, relative = os.path.splitext(file)[1].lower(), np.abs(scale) / size
    # the numbers of a .gltf are in other files
    numbers = [sha256(array.tobytes()).hexdigest() for array in read_triangles(file)] if kind == ".gltf" else []
    name = _name([content, kind, relative.tolist(), *numbers], options)
    found = read_stored(name) or store(name, *_decomposed(label, *read_triangles(file), relative, options))
    return replace(found, distance_error=size * found.distance_error)


def _name(mesh: list[Any], options: Mapping[str, Any]) -> str:
    """Return the name under which parts are stored: a digest of what determines them."""
    try:
        return digest_of([VERSION, version("coacd"), mesh, options])
    except PackageNotFoundError:
        raise ArgumentError(f"convex parts need the package coacd: {installed_by('.[collision]')}") from None


def _decomposed(
    label: str, vertices: np.ndarray, triangles: np.ndarray, scale: np.ndarray, options: Mapping[str, Any]
) -> tuple[list[np.ndarray], float | None, float]:
    """Return vertices of the parts of a mesh in its own axes, and the errors of volume and distance.

    label: the mesh, for messages. scale (3,): positive factors with which the parts are computed.
    """
    points, triangles, numbers = merged(vertices * scale, triangles)
    thick = convex_hull(points[triangles].reshape(-1, 3)) is not None
    components = list(_components(points, outwards(points, triangles, numbers, None, label))) if thick else []
    if not components:
        raise ModelError(f"{label} is flat: it has no convex parts")
    components.sort(key=lambda one: -np.prod(np.ptp(one.vertices, axis=0)))  # the largest may have most parts
    hulls: list[Any] = []
    farthest = 0.0
    for component, parts in zip(components, _split(label, components, options), strict=True):
        own = [hull for part in parts if (hull := convex_hull(reduced(hull_vertices(part)))) is not None]
        if not own:
            raise ModelError(f"{label} cannot be decomposed: coacd found only flat parts")
        farthest = max(farthest, _distance(component, own))
        hulls += own
    volume = sum(component.volume for component in components)  # NaN if one is not closed
    error = float(sum(hull.volume for hull in hulls) / volume - 1)
    return [hull.points / scale for hull in hulls], None if np.isnan(error) else error, farthest


class Component(NamedTuple):
    """Triangles (m, 3) that are decomposed together, with their vertices (n, 3): a solid, or all that is not closed.

    volume: that of a solid, else NaN. manifold: the component is a solid, and each edge has two triangles.
    """

    vertices: np.ndarray
    triangles: np.ndarray
    volume: float
    manifold: bool


def _components(points: np.ndarray, triangles: np.ndarray) -> Iterator[Component]:
    """Yield each solid with its cavities, then all that is not closed; closed parts that are flat are left out."""
    parts, corners = parts_of(points, triangles), points[triangles]
    component = np.where(parts.solid, np.arange(len(parts.solid)), len(parts.solid))  # of each part
    component[parts.flat] = -1
    for wall in np.flatnonzero(parts.solid & (parts.volume < 0)).tolist():
        around = enclosing(wall, parts, corners)
        component[wall] = min(around, key=lambda other: abs(parts.volume[other]))
    for number in np.unique(component[component >= 0]).tolist():
        own = component == number
        used, index = np.unique(triangles[own[parts.label]], return_inverse=True)
        index = index.reshape(-1, 3)
        edges = np.flatnonzero(np.append(sides_by_edge(index)[3], True))
        solid = number < len(component)
        volume = float(parts.volume[own].sum()) if solid else np.nan
        yield Component(points[used], index, volume, solid and bool((np.diff(edges) == 2).all()))


def _split(label: str, components: Sequence[Component], options: Mapping[str, Any]) -> Iterator[list[np.ndarray]]:
    """Yield vertices of the convex parts of each component; raises ModelError if coacd fails or finds too many."""
    room, process = options["max_convex_hull"] - len(components), None
    with ExitStack() as stack:
        for component in components:
            parts, hull = [component.vertices], convex_hull(component.vertices)
            if room >= 0 and not (hull and hull.volume <= (1 + CONVEX) * component.volume):
                mode = "off" if component.manifold else "on"
                job = *component[:2], {**options, "max_convex_hull": room + 1, "preprocess_mode": mode}
                try:
                    if process is None and can_start_python():
                        process = stack.enter_context(closing(PythonProcess(module_command(decomposition.__name__))))
                    about = f"{len(component.triangles)} triangles"
                    parts = process.ask(job, SECONDS, about) if process else decomposition.decomposed(job)
                except (ProcessFailure, OSError) as error:
                    raise ModelError(f"{label} cannot be decomposed: coacd {error}") from None
            room -= len(parts) - 1
            if room < 0:
                most = options["max_convex_hull"]
                raise ModelError(f"{label} has more than {most} convex parts: choose a larger max_parts")
            yield parts


def _distance(component: Component, hulls: Sequence[Any]) -> float:
    """Return the largest distance of points of a component from the surface of the hull in which they are deepest."""
    corners = component.vertices[component.triangles]
    middles = (corners + np.roll(corners, 1, axis=1)) / 2
    points = np.concatenate([component.vertices, middles.reshape(-1, 3), corners.mean(axis=1)])
    farthest = 0.0
    for block in np.array_split(points, len(points) // BLOCK + 1):
        outside = [(block @ hull.equations[:, :3].T + hull.equations[:, 3]).max(axis=1) for hull in hulls]
        farthest = max(farthest, float(np.abs(np.min(outside, axis=0)).max()))
    return farthest


def read_stored(name: str) -> ConvexParts | None:
    """Return the parts that are stored under a name; None if there are none, or if they are damaged."""
    folder = _folder(name)
    try:
        vertices, volume_error, distance_error = json.loads(read_input(folder / DETAILS, LARGEST_STORED))
        files = tuple(str(folder / f"{k}.obj") for k in range(len(vertices)))
        os.utime(folder)  # the parts that were not used for longest are removed first
        found = ConvexParts(tuple(map(frozen, vertices)), volume_error, distance_error, files)
        sound = all(
            read_input(file, LARGEST_STORED) == _object(part) for file, part in zip(files, found.vertices, strict=True)
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
