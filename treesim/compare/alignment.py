"""Two sides whose bodies have their frames in other places: offsets that stay the same in every state."""

from __future__ import annotations

import numpy as np

from ..errors import UnsupportedError
from ..model.inertia import Inertia, Placement
from ..model.tree import Tree
from ..urdf.export import rpy_from_rotation
from .engines import EngineModel
from .evidence import TOLERANCE, bodies_of
from .measures import Scales
from .treesim_engine import TreesimEngine

STATES = 4  # at which offsets are looked at


class Aligned(EngineModel):
    """Another side's model, with its bodies' poses and inertias in our bodies' frames.

    inner: the model; it tells poses and inertias in frames of its own. offsets: (N, 4, 4), its frames in ours.
    """

    def __init__(self, inner: EngineModel, offsets: np.ndarray) -> None:
        super().__init__(inner.robot)
        self.inner, self.offsets = inner, offsets
        self.engine, self.changes, self.layout, self.skipped = inner.engine, inner.changes, inner.layout, inner.skipped

    def bodies(self) -> dict[str, np.ndarray]:
        """Return the bodies' mass (N,), com (N, 3) and inertia (N, 3, 3) in our frames."""
        return moved(self.inner.bodies(), self.offsets)

    def body_poses(self, q: np.ndarray) -> np.ndarray:
        """Return the poses (N, 4, 4) of our frames in the world."""
        return self.inner.body_poses(q) @ np.linalg.inv(self.offsets)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return M (nv, nv)."""
        return self.inner.mass_matrix(q)

    def inverse_mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return the inverse of M (nv, nv)."""
        return self.inner.inverse_mass_matrix(q)

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return tau (nv,)."""
        return self.inner.inverse_dynamics(q, v, a)

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Return the derivative (nv,) of v."""
        return self.inner.forward_dynamics(q, v, tau)


def moved(bodies: dict[str, np.ndarray], offsets: np.ndarray) -> dict[str, np.ndarray]:
    """Return mass (N,), com (N, 3) and inertia (N, 3, 3) in the frames in which theirs lie at offsets (N, 4, 4)."""
    symmetric = 0.5 * (bodies["inertia"] + np.swapaxes(bodies["inertia"], 1, 2))
    parts = zip(bodies["mass"], bodies["com"], symmetric, offsets, strict=True)
    return bodies_of([Inertia(float(m), c, matrix).in_frame(_placement(T)) for m, c, matrix, T in parts])


def aligned(model: EngineModel, tolerance: float = TOLERANCE) -> tuple[Aligned, dict[str, Placement]]:
    """Return a model with its frames turned to ours where they are elsewhere on the same bodies, and where they are, by
    the body's name. tolerance: relative to physical scales.

    A frame counts as elsewhere on the same body if its offset from ours is the same in every state, and either that
    holds for all bodies, or the inertias agree with the offset and do not without it.
    """
    robot = model.robot
    try:
        offsets, fixed = _offsets(model, tolerance)
        theirs = model.bodies()
    except UnsupportedError:  # nothing is told of frames
        return Aligned(model, np.tile(np.eye(4), (robot.n_bodies, 1, 1))), {}
    away = np.abs(offsets - np.eye(4)).reshape(len(offsets), -1).max(axis=1, initial=0.0) > tolerance
    chosen = fixed & away
    if not fixed.all() and chosen.any():
        ours = bodies_of([body.inertia for body in robot.bodies])
        chosen &= _alike(robot, ours, moved(theirs, offsets), tolerance) & ~_alike(robot, ours, theirs, tolerance)
    offsets[~chosen] = np.eye(4)
    found = {robot.body_names[i]: _placement(offsets[i]) for i in np.flatnonzero(chosen)}
    return Aligned(model, offsets), found


def _offsets(model: EngineModel, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """The frames (N, 4, 4) of the other side in ours, and whether they stay there (N)."""
    robot = model.robot
    own = TreesimEngine(None).read(robot)
    rng = np.random.default_rng(0)
    states = [robot.random(rng) for _ in range(STATES)]
    seen = np.array([np.linalg.inv(own.body_poses(q)) @ model.body_poses(q) for q in states])
    fixed = np.abs(seen - seen[0]).reshape(STATES, robot.n_bodies, -1).max(axis=(0, 2)) <= tolerance
    offsets = np.tile(np.eye(4), (robot.n_bodies, 1, 1))
    offsets[fixed] = seen[0][fixed]
    return offsets, fixed


def _alike(robot: Tree, ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray], tolerance: float) -> np.ndarray:
    scales = Scales.of(robot)
    near = tolerance * np.array([scales.mass, scales.length, scales.inertia])
    return np.all(
        [
            np.abs(ours[key] - theirs[key]).reshape(robot.n_bodies, -1).max(axis=1) <= allowed
            for key, allowed in zip(("mass", "com", "inertia"), near, strict=True)
        ],
        axis=0,
    )


def _placement(matrix: np.ndarray) -> Placement:
    return Placement(matrix[:3, :3], matrix[:3, 3])


def words(place: Placement) -> str:
    """Return a placement as URDF would have it."""
    numbers = [" ".join(f"{x + 0.0:.6g}" for x in np.round(part, 9)) for part in (
        place.translation, np.array(rpy_from_rotation(place.rotation)))]  # fmt: skip
    return f'xyz="{numbers[0]}" rpy="{numbers[1]}"'
