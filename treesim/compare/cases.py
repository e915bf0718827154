"""Benchmark cases: timed calls, the states at which they run, and their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..model.tree import Tree

OURS = "treesim"
DOUBLE, SINGLE = "float64", "float32"
FORWARD, INVERSE, MASS, SOLVE, ROLLOUT = (
    "forward dynamics", "inverse dynamics", "mass matrix", "M⁻¹ τ", "rollout",
)  # fmt: skip
SAMPLE = 8  # states of a batch whose results are checked
Call = Callable[[], Any]


def inverse_inertia(rows: int) -> str:
    """Return the benchmark's name of the inverse operational inertia with this number of rows."""
    return f"Λ⁻¹, {rows} rows"


def operational_space(rows: int) -> str:
    """Return the benchmark's name of the full operational-space computation with this number of rows."""
    return f"operational space, {rows} rows"


class States(NamedTuple):
    """States at which calls are timed, in treesim's layout.

    Parameters
    ----------
    q : ndarray, shape (..., nq)
        Configurations.
    v : ndarray, shape (..., nv)
        Velocities.
    a : ndarray, shape (..., nv)
        Accelerations that `tau` causes.
    tau : ndarray, shape (..., nv)
        Joint forces [N, N m].
    """

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray


class Motion(NamedTuple):
    """Initial states and joint forces of a batch of timed rollouts.

    Parameters
    ----------
    q0 : ndarray, shape (B, nq)
        Initial configurations.
    v0 : ndarray, shape (B, nv)
        Initial velocities.
    controls : ndarray, shape (B, steps, nv)
        Joint forces [N, N m] at every step.
    dt : float
        Time step [s].
    """

    q0: np.ndarray
    v0: np.ndarray
    controls: np.ndarray
    dt: float


class StandingScene(NamedTuple):
    """Scene of the stepping benchmark: a floating-base robot under PD control on a plane through the origin.

    Parameters
    ----------
    robot : Tree
        Robot with collision shapes and a floating base.
    q0 : ndarray, shape (nq,)
        Initial configuration.
    posture : ndarray, shape (nq,)
        Target configuration of the PD controller.
    kp, kd : ndarray, shape (nv,)
        Gains of the PD controller; 0 for the base.
    normal : ndarray, shape (3,)
        Normal of the plane, in the world.
    friction : float
        Coefficient of friction.
    dt : float
        Time step [s].
    v0 : ndarray, shape (S, nv)
        Initial velocities of runs that differ; 0 for the base.
    """

    robot: Tree
    q0: np.ndarray
    posture: np.ndarray
    kp: np.ndarray
    kd: np.ndarray
    normal: np.ndarray
    friction: float
    dt: float
    v0: np.ndarray


class Stepping(NamedTuple):
    """One method of stepping the robot of a `StandingScene` scene.

    Parameters
    ----------
    engine : str
        Name of the engine.
    name : str
        Name of the method.
    start : callable
        Resets the robot to its initial configuration, with the initial velocity of this index, 0 by default.
    step : callable
        Takes one step from the current state.
    state : callable
        Returns the current q (nq,) and v (nv,), in treesim's layout.
    does : str
        Description of the problem that is solved and of the algorithm.
    """

    engine: str
    name: str
    start: Callable[..., Any]
    step: Call
    state: Callable[[], tuple[np.ndarray, np.ndarray]]
    does: str


class BenchmarkCase(NamedTuple):
    """One timed call of an engine.

    Parameters
    ----------
    engine : str
        Name of the engine.
    name : str
        Name of the call.
    quantity : str
        Quantity that the call computes; calls of one quantity are compared with each other.
    call : callable
        Does the work that is timed.
    result : callable
        Repeats the call and returns its result in treesim's layout, of all states or the first few; None if the
        call has no result.
    does : str
        What the call does besides computing the quantity, or leaves out.
    states : int
        Number of states, or of steps, that one call covers.
    numbers : str
        Precision, "float64" or "float32".
    truth : callable, optional
        Returns the correct result, if it is not the reference of the quantity.
    served : str, optional
        Engine of treesim that runs the call.
    """

    engine: str
    name: str
    quantity: str
    call: Call
    result: Callable[[], np.ndarray | None]
    does: str
    states: int = 1
    numbers: str = DOUBLE
    truth: Callable[[], np.ndarray] | None = None
    served: str | None = None

    @property
    def label(self) -> str:
        """Quantity, name and precision of the case."""
        return f"{self.quantity}: {self.name}, {self.numbers}"
