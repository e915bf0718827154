"""M^-1, and products M^-1 x, by sparse factors, which are computed in the same call."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..engine.call.fast_entry import FastEntry
from ..kernels.dynamics.inverse_mass import inverse_mass_matrix_states, solve_columns_states, solve_mass_matrix_states
from ..kernels.entries.status import FINE
from ..model.frozen import frozen
from ..model.tree import Tree
from ..states.arguments import checked_robot
from ..states.states import one_state_first, state_function
from ..system.memory import SMALL, check_memory
from ..types import Engine
from .base import copied, explain_failure

COLUMNS = FastEntry(solve_columns_states)
SOLVE = state_function(solve_mass_matrix_states, explain_failure)
INVERSE = state_function(inverse_mass_matrix_states, explain_failure)


@one_state_first(solve_mass_matrix_states)
def solve_mass_matrix(
    robot: Tree, q: ArrayLike, x: ArrayLike, *, engine: Engine = "auto", out: np.ndarray | None = None
) -> np.ndarray:
    """Return M^-1 x for the mass matrix M: the accelerations that generalised forces x cause without bias forces.

    Parameters
    ----------
    robot, q
        As in `treesim.forward_dynamics`.
    x : array_like
        (..., nv) generalised forces. For forces (k, nv) at one configuration, factors are computed once.
    engine, out
        As in `treesim.forward_dynamics`.

    Returns
    -------
    numpy.ndarray
        (..., nv) accelerations.

    Raises
    ------
    ArgumentError
        If a type or shape does not fit.
    NonFiniteError
        If an argument is not finite, or a result overflows.
    SingularInertiaError
        If a joint moves no inertia; the error names the joint.
    UnknownNameError, UnsupportedError
        If the engine is unknown, or not possible for the robot.

    Notes
    -----
    The method is CRBA, LTDL factorization without fill-in, and two substitutions. The factors cost D2 multiply-adds,
    the substitutions 2 D1 (Featherstone 2005; `Topology.D1`, `Topology.D2`).

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q, force = np.full(6, 0.5), np.arange(6.0)
    >>> np.allclose(treesim.mass_matrix(robot, q) @ treesim.solve_mass_matrix(robot, q, force), force)
    True
    """
    if type(robot) is not Tree:
        robot = checked_robot(robot)
    if getattr(x, "ndim", 1) == 2 and type(engine) is str and engine == "auto":
        rows = solve_rows((robot.ints, robot.reals), robot.nv, q, x)
        if rows is not None:
            return copied(rows, out)
    return SOLVE(robot, robot.ints, robot.reals, q, x, engine, out)


@one_state_first(inverse_mass_matrix_states)
def inverse_mass_matrix(
    robot: Tree, q: ArrayLike, *, engine: Engine = "auto", out: np.ndarray | None = None
) -> np.ndarray:
    """Return the inverse M^-1 of the mass matrix, which is symmetric and in general full.

    The function raises the errors of `treesim.solve_mass_matrix`.

    Parameters
    ----------
    robot, q, engine, out
        As in `treesim.forward_dynamics`.

    Returns
    -------
    numpy.ndarray
        (..., nv, nv) matrices.

    Notes
    -----
    The method is CRBA, LTDL factorization without fill-in, and the equation L M^-1 = D^-1 L'^-1, solved row by row. The
    rows cost about n D1 / 2 multiply-adds for n degrees of freedom (`Topology.D1`). For a robot with mimic joints,
    the inverse of its spanning tree is corrected by their constraints.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q = np.full(6, 0.5)
    >>> np.allclose(treesim.inverse_mass_matrix(robot, q) @ treesim.mass_matrix(robot, q), np.eye(6))
    True
    """
    if type(robot) is not Tree:
        robot = checked_robot(robot)
    return INVERSE(robot, robot.ints, robot.reals, q, engine, out)


def solve_rows(constants: tuple[Any, ...], nv: int, q: Any, x: Any) -> np.ndarray | None:
    """Return M^-1 x for the rows of x (k, nv) at one q (nq,), solved side by side; None for any other arrays."""
    if not (isinstance(q, np.ndarray) and isinstance(x, np.ndarray) and q.ndim == 1 and x.ndim == 2):
        return None
    if x.shape[1] != nv:
        return None  # before it is copied
    if x.nbytes > SMALL:  # x by columns, the solution, and the solution by rows
        check_memory(3 * x.nbytes, f"M^-1 x for x of shape {x.shape}", "give fewer rows at once")
    columns, solution = x.T.copy(), np.empty(x.shape[::-1])
    if COLUMNS.call(*constants, table_of_count(len(x)), q, columns, solution) != FINE:
        return None
    return solution.T.copy()


@lru_cache(maxsize=64)
def table_of_count(columns: int) -> np.ndarray:
    """Return a table of the number of columns."""
    return frozen([columns], np.int64)
