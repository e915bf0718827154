"""Conformance checks of a method of constrained dynamics (`ConstrainedMethod`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dynamics.constrained.base import ConstrainedAcceleration, Problem
from ..dynamics.constrained.constraints import FrameConstraint, constraint_tables, wanted_derivatives
from ..dynamics.inverse_dynamics import bias_forces
from ..dynamics.mass_matrix import mass_matrix
from ..dynamics.operational.frames import frame_jacobian
from ..errors import NonFiniteError, TreesimError
from ..model.tree import Tree
from .bounds import of_constrained
from .report import Checks, Conformance, begin, demand, demand_array, demand_error, demand_near
from .samples import Robots, random_state, robots_of, sample_robots

MU, TOLERANCE, ITERATIONS = 1e-4, 1e-10, 100  # defaults of `constrained_dynamics`


def check_constrained(method: str | Any, robots: Robots = None, tolerance: float = 1e-8) -> Conformance:
    """Check that a method of constrained dynamics meets the protocol `ConstrainedMethod`.

    The robots of the check are at rest, and one or two of their frames are constrained. Accelerations and forces are
    compared with the solution of the dense system [M -Jᵀ; J 0], with the mass matrix M and the Jacobian J of the
    constraints. The check also compares the reported residual with the actual one, and batches with single states. NaN,
    and dependent rows that contradict each other, must raise errors.

    Parameters
    ----------
    method : str or ConstrainedMethod
        Name in `available("constrained")`, or an object.
    robots : sequence of Tree, optional
        Robots of the check; `sample_robots()` by default.
    tolerance : float
        Allowed error, relative to the largest number of a result, in addition to the rounding error of the dense
        system.

    Returns
    -------
    Conformance
        All requirements, which are met.

    Raises
    ------
    ConformanceError
        If a requirement is not met. The message lists all such requirements.

    Examples
    --------
    >>> from treesim import testing
    >>> testing.check_constrained("pv")
    <Conformance of method of constrained dynamics 'pv': 27 requirements met>
    """
    method, checks = begin("constrained", method)
    if checks.has(method, name=str, source=str):
        for robot in robots_of(robots, sample_robots):
            _check_robot(checks, method, robot, tolerance)
    return checks.report()


def _check_robot(checks: Checks, method: Any, robot: Tree, tolerance: float) -> None:
    names, rng = robot.body_names, np.random.default_rng(1)
    hands = [
        FrameConstraint(name, rows=rng.normal(size=(2, 6)), target=rng.normal(size=2))
        for name in (names[-1], names[len(names) // 2])
    ]
    for held in (hands[:1], hands):
        with checks.require(f"solves the dense system, {len(held)} frames constrained", robot.name):
            _demand_solution(method, robot, held, tolerance)
    with checks.require("batches are their states side by side", robot.name):
        _demand_batch(method, robot, hands[:1])
    with checks.require("rows that contradict each other are an error", robot.name):
        row = np.eye(6)[:1]
        against = [
            FrameConstraint(names[-1], rows=row, target=[1.0]),
            FrameConstraint(names[-1], rows=row, target=[-1.0]),
        ]
        demand_error(TreesimError, lambda: solved(method, robot, _at_rest(robot), against), "", "contradicting rows")
    with checks.require("refuses NaN", robot.name):
        q, v, tau = _at_rest(robot)
        demand_error(
            NonFiniteError, lambda: solved(method, robot, (q, v, tau * np.nan), hands[:1]), "tau", "NaN in tau"
        )


def solved(method: Any, robot: Tree, state: tuple[np.ndarray, ...], held: list[FrameConstraint]) -> Any:
    """Return the method's result for a state (q, v, tau) with constrained frames."""
    q, v, tau = state
    tables = constraint_tables(robot, held)
    wanted = wanted_derivatives(robot, tables, q, v)
    return method.solve(
        Problem(robot, q, v, tau, None, None, None, tables, wanted, "pv_osim_r", MU, TOLERANCE, ITERATIONS)
    )


def _at_rest(robot: Tree, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    state = random_state(robot, seed)
    return state.q, np.zeros(robot.nv), state.tau


def _demand_solution(method: Any, robot: Tree, held: list[FrameConstraint], tolerance: float) -> None:
    """Compare with the dense system at rest, where dJ/dt v = 0: [M -Jᵀ; J 0] [qdd; f] = [tau - bias; target]."""
    q, still, tau = _at_rest(robot)
    found = solved(method, robot, (q, still, tau), held)
    demand(isinstance(found, ConstrainedAcceleration), f"it returns a {type(found).__name__}")
    M, J = mass_matrix(robot, q), np.concatenate([np.asarray(c.rows) @ frame_jacobian(robot, q, c.frame) for c in held])
    sides = tau - bias_forces(robot, q, still), np.concatenate([np.asarray(c.target) for c in held])
    system = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
    truth = np.split(np.linalg.solve(system, np.concatenate(sides)), [robot.nv])
    bounds = of_constrained(M, J, *sides, *truth)
    for label, true, bound in zip(("acceleration", "force"), truth, bounds, strict=True):
        part = demand_array(getattr(found, label), true.shape, label)
        demand_near(part, true, 2 * bound + tolerance, label)  # both sides have errors
    left = sides[1] - J @ found.acceleration
    scale = np.abs(sides[1]).max() + np.abs(J).max() * np.abs(found.acceleration).max()
    demand(
        bool(np.abs(found.residual - left).max() <= tolerance * scale), "the reported residual is not the actual one"
    )


def _demand_batch(method: Any, robot: Tree, held: list[FrameConstraint]) -> None:
    states = [_at_rest(robot, seed) for seed in range(3)]
    together = solved(method, robot, tuple(np.array(column) for column in zip(*states, strict=True)), held)
    for k, state in enumerate(states):
        alone = solved(method, robot, state, held)
        for label in ("acceleration", "force"):
            one, all_of_them = getattr(alone, label), getattr(together, label)
            demand(all_of_them.shape == (len(states), *one.shape), f"{label} has the shape {all_of_them.shape}")
            demand_near(all_of_them[k], one, 1e-9, f"{label}[{k}] against that of the state alone")
