"""Scene of a robot: meshcat commands that draw it once, and the camera's view."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from meshcat.commands import Delete, SetObject, SetProperty, SetTransform
from meshcat.geometry import Geometry, Mesh, MeshPhongMaterial
from meshcat.path import Path as ScenePath

from treesim import Tree, Visual
from treesim.contact.surface import StaticSurface
from treesim.meshes import Image
from treesim.viewing.protocols import drawables
from treesim.viewing.surfaces import floor_height

from . import ground
from .shapes import Shape, material_of, shapes_of

ROOT = "robot"
GRID_CELLS = 20  # on each side of the middle, as in stage.js
_ROAMING = 3.0  # robot sizes; a longer motion is not shown completely


@dataclass(frozen=True, eq=False)
class Part:
    """Visual and its shape."""

    visual: Visual
    shape: Shape

    @property
    def matrix(self) -> np.ndarray:
        """Pose and scale (4, 4) of the shape in the body's frame."""
        return self.visual.placement.matrix() @ self.shape.matrix


def robot_parts(robot: Tree) -> list[Part]:
    """Return the parts to draw for `robot`; visuals of the same mesh file or size share their geometries.

    Warns once if mesh files cannot be read (see treesim.viewing.protocols.drawables).
    """
    shapes: dict[Any, tuple[Shape, ...]] = {}
    parts = list[Part]()
    for visual in drawables(robot):
        key = (visual.kind, visual.size, visual.file, visual.texture)
        if key not in shapes:
            shapes[key] = shapes_of(visual)
        parts += [Part(visual, shape) for shape in shapes[key]]
    return parts


def body_paths(robot: Tree) -> list[str]:
    """Return the scene path of every body, the base first; numbered, so that paths are unique for any names."""
    names = ("base", *robot.body_names)
    return [f"/{ROOT}/{i} {name.replace('/', '_')}" for i, name in enumerate(names)]


def scene_message(
    robot: Tree, parts: Sequence[Part], poses: np.ndarray, title: str, surfaces: Sequence[StaticSurface] = ()
) -> dict[str, Any]:
    """Return the message that draws a robot: title, bodies, geometries by uuid, images by name, commands and view.

    A command that draws an object with an image has its name as `image`. poses: (K, n_bodies + 1, 4, 4), all
    poses that the view must show; the first is drawn at first. surfaces: the ground; the grid is on a level
    plane of it, and hidden if there is ground without one.
    """
    geometries: dict[str, Any] = {}
    images: dict[str, str] = {}
    paths = body_paths(robot)
    view = framing(parts, poses)
    commands = [Delete(_path(f"/{ROOT}")).lower(), SetProperty("visible", False, _path("/Axes")).lower()]
    for k, part in enumerate(parts):
        path = f"{paths[part.visual.body]}/{k} {part.visual.kind}"
        material = material_of(part.visual, part.shape)
        drawn = object_commands(part.shape.geometry, material, part.matrix, path, geometries)
        if part.shape.image is not None:
            drawn[0]["image"] = _add_image(part.shape.image, images)
        commands += drawn
    laid = ground_message(view, poses, surfaces)
    view["floor"] = laid["floor"]
    geometries |= laid["geometries"]
    drawn = {"geometries": geometries, "images": images, "commands": commands + laid["commands"]}
    return {"title": title, "bodies": paths, **drawn, "view": view}


def _add_image(image: Image, images: dict[str, str]) -> str:
    """Add an image as a data URL; return its name. Equal images are stored once."""
    name = hashlib.sha256(image.data).hexdigest()[:32]
    images[name] = f"data:{image.kind};base64,{base64.b64encode(image.data).decode()}"
    return name


