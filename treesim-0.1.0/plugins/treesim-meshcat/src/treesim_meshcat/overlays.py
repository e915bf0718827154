"""Optional overlays of a robot's bodies: collision shapes, joint axes, inertia ellipsoids, and skeleton."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from meshcat.geometry import Geometry, MeshPhongMaterial, Sphere

from treesim import Body, Tree, Visual
from treesim.errors import ModelError
from treesim.model.inertia import Inertia
from treesim.model.pack import axis_rotation
from treesim.model.shapes import CollisionShape
from treesim.viewing.links import link_facts
from treesim.viewing.meshes import TriangleMesh
from treesim.viewing.protocols import skeleton

from .forces import arrow_mesh
from .scene import ROOT, body_paths, in_front, object_commands
from .shapes import MeshGeometry, material_of, solid_of

COLLISION_COLOR, AXIS_COLOR, INERTIA_COLOR = 0x2F9E6E, 0x2F6FDE, 0x8A5CD6
AXIS_LENGTH = 0.18  # of the robot's size
FLATTEST = 1e-3  # of an ellipsoid's longest half axis
SOLID = 4  # smallest number of points with a hull


class Overlay(NamedTuple):
    """Object over a body (its number): kind, geometry, material, and (4, 4) matrix in the body's frame."""

    kind: str
    body: int
    geometry: Geometry
    material: MeshPhongMaterial
    matrix: np.ndarray


def add_overlays(message: dict[str, Any], robot: Tree) -> None:
    """Add overlays to a robot's scene (scene.scene_message). Modifies the message.

    It gets the objects, which the page hides until they are requested; `overlays`, their paths by kind, and
    those of "visual"; and `links`, the properties of every body (treesim.viewing.links).
    """
    drawn = [command["path"] for command in message["commands"] if command["type"] == "set_object"]
    overlays = {"visual": [path for path in drawn if path.startswith(f"/{ROOT}/")]}
    paths = body_paths(robot)
    for k, (kind, body, geometry, material, matrix) in enumerate(overlays_of(robot, message["view"]["radius"])):
        path = f"{paths[body]}/{kind} {k}"
        message["commands"] += object_commands(geometry, material, matrix, path, message["geometries"])
        if kind == "axes":
            message["commands"].append(in_front(path))
        overlays.setdefault(kind, []).append(path)
    message |= {"overlays": overlays, "links": link_facts(robot)}


def overlays_of(robot: Tree, size: float) -> Iterator[Overlay]:
    """Yield all overlays of a robot; size: of the robot [m]. Meshes that cannot be read have no collision shape."""
    for shape in robot.shapes:
        with suppress(ModelError):  # reported by a world whose contact uses it
            yield from _collision(shape)
    arrow = MeshGeometry(arrow_mesh())
    for number, body in enumerate(robot.bodies, start=1):
        if body.joint.kind.has_axis:
            yield Overlay("axes", number, arrow, _axis_material(), axis_matrix(body, AXIS_LENGTH * size))
        if body.inertia.mass > 0:
            yield Overlay("inertia", number, Sphere(1.0), _see_through(INERTIA_COLOR), ellipsoid(body.inertia))
    for visual in skeleton(robot):
        drawn = solid_of(visual)
        matrix = visual.placement.matrix() @ drawn.matrix
        yield Overlay("skeleton", visual.body, drawn.geometry, material_of(visual, drawn), matrix)


def _collision(shape: CollisionShape) -> Iterator[Overlay]:
    material, pose = _see_through(COLLISION_COLOR), shape.placement.matrix()
    if shape.kind != "hull":
        drawn = solid_of(Visual(shape.body, shape.placement, shape.kind, shape.size))
        yield Overlay("collision", shape.body, drawn.geometry, material, pose @ drawn.matrix)
    elif len(shape.vertices) >= SOLID:
        yield Overlay("collision", shape.body, MeshGeometry(hull_mesh(shape.vertices)), material, pose)


def hull_mesh(vertices: np.ndarray) -> TriangleMesh:
    """Return the triangles of the convex hull of four or more vertices (n, 3), which may be flat."""
    from scipy.spatial import ConvexHull

    faces = ConvexHull(vertices, qhull_options="QJ").simplices  # QJ: flat ones, too
    return TriangleMesh(vertices.astype(np.float32), faces.astype(np.uint16), None)


def axis_matrix(body: Body, length: float) -> np.ndarray:
    """Return the (4, 4) matrix that maps an arrow of length 1 along z to one of `length` [m] along a joint's axis."""
    matrix = np.eye(4)
    matrix[:3, :3] = length * axis_rotation(np.asarray(body.joint.axis, float))
    return matrix


def ellipsoid(inertia: Inertia) -> np.ndarray:
    """Return the (4, 4) matrix that maps the unit ball to the homogeneous ellipsoid of this inertia, in its frame.

    A homogeneous ellipsoid with half axes a, b, c has I_1 = m (b^2 + c^2) / 5, and so on: a^2 = 5 (I_2 + I_3 -
    I_1) / (2 m). Half axes that are zero or not real are drawn as a thousandth of the longest one.
    """
    moments, axes = np.linalg.eigh(inertia.rotational)
    half = np.sqrt(np.maximum(2.5 * (moments.sum() - 2 * moments) / inertia.mass, 0.0))
    matrix = np.eye(4)
    matrix[:3, :3] = axes * np.maximum(half, max(FLATTEST * half.max(), 1e-6))
    matrix[:3, 3] = inertia.com
    return matrix


def _see_through(color: int) -> MeshPhongMaterial:
    return MeshPhongMaterial(color=color, opacity=0.55, flatShading=color == COLLISION_COLOR, depthWrite=False)


def _axis_material() -> MeshPhongMaterial:
    return MeshPhongMaterial(color=AXIS_COLOR, transparent=True, opacity=0.9, depthTest=False, depthWrite=False)
