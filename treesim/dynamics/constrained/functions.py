"""Constrained forward dynamics as a plain function of state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ... import plugins
from ...errors import ArgumentError
from ...model.tree import Tree
from ...states.arguments import checked_robot, whole_number
from ..functions import forward_dynamics
from .base import ConstrainedAcceleration, Problem
from .constraints import Constraint, constraint_tables, wanted_derivatives


def constrained_dynamics(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    constraints: Constraint | Sequence[Constraint],
    *,
    f_ext: ArrayLike | None = None,
    method: str = "direct",
    operational: str = "pv_osim_r",
    gravity: ArrayLike | None = None,
    armature: ArrayLike | None = None,
    mu: float = 1e-4,
    tolerance: float = 1e-10,
    max_iterations: int = 100,
) -> ConstrainedAcceleration:
    """Return accelerations and constraint forces: M qdd + bias = tau + J' f with J qdd + dJ/dt v = target.

    q, v, tau, f_ext, gravity, armature: as in `forward_dynamics`, leading batch axes included. constraints: one or more
    of FrameConstraint and LoopConstraint; the m rows of all of them, one after the other, are J.
    method: a name of `available("constrained")`. "direct" and "pv" need independent rows; "proximal" and "caba" allow
    redundant ones that agree, which share the force; "caba" does not support loops. operational: the method for Λ⁻¹
    of "direct" and "proximal". mu (in units of Λ⁻¹'s diagonal), tolerance (on the residual, relative to that
    of the free motion where it exceeds 1 m/s^2), max_iterations: of "proximal" and "caba"; "caba" is accurate to about
    1e-16 / mu only.
    Raises UnknownNameError (frame, method, operational), ArgumentError, NonFiniteError, SingularInertiaError,
    ConstraintError naming a row that depends on others, ConvergenceError when constraints contradict each other,
    UnsupportedError. Cost: "pv" O(N + m^2 d + m^3), "caba" O(N + m) an iteration, else a few articulated-body sweeps,
    Λ⁻¹ by its method, and O(m^3).

    Example:
        >>> robot = treesim.load("ur5")
        >>> q, still = np.full(6, 0.5), np.zeros(6)
        >>> wrist = treesim.FrameConstraint("ee_link", rows="linear")
        >>> held = treesim.constrained_dynamics(robot, q, still, still, wrist)
        >>> held.force.shape, np.allclose(held.residual, 0)
        ((3,), True)
    """
    robot = checked_robot(robot)
    given = (constraints,) if not isinstance(constraints, Sequence) else tuple(constraints)
    solver = plugins.get("constrained", method)
    plugins.get("operational", operational)  # an unknown name is an error even where it is not needed
    tables = constraint_tables(robot, given)
    _check_settings(mu, tolerance, max_iterations)
    if not given:
        return _unconstrained(
            robot, forward_dynamics(robot, q, v, tau, f_ext=f_ext, gravity=gravity, armature=armature)
        )
    if robot.nv == 0:
        raise ArgumentError(f"{robot.name!r} cannot move: there is nothing to constrain")
    wanted = wanted_derivatives(robot, tables, q, v)
    return solver.solve(
        Problem(robot, q, v, tau, f_ext, gravity, armature, tables, wanted, operational, mu, tolerance, max_iterations)
    )


def _check_settings(mu: float, tolerance: float, max_iterations: int) -> None:
    if not (0 < mu < np.inf and 0 < tolerance < np.inf):
        raise ArgumentError(f"mu and tolerance must be positive, got {mu}, {tolerance}")
    whole_number("max_iterations", max_iterations, 1)


def _unconstrained(robot: Tree, qdd: np.ndarray) -> ConstrainedAcceleration:
    nothing = np.zeros((*qdd.shape[:-1], 0))
    return ConstrainedAcceleration(qdd, nothing, nothing, np.zeros(qdd.shape[:-1], dtype=int), robot.name)
