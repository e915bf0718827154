"""Mismatch between treesim's and another model: by body, by joint, and in N m; the measure of candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import treesim

from ..model.inertia import Inertia
from ..model.tree import Tree
from .candidates import Side
from .checks import MASSLESS
from .engine_model import bodies_of
from .joint_terms import forces_of_terms
from .measures import Scales, errors
from .results import StateBatch

TOLERANCE = 1e-9  # relative to physical scales: numbers of a file have passed through two readers
SOLVED = 1e-8  # relative tolerance of accelerations that were solved for
INERTIAL = ("mass", "com", "inertia")
PLACEMENT = ("origin", "rotation")
Where = tuple[str, int]  # a quantity of INERTIAL or PLACEMENT, and the number of a body


@dataclass(frozen=True, eq=False)
class Mismatch:
    """Difference between treesim's model with some changes and the other model.

    bodies: error / tolerance of each differing quantity and body. forces: differences (K, nv) [N, N m] of the
    joint forces for the same motion. allowed: differences that rounding may cause.
    """

    bodies: dict[Where, float]
    forces: np.ndarray
    allowed: float

    @property
    def force(self) -> float:
        """Largest difference [N, N m]; infinite if it is not finite."""
        largest = float(np.abs(self.forces).max(initial=0.0))
        return largest if np.isfinite(largest) else np.inf

    @property
    def vanished(self) -> bool:
        """True if both models agree."""
        return not self.bodies and self.force <= self.allowed

    def numbers(self, quantities: tuple[str, ...]) -> list[int]:
        """Return the numbers of the bodies that differ in any of the quantities, in order."""
        return sorted({body for quantity, body in self.bodies if quantity in quantities})

    def like(self, other: Mismatch) -> bool:
        """Return whether two candidates leave the same differences and cannot be distinguished."""
        near = max(self.allowed, 1e-6 * min(self.force, other.force))
        return self.bodies.keys() == other.bodies.keys() and bool(
            np.abs(self.forces - other.forces).max(initial=0.0) <= near
        )


class Evidence:
    """Results of the other model at some states, with which candidates are compared.

    robot: treesim's tree, without damping, friction and armature. states: where both models are evaluated. theirs: the
    other model's results by quantity (`engines.Results`). solved: compare its forward dynamics instead of its inverse
    dynamics; this reveals forces that its model adds. tolerance: relative to physical scales.
    """

    def __init__(
        self,
        robot: Tree,
        states: StateBatch,
        theirs: Mapping[str, np.ndarray],
        solved: bool = False,
        tolerance: float = TOLERANCE,
    ) -> None:
        self.robot, self.states, self.theirs, self.tolerance = robot, states, theirs, tolerance
        self.scales = Scales.of(robot)
        self.solved = solved or not ("inverse_dynamics" in theirs or {"bias", "mass_matrix"} <= theirs.keys())
        self.parents = np.array([body.parent for body in robot.bodies], dtype=int)
        self.poses = None if "pose" not in theirs else relative(theirs["pose"], self.parents)
        self.a, self.tau, self.allowed = self._forces()

    def _forces(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Return accelerations, the other model's forces for them, and the error that rounding may cause."""
        states, theirs = self.states, self.theirs
        if not self.solved:
            tau = theirs.get("inverse_dynamics")
            if tau is None:
                tau = theirs["bias"] + np.einsum("kij,kj->ki", theirs["mass_matrix"], states.a)
            return states.a, tau, self.tolerance * max(self.scales.force, _largest(tau))
        a = theirs.get("forward_dynamics", np.zeros((0, self.robot.nv)))
        M = treesim.mass_matrix(self.robot, states.q[: len(a)])
        terms = np.abs(M) @ np.abs(a)[..., None]
        return a, states.tau[: len(a)], max(self.tolerance * self.scales.force, SOLVED * _largest(terms))

    def forces(self, side: Side) -> np.ndarray:
        """Return treesim's joint forces (K, nv) for the compared motion."""
        count = len(self.a)
        q, v = self.states.q[:count], self.states.v[:count]
        return forces(side, q, v, self.a)

    def mismatch(self, side: Side) -> Mismatch:
        """Return the mismatch between a side and the other model."""
        found = self._inertials(side) | self._placements(side)
        return Mismatch(found, self.forces(side) - self.tau, self.allowed)

    @property
    def knows_bodies(self) -> bool:
        """True if the other model reports its bodies' inertias."""
        return all(quantity in self.theirs for quantity in INERTIAL)

    def _inertials(self, side: Side) -> dict[Where, float]:
        return self.inertials([body.inertia for body in side.robot.bodies]) if self.knows_bodies else {}

    def inertials(self, parts: Sequence[Inertia]) -> dict[Where, float]:
        """Return the inertial quantities that would differ if the bodies had these inertias (N)."""
        ours = bodies_of(parts)
        massive = (self.theirs["mass"] > 0)[:, None]
        floors = (MASSLESS * self.scales.mass, self.scales.length, MASSLESS * self.scales.inertia)
        found: dict[Where, float] = {}
        for quantity, floor in zip(INERTIAL, floors, strict=True):
            a, b = ours[quantity], self.theirs[quantity]
            if quantity == "com":  # the centre of mass of a massless body is undefined
                a, b = a * massive, b * massive
            found |= self._beyond(quantity, errors(a, b, floor))
        return found

    def _placements(self, side: Side) -> dict[Where, float]:
        if self.poses is None:
            return {}
        q = configuration(side, self.states.q)
        ours = relative(treesim.body_poses(side.robot, q)[:, 1:], self.parents)
        a, b = (np.swapaxes(poses, 0, 1) for poses in (ours, self.poses))  # bodies first
        origins = errors(a[..., :3, 3], b[..., :3, 3], self.scales.length)
        rotations = errors(a[..., :3, :3], b[..., :3, :3], 1.0)
        return self._beyond("origin", origins) | self._beyond("rotation", rotations)

    def _beyond(self, quantity: str, found: np.ndarray) -> dict[Where, float]:
        """Return the errors that exceed the tolerance, as error / tolerance by quantity and body; includes NaN."""
        wrong = np.flatnonzero(~(found <= self.tolerance))
        return {(quantity, int(i) + 1): float(found[i] / self.tolerance) for i in wrong}


