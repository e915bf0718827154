"""Lowest points of a robot: points of its collision shapes that can touch a plane first."""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, ModelError, ShapeWarning, quoted, shortened
from ..kernels.kinematics.bodies import body_poses_states
from ..model.matrices import product, unit_vector
from ..model.shapes import CollisionShape, supports
from ..model.solids import BALLS, RIMS, SOLIDS, roundness
from ..model.tree import Tree
from ..system.display import html_table, vector
from ..system.user_warnings import warn
from ..validation.arrays import precision, real_numbers
from .arguments import checked_robot, short_repr
from .states import state_function

POSES = state_function(body_poses_states)


class Candidates(NamedTuple):
    """The k points of a robot's collision shapes, at least one of which is lowest on any plane.

    shapes: the shape of each point. bodies (k,): their bodies' numbers. points (k, 3): in body axes [m].
    balls (k,): radius of a ball about each point, for spheres and capsules. rims (k,): radius of a disc about it, for
    cylinders [m]; the columns of planes (k, 3, 2) span the disc. The points of boxes and hulls are their vertices, with
    zero radii. centers (N + 1, 3), reach (N + 1,): ball about all points of each body, in body axes, with negative
    infinity for bodies without points.
    """

    shapes: tuple[CollisionShape, ...]
    bodies: np.ndarray
    points: np.ndarray
    balls: np.ndarray
    rims: np.ndarray
    planes: np.ndarray
    centers: np.ndarray
    reach: np.ndarray


class LowestPoint(NamedTuple):
    """Lowest point of a robot over a plane.

    gap: signed distance from the plane [m], negative below it. link: name of the link. point (3,): in world axes [m].
    """

    gap: float
    link: str
    point: np.ndarray

    def __repr__(self) -> str:
        return f"<LowestPoint: {self.gap:.6g} m over the plane, of link {self.link!r}, at {vector(self.point)}>"

    def _repr_html_(self) -> str:
        point = ("point [m]", vector(self.point))
        return html_table(repr(self), [("gap [m]", self.gap), ("link", self.link), point])


_KEPT: WeakKeyDictionary[Tree, Candidates] = WeakKeyDictionary()
_USABLE: WeakKeyDictionary[Tree, tuple[CollisionShape, ...]] = WeakKeyDictionary()


def candidates(robot: Tree) -> Candidates:
    """Return the candidate points of the collision shapes on a robot's moving bodies; the result is cached.

    A shape whose mesh cannot be read is omitted with a ShapeWarning. Raises ArgumentError if no shape is left.
    """
    if robot not in _KEPT:
        _KEPT[robot] = _stacked(robot)
    return _KEPT[robot]


def usable_shapes(robot: Tree) -> tuple[CollisionShape, ...]:
    """Return the collision shapes of all bodies, the fixed base included; the result is cached.

    A shape whose mesh cannot be read is omitted with a ShapeWarning.
    """
    if robot not in _USABLE:
        _USABLE[robot] = tuple(shape for shape in robot.shapes if _is_usable(shape, robot))
    return _USABLE[robot]


def _is_usable(shape: CollisionShape, robot: Tree) -> bool:
    try:
        candidate_points(shape)
    except ModelError as error:
        message = f"link {quoted(shape.link)} of {quoted(robot.name)}: {error}; its shape is left out"
        warn(message, ShapeWarning)
        return False
    return True


def _stacked(robot: Tree) -> Candidates:
    found = [(shape, point) for shape in usable_shapes(robot) if shape.body for point in candidate_points(shape)]
    if not found:
        raise ArgumentError(f"{quoted(robot.name)} has nothing to touch the ground with: {_what_there_is(robot)}")
    shapes = tuple(shape for shape, _ in found)
    bodies = np.array([shape.body for shape in shapes])
    points = np.array([product(s.placement.rotation, point) + s.placement.translation for s, point in found])
    balls, rims = (
        np.array([x.size[0] if roundness(x.kind) == kind else 0.0 for x in shapes]) for kind in (BALLS, RIMS)
    )
    planes = np.array([shape.placement.rotation[:, :2] for shape in shapes])
    return Candidates(shapes, bodies, points, balls, rims, planes, *_body_balls(robot, bodies, points, balls + rims))