def ground_message(view: dict[str, Any], poses: np.ndarray, surfaces: Sequence[StaticSurface]) -> dict[str, Any]:
    """Return the message that draws the ground: geometries by uuid, commands, and the grid's height `floor` [m].

    It replaces any ground before. view, poses: those of the scene's message.
    """
    level = floor_height(surfaces)
    floor = view["floor"] if level is None else level
    commands = [
        Delete(_path(f"/{ground.ROOT}")).lower(),
        SetProperty("visible", level is not None or not surfaces, _path("/Grid")).lower(),
        SetTransform(_translation(floor), _path("/Grid")).lower(),
    ]
    geometries: dict[str, Any] = {}
    places = poses[:, 1:, :3, 3].reshape(-1, 3)
    reach = GRID_CELLS * view["cell"] + float(np.linalg.norm(places - view["center"], axis=1).max(initial=0.0))
    for name, geometry, pose in ground.ground_shapes(surfaces, np.array(view["center"]), reach):
        commands += object_commands(geometry, ground.ground_material(), pose, f"/{ground.ROOT}/{name}", geometries)
    return {"geometries": geometries, "commands": commands, "floor": floor}


def object_commands(
    geometry: Geometry, material: MeshPhongMaterial, matrix: np.ndarray, path: str, geometries: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return commands that draw a geometry at `matrix` (4, 4); adds it to `geometries` by its uuid."""
    command = SetObject(Mesh(geometry, material), path=_path(path)).lower()
    (lowered,) = command["object"]["geometries"]
    geometries[lowered["uuid"]] = lowered
    command["object"]["geometries"] = [lowered["uuid"]]
    return [command, SetTransform(matrix, _path(path)).lower()]


def in_front(path: str) -> dict[str, Any]:
    """Return the command that draws an object after all others; without a depth test it then covers them."""
    return SetProperty("renderOrder", 1, _path(path)).lower()


def _path(text: str) -> ScenePath:
    return ScenePath(tuple(entry for entry in text.split("/") if entry))


def _translation(z: float) -> np.ndarray:
    matrix = np.eye(4)
    matrix[2, 3] = z
    return matrix


def framing(parts: Sequence[Part], poses: np.ndarray) -> dict[str, Any]:
    """Return the camera's view of the robot at poses (K, n_bodies + 1, 4, 4).

    center (3,), radius: of a ball that contains the robot. half (3,): half the sides of a box that does. floor:
    height of the grid, 0 or below the robot's lowest point at first. cell: side of its squares. weight: length
    of an arrow for the robot's weight. anchor (3,): first position of the first body (all in metres). follow:
    whether the camera follows that body. Ball and box contain all poses, or the first one if the robot moves
    far away; the camera then follows if the first body does so.
    """
    lower, upper = _boxes(parts, poses)
    first, whole = _ball(lower[0], upper[0]), _ball(lower.min(axis=0), upper.max(axis=0))
    far = whole[1] > _ROAMING * first[1]
    center, radius = first if far else whole
    half = (upper[0] - lower[0] if far else upper.max(axis=0) - lower.min(axis=0)) / 2
    anchors = poses[:, min(1, poses.shape[1] - 1), :3, 3]
    return {
        "center": center.tolist(),
        "radius": radius,
        "half": half.tolist(),
        "floor": min(0.0, float(lower[0, 2])),
        "cell": _rounded(first[1] / 2),
        "weight": _rounded(first[1]),
        "anchor": anchors[0].tolist(),
        "follow": far and bool(np.linalg.norm(anchors - anchors[0], axis=1).max() > first[1]),
    }


def _rounded(length: float) -> float:
    """Return the largest of 1, 2 and 5 times a power of ten that is not longer [m]."""
    power = 10.0 ** np.floor(np.log10(length))
    return float(power * max(step for step in (1, 2, 5) if step * power <= length * 1.0001))


def _boxes(parts: Sequence[Part], poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper corners (K, 3) of the robot in the world; of the bodies' origins if nothing is drawn."""
    if not parts:
        return poses[:, :, :3, 3].min(axis=1), poses[:, :, :3, 3].max(axis=1)
    lower, upper = [], []
    for part in parts:
        matrices = poses[:, part.visual.body] @ part.visual.placement.matrix()
        points = part.shape.corners() @ matrices[:, :3, :3].transpose(0, 2, 1) + matrices[:, None, :3, 3]
        lower.append(points.min(axis=1))
        upper.append(points.max(axis=1))
    return np.min(lower, axis=0), np.max(upper, axis=0)


def _ball(lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, float]:
    return (lower + upper) / 2, max(float(np.linalg.norm(upper - lower)) / 2, 1e-3)
