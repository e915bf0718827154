"""States at which a robot is evaluated in engines, and the results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..errors import TreesimError

RAW = "raw"  # the user's own file: tests our reading of it
CANONICAL = "canonical"  # our bodies, written out again: tests the dynamics alone
NUMBERED = "numbered"  # our bodies in the engine, in the tree's own numbering, and the engine's own routines


class EngineError(TreesimError):
    """Raised if an engine fails to read a robot or to compute its states; the message contains the reason."""


@dataclass(frozen=True, eq=False)
class StateBatch:
    """States at which a robot is evaluated, in treesim's layout and units.

    Parameters
    ----------
    q : ndarray, shape (K, nq)
        Configurations.
    v, a : ndarray, shape (K, nv)
        Velocities and accelerations.
    tau : ndarray, shape (K, nv)
        Joint forces [N, N m].
    q0 : ndarray, shape (nq,)
        Initial configuration of a free motion under gravity.
    v0 : ndarray, shape (nv,)
        Initial velocity of the free motion.
    steps : int
        Number of steps of the free motion; 0 for no motion.
    dt : float
        Time step [s] of the free motion.
    refinements : tuple of (int, float)
        Number of steps and time step [s] of further free motions from the same initial state. Only their final states
        are compared.
    """

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    q0: np.ndarray
    v0: np.ndarray
    steps: int = 0
    dt: float = 1e-3
    refinements: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, eq=False)
class Results:
    """Results that an engine computes for one robot, by quantity, in treesim's layout.

    Parameters
    ----------
    values : mapping
        Arrays by quantity: mass (N,), com (N, 3), inertia (N, 3, 3) about the centre of mass, each in the body's frame;
        pose (K, N, 4, 4), mass_matrix (K, nv, nv), bias, inverse_dynamics, forward_dynamics (K, nv),
        inverse_mass_matrix (first few states, nv, nv), trajectory_q (steps + 1, nq), trajectory_v (steps + 1, nv),
        ends_q (R, nq), ends_v (R, nv): final states of the R free motions in `StateBatch.refinements`.
    skipped : dict
        Quantities left out, and the reasons.
    changes : tuple of str
        Changes of the robot or of settings that the engine required.
    known_faults : tuple of str
        Known faults of the engine that act on this robot.
    faulty : dict
        Quantities that the engine is known to get wrong on this robot, and the faults.
    """

    values: Mapping[str, np.ndarray]
    skipped: dict[str, str] = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    known_faults: tuple[str, ...] = ()
    faulty: dict[str, str] = field(default_factory=dict)
