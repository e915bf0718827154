"""Export of a trajectory as one binary glTF file (.glb): the robot's meshes with one animation.

Source: Khronos Group, glTF 2.0 specification, 2021 (sections by their numbers below). Colours of robots are
sRGB and are converted to glTF's linear ones; glTF's y axis points up. No normals are written: readers then
shade faces flat (3.7.2.1).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..contact.surface import StaticSurface
from ..dynamics.operational.frames import body_poses
from ..meshes import Image
from ..model.tree import Tree, Visual
from ..simulation.trajectory import Trajectory
from ..system.files import checked_output, write_whole
from .keyframes import keyframes
from .meshes import TriangleMesh
from .protocols import drawables
from .solids import surface_triangles, triangles_of

SUFFIXES = (".glb",)
DEFAULT_COLOR, GROUND_COLOR = (0.70, 0.72, 0.75, 1.0), (0.54, 0.58, 0.62, 0.5)
WHITE = (1.0, 1.0, 1.0, 1.0)
REACH = 10.0  # half-width of a plane, relative to the space in which the bodies move
ROUGHNESS = 0.6
TURNED = {"rotation": [-(0.5**0.5), 0.0, 0.0, 0.5**0.5]}  # from z up to y up, as a quaternion x y z w

Color = tuple[float, ...]  # red, green, blue, opacity from 0 to 1, sRGB

ARRAY, ELEMENTS = 34962, 34963  # targets of buffer views (5.11.5)
TYPES = {"f4": 5126, "u4": 5125, "u2": 5123}  # of components (5.1.3)


def write_gltf(robot: Tree, trajectory: Trajectory, path: str | PathLike[str], fps: float = 30) -> Path:
    """Write the motion of a robot along a trajectory to a .glb file.

    Each pose has the time of its state [s], relative to the first. The file contains the trajectory's ground,
    but not contact forces.

    Parameters
    ----------
    robot : Tree
        The robot.
    trajectory : Trajectory
        Its motion.
    path : path-like
        The file.
    fps : float
        Approximate number of poses per second.

    Returns
    -------
    Path
        The path.

    Raises
    ------
    ArgumentError
        If fps is not positive, the trajectory is empty or of another robot, or `path` cannot be written.

    Warns
    -----
    UserWarning
        Once, if meshes cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from treesim.viewing.gltf import write_gltf
    >>> robot = treesim.load("ur5")
    >>> motion = treesim.Simulation(robot).run(0.1)
    >>> write_gltf(robot, motion, Path(tempfile.mkdtemp()) / "ur5.glb").suffix
    '.glb'
    """
    target = checked_output(path, SUFFIXES)
    data = gltf_bytes(robot, trajectory, fps)
    return write_whole(target, lambda stream: stream.write(data), len(data))


def gltf_bytes(robot: Tree, trajectory: Trajectory, fps: float = 30) -> bytes:
    """Return the contents of the file that `write_gltf` writes; same arguments and errors."""
    index = keyframes(robot, trajectory, fps)
    poses = np.broadcast_to(body_poses(robot, trajectory.q[index]), (len(index), robot.n_bodies + 1, 4, 4))
    document = _Document(robot.name)
    bodies = [document.node(name, parent=0) for name in ("base", *robot.body_names)]
    for visual in drawables(robot):
        document.add_visual(visual, bodies[visual.body])
    document.add_ground(trajectory.ground, poses[:, :, :3, 3])
    document.animate(bodies, trajectory.t[index] - trajectory.t[index[0]], poses)
    return document.binary()


def mesh_bytes(meshes: Sequence[TriangleMesh], color: Color = DEFAULT_COLOR) -> bytes:
    """Return meshes as the contents of a .glb file, in their own axes; color: of meshes without colours or image."""
    document = _Document("mesh", {})
    document.add_meshes("mesh", meshes, None, color, np.eye(4), 0)
    return document.binary()


class _Document:
    """Builder of a glTF document: its JSON and its binary buffer.

    placed: transformation of node 0, the root; by default from z up to y up.
    """

    def __init__(self, name: str, placed: dict[str, Any] = TURNED) -> None:
        self.nodes: list[dict[str, Any]] = [{"name": name, **placed, "children": []}]
        self.json: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": "treesim"}, "scene": 0, "scenes": [{"nodes": [0]}],
            "nodes": self.nodes, "meshes": [], "materials": [], "textures": [], "images": [], "accessors": [],
            "bufferViews": [],
        }  # fmt: skip
        self._numbers = bytearray()
        self._kept: dict[Any, int] = {}  # indices of meshes, materials and textures, by content
        self._primitives: dict[Any, list[dict[str, Any]]] = {}  # triangles, by their shape

    def node(self, name: str, parent: int, **more: Any) -> int:
        """Add a child node to node `parent`; return its index."""
        self.nodes.append({"name": name, **more})
        self.nodes[parent].setdefault("children", []).append(len(self.nodes) - 1)
        return len(self.nodes) - 1

    def accessor(self, array: np.ndarray, target: int | None = None, **more: Any) -> int:
        """Add an array (n,) or (n, k) with its minimum and maximum (3.6.2.4); return its index."""
        little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        kind = "SCALAR" if array.ndim == 1 else f"VEC{array.shape[1]}"
        view = self._view(little.tobytes(), **({} if target is None else {"target": target}))
        least, most = (np.atleast_1d(bound).tolist() for bound in (array.min(axis=0), array.max(axis=0)))
        details = {"bufferView": view, "componentType": TYPES[little.dtype.str[1:]],
                "count": len(array), "type": kind, "min": least, "max": most}  # fmt: skip
        return self._add("accessors", details | more)

    def _view(self, data: bytes, **more: Any) -> int:
        """Add bytes; return their index."""
        start = len(self._numbers)
        self._numbers += data + bytes(-len(data) % 4)
        return self._add("bufferViews", {"buffer": 0, "byteOffset": start, "byteLength": len(data), **more})

    def add_visual(self, visual: Visual, body: int) -> None:
        """Add a visual to its body's node. Colours: the mesh file's, else the visual's, else grey."""
        shape, pose = (visual.kind, visual.file or visual.size, visual.texture), visual.placement.matrix()
        if visual.kind == "mesh":
            pose = pose @ np.diag([*np.broadcast_to(visual.size, 3), 1.0])
        self.add_meshes(visual.kind, triangles_of(visual), shape, visual.color or DEFAULT_COLOR, pose, body)

    def add_ground(self, ground: tuple[StaticSurface, ...], places: np.ndarray) -> None:
        """Add the surfaces of the ground; places (K, n, 3): positions of the bodies in all frames [m]."""
        lower, upper = places.min(axis=(0, 1)), places.max(axis=(0, 1))
        center, reach = (lower + upper) / 2, REACH * max(float(np.linalg.norm(upper - lower)), 0.1)
        for k, surface in enumerate(ground):
            mesh, pose = surface_triangles(surface, center, reach)
            self.add_meshes(surface.name or f"ground {k}", (mesh,), ("ground", k), GROUND_COLOR, pose, 0)

    def add_meshes(
        self, name: str, meshes: Sequence[TriangleMesh], shape: Any, color: Color, pose: np.ndarray, parent: int
    ) -> None:
        """Add a node with meshes; triangles, and meshes of equal shape and colour, are stored once.

        color: of meshes without colours or image.
        """
        if (shape, color) not in self._kept:
            if shape not in self._primitives:
                self._primitives[shape] = [self._primitive(mesh) for mesh in meshes]
            primitives = [
                {**primitive, "material": self._material(WHITE if mesh.has_look else color, mesh.image)}
                for primitive, mesh in zip(self._primitives[shape], meshes, strict=True)
            ]
            self._kept[shape, color] = self._add("meshes", {"name": name, "primitives": primitives})
        self.node(name, parent, mesh=self._kept[shape, color], matrix=pose.T.ravel().tolist())  # by columns (3.5.2)

    def _primitive(self, mesh: TriangleMesh) -> dict[str, Any]:
        """Add triangles, with colours and texture coordinates of their vertices."""
        wide = np.uint32 if len(mesh.vertices) > 2**16 - 1 else np.uint16  # the largest index is reserved (3.7.2.1)
        attributes = {"POSITION": self.accessor(mesh.vertices.astype(np.float32), ARRAY)}
        if mesh.colors is not None:
            levels = np.column_stack([linear(mesh.colors / 255.0), np.ones(len(mesh.colors))])
            colors = np.rint(levels * (2**16 - 1)).astype(np.uint16)
            attributes["COLOR_0"] = self.accessor(colors, ARRAY, normalized=True)
        if mesh.uv is not None:
            downwards = np.column_stack([mesh.uv[:, 0], 1 - mesh.uv[:, 1]])  # from the upper left (3.8.3)
            attributes["TEXCOORD_0"] = self.accessor(downwards.astype(np.float32), ARRAY)
        return {"attributes": attributes, "indices": self.accessor(mesh.faces.ravel().astype(wide), ELEMENTS)}

    def _material(self, color: Color, image: Image | None) -> int:
        key = ("material", color, image and image.data)
        if key not in self._kept:
            shade = {"baseColorFactor": [*linear(np.array(color[:3])).tolist(), float(color[3])], "metallicFactor": 0.0,
                     "roughnessFactor": ROUGHNESS}  # fmt: skip
            if image is not None:
                shade["baseColorTexture"] = {"index": self._texture(image)}
            blend = {"alphaMode": "BLEND"} if color[3] < 1 else {}
            self._kept[key] = self._add("materials", {"pbrMetallicRoughness": shade, "doubleSided": True, **blend})
        return self._kept[key]

    def _texture(self, image: Image) -> int:
        """Add an image once; it repeats, as textures without a sampler do (3.8.4.5)."""
        if image.data not in self._kept:
            view = self._view(image.data)
            source = self._add("images", {"name": image.name, "mimeType": image.kind, "bufferView": view})
            self._kept[image.data] = self._add("textures", {"source": source})
        return self._kept[image.data]

    def _add(self, kind: str, what: dict[str, Any]) -> int:
        self.json[kind].append(what)
        return len(self.json[kind]) - 1

    def animate(self, bodies: list[int], t: np.ndarray, poses: np.ndarray) -> None:
        """Set bodies to their first poses, and animate those that move: times (K,) [s], poses (K, n, 4, 4).

        Readers interpolate quaternions along the shorter arc (Appendix C.4), whatever their signs.
        """
        from scipy.spatial.transform import Rotation

        times = self.accessor(t.astype(np.float32))
        samplers, channels = list[dict[str, Any]](), list[dict[str, Any]]()
        for k, node in enumerate(bodies):
            places, turns = poses[:, k, :3, 3], Rotation.from_matrix(poses[:, k, :3, :3]).as_quat()
            for path, values in (("translation", places), ("rotation", turns)):
                self.nodes[node][path] = values[0].tolist()
                if np.ptp(values, axis=0).any():
                    channels.append({"sampler": len(samplers), "target": {"node": node, "path": path}})
                    samplers.append({"input": times, "output": self.accessor(values.astype(np.float32))})
        if channels:
            self.json["animations"] = [{"name": "motion", "samplers": samplers, "channels": channels}]

    def binary(self) -> bytes:
        """Return the document as a .glb file (4.4): header, JSON chunk, binary chunk."""
        self.json["buffers"] = [{"byteLength": len(self._numbers)}]
        document = {name: value for name, value in self.json.items() if value not in ([], [{"byteLength": 0}])}
        text = json.dumps(document, separators=(",", ":"), allow_nan=False).encode()
        text += b" " * (-len(text) % 4)
        chunks = b"".join(struct.pack("<I4s", len(data), kind) + data for kind, data in
                          ((b"JSON", text), (b"BIN\0", bytes(self._numbers))))  # fmt: skip
        return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def linear(srgb: np.ndarray) -> np.ndarray:
    """Convert sRGB levels from 0 to 1 to linear ones (IEC 61966-2-1)."""
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
