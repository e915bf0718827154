"""Constrained forward dynamics as a function of state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ... import plugins
from ...engine.call.evaluate import in_precision
from ...errors import ArgumentError, quoted
from ...model.tree import Tree
from ...states.arguments import checked_robot, whole_number
from ...types import ConstrainedMethod
from ...validation.arrays import precision
from ...validation.values import finite_or_nan, parts_or_none, short_repr
from ..forward_dynamics import forward_dynamics
from .base import ConstrainedAcceleration, Problem
from .constraints import Constraint, constraint_tables, wanted_derivatives

MOST_ITERATIONS = 100_000  # a call uses all of them if it does not converge


def constrained_dynamics(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    constraints: Constraint | Sequence[Constraint],
    *,
    f_ext: ArrayLike | None = None,
    method: ConstrainedMethod = "direct",
    operational: str = "pv_osim_r",
    gravity: ArrayLike | None = None,
    armature: ArrayLike | None = None,
    mu: float = 1e-4,
    tolerance: float = 1e-10,
    max_iterations: int = 100,
) -> ConstrainedAcceleration:
    """Return the accelerations and the constraint forces of a robot with constrained frames.

    The function solves M qdd + C = tau + J' f and J qdd + dJ/dt v = target for the accelerations qdd and the constraint
    forces f. Here M is the mass matrix, C are the bias forces, and J v are the constrained velocities, whose required
    time derivative is target.

    Parameters
    ----------
    robot : Tree
        Robot.
    q, v, tau : array_like
        As in `treesim.forward_dynamics`, with optional leading batch axes.
    constraints : FrameConstraint, LoopConstraint or sequence of them
        Constraints. Their m rows, in this order, are the rows of J.
    f_ext : array_like, optional
        As in `treesim.forward_dynamics`.
    method : str
        Name of a method, see `available("constrained")`. "direct" and "pv" need independent rows. "proximal" and "caba"
        allow redundant rows that do not contradict each other, and distribute the force among these rows. "caba" does
        not support loops.
    operational : str
        Method with which "direct" and "proximal" compute the matrix Λ⁻¹ = J M⁻¹ J', see `available("operational")`.
    gravity, armature : array_like, optional
        As in `treesim.forward_dynamics`.
    mu : float
        Proximal parameter of "proximal" and "caba", relative to the diagonal of Λ⁻¹. The accuracy of "caba" is about
        1e-16 / mu.
    tolerance : float
        Largest residual at which "proximal" and "caba" stop. If the residual of the unconstrained motion exceeds 1
        m/s^2, the tolerance is relative to this residual.
    max_iterations : int
        Largest number of iterations of "proximal" and "caba", at most 100,000.

    Returns
    -------
    ConstrainedAcceleration
        Accelerations, constraint forces, residuals and iterations.

    Raises
    ------
    UnknownNameError
        If a frame or a method is unknown.
    ArgumentError
        If an argument does not fit.
    NonFiniteError
        If an argument or a result is not finite.
    SingularInertiaError
        If a joint moves no inertia.
    ConstraintError
        If a row depends on other rows ("direct" and "pv" only). The error names the row.
    ConvergenceError
        If constraints contradict each other ("proximal" and "caba" only).
    UnsupportedError
        If the method does not support the constraints.

    Notes
    -----
    Cost of "pv": O(N + m^2 d + m^3) for N bodies, m rows and depth d. Cost of "caba": O(N + m) for each iteration. Cost
    of "direct" and "proximal": a few articulated-body passes, the cost of Λ⁻¹, and O(m^3).

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q, still = np.full(6, 0.5), np.zeros(6)
    >>> wrist = treesim.FrameConstraint("ee_link", rows="linear")
    >>> held = treesim.constrained_dynamics(robot, q, still, still, wrist)
    >>> held.force.shape, np.allclose(held.residual, 0)
    ((3,), True)
    """
    robot = checked_robot(robot)
    given = listed_constraints(constraints)
    solver = plugins.get("constrained", method)
    plugins.get("operational", operational)  # an unknown name is an error even where it is not needed
    tables = constraint_tables(robot, given)
    _check_settings(mu, tolerance, max_iterations)
    if not given:
        return _unconstrained(
            robot, forward_dynamics(robot, q, v, tau, f_ext=f_ext, gravity=gravity, armature=armature)
        )
    if robot.nv == 0:
        raise ArgumentError(f"{quoted(robot.name)} cannot move: there is nothing to constrain")
    wanted = wanted_derivatives(robot, tables, q, v)
    found = solver.solve(
        Problem(robot, q, v, tau, f_ext, gravity, armature, tables, wanted, operational, mu, tolerance, max_iterations)
    )
    number = precision(q, v, tau)  # computed in double precision; float32 arguments have results in float32
    if number is np.float64:
        return found
    floats = {
        label: in_precision(f"the {label} of constrained dynamics", getattr(found, label), number)
        for label in ("acceleration", "force", "residual")
    }
    return replace(found, **floats)


def listed_constraints(constraints: Any) -> tuple[Any, ...]:
    """Return constraints, one or a sequence, as a tuple; other values are refused by `constraint_tables`."""
    parts = parts_or_none(constraints) if isinstance(constraints, Sequence) else None
    return (constraints,) if parts is None else tuple(parts)


def _check_settings(mu: float, tolerance: float, max_iterations: int) -> None:
    for label, value in (("mu", mu), ("tolerance", tolerance)):
        if not finite_or_nan(value) > 0:
            raise ArgumentError(f"mu and tolerance must be positive, got {label} = {short_repr(value)}")
    whole_number("max_iterations", max_iterations, 1, MOST_ITERATIONS)


def _unconstrained(robot: Tree, qdd: np.ndarray) -> ConstrainedAcceleration:
    nothing = np.zeros((*qdd.shape[:-1], 0), qdd.dtype)
    return ConstrainedAcceleration(qdd, nothing, nothing, np.zeros(qdd.shape[:-1], dtype=int), robot.name)
