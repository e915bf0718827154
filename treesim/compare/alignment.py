"""Alignment of body frames that two models of one robot attach at different, constant offsets."""

from __future__ import annotations

import numpy as np

from ..errors import UnsupportedError
from ..model.inertia import Inertia, Placement
from ..model.tree import Tree
from ..urdf.origins import rpy_from_rotation
from .engine_model import EngineModel, bodies_of, delegating
from .evidence import TOLERANCE
from .measures import Scales
from .treesim_engine import TreesimEngine

STATES = 4  # at which offsets are evaluated


@delegating("inner", "mass_matrix", "inverse_mass_matrix", "inverse_dynamics", "forward_dynamics")
class Aligned(EngineModel):
    """Adapter of another model that expresses its poses and inertias in treesim's body frames.

    inner: the model, with poses and inertias in its own body frames. offsets: (N, 4, 4), poses of its frames in
    treesim's frames.
    """

    def __init__(self, inner: EngineModel, offsets: np.ndarray) -> None:
        super().__init__(inner.robot)
        self.inner, self.offsets = inner, offsets
        self.engine, self.changes, self.layout, self.skipped = inner.engine, inner.changes, inner.layout, inner.skipped

    def bodies(self) -> dict[str, np.ndarray]:
        """Return the bodies' mass (N,), com (N, 3) and inertia (N, 3, 3) in treesim's frames."""
        return moved(self.inner.bodies(), self.offsets)

    def body_poses(self, q: np.ndarray) -> np.ndarray:
        """Return the poses (N, 4, 4) of treesim's body frames in the world."""
        return self.inner.body_poses(q) @ np.linalg.inv(self.offsets)


def moved(bodies: dict[str, np.ndarray], offsets: np.ndarray) -> dict[str, np.ndarray]:
    """Transform mass (N,), com (N, 3) and inertia (N, 3, 3) by the poses `offsets` (N, 4, 4) of their frames."""
    symmetric = 0.5 * (bodies["inertia"] + np.swapaxes(bodies["inertia"], 1, 2))
    parts = zip(bodies["mass"], bodies["com"], symmetric, offsets, strict=True)
    return bodies_of([Inertia(float(m), c, matrix).in_frame(_placement(T)) for m, c, matrix, T in parts])


def aligned(model: EngineModel, tolerance: float = TOLERANCE) -> tuple[Aligned, dict[str, Placement]]:
    """Return a model with its body frames aligned to treesim's, and the offsets of the frames by body name.

    A frame is aligned if its offset from treesim's frame is the same in every state. In addition, this must hold
    for all bodies, or the body's inertia must agree with the offset and not without it.
    tolerance: relative to physical scales.
    """
    robot = model.robot
    try:
        offsets, fixed = _offsets(model, tolerance)
        theirs = model.bodies()
    except UnsupportedError:  # the model reports no frames
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
    """Return the poses (N, 4, 4) of the other model's frames in treesim's, and which of them are constant (N)."""
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
    """Return a placement as URDF attributes xyz and rpy."""
    numbers = [" ".join(f"{x + 0.0:.6g}" for x in np.round(part, 9)) for part in (
        place.translation, np.array(rpy_from_rotation(place.rotation)))]  # fmt: skip
    return f'xyz="{numbers[0]}" rpy="{numbers[1]}"'
