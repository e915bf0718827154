"""Calls that the benchmark times: what one is, on which states, and what it computes."""

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
SAMPLE = 8  # states of a batch whose results are looked at
Call = Callable[[], Any]


def inverse_inertia(rows: int) -> str:
    """Return what the benchmark calls the inverse operational inertia of so many rows."""
    return f"Λ⁻¹, {rows} rows"


def operational_space(rows: int) -> str:
    """Return what the benchmark calls the whole operational space of so many rows."""
    return f"operational space, {rows} rows"


class States(NamedTuple):
    """Where a robot is timed: q (..., nq), v, a, tau (..., nv), in treesim's layout; tau causes the accelerations a."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray


class Motion(NamedTuple):
    """What is rolled out: q0 (B, nq), v0 (B, nv), forces (B, steps, nv), the step dt [s]."""

    q0: np.ndarray
    v0: np.ndarray
    controls: np.ndarray
    dt: float


class Standing(NamedTuple):
    """What stands on a plane through the origin: a robot with collision shapes and a floating base, its start q0 (nq,),
    the posture (nq,) that gains kp, kd (nv,) hold, 0 of the base, the plane's normal (3,), friction, and the step dt
    [s]."""

    robot: Tree
    q0: np.ndarray
    posture: np.ndarray
    kp: np.ndarray
    kd: np.ndarray
    normal: np.ndarray
    friction: float
    dt: float


class Stepping(NamedTuple):
    """One way of stepping what stands.

    start: puts it back to where it starts, at rest. step: one step from where it is. state: q (nq,) and v (nv,), in
    treesim's layout. does: in words, what is solved how.
    """

    engine: str
    name: str
    start: Call
    step: Call
    state: Callable[[], tuple[np.ndarray, np.ndarray]]
    does: str


class BenchmarkCase(NamedTuple):
    """One call that is timed.

    quantity: what it computes; calls of one quantity are compared. call: does the work. result: does it once more and
    returns the result in treesim's layout, of all states or of the first few; or None: there is none. does: in words,
    what the call does besides the quantity, or leaves out. states: on how many states, or steps, one call works. truth:
    what the result should be, if not what the quantity's reference says. served: by which of treesim's engines.
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
        """What tells it from the others."""
        return f"{self.quantity}: {self.name}, {self.numbers}"