def _body_balls(
    robot: Tree, bodies: np.ndarray, points: np.ndarray, radii: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return centre and radius of a ball about the points of each body, each of which has a radius itself."""
    centers, reach = np.zeros((len(robot.bodies) + 1, 3)), np.full(len(robot.bodies) + 1, -np.inf)
    for i in np.unique(bodies):
        own = points[bodies == i]
        centers[i] = (own.min(axis=0) + own.max(axis=0)) / 2
        reach[i] = (np.linalg.norm(own - centers[i], axis=1) + radii[bodies == i]).max()
    return centers, reach


def _what_there_is(robot: Tree) -> str:
    """Return a text, for errors, of why no shape of a robot is usable."""
    if any(shape.body for shape in robot.shapes):
        return f"none of its meshes can be read; it has {supports(robot)}"
    return supports(robot) + (", all on the fixed base" if robot.shapes else "")


def candidate_points(shape: CollisionShape) -> np.ndarray:
    """Return the candidate points (k, 3) of one shape in its own axes [m].

    They are a sphere's centre, the centres of a capsule's caps or a cylinder's discs, or the vertices of a box or hull.
    """
    return SOLIDS[shape.kind].points(shape.size) if shape.kind in SOLIDS else shape.vertices


def gaps(robot: Tree, q: ArrayLike, normal: np.ndarray, height: float) -> np.ndarray:
    """Return the signed distance (..., k) [m] of the lowest point about each candidate from a plane.

    q (..., nq): configurations. normal (3,): unit normal n. The plane is n . x = height [m]. Raises ArgumentError,
    NonFiniteError. O(N + k).
    """
    return _gaps_of(candidates(robot), slice(None), _along(robot, q, normal)) - height


def deep_gaps(
    robot: Tree, q: ArrayLike, normal: np.ndarray, height: float, depth: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers (j,) of the candidates on bodies that may be deeper than `depth` [m], and their `gaps`.

    It omits the bodies whose ball is not so deep in any state. Other arguments are those of `gaps`.
    """
    touching, along = candidates(robot), _along(robot, q, normal)
    deep: Any = _along_points(along, touching.centers) < touching.reach + (height - depth)
    if not deep.any():
        return np.empty(0, int), np.empty((*deep.shape[:-1], 0))
    which = np.flatnonzero(deep.reshape(-1, deep.shape[-1]).any(axis=0)[touching.bodies])
    return which, _gaps_of(touching, which, along) - height


def _along(robot: Tree, q: ArrayLike, normal: np.ndarray) -> np.ndarray:
    """Return the normal n in the axes of each body, and n . p of its origin p, (..., N + 1, 4)."""
    poses = _poses(robot, q)
    # a sum over nonzero components, mostly one: einsum takes four times as long
    return sum((n * poses[..., k, :] for k, n in enumerate(normal.tolist()) if n), np.zeros(()))


def _along_points(along: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return n . x (..., k) of points (k, 3) in the axes of bodies, for rows (..., k, 4) of `_along`."""
    x, y, z = points.T
    found: np.ndarray = along[..., 0] * x + along[..., 1] * y + along[..., 2] * z
    found += along[..., 3]
    return found


def _gaps_of(touching: Candidates, which: Any, along: np.ndarray) -> np.ndarray:
    """Return the height of the lowest point about each of some candidates.

    Let P (3, 2) span the disc of radius r about p. Then the lowest point of its rim is r |P' n| below p.
    """
    rims = touching.rims[which]
    rows = along.take(touching.bodies[which], axis=-2)  # (..., k, 4): indices take five times as long
    found = _along_points(rows, touching.points[which])
    found -= touching.balls[which]
    discs = np.flatnonzero(rims)
    if discs.size:
        in_plane = product(rows[..., discs, None, :3], touching.planes[which][discs])[..., 0, :]
        found[..., discs] -= rims[discs] * np.linalg.norm(in_plane, axis=-1)
    return found


def _poses(robot: Tree, q: ArrayLike) -> np.ndarray:
    if isinstance(q, np.ndarray) and q.ndim == 2 and len(q) == 1:
        return _poses(robot, q[0])[None]  # one state has a faster call
    return POSES(robot, robot.ints, robot.reals, robot.body_rotations.reshape(-1), q)


def _lowest_about(robot: Tree, q: ArrayLike, normal: np.ndarray, k: int) -> np.ndarray:
    """Return the lowest point (3,) about candidate k, in world axes.

    Let n_p be the projection of the normal n on the plane of a disc of radius r about p. Then the lowest point of its
    rim is p - r n_p / |n_p|.
    """
    touching = candidates(robot)
    pose = _poses(robot, q)[touching.bodies[k]]
    plane = pose[:3, :3] @ touching.planes[k]
    along = normal @ plane  # (2,) coordinates of n_p
    steepness = np.linalg.norm(along)
    downward = plane @ along / (steepness if steepness > 0 else 1.0)
    return pose[:3, :3] @ touching.points[k] + pose[:3, 3] - touching.balls[k] * normal - touching.rims[k] * downward


def lowest_point(robot: Tree, q: ArrayLike, *, normal: ArrayLike = (0.0, 0.0, 1.0), height: float = 0.0) -> LowestPoint:
    """Return the lowest point of a robot's moving collision shapes, and its distance from a plane.

    The result is exact for every kind of shape, also for convex hulls. Cost: O(N + shapes). Mesh files are read at the
    first call.

    Parameters
    ----------
    robot : Tree
        Robot with collision shapes.
    q : array_like
        Configuration (nq,).
    normal : array_like
        (3,) normal n of the plane n . x = height, in world axes. The normal is scaled to length 1; z by default.
    height : float
        Distance of the plane from the origin along the normal [m]. 0 by default.

    Returns
    -------
    LowestPoint
        Named tuple: `gap` [m], negative below the plane; `link`, the link's name; `point` (3,) in world axes [m].

    Raises
    ------
    ArgumentError
        If an argument does not fit, or the robot has no usable collision shapes.
    NonFiniteError
        If q is not finite.

    Examples
    --------
    >>> robot = treesim.load("g1_29dof_rev_1_0", base="floating")
    >>> treesim.lowest_point(robot, robot.neutral())
    <LowestPoint: -0.791864 m over the plane, of link 'left_ankle_roll_link', at ...>
    """
    n, d = checked_plane(normal, height)
    q = real_numbers("q", q, precision(q))
    if q.ndim > 1:
        raise ArgumentError(f"q must be one configuration ({checked_robot(robot).nq},), got shape {q.shape}")
    gap = gaps(checked_robot(robot), q, n, d)
    k = int(gap.argmin())
    return LowestPoint(float(gap[k]), candidates(robot).shapes[k].link, _lowest_about(robot, q, n, k))


def checked_plane(normal: ArrayLike, height: object) -> tuple[np.ndarray, float]:
    """Return a plane's normal, scaled to length 1, and its height; raises ArgumentError for invalid values."""
    try:
        n, d = np.asarray(normal, float), np.asarray(height, float)  # type: ignore[arg-type]
    except Exception:  # whatever a user's class raises
        raise ArgumentError(_no_plane(normal, height)) from None
    if n.shape != (3,) or d.shape != () or not np.isfinite(n).all() or not np.isfinite(d) or not n.any():
        raise ArgumentError(_no_plane(normal, height))
    return unit_vector(n), float(d)


def _no_plane(normal: object, height: object) -> str:
    what = "a plane has a normal of three finite numbers, not all 0, and a height, one finite number [m]"
    return f"{what}; got normal {shortened(short_repr(normal))} and height {shortened(short_repr(height))}"
