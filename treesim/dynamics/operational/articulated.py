"""One pass of articulated quantities at configurations, for many answers."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ...engine.call.evaluate import check_engine
from ...model.tree import Tree
from ...states.arguments import checked_robot
from ...types import Engine
from .articulated_bodies import Articulated
from .articulated_mimic import MimicArticulated


def articulated(robot: Tree, q: ArrayLike, *, engine: Engine = "auto") -> Articulated:
    """Return the articulated quantities at configurations, from which many answers follow without a second pass.

    The object solves with the mass matrix, and returns forward dynamics, inverse operational-space inertias,
    articulated-body inertias, sparse factors, log det M, and samples of N(0, M^-1).

    Parameters
    ----------
    robot : Tree
        Robot. With mimic joints, which couple branches, nothing is shared: each answer is that of its own function,
        and factors are those of the mass matrix.
    q : array_like
        (..., nq) configurations.
    engine : str
        As in `treesim.forward_dynamics`.

    Returns
    -------
    Articulated
        Articulated quantities. They do not change with q afterwards.

    Raises
    ------
    ArgumentError
        If a type or shape does not fit.
    NonFiniteError
        If q is not finite, or a result overflows.
    SingularInertiaError
        If a joint moves no inertia; the error names it.
    UnknownNameError, UnsupportedError
        If the engine is unknown or not possible.

    Notes
    -----
    O(N). Source: Jain 1991, section 6.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> art = treesim.articulated(robot, np.full(6, 0.5))
    >>> np.allclose(treesim.mass_matrix(robot, np.full(6, 0.5)) @ art.solve(np.arange(6.0)), np.arange(6.0))
    True
    >>> art.inverse_inertia("ee_link").shape
    (6, 6)
    >>> float(art.log_det.round(2))
    -6.35
    >>> art.sample(np.random.default_rng(0), 1000).shape
    (1000, 6)
    """
    robot = checked_robot(robot)
    check_engine(engine)
    if robot.mimic_map is not None:
        return MimicArticulated(robot, q, engine)
    return Articulated(robot, q, engine)
