"""The engine adapter: it evaluates a batch of states, as treesim does, and the results are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from ..errors import TreesimError
from ..model.tree import Tree

RAW = "raw"  # the user's own file: tests our reading of it
CANONICAL = "canonical"  # our bodies, written out again: tests the dynamics alone


class RefereeError(TreesimError):
    """An engine adapter could not evaluate the states: the message says why."""


@dataclass(frozen=True, eq=False)
class Question:
    """A batch of states at which a robot is to be evaluated, in treesim's layout and units.

    robot: without joint damping, friction and armature. tier: the level, "raw" for the user's file, "canonical"
    for the bodies written out again. urdf: that text.
    q (K, nq), v, a, tau (K, nv): states for the single evaluations.
    q0 (nq,), v0 (nv,), steps, dt [s]: a free motion under gravity; none if steps is 0.
    """

    robot: Tree
    tier: str
    urdf: str
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    q0: np.ndarray
    v0: np.ndarray
    steps: int = 0
    dt: float = 1e-3

    @property
    def floating(self) -> bool:
        """Whether the robot's base is free."""
        return is_floating(self.robot)


@dataclass(frozen=True, eq=False)
class Answers:
    """Results by quantity, in treesim's layout; what was left out and why; what was changed to suit the engine.

    Quantities: mass (N,), com (N, 3), inertia (N, 3, 3) about the centre of mass, each in the body's frame;
    pose (K, N, 4, 4), mass_matrix (K, nv, nv), bias, inverse_dynamics, forward_dynamics (K, nv),
    inverse_mass_matrix (first few states, nv, nv), trajectory_q (steps + 1, nq), trajectory_v (steps + 1, nv).
    """

    values: Mapping[str, np.ndarray]
    skipped: Mapping[str, str] = field(default_factory=dict)
    changes: tuple[str, ...] = ()


@runtime_checkable
class Referee(Protocol):
    """An adapter to another engine, which evaluates states of a robot; registered in the group `treesim.referees`.

    integrator: the name of treesim's integrator with the engine's stepping rule; None for no trajectory.
    """

    name: str
    integrator: str | None

    def version(self) -> str:
        """Return the engine's version."""
        ...

    def refuses(self, robot: Tree) -> str | None:
        """Return why the engine cannot evaluate this robot, or None."""
        ...

    def answer(self, question: Question) -> Answers:
        """Evaluate the states in the engine's own conventions and return treesim's; raises RefereeError."""
        ...


def is_floating(robot: Tree) -> bool:
    """Return whether the robot hangs on one floating joint."""
    return robot.n_bodies > 0 and robot.bodies[0].joint.type == "floating"
