"""Conformance checks of a method for the inverse operational inertia (`treesim.dynamics.operational.base`)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..dynamics.mass_matrix import mass_matrix
from ..dynamics.operational.frames import frame_jacobian
from ..errors import ArgumentError, NonFiniteError, UnknownNameError
from ..model.tree import Tree
from ..types import Reference
from .bounds import of_inverse_inertia
from .report import Checks, Conformance, begin, demand, demand_array, demand_error, demand_near
from .samples import Robots, random_state, robots_of, sample_robots

REFERENCES: tuple[Reference, ...] = ("local_world_aligned", "local")


def check_operational(method: str | Any, robots: Robots = None, error_factor: float = 1.0) -> Conformance:
    """Check that a method for the inverse operational-space inertia Λ⁻¹ meets the protocol `OperationalMethod`.

    For the Jacobian J of the frames and the mass matrix M, the matrix Λ⁻¹ must be equal to J M⁻¹ Jᵀ, and exactly
    symmetric. The check uses frames in any order, repeated frames and no frames, with world axes and with local axes.
    Batches must agree with single states. Invalid arguments must raise errors that name the argument.

    Parameters
    ----------
    method : str or object
        Name in `available("operational")`, or an object.
    robots : sequence of Tree, optional
        Robots of the check; `sample_robots()` by default.
    error_factor : float
        Allowed error, as a multiple of the effect of rounding M and J once.

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
    >>> testing.check_operational("rjk")
    <Conformance of operational-space method 'rjk': 37 requirements met>
    """
    method, checks = begin("operational", method)
    if checks.has(method, name=str, source=str):
        for robot in robots_of(robots, sample_robots):
            _check_robot(checks, method, robot, error_factor)
    return checks.report()


def _check_robot(checks: Checks, method: Any, robot: Tree, factor: float) -> None:
    names, q = robot.frame_names, random_state(robot).q
    chosen = {
        "frames in no order": (names[-1], names[0], names[len(names) // 2]),
        "a frame twice": (names[-1], names[-1]),
        "no frames": (),
    }
    for what, frames in chosen.items():
        for reference in REFERENCES if frames else REFERENCES[:1]:
            with checks.require(f"Λ⁻¹ = J M⁻¹ Jᵀ of {what}, {reference} axes", robot.name):
                found = demand_array(method.inverse_inertia(robot, q, frames, reference), (6 * len(frames),) * 2, "Λ⁻¹")
                demand(bool(np.array_equal(found, found.T)), "Λ⁻¹ is not symmetric")
                _demand_definition(found, robot, q, frames, reference, factor)
    frames = names[-1:]
    with checks.require("batches are their states side by side", robot.name):
        many = np.array([random_state(robot, seed).q for seed in range(4)]).reshape(2, 2, robot.nq)
        together = demand_array(method.inverse_inertia(robot, many, frames, "world"), (2, 2, 6, 6), "Λ⁻¹")
        for place in np.ndindex(2, 2):
            _demand_definition(together[place], robot, many[place], frames, "world", factor)
    with checks.require("refuses what it cannot take, and names it", robot.name):
        unknown = "no frame of this name"
        wrongs: tuple[tuple[type[Exception], np.ndarray, tuple[str, ...], str], ...] = (
            (ArgumentError, q[:-1], frames, "q"),
            (NonFiniteError, q * np.nan, frames, "q"),
            (UnknownNameError, q, (unknown,), unknown),
        )
        for kind, x, asked, word in wrongs:
            demand_error(kind, partial(method.inverse_inertia, robot, x, asked, "world"), word, f"a wrong {word}")


def _demand_definition(
    found: np.ndarray, robot: Tree, q: np.ndarray, frames: tuple[str, ...], reference: Reference, factor: float
) -> None:
    """Check Λ⁻¹ = J M⁻¹ Jᵀ within the rounding errors of both sides."""
    rows = [frame_jacobian(robot, q, frame, reference=reference) for frame in frames]
    M, J = mass_matrix(robot, q), np.concatenate([np.empty((0, robot.nv)), *rows])
    demand_near(found, J @ np.linalg.solve(M, J.T), (1 + factor) * of_inverse_inertia(M, J), "Λ⁻¹")
