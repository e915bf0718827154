"""Robot and ground in a viser scene."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import trimesh
from viser import SceneApi
from viser.transforms import SO3

from treesim import Tree, Visual
from treesim.contact.surface import StaticSurface
from treesim.viewing.gltf import linear, mesh_bytes
from treesim.viewing.meshes import TriangleMesh
from treesim.viewing.protocols import drawables
from treesim.viewing.solids import surface_triangles, triangles_of
from treesim.viewing.surfaces import floor_height

DEFAULT_COLOR = (0.70, 0.72, 0.75, 1.0)
GROUND_COLOR, GROUND_OPACITY = (138, 147, 158), 0.5
EDGE = 1e-6  # of a triangle's edges: tolerance of a hit, for rounded numbers of browsers
ROBOT, GROUND, GRID, MARKS = "/robot", "/ground", "/grid", "/marks"  # paths in the scene


class Part(NamedTuple):
    """Drawn shape: its body, viser's handle, and its triangles (n, 3, 3) in the body's frame."""

    body: int
    handle: Any
    triangles: np.ndarray


def add_robot(scene: SceneApi, robot: Tree, poses: np.ndarray) -> tuple[list[Any], list[Part]]:
    """Draw a robot at body poses (n_bodies + 1, 4, 4); return the bodies' frames, and the shapes in them.

    Replaces any robot before. Warns once if mesh files cannot be read (see
    treesim.viewing.protocols.drawables).
    """
    scene.remove_by_name(ROBOT)
    paths = [f"{ROBOT}/{i}" for i in range(len(poses))]
    frames = [scene.add_frame(path, show_axes=False) for path in paths]
    visuals = drawables(robot)
    parts = [_add_visual(scene, f"{paths[visual.body]}/{k}", visual) for k, visual in enumerate(visuals)]
    move(frames, poses)
    return frames, parts


def move(frames: list[Any], poses: np.ndarray) -> None:
    """Move frames to poses (n, 4, 4)."""
    for frame, place, turn in zip(frames, poses[:, :3, 3], SO3.from_matrix(poses[:, :3, :3]).wxyz, strict=True):
        frame.position, frame.wxyz = place, turn


def place(pose: np.ndarray) -> dict[str, np.ndarray]:
    """Return a pose (4, 4) as arguments of viser's functions."""
    return {"position": pose[:3, 3], "wxyz": SO3.from_matrix(pose[:3, :3]).wxyz}


def _add_visual(scene: SceneApi, path: str, visual: Visual) -> Part:
    """Draw a visual. Colours: the mesh file's, else the visual's, else grey."""
    pose, scale = visual.placement.matrix(), np.broadcast_to(visual.size if visual.kind == "mesh" else 1.0, 3)
    meshes = [_scaled(mesh, scale) for mesh in triangles_of(visual)]
    corners = [(mesh.vertices @ pose[:3, :3].T + pose[:3, 3])[mesh.faces] for mesh in meshes]
    color = visual.color or DEFAULT_COLOR
    drawn: Any
    if any(mesh.image for mesh in meshes):
        drawn = scene.add_glb(path, mesh_bytes(meshes, color), **place(pose))
    elif meshes[0].colors is not None:
        (mesh,) = meshes
        levels = np.round(255 * linear(mesh.colors / 255)).astype(np.uint8)  # viser passes them on unconverted
        colored = trimesh.Trimesh(mesh.vertices, mesh.faces, vertex_colors=levels, process=False)
        drawn = scene.add_mesh_trimesh(path, colored, **place(pose))
    else:
        (mesh,) = meshes
        drawn = scene.add_mesh_simple(
            path, mesh.vertices, mesh.faces, color=color[:3], opacity=None if color[3] >= 1 else color[3],
            side="double", flat_shading=visual.kind in ("box", "mesh"), **place(pose),
        )  # fmt: skip
    return Part(visual.body, drawn, np.concatenate(corners))


def _scaled(mesh: TriangleMesh, scale: np.ndarray) -> TriangleMesh:
    faces = mesh.faces[:, ::-1] if np.prod(scale) < 0 else mesh.faces  # a mirrored mesh would be seen from inside
    return dataclasses.replace(mesh, vertices=mesh.vertices * scale, faces=faces)


def hit(triangles: np.ndarray, pose: np.ndarray, origin: np.ndarray, direction: np.ndarray) -> np.ndarray | None:
    """Return the first intersection (3,) of a ray with triangles (n, 3, 3) of a body at pose (4, 4), or None.

    The ray is in the world. Möller, Trumbore 1997: of each triangle with edges a, b from its corner c, origin +
    t direction = c + u a + w b.
    """
    R = pose[:3, :3]
    o, d = R.T @ (origin - pose[:3, 3]), R.T @ direction
    a, b, s = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0], o - triangles[:, 0]
    p, q = np.cross(d, b), np.cross(s, a)
    with np.errstate(divide="ignore", invalid="ignore"):  # triangles parallel to the ray, which it misses
        t, u, w = np.array([(b * q).sum(axis=1), (s * p).sum(axis=1), q @ d]) / (a * p).sum(axis=1)
        inside = (t > 0) & (u >= -EDGE) & (w >= -EDGE) & (u + w <= 1 + EDGE)
    return origin + t[inside].min() * direction if inside.any() else None


def add_ground(
    scene: SceneApi, surfaces: Iterable[StaticSurface], center: np.ndarray, reach: float, lowest: float
) -> None:
    """Draw planes, static boxes and height fields, and a grid on the highest level plane; replaces any before.

    An infinite plane is drawn as a square about its point nearest to `center` (3,), with half-width `reach`
    [m]. lowest: height of the grid without ground [m]; with ground but no level plane there is no grid.
    """
    scene.remove_by_name(GROUND)
    surfaces = tuple(surfaces)
    for k, surface in enumerate(surfaces):
        mesh, pose = surface_triangles(surface, center, reach)
        scene.add_mesh_simple(
            f"{GROUND}/{k}", mesh.vertices, mesh.faces, color=GROUND_COLOR, opacity=GROUND_OPACITY, side="double",
            flat_shading=True, **place(pose),
        )  # fmt: skip
    level = floor_height(surfaces)
    height = level if level is not None else lowest
    scene.add_grid(GRID, infinite_grid=True, position=(0, 0, height), visible=level is not None or not surfaces)
