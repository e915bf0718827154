"""Benchmark cases: timed calls, the states at which they run, and their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..model.tree import Tree

if TYPE_CHECKING:
    from ..simulation.world import World

OURS = "treesim"
DOUBLE, SINGLE = "float64", "float32"
FORWARD, INVERSE, MASS, SOLVE, ROLLOUT = (
    "forward dynamics", "inverse dynamics", "mass matrix", "M⁻¹ τ", "rollout",
)  # fmt: skip
FORWARD_DERIVATIVES, INVERSE_DERIVATIVES, INVERSE_MASS = (
    "derivatives of forward dynamics", "derivatives of inverse dynamics", "M⁻¹",
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
    """States at which the benchmark evaluates the calls (`BenchmarkCase`) of engines, in treesim's layout.

    Parameters
    ----------
    q : ndarray, shape (..., nq)
        Configurations.
    v : ndarray, shape (..., nv)
        Velocities.
    a : ndarray, shape (..., nv)
        Accelerations under the joint forces `tau`.
    tau : ndarray, shape (..., nv)
        Joint forces [N, N m].
    """

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray


class Motion(NamedTuple):
    """Initial states and joint forces of a batch of rollouts, whose time the benchmark measures.

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


class ContactScene(NamedTuple):
    """Scene for the benchmark of steps with contact: a world under PD control, and its initial states.

    Parameters
    ----------
    world : World
        Robot with collision shapes, or free bodies, and ground.
    q0 : ndarray, shape (S, nq)
        Initial configurations of S runs.
    v0 : ndarray, shape (S, nv)
        Initial velocities.
    posture : ndarray, shape (nq,)
        Target configuration of the PD controller.
    kp, kd : ndarray, shape (nv,)
        Gains of the PD controller; 0 for floating joints.
    dt : float
        Time step [s].
    """

    world: World
    q0: np.ndarray
    v0: np.ndarray
    posture: np.ndarray
    kp: np.ndarray
    kd: np.ndarray
    dt: float

    @property
    def robot(self) -> Tree:
        """Tree of all bodies of the scene's world."""
        return self.world.robot


class Stepping(NamedTuple):
    """A method of an engine that steps a `ContactScene`.

    Parameters
    ----------
    engine : str
        Name of the engine.
    name : str
        Name of the method.
    start : callable
        Function that starts a run from the initial state with an index, 0 by default.
    step : callable
        Function that takes one step from the current state.
    state : callable
        Function that returns the current q (nq,) and v (nv,), in treesim's layout.
    overlap : callable
        Function that returns the largest overlap [m] of the engine's contacts after the last step; 0 without contacts.
    does : str
        Description of the contact problem and of the algorithm.
    residual : callable, optional
        Function that returns the complementarity residual of the last step [m/s, rad/s]. None if the engine does not
        report it.
    """

    engine: str
    name: str
    start: Callable[..., Any]
    step: Call
    state: Callable[[], tuple[np.ndarray, np.ndarray]]
    overlap: Callable[[], float]
    does: str
    residual: Callable[[], float] | None = None


class BenchmarkCase(NamedTuple):
    """Function call of an engine; the benchmark of engines measures the call's time.

    Parameters
    ----------
    engine : str
        Name of the engine.
    name : str
        Name of the call in tables.
    quantity : str
        Quantity that the call computes; calls of one quantity are compared with each other.
    call : callable
        Function that does the timed work.
    result : callable
        Function that repeats the call and returns its result in treesim's layout, for all states or the first few. None
        if the call has no result.
    does : str
        Work of the call in addition to the quantity, or work that it omits.
    states : int
        Number of states, or of steps, that one call covers.
    numbers : str
        Precision, "float64" or "float32".
    truth : callable, optional
        Function that returns the correct result, if it differs from the reference of the quantity.
    served : str, optional
        For a call of treesim, "generic" or "specialized": the code that runs the call, as in the argument `engine`.
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
        """Label of the case: quantity, name and precision."""
        return f"{self.quantity}: {self.name}, {self.numbers}"