def _largest(values: np.ndarray) -> float:
    return float(np.abs(values).max(initial=0.0))


def relative(poses: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """Return the poses (K, N, 4, 4) of bodies in their parents' frames, from their poses in the world.

    parents: (N,), 0 for the world.
    """
    K = len(poses)
    with_world = np.concatenate([np.broadcast_to(np.eye(4), (K, 1, 4, 4)), poses], axis=1)
    parent = with_world[:, parents]
    R = np.swapaxes(parent[..., :3, :3], -1, -2)
    found = np.zeros_like(poses)
    found[..., :3, :3] = R @ poses[..., :3, :3]
    found[..., :3, 3] = np.einsum("knij,knj->kni", R, poses[..., :3, 3] - parent[..., :3, 3])
    found[..., 3, 3] = 1.0
    return found


def configuration(side: Side, q: np.ndarray) -> np.ndarray:
    """Return q (..., nq) after the side's layouts."""
    for layout in side.layouts:
        q = layout.configuration_to_engine(q)
    return q


def forces(side: Side, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return a side's joint forces (K, nv) of a motion, in treesim's layout."""
    turned = []
    theirs = q, v, a
    for layout in side.layouts:
        at, speed, rate = theirs
        turned.append(at)
        theirs = (
            layout.configuration_to_engine(at),
            layout.velocity_to_engine(at, speed),
            layout.acceleration_to_engine(at, speed, rate),
        )
    tau = treesim.inverse_dynamics(side.robot, *theirs)
    for layout, at in zip(reversed(side.layouts), reversed(turned), strict=True):
        tau = layout.force_from_engine(at, tau)
    return np.asarray(tau + forces_of_terms(side.terms, side.robot, q, v, a))
