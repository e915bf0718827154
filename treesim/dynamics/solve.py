"""Products H^-1 x by sparse factors, which are computed in the same call."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..kernels.dynamics.inverse_mass import solve_mass_matrix_states
from ..model.tree import Tree
from ..states.arguments import checked_robot
from ..states.states import state_function
from ..types import Engine
from .base import explain_failure

SOLVE = state_function(solve_mass_matrix_states, explain_failure)


def solve_mass_matrix(
    robot: Tree, q: ArrayLike, x: ArrayLike, *, engine: Engine = "auto", out: np.ndarray | None = None
) -> np.ndarray:
    """Return M^-1 x for the mass matrix M: the accelerations that generalised forces x cause without bias forces.

    Parameters
    ----------
    robot : Tree
        Robot.
    q : array_like
        (..., nq) configurations.
    x : array_like
        (..., nv) generalised forces.
    engine : str
        As in `treesim.forward_dynamics`.
    out : numpy.ndarray, optional
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
    return SOLVE(robot, robot.ints, robot.reals, q, x, engine, out)
