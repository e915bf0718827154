"""Products H^-1 x by sparse factors, which are computed in the same call."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..engine.call.fast_entry import FastEntry
from ..kernels.dynamics.inverse_mass import solve_mass_matrix_states
from ..kernels.entries.status import FINE
from ..model.tree import Tree
from ..states.arguments import checked_robot
from ..states.states import on_states
from ..types import Engine
from .base import explain_failure

SOLVE = FastEntry(solve_mass_matrix_states)


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
    result = np.empty(robot.nv)
    alone = type(engine) is str and engine == "auto" and out is None and robot.nv > 0
    if alone and SOLVE.call(robot.ints, robot.reals, q, x, result) == FINE:
        return result  # anything but one state in float arrays is coerced, broadcast, or explained below
    return on_states(
        SOLVE.entry,
        robot,
        (robot.ints, robot.reals),
        {"q": q, "x": x},
        lambda named: explain_failure(robot, named),
        engine=engine,
        out=out,
    )[0]
