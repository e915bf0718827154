"""Reading of one mesh file, and the child process that does it within limits. Imports nothing of treesim.

Run as a program by `reader`, with the arguments MEMORY (bytes of address space), IDLE (seconds without a request after
which it ends) and DESCRIPTOR (of its end of the socket). A request is a Request, an answer a list of parts or the
reason of a refusal.
"""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

MOST_INSTANCES = 100_000  # of geometries in one file; humanoids' files have below a thousand
Part = tuple[np.ndarray, np.ndarray, np.ndarray | None]  # see reader.MeshPart


class Request(NamedTuple):
    """A mesh file; whether colours and textures are wanted; seconds after which its process is killed."""

    file: str
    colored: bool
    seconds: float


class Refused(ValueError):
    """A file that is not read: the message says why."""


def parts_of_file(file: str, colored: bool) -> list[Part]:
    """Return vertices (n, 3) [m], faces (m, 3) and colours (n, 3) uint8, or None, of each geometry that a file places.

    COLLADA's unit is applied and its up axis is not, as robot descriptions expect. Raises Refused, and whatever the
    readers of the formats raise.
    """
    if file.lower().endswith(".dae"):
        check_collada(file)
    import trimesh

    options: dict[str, Any] = {"process": False} if colored else {"process": False, "skip_materials": True}
    with np.errstate(all="ignore"):  # what is not finite is refused by name
        scene = trimesh.load_scene(file, **options)
        names = list(scene.graph.nodes_geometry)
        if len(names) > MOST_INSTANCES:
            raise Refused(_too_many(len(names)))
        return list(_placed(scene, names, colored))


def _placed(scene: Any, nodes: list[str], colored: bool) -> Iterator[Part]:
    """The triangle meshes of a scene at their places; points and lines that belong to no triangle are left out."""
    for node in nodes:
        matrix, name = scene.graph[node]
        mesh, matrix = scene.geometry[name], np.array(matrix)
        if not hasattr(mesh, "faces"):
            continue
        vertices = np.asarray(mesh.vertices, float) @ matrix[:3, :3].T + matrix[:3, 3]
        faces = mesh.faces[:, ::-1] if np.linalg.det(matrix[:3, :3]) < 0 else mesh.faces
        colors = _colors(mesh) if colored else None
        yield vertices * _unit(mesh.metadata.get("units")), np.asarray(faces, np.int64).reshape(-1, 3), colors


def _unit(units: str | None) -> float:
    """Metres per unit of a COLLADA file ("0.001 * meters"); other formats carry no unit."""
    return float(units.split("*")[0]) if units and units.endswith("* meters") else 1.0


def _colors(mesh: Any) -> np.ndarray | None:
    """The (n, 3) colours of the vertices. Opacity is left out: COLLADA files get it wrong more often than right."""
    visual = mesh.visual
    if visual.kind is None:
        return None
    if visual.kind == "texture" and (visual.uv is None or not _has_image(visual.material)):
        return np.tile(np.asarray(visual.material.main_color[:3], np.uint8), (len(mesh.vertices), 1))
    colors = visual.to_color() if visual.kind == "texture" else visual
    return np.asarray(colors.vertex_colors[:, :3], np.uint8)


def _has_image(material: Any) -> bool:
    return any(getattr(material, name, None) is not None for name in ("image", "baseColorTexture"))


def check_collada(file: str) -> None:
    """Raise Refused for a COLLADA file with positions that are no numbers, which pycollada would replace by zeros, or
    whose nodes place more geometries than are read."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
    root = etree.parse(file, parser).getroot()
    _check_positions(root)
    placed = _instances(root)
    if placed > MOST_INSTANCES:
        raise Refused(_too_many(placed))


def _check_positions(root: Any) -> None:
    sources = {element.get("id"): element for element in root.iter("{*}source")}
    for entry in root.iterfind(".//{*}vertices/{*}input[@semantic='POSITION']"):
        name = entry.get("source", "").lstrip("#")
        array = sources[name].find("{*}float_array") if name in sources else None
        words = "" if array is None else array.text or ""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of older numpy, which stops at such a word
                numbers = np.fromstring(words, np.float32, sep=" ")
            sound = len(numbers) == len(words.split()) and np.isfinite(numbers).all()
        except ValueError:
            sound = False
        if not sound:
            raise Refused(f"the positions in {name!r} must all be finite numbers")


def _instances(root: Any) -> int:
    """How many geometries the visual scenes place: a node may instantiate others, so a few lines place any number."""
    from lxml import etree

    nodes = {element.get("id"): element for element in root.iter("{*}node") if element.get("id")}
    counts: dict[Any, int | None] = {}  # None while a node is being counted

    def count(node: Any) -> int:
        if node in counts:
            known = counts[node]
            if known is None:
                raise Refused(f"node {node.get('id')!r} contains itself")
            return known
        counts[node], total = None, 0
        for child in node.iterchildren("{*}*"):
            name = etree.QName(child).localname
            if name == "node":
                total += count(child)
            elif name == "instance_node":
                target = nodes.get(child.get("url", "").lstrip("#"))
                total += 0 if target is None else count(target)
            elif name in ("instance_geometry", "instance_controller"):
                total += 1
        counts[node] = total
        return total

    try:
        return sum(count(node) for scene in root.iter("{*}visual_scene") for node in scene.iterchildren("{*}node"))
    except RecursionError:
        raise Refused("its nodes are nested too deep") from None


def _too_many(count: int) -> str:
    return f"it places {count:.6g} geometries, and {MOST_INSTANCES} are read at most"


def _answer(request: Request) -> list[Part] | str:
    try:
        return parts_of_file(request.file, request.colored)
    except MemoryError:
        return "it takes more memory than a mesh may"
    except Refused as error:
        return str(error)
    except Exception as error:  # whatever readers of several formats raise
        return f"{type(error).__name__}: {error}"


def _limit_memory(size: int) -> None:
    with suppress(ImportError, OSError, ValueError):  # not on Windows, and a lower limit may stand
        from resource import RLIM_INFINITY, RLIMIT_AS, RLIMIT_CORE, getrlimit, setrlimit

        setrlimit(RLIMIT_CORE, (0, 0))  # a crash leaves no file behind
        hard = getrlimit(RLIMIT_AS)[1]
        setrlimit(RLIMIT_AS, (size if hard == RLIM_INFINITY else min(size, hard), hard))


def main(memory: str, idle: str, descriptor: str) -> None:
    """Answer requests until the parent closes its end, or asks nothing for a while. Ctrl-C is left to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit_memory(int(memory))
    with Connection(int(descriptor)) as connection, suppress(EOFError, BrokenPipeError):
        while connection.poll(float(idle)):
            request = Request(*connection.recv())
            signal.setitimer(signal.ITIMER_REAL, request.seconds)  # SIGALRM kills, in C code too
            answer = _answer(request)
            signal.setitimer(signal.ITIMER_REAL, 0)
            connection.send(answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
